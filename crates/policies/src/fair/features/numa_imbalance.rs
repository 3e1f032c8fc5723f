//! How much imbalance between NUMA nodes a fork tolerates before the child leaves the node, and a
//! balance before it moves tasks.

use simsched_topology::NumaImbalance;

/// The rule of a kernel or of a draft, for two groups that both have idle CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkImbalance {
    /// Up to 5.17: while less than a quarter of the domain's CPUs run tasks here.
    V5_16,
    /// Drafts of December 2021: while no more than `imb_numa_nr` run here, the child not counted.
    V4,
    /// 5.18, the fix of the last draft, and the draft of 2021-12-01 by comparing with less than:
    /// while no more than `imb_numa_nr` run here, the child counted.
    V5_18,
    /// 6.0 and later: while that holds, and the nodes differ by at most two idle CPUs; of a
    /// pinned task's node only the CPUs on which it may run count.
    V6_0,
}

/// What the rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// Tasks that run in the local group.
    pub local_running: u32,
    /// The difference of the two groups in idle CPUs.
    pub idle_difference: u32,
    /// CPUs in the domain.
    pub span_weight: u32,
    /// CPUs of the local group on which the task may run.
    pub local_allowed: u32,
    /// `imb_numa_nr` of the domain.
    pub imb_numa_nr: u32,
}

/// The pair of communicating tasks that may stay together. Source: `NUMA_IMBALANCE_MIN`.
const NUMA_IMBALANCE_MIN: i64 = 2;

/// The imbalance that is left to correct: none if it is small and few tasks run.
/// Source: `adjust_numa_imbalance()` of 6.0.
#[must_use]
pub const fn adjust_numa_imbalance(imbalance: i64, dst_running: i64, imb_numa_nr: i64) -> i64 {
    if dst_running <= imb_numa_nr && imbalance <= NUMA_IMBALANCE_MIN { 0 } else { imbalance }
}

impl From<NumaImbalance> for ForkImbalance {
    /// The rule that came with a definition of `imb_numa_nr`.
    fn from(numa: NumaImbalance) -> ForkImbalance {
        match numa {
            NumaImbalance::V5_16 => ForkImbalance::V5_16,
            NumaImbalance::V4 | NumaImbalance::V4_1 => ForkImbalance::V4,
            NumaImbalance::V3
            | NumaImbalance::V4_1Fix
            | NumaImbalance::V4_2
            | NumaImbalance::V5_18 => ForkImbalance::V5_18,
            _ => ForkImbalance::V6_0,
        }
    }
}

impl ForkImbalance {
    /// All rules, from old to new.
    pub const ALL: [ForkImbalance; 4] =
        [ForkImbalance::V5_16, ForkImbalance::V4, ForkImbalance::V5_18, ForkImbalance::V6_0];

    /// The name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ForkImbalance::V5_16 => "5.16",
            ForkImbalance::V4 => "v4",
            ForkImbalance::V5_18 => "5.18",
            ForkImbalance::V6_0 => "6.0",
        }
    }

    /// The rule of this name; a kernel's number may have a `v` before it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ForkImbalance> {
        let number = name.strip_prefix('v').filter(|number| number.contains('.'));
        let name = number.unwrap_or(name);
        ForkImbalance::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// Whether a child stays in the local group.
    /// Source: `find_idlest_group()`, `allow_numa_imbalance()`.
    #[must_use]
    pub fn allows(self, at: Imbalance) -> bool {
        match self {
            ForkImbalance::V5_16 => at.local_running < at.span_weight / 4,
            ForkImbalance::V4 => at.local_running <= at.imb_numa_nr,
            ForkImbalance::V5_18 => at.local_running < at.imb_numa_nr,
            ForkImbalance::V6_0 => {
                let limit = at.imb_numa_nr.min(at.local_allowed);
                let difference = i64::from(at.idle_difference);
                adjust_numa_imbalance(difference, i64::from(at.local_running) + 1, i64::from(limit))
                    == 0
            }
        }
    }
}

/// The rule of a kernel or of a draft for the tasks that a balance moves between NUMA nodes, when
/// the local group has CPUs to spare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceImbalance {
    /// Up to 5.17: a pair may stay while the busiest group runs fewer tasks than a quarter of the
    /// CPUs.
    V5_16,
    /// The draft of 2021-12-01: while the busiest group runs fewer tasks than `imb_numa_nr`.
    V3,
    /// The draft of 2021-12-10: while the busiest group runs no more tasks than `imb_numa_nr`.
    V4,
    /// 5.18: while the local group, with one task more, runs no more than `imb_numa_nr`.
    V5_18,
    /// 6.0 and later: the same, asked of the whole difference instead of half of it.
    V6_0,
}

/// What the rule looks at: two groups of a NUMA domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surplus {
    /// The whole difference between the groups, in tasks or in idle CPUs, not halved.
    pub imbalance: i64,
    /// Tasks that run in the local group.
    pub local_running: u32,
    /// Tasks that run in the busiest group.
    pub busiest_running: u32,
    /// CPUs in the domain.
    pub span_weight: u32,
    /// `imb_numa_nr` of the domain.
    pub imb_numa_nr: u32,
}

impl From<NumaImbalance> for BalanceImbalance {
    /// The rule that came with a definition of `imb_numa_nr`.
    fn from(numa: NumaImbalance) -> BalanceImbalance {
        match numa {
            NumaImbalance::V5_16 => BalanceImbalance::V5_16,
            NumaImbalance::V3 | NumaImbalance::V4_2 => BalanceImbalance::V3,
            NumaImbalance::V4 | NumaImbalance::V4_1 | NumaImbalance::V4_1Fix => {
                BalanceImbalance::V4
            }
            NumaImbalance::V5_18 => BalanceImbalance::V5_18,
            _ => BalanceImbalance::V6_0,
        }
    }
}

impl BalanceImbalance {
    /// How many tasks a balance in a NUMA domain moves: half the difference, or none while the
    /// rule lets a pair stay. In other domains it is half the difference in all kernels.
    /// Source: `calculate_imbalance()`, `adjust_numa_imbalance()`.
    #[must_use]
    pub const fn tasks_to_move(self, at: Surplus) -> i64 {
        let half = at.imbalance >> 1;
        let may_stay = self.allows(at);
        match self {
            BalanceImbalance::V6_0 if may_stay && at.imbalance <= NUMA_IMBALANCE_MIN => 0,
            BalanceImbalance::V6_0 => half,
            _ if may_stay && half <= NUMA_IMBALANCE_MIN => 0,
            _ => half,
        }
    }

    /// Whether so few tasks run that a small imbalance is tolerated.
    /// Source: `allow_numa_imbalance()`; since 6.0 the first test of `adjust_numa_imbalance()`.
    const fn allows(self, at: Surplus) -> bool {
        match self {
            BalanceImbalance::V5_16 => at.busiest_running < at.span_weight / 4,
            BalanceImbalance::V3 => at.busiest_running < at.imb_numa_nr,
            BalanceImbalance::V4 => at.busiest_running <= at.imb_numa_nr,
            BalanceImbalance::V5_18 | BalanceImbalance::V6_0 => at.local_running < at.imb_numa_nr,
        }
    }
}
