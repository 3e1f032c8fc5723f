//! `Version`: whose fair class, and what each differs in from the default.

/// Which kernel's fair class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Linux 5.16: proportional idle scans, hand-off to other LLCs only, a quarter of a NUMA
    /// domain filled before a fork leaves the node.
    V5_16,
    /// Linux 6.1.192, as Debian has it: with what was carried back into the long-term kernel.
    #[default]
    V6_1,
    /// Linux 6.5, the last one without EEVDF.
    V6_5,
}

/// One thing in which a version differs from the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it does otherwise, in one line.
    pub what: &'static str,
    /// Where the default got its way from, or the version its own.
    pub source: &'static str,
}

macro_rules! differences {
    ($($what:literal, $source:literal;)*) => {
        &[$(Difference { what: $what, source: $source },)*]
    };
}

const V5_16: &[Difference] = differences! {
    "an idle scan is limited by how long the waker's CPU tends to be idle, not by how busy the LLC \
     is: SIS_PROP in place of SIS_UTIL",
    "\"sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of util_avg\", 6.0";
    "wakees are handed over to other LLCs only, and not to any idle CPU",
    "\"sched: Remove the limitation of WF_ON_CPU on wakelist if wakee cpu is idle\", 6.0";
    "a task that wakes up elsewhere is not aged by the idle time of its old CPU",
    "\"sched/fair: Decay task PELT values during wakeup migration\", 6.0";
    "a fork stays in its node while fewer tasks run there than a quarter of the NUMA domain's CPUs: \
     numa_imbalance=5.16",
    "\"sched/fair: Adjust the allowed NUMA imbalance when SD_NUMA spans multiple LLCs\", 5.18";
    "a balance leaves a pair on the other node by that limit, which it asks of the busiest group",
    "\"sched/fair: Improve consistency of allowed NUMA balance calculations\", 5.18";
    "it asks that of half of the difference, and not of the whole",
    "\"sched/numa: Apply imbalance limitations consistently\", 6.0";
    "a newly idle CPU balances on though a task has come to it",
    "\"sched: Allow newidle balancing to bail out of load_balance\", 6.0";
    "one task on a CPU that interrupts keep busy is no reason to pull it",
    "\"sched/fair: fix case with reduced capacity CPU\", 6.0";
    "a local group above the average load pulls as if it were far below",
    "\"sched/fair: Fix imbalance overflow\", 6.3 and carried back";
    "a newly idle CPU balances whenever its idle time pays for it: NI_RANDOM is off",
    "kernel/sched/features.h, 6.1.192, carried back from 6.19";
};

const V6_5: &[Difference] = differences! {
    "whether tasks prefer to spread over siblings is asked of the busiest group, not of the child \
     domain",
    "\"sched/fair: Use the busiest group to set prefer_sibling\", 6.5";
    "of fully busy groups the last one is the busiest, but a core with busy threads stays it; in 6.1 \
     the first one",
    "\"sched/fair: Keep a fully_busy SMT sched group as busiest\", 6.5";
    "to pull utilization, tasks that wait on a queue count as if they ran",
    "\"sched/fair, cpufreq: Introduce 'runnable boosting'\", 6.5";
    "a CPU that queues what was handed to it does not look idle meanwhile",
    "\"sched: Clear ttwu_pending after enqueue_task()\", 6.2";
    "no slice is longer than latency_ns at the tick, however light the other tasks are",
    "\"sched/fair: Limit sched slice duration\", 6.3";
    "a balance looks beyond its limit of tasks until one may move, and at none twice",
    "\"sched/fair: Make sure to try to detach at least one movable task\", 6.1, not in 6.1.192";
    "a newly idle CPU balances whenever its idle time pays for it: NI_RANDOM is off",
    "kernel/sched/features.h, 6.1.192, carried back from 6.19";
};

impl Version {
    /// All versions, from old to new.
    pub const ALL: [Version; 3] = [Version::V5_16, Version::V6_1, Version::V6_5];

    /// The number, such as `6.1`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Version::V5_16 => "5.16",
            Version::V6_1 => "6.1",
            Version::V6_5 => "6.5",
        }
    }

    /// One line for people.
    #[must_use]
    pub const fn doc(self) -> &'static str {
        match self {
            Version::V5_16 => "Linux 5.16",
            Version::V6_1 => "Linux 6.1.192 as Debian has it, with what was carried back into it",
            Version::V6_5 => "Linux 6.5, the last one before EEVDF",
        }
    }

    /// The version of this number.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.name() == name)
    }

    /// In what it differs from the default, features and settings included.
    #[must_use]
    pub const fn differences(self) -> &'static [Difference] {
        match self {
            Version::V5_16 => V5_16,
            Version::V6_1 => &[],
            Version::V6_5 => V6_5,
        }
    }
}
