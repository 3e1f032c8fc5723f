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
            GroupType::LlcBalance => self.sums.nr_pref_dst_llc > best.sums.nr_pref_dst_llc,
            GroupType::SmtBalance if self.sums.idle_cpus != 0 || best.sums.idle_cpus != 0 => {
                self.has_less_spare(best)
            }
            // No CPU is preferred to another, so the last of equals wins.
            GroupType::AsymPacking => true,
            GroupType::MisfitTask if version >= Version::V6_12 => {
                self.sums.misfit_load > best.sums.misfit_load
            }
            GroupType::MisfitTask => self.sums.misfit_load >= best.sums.misfit_load,
            // The average is not computed for this type, so it is a tie. Since 6.5 the last group
            // wins, but a core whose threads are busy stays.
            GroupType::FullyBusy | GroupType::SmtBalance if version >= Version::V6_5 => {
                self.avg_load > best.avg_load || (self.avg_load == best.avg_load && !best.is_smt)
            }
            GroupType::FullyBusy | GroupType::SmtBalance => self.avg_load > best.avg_load,
            // Of a core and other CPUs the core is busier if it has two tasks (6.6 and later).
            GroupType::HasSpare if version >= Version::V6_6 && self.is_unlike(best) => {
                !self.is_smt || self.sums.h_nr_running > 1
            }
            GroupType::HasSpare => self.has_less_spare(best),
        }
    }

    fn has_less_spare(&self, best: &SgLbStats) -> bool {
        let [this, best] = [&self.sums, &best.sums];
        this.idle_cpus < best.idle_cpus
            || (this.idle_cpus == best.idle_cpus && this.nr_running > best.nr_running)
    }

    /// Whether one of the two groups is a core and the other is not; the idlest of all is no group.
    /// Source: `smt_vs_nonsmt_groups()`.
    fn is_unlike(&self, other: &SgLbStats) -> bool {
        other.sums.weight > 0 && self.is_smt != other.is_smt
    }
}

impl SdLbStats {
    /// Whether the busiest group and the local one differ by enough to do something about it.
    ///
    /// Source: `find_busiest_group()`, Linux 6.1; `sched_balance_find_src_group()`, 6.12.
    fn is_imbalanced(&mut self, rule: &ImbalanceRule, imbalance_pct: u32) -> bool {
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
        let difference = rule.sibling_imbalance(&local, &busiest);
        let spreads = self.prefer_sibling && local.group_type == GroupType::HasSpare;
        let gathers = busiest.group_type == GroupType::LlcBalance;
        if (spreads && (difference > 1 || gathers)) || busiest.group_type == GroupType::Overloaded {
            return true;
        }
        if rule.idle == CpuIdleType::NotIdle {
            return false;
        }
        if busiest.group_type == GroupType::SmtBalance && local.is_unlike(&busiest) {
            return true;
        }
        (busiest.sums.weight <= 1 || local.sums.idle_cpus > busiest.sums.idle_cpus.wrapping_add(1))
            && busiest.sums.h_nr_running != 1
    }
}

impl Fair {
    /// The domain that is balanced.
    #[inline]
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
        let rule = ImbalanceRule {
            flags: sd.flags,
            span_weight: sd.weight,
            imb_numa_nr: sd.imb_numa_nr,
            numa: self.features.balance_imbalance(),
            version: self.features.version,
            idle: env.idle,
        };
        if !sds.is_imbalanced(&rule, sd.imbalance_pct) {
            return None;
        }
        (env.migration_type, env.imbalance) = rule.calculate(&mut sds);
        (env.imbalance != 0).then_some(busiest)
    }
}
