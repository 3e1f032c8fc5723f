//! Which runqueue of the busiest group gives tasks.

use simsched_core::World;
use simsched_topology::{CpuId, GroupId};

use super::{FbqType, LbEnv, MigrationType};
use crate::fair::{Fair, Version};

impl FbqType {
    /// The class of a group or a runqueue with so many tasks: without NUMA balancing all of them are
    /// regular. Source: `fbq_classify_group()`, `fbq_classify_rq()`.
    pub(super) fn of(nr_running: u32) -> FbqType {
        if nr_running > 0 { FbqType::Regular } else { FbqType::All }
    }
}

/// The best runqueue so far: its amount, and the capacity to which that is to be seen in relation.
#[derive(Clone, Copy)]
struct Busiest {
    cpu: Option<CpuId>,
    amount: u64,
    capacity: u64,
}

impl Fair {
    /// The runqueue of `group` that has most of what is to be moved; of equals the first, and none
    /// if all have nothing. Source: `find_busiest_queue()`.
    pub(in crate::fair) fn find_busiest_queue(
        &self,
        world: &World,
        env: &LbEnv,
        group: GroupId,
    ) -> Option<CpuId> {
        let span = &self.domains().group(group).span;
        let mut busiest = Busiest { cpu: None, amount: 0, capacity: 1 };
        for cpu in span.iter().filter(|&cpu| env.cpus.contains(cpu)) {
            let nr_running = self.h_nr(self.all.root(cpu));
            if FbqType::of(world.rq(cpu).nr_running) > env.fbq_type || nr_running == 0 {
                continue;
            }
            let Some((amount, capacity)) = self.to_move(env, cpu, nr_running) else { continue };
            if amount * busiest.capacity > busiest.amount * capacity {
                busiest = Busiest { cpu: Some(cpu), amount, capacity };
            }
        }
        busiest.cpu
    }

    /// How much of what is to be moved `cpu` has, and the capacity to which that is to be seen in
    /// relation; `None` if nothing of it could be moved.
    fn to_move(&self, env: &LbEnv, cpu: CpuId, nr_running: u32) -> Option<(u64, u64)> {
        match env.migration_type {
            MigrationType::Load => {
                let load = self.all.root(cpu).avg.load_avg;
                let imbalance_pct = self.domain(env).imbalance_pct;
                let is_too_heavy = nr_running == 1
                    && load > env.imbalance.cast_unsigned()
                    && !self.check_cpu_capacity(cpu, imbalance_pct);
                (!is_too_heavy).then(|| (load, self.capacity_of(cpu)))
            }
            MigrationType::Util => (nr_running > 1).then(|| (self.cpu_util_to_move(cpu), 1)),
            MigrationType::Task => Some((u64::from(nr_running), 1)),
            MigrationType::LlcTask => Some((u64::from(self.nr_pref_dst_llc(env, cpu)), 1)),
            // No task is too big for a CPU where all are alike.
            MigrationType::Misfit => None,
        }
    }

    /// Since 6.5 tasks that wait count as if they ran. Source: `cpu_util_cfs_boost()`.
    fn cpu_util_to_move(&self, cpu: CpuId) -> u64 {
        let root = self.all.root(cpu);
        let boost = if self.features.version >= Version::V6_5 { root.avg.runnable_avg } else { 0 };
        root.util().max(boost).min(u64::from(self.all.capacity(cpu)))
    }
}
