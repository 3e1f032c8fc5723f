//! How much imbalance between NUMA nodes a fork tolerates before the child leaves the node.

use simsched_topology::NumaImbalance;

/// The rule of a kernel or of a draft, for two groups that both have idle CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkImbalance {
    /// Up to 5.17: while less than a quarter of the domain's CPUs run tasks here.
    V5_16,
    /// Drafts of December 2021: while no more than `imb_numa_nr` run here, the child not counted.
    V4,
    /// 5.18: while no more than `imb_numa_nr` run here, the child counted.
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
            NumaImbalance::V3 | NumaImbalance::V4 | NumaImbalance::V4_1 => ForkImbalance::V4,
            NumaImbalance::V5_18 => ForkImbalance::V5_18,
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
            ForkImbalance::V5_16 => "v5.16",
            ForkImbalance::V4 => "v4",
            ForkImbalance::V5_18 => "v5.18",
            ForkImbalance::V6_0 => "v6.0",
        }
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
