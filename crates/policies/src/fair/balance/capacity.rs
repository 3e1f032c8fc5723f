//! What is left of a CPU for fair tasks, and of a group of CPUs.

use simsched_core::World;
use simsched_topology::{CpuId, Domains, SdFlags};

use super::SgcState;
use crate::fair::Fair;

/// What is left of a CPU of capacity `max` after real-time and deadline tasks (`used`) and
/// interrupts (`irq`), all in 1024ths of a big core. Source: `scale_rt_capacity()`.
#[must_use]
pub fn scale_rt_capacity(max: u64, used: u64, irq: u64) -> u64 {
    if irq >= max || used >= max {
        return 1;
    }
    (max - used) * (max - irq) / max
}

impl Fair {
    /// What is left of `cpu` for fair tasks. Source: `capacity_of()`.
    pub(super) fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.balance.rqs[cpu.idx()].cpu_capacity
    }

    /// Whether noticeably less is left of `cpu` than it has. Source: `check_cpu_capacity()`.
    pub(super) fn check_cpu_capacity(&self, cpu: CpuId, imbalance_pct: u32) -> bool {
        let orig = u64::from(self.all.capacity(cpu));
        self.capacity_of(cpu) * u64::from(imbalance_pct) < orig * 100
    }

    /// What is left of `cpu` at present, at least 1. Source: `update_cpu_capacity()`.
    fn cpu_capacity(&self, cpu: CpuId) -> u64 {
        scale_rt_capacity(u64::from(self.all.capacity(cpu)), 0, 0).max(1)
    }

    /// Sums up the capacity of the local group of domain `sd` of `cpu`: from the groups of the domain
    /// below, from the CPUs where those overlap, and at the bottom from `dst_cpu`.
    /// Source: `update_group_capacity()`.
    pub(in crate::fair) fn update_group_capacity(
        &mut self,
        world: &World,
        cpu: CpuId,
        sd: usize,
        dst_cpu: CpuId,
    ) {
        let domains = self.domains();
        let domain = &domains.of(cpu)[sd];
        let group = domains.local_group(domain);
        let capacity_id = group.capacity_id as usize;
        let summed = match sd.checked_sub(1).map(|child| &domains.of(cpu)[child]) {
            None => {
                let capacity = self.cpu_capacity(dst_cpu);
                self.balance.rqs[dst_cpu.idx()].cpu_capacity = capacity;
                SgcState { capacity, min_capacity: capacity, max_capacity: capacity, ..EMPTY }
            }
            Some(child) if child.flags.contains(SdFlags::OVERLAP) => {
                sum(group.span.iter().map(|cpu| {
                    let capacity = self.capacity_of(cpu);
                    [capacity; 3]
                }))
            }
            Some(child) => sum(domains.groups_of(child).map(|group| {
                let sgc = &self.balance.sgcs[group.capacity_id as usize];
                [sgc.capacity, sgc.min_capacity, sgc.max_capacity]
            })),
        };
        let interval = u64::from(self.balance.sd(cpu, sd).balance_interval);
        let sgc = &mut self.balance.sgcs[capacity_id];
        *sgc = SgcState { imbalance: sgc.imbalance, ..summed };
        sgc.next_update = world.jiffies() + capacity_interval(world, interval);
    }
}

const EMPTY: SgcState = SgcState {
    capacity: 0,
    min_capacity: u64::MAX,
    max_capacity: 0,
    next_update: 0,
    imbalance: false,
};

/// The sum of the first, the least of the second, the most of the third.
fn sum(parts: impl Iterator<Item = [u64; 3]>) -> SgcState {
    parts.fold(EMPTY, |all, [capacity, min, max]| SgcState {
        capacity: all.capacity + capacity,
        min_capacity: all.min_capacity.min(min),
        max_capacity: all.max_capacity.max(max),
        ..all
    })
}

/// An interval in ms as jiffies, within the limits of a balance.
fn capacity_interval(world: &World, interval_ms: u64) -> u64 {
    let max = world.hz() * world.topology().nr_cpus() as u64 / 10;
    (interval_ms * world.hz()).div_ceil(1000).clamp(1, max)
}
