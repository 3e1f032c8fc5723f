//! The features by name: what can be switched, and what takes one of several words.

use simsched_topology::NumaImbalance;

use super::super::group::CgroupMode;
use super::{Features, ForkImbalance, Grouping, Version};

/// A switch as it is listed and set.
#[derive(Clone, Copy, Debug)]
pub struct FeatureFlag {
    /// Its name.
    pub key: &'static str,
    /// What it does when it is on, in one line.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    field: fn(&mut Features) -> &mut bool,
}

impl FeatureFlag {
    /// Whether it is on.
    #[must_use]
    pub fn get(&self, features: &Features) -> bool {
        *(self.field)(&mut features.clone())
    }

    /// Switches it.
    pub fn set(&self, features: &mut Features, on: bool) {
        *(self.field)(features) = on;
    }

    /// Whether the discipline of this version has it.
    #[must_use]
    pub fn is_of(&self, version: Version) -> bool {
        !(if version.is_eevdf() { OF_CFS } else { OF_EEVDF }).contains(&self.key)
    }
}

/// Switches that went with CFS.
const OF_CFS: &[&str] = &[
    "GENTLE_FAIR_SLEEPERS",
    "START_DEBIT",
    "LAST_BUDDY",
    "ALT_PERIOD",
    "BASE_SLICE",
    "SIS_PROP",
    "UTIL_EST_FASTUP",
];

/// Switches that came with EEVDF.
const OF_EEVDF: &[&str] = &[
    "PLACE_LAG",
    "PLACE_DEADLINE_INITIAL",
    "PLACE_REL_DEADLINE",
    "RUN_TO_PARITY",
    "PREEMPT_SHORT",
    "PICK_BUDDY",
    "DELAY_DEQUEUE",
    "DELAY_ZERO",
    "HRTICK",
    "NI_RATE",
];

/// A choice among words as it is listed and set.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Its name.
    pub key: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The words.
    pub values: &'static [&'static str],
    get: fn(&Features) -> &'static str,
    set: fn(&mut Features, &str) -> Option<()>,
}

impl Choice {
    /// The word that holds.
    #[must_use]
    pub fn get(&self, features: &Features) -> &'static str {
        (self.get)(features)
    }

    /// Sets it; false if it does not know the word.
    pub fn set(&self, features: &mut Features, value: &str) -> bool {
        (self.set)(features, value).is_some()
    }
}

/// All choices.
pub const CHOICES: &[Choice] = &[
    Choice {
        key: "numa_imbalance",
        doc: "how many tasks a NUMA node may have too many (imb_numa_nr of its domains)",
        source: "M. Gorman, drafts of December 2021; Linux 5.16, 5.18, 5.19",
        values: &["5.16", "v3", "v4", "v4.1", "v4.1fix", "v4.2", "5.18", "merged"],
        get: |features| features.numa_imbalance.name(),
        set: |features, value| {
            NumaImbalance::from_name(value).map(|rule| features.numa_imbalance = rule)
        },
    },
    Choice {
        key: "fork_imbalance",
        doc: "the rule by which a fork leaves its NUMA node; by default that of numa_imbalance",
        source: "find_idlest_group(), Linux 5.16, 5.18, 6.0; drafts of December 2021",
        values: &["5.16", "v4", "5.18", "6.0"],
        get: |features| features.fork_imbalance().name(),
        set: |features, value| {
            ForkImbalance::from_name(value).map(|rule| features.fork_imbalance = Some(rule))
        },
    },
    Choice {
        key: "group",
        doc: "the task group of all tasks of the workload: the root, one below it (container), or one \
              that many levels below it",
        source: "kernel/sched/fair.c, Linux 6.1, CONFIG_FAIR_GROUP_SCHED",
        values: Grouping::VALUES,
        get: |features| features.grouping.name(),
        set: |features, value| {
            Grouping::from_name(value).map(|grouping| features.grouping = grouping)
        },
    },
    Choice {
        key: "cgroup_mode",
        doc: "what a task group weighs on a CPU (7.3 and later): its shares (up), or of its shares (smp), of those of \
              as many CPUs as it has runnable tasks (concur), of those of all CPUs up to nice -20 (max), or of its \
              shares times its runnable tasks (tasks) the part by load; before 7.3 it is smp",
        source: "calc_group_shares(), Linux 7.3",
        values: CgroupMode::VALUES,
        get: |features| features.cgroup_mode.name(),
        set: |features, value| CgroupMode::from_name(value).map(|mode| features.cgroup_mode = mode),
    },
];

macro_rules! flags {
    ($($key:literal $field:ident: $doc:literal, $source:literal;)*) => {
        /// All switches.
        pub const FLAGS: &[FeatureFlag] = &[$(FeatureFlag {
            key: $key,
            doc: $doc,
            source: $source,
            field: |features| &mut features.$field,
        },)*];
    };
}

