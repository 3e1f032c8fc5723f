//! `Features`: what of a kernel is switched on and off by name, and what takes one of several words.

mod differences;
mod grouping;
mod numa_imbalance;
mod switches;
mod version;

pub use differences::Difference;
pub use grouping::Grouping;
pub use numa_imbalance::{
    BalanceImbalance, ForkImbalance, Imbalance, Surplus, adjust_numa_imbalance,
};
pub use switches::{CHOICES, Choice, FLAGS, FeatureFlag};
pub use version::Version;

use simsched_topology::NumaImbalance;

use super::group::CgroupMode;

/// Switches of the fair class, named as in `kernel/sched/features.h`, and rules that are chosen by a word. Patches,
/// with their settings, are apart ([`Patches`](super::Patches)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// `GENTLE_FAIR_SLEEPERS`
    pub gentle_fair_sleepers: bool,
    /// `START_DEBIT`
    pub start_debit: bool,
    /// `NEXT_BUDDY`
    pub next_buddy: bool,
    /// `LAST_BUDDY`
    pub last_buddy: bool,
    /// `WAKEUP_PREEMPTION`
    pub wakeup_preemption: bool,
    /// `ALT_PERIOD`
    pub alt_period: bool,
    /// `BASE_SLICE`
    pub base_slice: bool,
    /// `SIS_UTIL`
    pub sis_util: bool,
    /// `SIS_PROP`
    pub sis_prop: bool,
    /// `WA_IDLE`
    pub wa_idle: bool,
    /// `WA_WEIGHT`
    pub wa_weight: bool,
    /// `WA_BIAS`
    pub wa_bias: bool,
    /// `UTIL_EST`
    pub util_est: bool,
    /// `UTIL_EST_FASTUP`
    pub util_est_fastup: bool,
    /// `TTWU_QUEUE`
    pub ttwu_queue: bool,
    /// `CACHE_HOT_BUDDY`
    pub cache_hot_buddy: bool,
    /// `ATTACH_AGE_LOAD`
    pub attach_age_load: bool,
    /// `CONFIG_PREEMPTION`
    pub preemption: bool,
    /// `NI_RANDOM`
    pub ni_random: bool,
    /// `PLACE_LAG`
    pub place_lag: bool,
    /// `PLACE_DEADLINE_INITIAL`
    pub place_deadline_initial: bool,
    /// `PLACE_REL_DEADLINE`
    pub place_rel_deadline: bool,
    /// `RUN_TO_PARITY`
    pub run_to_parity: bool,
    /// `PREEMPT_SHORT`
    pub preempt_short: bool,
    /// `PICK_BUDDY`
    pub pick_buddy: bool,
    /// `DELAY_DEQUEUE`
    pub delay_dequeue: bool,
    /// `DELAY_ZERO`
    pub delay_zero: bool,
    /// `NI_RATE`: a newly idle CPU balances a domain that is rarely tried (7.2 and later).
    pub ni_rate: bool,
    /// `HRTICK`: a slice ends when it is used up, not at the next tick (7.2 and later).
    pub hrtick: bool,
    /// `cgroup_mode`, how groups weigh (7.3).
    pub cgroup_mode: CgroupMode,
    /// In which group the workload is.
    pub grouping: Grouping,
    /// How `imb_numa_nr` of the domains is computed.
    pub numa_imbalance: NumaImbalance,
    /// How much imbalance between NUMA nodes a fork tolerates; `None` is the rule that came with
    /// `numa_imbalance`.
    pub fork_imbalance: Option<ForkImbalance>,
    /// Which kernel they belong to.
    pub version: Version,
    /// A task that wakes up elsewhere is aged by the time for which its old CPU has been idle
    /// (6.0 and later).
    pub migrate_se_pelt_lag: bool,
}

impl Default for Features {
    fn default() -> Features {
        Features::of(Version::default())
    }
}

impl Features {
    /// What a kernel has by default.
    #[must_use]
    pub const fn of(version: Version) -> Features {
        let since_6_0 = !matches!(version, Version::V5_16);
        let since_6_12 = version as u8 >= Version::V6_12 as u8;
        Features {
            gentle_fair_sleepers: true,
            start_debit: true,
            next_buddy: false,
            last_buddy: !version.is_eevdf(),
            wakeup_preemption: true,
            alt_period: true,
            base_slice: true,
            sis_util: since_6_0,
            sis_prop: !since_6_0,
            wa_idle: true,
            wa_weight: true,
            wa_bias: true,
            util_est: true,
            util_est_fastup: true,
            ttwu_queue: true,
            cache_hot_buddy: true,
            attach_age_load: true,
            preemption: true,
            ni_random: matches!(version, Version::V6_1) || since_6_12,
            place_lag: true,
            place_deadline_initial: true,
            place_rel_deadline: since_6_12,
            run_to_parity: true,
            preempt_short: since_6_12,
            pick_buddy: since_6_12,
            delay_dequeue: since_6_12,
            delay_zero: since_6_12,
            ni_rate: version.is_exact(),
            hrtick: version.is_exact(),
            cgroup_mode: CgroupMode::Concur,
            grouping: Grouping::ROOT,
            numa_imbalance: if since_6_0 { NumaImbalance::Merged } else { NumaImbalance::V5_16 },
            fork_imbalance: None,
            version,
            migrate_se_pelt_lag: since_6_0,
        }
    }

    /// The rule by which a fork leaves its NUMA node.
    #[must_use]
    pub fn fork_imbalance(&self) -> ForkImbalance {
        self.fork_imbalance.unwrap_or_else(|| self.numa_imbalance.into())
    }

    /// The rule for the number of tasks that a balance moves between NUMA nodes.
    #[must_use]
    pub fn balance_imbalance(&self) -> BalanceImbalance {
        self.numa_imbalance.into()
    }
}
