//! What is left of a CPU for fair tasks, and of a group of CPUs.

use simsched_core::World;
use simsched_topology::{CpuId, SdFlags};

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
    pub(in crate::fair) fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.balance.rqs[cpu.idx()].cpu_capacity
    }

    /// Whether noticeably less is left of `cpu` than it has. Source: `check_cpu_capacity()`.
    pub(super) fn check_cpu_capacity(&self, cpu: CpuId, imbalance_pct: u32) -> bool {
        let orig = u64::from(self.all.capacity(cpu));
        self.capacity_of(cpu) * u64::from(imbalance_pct) < orig * 100
    }

    /// Brings the part of the time that interrupts take on `cpu` to its clock; true if that is not
    /// nothing.
    ///
    /// The kernel does so at each clock update after an interrupt; here the interrupts since the last
    /// call count as if they had been spread evenly.
    /// Source: `update_irq_load_avg()`, `others_have_blocked()`.
    pub(super) fn update_irq_load_avg(&mut self, world: &World, cpu: CpuId) -> bool {
        let (rq, capacity) = (world.rq(cpu), u64::from(self.all.capacity(cpu)));
        let state = &mut self.balance.rqs[cpu.idx()];
        let passed = rq.clock.saturating_sub(state.avg_irq.last_update_time);
        let mut always = state.avg_irq;
        if always.update_load_sum(rq.clock, 1, 1, true) {
            // An interrupt that goes on may have got ahead of the clock.
            let spent = (rq.irq_time - state.irq_time).min(passed);
            state.irq_time += spent;
            state.avg_irq.update_load_sum(rq.clock, 0, 0, false);
            let most = u64::from(always.util_sum - state.avg_irq.util_sum);
            let taken = most * (spent * capacity / 1024) / passed;
            state.avg_irq.util_sum += u32::try_from(taken).expect("at most all");
            state.avg_irq.update_load_avg(1);
            self.all.asked.slices.set_irq_util(cpu, state.avg_irq.util_avg);
        }
        state.avg_irq.util_avg != 0
    }

    /// What is left of `cpu` at present, at least 1. Source: `update_cpu_capacity()`.
    fn update_cpu_capacity(&mut self, cpu: CpuId) -> u64 {
        let max = u64::from(self.all.capacity(cpu));
        let state = &mut self.balance.rqs[cpu.idx()];
        state.cpu_capacity = scale_rt_capacity(max, 0, state.avg_irq.util_avg).max(1);
        state.cpu_capacity
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
        let capacity = match sd.checked_sub(1) {
            None => self.update_cpu_capacity(dst_cpu),
            Some(child) => self.sum_capacity(cpu, child, sd),
        };
        let interval = self.sd_interval(world, cpu, sd, false);
        let domains = self.domains();
        let group = domains.local_group(&domains.of(cpu)[sd]).capacity_id as usize;
        let sgc = &mut self.balance.sgcs[group];
        sgc.capacity = capacity;
        sgc.next_update = world.jiffies() + interval;
    }

    /// The capacity of the local group of domain `sd` of `cpu`, which has a domain below it.
    fn sum_capacity(&self, cpu: CpuId, child: usize, sd: usize) -> u64 {
        let domains = self.domains();
        let [child, domain] = [child, sd].map(|at| &domains.of(cpu)[at]);
        if child.flags.contains(SdFlags::OVERLAP) {
            let span = &domains.local_group(domain).span;
            return span.iter().map(|cpu| self.capacity_of(cpu)).sum();
        }
        let of_group = |id: u32| self.balance.sgcs[id as usize].capacity;
        domains.groups_of(child).map(|group| of_group(group.capacity_id)).sum()
    }
}
