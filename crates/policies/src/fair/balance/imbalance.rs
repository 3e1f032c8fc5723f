//! How much is to be moved from the busiest group to the local one, and of what.

use simsched_topology::SdFlags;

use super::{CpuIdleType, MigrationType, SdLbStats, SgLbStats};
use crate::fair::GroupType;
use crate::fair::features::{BalanceImbalance, Surplus, Version};

/// What the amount depends on beside the groups: the domain, the kernel, and what the CPU was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImbalanceRule {
    /// The flags of the domain.
    pub flags: SdFlags,
    /// The number of its CPUs.
    pub span_weight: u32,
    /// How many tasks its NUMA nodes may have too many.
    pub imb_numa_nr: u32,
    /// When they may.
    pub numa: BalanceImbalance,
    /// Which kernel.
    pub version: Version,
    /// What the destination was doing.
    pub idle: CpuIdleType,
}

impl ImbalanceRule {
    /// What is to be moved, and how much of it; 0 leaves all as it is. The averages that the last
    /// two rows need are computed and kept in `sds`.
    ///
    /// ```text
    /// local      busiest               type   amount
    /// any        misfit (asymmetric)   misfit 1
    /// any        misfit                load   the load of the task on the reduced CPU
    /// any        asym packing          task   all of the busiest
    /// any        SMT balance           task   1
    /// any        LLC balance           LLC    1
    /// any        imbalanced            task   1
    /// has spare  above fully busy,     util   capacity - util of local; 0 when not busy: 1 task
    ///            LLCs differ
    /// has spare  any, prefer_sibling   task   (nr_running of busiest - of local) / 2; since 6.6 with
    ///            or of one CPU                regard to their cores
    /// has spare  any                   task   (idle_cpus of local - of busiest) / 2
    /// any        overloaded            load   what brings one of the two to the average
    /// ```
    ///
    /// Source: `calculate_imbalance()`, Linux 6.1.192.
    pub fn calculate(&self, sds: &mut SdLbStats) -> (MigrationType, i64) {
        let (local, busiest) = (&sds.local_stat, &sds.busiest_stat);
        match busiest.group_type {
            GroupType::MisfitTask if self.flags.contains(SdFlags::ASYM_CPUCAPACITY) => {
                (MigrationType::Misfit, 1)
            }
            GroupType::MisfitTask => (MigrationType::Load, signed(busiest.sums.misfit_load)),
            GroupType::AsymPacking => (MigrationType::Task, i64::from(busiest.sums.h_nr_running)),
            GroupType::SmtBalance | GroupType::Imbalanced => (MigrationType::Task, 1),
            GroupType::LlcBalance => (MigrationType::LlcTask, 1),
            _ if local.group_type == GroupType::HasSpare => {
                let is_above = busiest.group_type > GroupType::FullyBusy;
                if is_above && !self.flags.contains(SdFlags::SHARE_LLC) {
                    self.fill(local)
                } else {
                    (MigrationType::Task, self.spread(sds))
                }
            }
            _ => (MigrationType::Load, self.level(sds)),
        }
    }

    /// The spare capacity of the local group; when that is used up, a task for a CPU that is idle.
    fn fill(&self, local: &SgLbStats) -> (MigrationType, i64) {
        let spare = local.sums.capacity.saturating_sub(local.sums.util);
        if spare == 0 && self.idle != CpuIdleType::NotIdle {
            return (MigrationType::Task, 1);
        }
        (MigrationType::Util, signed(spare))
    }

    /// Half the difference in tasks or in idle CPUs, less what NUMA nodes may have too many.
    fn spread(&self, sds: &SdLbStats) -> i64 {
        let (local, busiest) = (&sds.local_stat.sums, &sds.busiest_stat.sums);
        let difference = if busiest.weight == 1 || sds.prefer_sibling {
            self.sibling_imbalance(&sds.local_stat, &sds.busiest_stat)
        } else {
            // A difference of unsigned numbers: no group should be here that has fewer idle CPUs.
            local.idle_cpus.wrapping_sub(busiest.idle_cpus)
        };
        if !self.flags.contains(SdFlags::NUMA) {
            return i64::from(difference) >> 1;
        }
        self.numa.tasks_to_move(Surplus {
            // Since 6.0 the whole difference is handed over, in a signed int.
            imbalance: match self.numa {
                BalanceImbalance::V6_0 => i64::from(difference.cast_signed()),
                _ => i64::from(difference),
            },
            local_running: local.nr_running,
            busiest_running: busiest.nr_running,
            span_weight: self.span_weight,
            imb_numa_nr: self.imb_numa_nr,
        })
    }

    /// How many tasks more the busiest group has. Since 6.6, by the cores of the two groups, rounded, and
    /// at least 2 where the local one has none; and nothing to a CPU that is busy.
    ///
    /// ```text
    /// (2 * (cores(local) * nr(busiest) - cores(busiest) * nr(local)) + cores) / cores
    /// ```
    ///
    /// with the cores of both. Source: `sibling_imbalance()`.
    pub(super) fn sibling_imbalance(&self, local: &SgLbStats, busiest: &SgLbStats) -> u32 {
        let [ours, theirs] = [local, busiest].map(|group| group.sums.nr_running);
        if self.version < Version::V6_6 {
            return theirs.saturating_sub(ours);
        }
        if self.idle == CpuIdleType::NotIdle || theirs == 0 {
            return 0;
        }
        let both = local.cores + busiest.cores;
        if local.cores == busiest.cores {
            return theirs.saturating_sub(ours);
        }
        let more = (local.cores * theirs).saturating_sub(busiest.cores * ours);
        let imbalance = (2 * more + both) / both;
        if imbalance <= 1 && ours == 0 && theirs > 1 { 2 } else { imbalance }
    }

    /// The load that brings the busiest group down to the average of the domain, or the local one
    /// up to it, whichever is less.
    ///
    /// ```text
    /// min((avg(busiest) - avg) * capacity(busiest), (avg - avg(local)) * capacity(local)) / 1024
    /// ```
    ///
    /// The products are unsigned: a group on the wrong side of the average does not limit the amount.
    /// For the local one that was a mistake, of which 5.16 did not know.
    /// Source: also "sched/fair: Fix imbalance overflow", 6.3.
    fn level(&self, sds: &mut SdLbStats) -> i64 {
        let busiest = sds.busiest_stat;
        if sds.local_stat.group_type < GroupType::Overloaded {
            // The local group was not overloaded so far, and so nobody has computed these.
            let local = &mut sds.local_stat;
            local.avg_load = local.sums.avg_load();
            if local.avg_load >= busiest.avg_load {
                return 0;
            }
            sds.avg_load = sds.total_load * 1024 / sds.total_capacity;
            if local.avg_load >= sds.avg_load && self.version >= Version::V6_1 {
                return 0;
            }
        }
        let (local, avg) = (sds.local_stat, sds.avg_load);
        let excess = busiest.avg_load.wrapping_sub(avg).wrapping_mul(busiest.sums.capacity);
        let room = avg.wrapping_sub(local.avg_load).wrapping_mul(local.sums.capacity);
        signed(excess.min(room) / 1024)
    }
}

fn signed(amount: u64) -> i64 {
    amount.cast_signed()
}