flags! {
    "GENTLE_FAIR_SLEEPERS" gentle_fair_sleepers:
        "a sleeper gets half a latency of credit instead of a whole one",
        "kernel/sched/features.h, Linux 6.1";
    "START_DEBIT" start_debit:
        "a new task starts one slice behind",
        "kernel/sched/features.h, Linux 6.1";
    "NEXT_BUDDY" next_buddy:
        "a wakee is preferred at the next pick even if it does not preempt",
        "kernel/sched/features.h, Linux 6.1";
    "LAST_BUDDY" last_buddy:
        "a task preempted by a wakeup on a crowded queue is preferred afterwards",
        "kernel/sched/features.h, Linux 6.1";
    "PLACE_LAG" place_lag:
        "who comes back is owed as much as when it left",
        "kernel/sched/features.h, Linux 6.12";
    "PLACE_DEADLINE_INITIAL" place_deadline_initial:
        "a new task asks for half a slice first",
        "kernel/sched/features.h, Linux 6.12";
    "PLACE_REL_DEADLINE" place_rel_deadline:
        "who is moved keeps what is left of its request",
        "kernel/sched/features.h, Linux 6.12";
    "RUN_TO_PARITY" run_to_parity:
        "who runs is protected from earlier deadlines until its request is served or it is ahead",
        "kernel/sched/features.h, Linux 6.12";
    "PREEMPT_SHORT" preempt_short:
        "a wakee with a shorter request ends that protection",
        "kernel/sched/features.h, Linux 6.12";
    "PICK_BUDDY" pick_buddy:
        "who is the next buddy of its queue is picked if it is owed time",
        "kernel/sched/features.h, Linux 6.12";
    "DELAY_DEQUEUE" delay_dequeue:
        "a sleeper that is ahead stays queued until it has worked that off, or is woken",
        "kernel/sched/features.h, Linux 6.12";
    "DELAY_ZERO" delay_zero:
        "such a sleeper is owed nothing when it leaves or is woken",
        "kernel/sched/features.h, Linux 6.12";
    "WAKEUP_PREEMPTION" wakeup_preemption:
        "a wakee may preempt the running task",
        "kernel/sched/features.h, Linux 6.1";
    "ALT_PERIOD" alt_period:
        "the period counts the tasks of the whole CPU, not the entities of one queue",
        "kernel/sched/features.h, Linux 6.1";
    "BASE_SLICE" base_slice:
        "no slice is shorter than the granularity",
        "kernel/sched/features.h, Linux 6.1";
    "SIS_UTIL" sis_util:
        "an idle scan visits fewer CPUs the more the LLC is utilized, none when it is full",
        "kernel/sched/features.h, Linux 6.0";
    "SIS_PROP" sis_prop:
        "an idle scan visits CPUs in proportion to the time for which the waker's CPU was idle; \
         matters only while SIS_UTIL is off",
        "kernel/sched/features.h, Linux 5.16";
    "WA_IDLE" wa_idle:
        "wake_affine asks whether the waker's or the previous CPU is idle",
        "kernel/sched/features.h, Linux 6.1";
    "WA_WEIGHT" wa_weight:
        "wake_affine compares the load of the waker's and the previous CPU",
        "kernel/sched/features.h, Linux 6.1";
    "WA_BIAS" wa_bias:
        "that comparison favours the waker's CPU by half of imbalance_pct",
        "kernel/sched/features.h, Linux 6.1";
    "UTIL_EST" util_est:
        "utilization is estimated from past activations",
        "kernel/sched/features.h, Linux 6.1";
    "UTIL_EST_FASTUP" util_est_fastup:
        "that estimate follows a rise at once",
        "kernel/sched/features.h, Linux 6.1";
    "TTWU_QUEUE" ttwu_queue:
        "a wakee is handed to the other CPU's list where the kernel's rule says so",
        "kernel/sched/features.h, Linux 6.1";
    "CACHE_HOT_BUDDY" cache_hot_buddy:
        "the next and the last buddy of a queue are not migrated to a CPU that runs tasks",
        "kernel/sched/features.h, Linux 6.1";
    "ATTACH_AGE_LOAD" attach_age_load:
        "the load of a task that joins the class or a group is first aged by the time that it was \
         away; without effect here, where no task changes its class or group",
        "kernel/sched/features.h, Linux 6.1";
    "CONFIG_PREEMPTION" preemption:
        "a newly idle CPU pulls one task and no more, as a preemptible kernel does",
        "kernel/Kconfig.preempt, Linux 6.1; on in distributions that choose it at boot";
    "NI_RANDOM" ni_random:
        "a newly idle CPU balances a domain as often as that has found something before, by chance",
        "kernel/sched/features.h, Linux 6.1.192 (carried back from 6.19)";
    "NI_RATE" ni_rate:
        "a newly idle CPU balances a domain that it rarely tries whatever that has found before (7.2 and later)",
        "kernel/sched/features.h, Linux 7.2";
    "HRTICK" hrtick:
        "a slice ends when it is used up, by a timer of the CPU, and not at the next tick (7.2 and later)",
        "kernel/sched/features.h, Linux 7.2; before, off by default and not modelled";
}
