//! Which group is busiest, and whether it is so much busier that tasks should move.

use simsched_core::World;
use simsched_topology::{GroupId, SchedDomain};

use super::imbalance::ImbalanceRule;
use super::{CpuIdleType, LbEnv, SdLbStats, SgLbStats};
use crate::fair::{Fair, GroupType, Version};

impl SgLbStats {
    /// Whether this group is busier than `best`, the busiest so far; of equals the first stays,
    /// unless said otherwise below. Source: `update_sd_pick_busiest()`, machines whose CPUs are alike.
    #[must_use]
    pub fn is_busier_than(&self, best: &SgLbStats, version: Version) -> bool {
        if self.sums.h_nr_running == 0 {
            return false;
        }
        if self.group_type != best.group_type {
            return self.group_type > best.group_type;
        }
        match self.group_type {
            GroupType::Overloaded => self.avg_load > best.avg_load,
            GroupType::Imbalanced => false,
            // No CPU is preferred to another, so the last of equals wins.
            GroupType::AsymPacking => true,
            GroupType::MisfitTask => self.sums.misfit_load >= best.sums.misfit_load,
            // The average is not computed for this type, so it is a tie. Since 6.5 the last group
            // wins, but a core whose threads are busy stays.
            GroupType::FullyBusy if version >= Version::V6_5 => {
                self.avg_load > best.avg_load || (self.avg_load == best.avg_load && !best.is_smt)
            }
            GroupType::FullyBusy => self.avg_load > best.avg_load,
            GroupType::HasSpare => {
                let [this, best] = [&self.sums, &best.sums];
                this.idle_cpus < best.idle_cpus
                    || (this.idle_cpus == best.idle_cpus && this.nr_running > best.nr_running)
            }
        }
    }
}

impl SdLbStats {
    /// Whether the busiest group and the local one differ by enough to do something about it.
    ///
    /// Source: `find_busiest_group()`, Linux 6.1.
    fn is_imbalanced(&mut self, idle: CpuIdleType, imbalance_pct: u32) -> bool {
        let (local, busiest) = (self.local_stat, self.busiest_stat);
        if matches!(
            busiest.group_type,
            GroupType::MisfitTask | GroupType::AsymPacking | GroupType::Imbalanced
        ) {
            return true;
        }
        if local.group_type > busiest.group_type {
            return false;
        }
        if local.group_type == GroupType::Overloaded {
            if local.avg_load >= busiest.avg_load {
                return false;
            }
            self.avg_load = self.total_load * 1024 / self.total_capacity;
            if local.avg_load >= self.avg_load
                || 100 * busiest.avg_load <= u64::from(imbalance_pct) * local.avg_load
            {
                return false;
            }
        }
        let difference = busiest.sums.nr_running.saturating_sub(local.sums.nr_running);
        let spreads = self.prefer_sibling && local.group_type == GroupType::HasSpare;
        if (spreads && difference > 1) || busiest.group_type == GroupType::Overloaded {
            return true;
        }
        idle != CpuIdleType::NotIdle
            && (busiest.sums.weight <= 1
                || local.sums.idle_cpus > busiest.sums.idle_cpus.wrapping_add(1))
            && busiest.sums.h_nr_running != 1
    }
}

impl Fair {
    /// The domain that is balanced.
    pub(super) fn domain(&self, env: &LbEnv) -> &SchedDomain {
        &self.domains().of(env.cpu)[env.sd]
    }

    /// The group from which tasks should be pulled, if there is one; `env` then says how much of
    /// what. Source: `find_busiest_group()`.
    pub(in crate::fair) fn find_busiest_group(
        &mut self,
        world: &World,
        env: &mut LbEnv,
    ) -> Option<GroupId> {
        let mut sds = self.update_sd_lb_stats(world, env);
        env.imbalance = 0;
        let busiest = sds.busiest?;
        let sd = self.domain(env);
        if !sds.is_imbalanced(env.idle, sd.imbalance_pct) {
            return None;
        }
        let rule = ImbalanceRule {
            flags: sd.flags,
            span_weight: sd.weight,
            imb_numa_nr: sd.imb_numa_nr,
            numa: self.features.balance_imbalance(),
            version: self.features.version,
            idle: env.idle,
        };
        (env.migration_type, env.imbalance) = rule.calculate(&mut sds);
        (env.imbalance != 0).then_some(busiest)
    }
}
