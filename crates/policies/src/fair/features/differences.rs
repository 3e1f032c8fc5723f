//! In what the versions of the fair class differ from the default of their discipline.

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

pub(super) const V5_16: &[Difference] = differences! {
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

pub(super) const V6_5: &[Difference] = differences! {
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

pub(super) const V6_6: &[Difference] = differences! {
    "a sleeper leaves its queue at once, whatever it owes: DELAY_DEQUEUE and DELAY_ZERO are off",
    "kernel/sched/features.h, Linux 6.12";
    "a task that is moved gets a new deadline: PLACE_REL_DEADLINE is off",
    "kernel/sched/features.h, Linux 6.12";
    "a wakee with a shorter request does not end the protection of the running one: PREEMPT_SHORT is off",
    "kernel/sched/features.h, Linux 6.12";
    "who else runs in the group of a sleeper is not preferred: PICK_BUDDY is off",
    "kernel/sched/features.h, Linux 6.12";
    "base_slice_ns is 750000, as it was before 6.15",
    "sysctl_sched_base_slice, Linux 6.15 and carried back";
    "a new weight leaves virtual time as it is, so that lag changes with it",
    "reweight_eevdf(), Linux 6.7";
    "who yields keeps its virtual time and is given a later deadline",
    "yield_task_fair(), Linux 6.18 and carried back";
    "the request of a group is base_slice_ns, not the shortest one below",
    "cfs_rq_min_slice(), Linux 6.12";
    "estimated utilization keeps the last sample beside its average, and takes samples of tasks that had \
     to wait",
    "util_est_update(), Linux 6.8";
    "a queue writes its group's load at every change: tg_ratelimit is off",
    "\"sched/fair: Ratelimit update to tg->load_avg\", 6.7";
    "of groups with a task that does not fit the last of equals is the busiest",
    "update_sd_pick_busiest(), Linux 6.9";
    "a balance looks beyond its limit of tasks until one may move, and at none twice",
    "detach_tasks(), Linux 6.11";
    "a newly idle CPU gives up as soon as a task has come, not when a domain says so",
    "sched_balance_newidle(), Linux 6.12";
    "a newly idle CPU balances whenever its idle time pays for it: NI_RANDOM is off",
    "kernel/sched/features.h, Linux 6.12.117, carried back from 6.19";
};

pub(super) const V7_0: &[Difference] = differences! {
    "the protection of the running task ends at a virtual time: after its own slice or the shortest one \
     that waits",
    "set_protect_slice(), Linux 6.17";
    "lag is limited by the longest slice on the queue and a tick, not by twice the own slice",
    "entity_lag(), Linux 7.0";
    "a balancer counts and moves who sleeps and is queued still by its load only",
    "update_sg_lb_stats(), can_migrate_task(), Linux 6.14";
    "a balancer moves nobody between others who could not run there at once, unless a balance has failed",
    "task_is_ineligible_on_dst_cpu(), Linux 6.13";
};

/// What 7.2 and 7.3 have in common.
const SINCE_7_2: &[Difference] = differences! {
    "slices end by a timer, not at ticks: HRTICK is on",
    "hrtick_start_fair(), kernel/sched/features.h, Linux 7.2";
    "who has to go does so when it returns to user mode, and another CPU is sent no interrupt for that",
    "resched_curr_lazy(), Linux 7.2";
    "a sleeper that is woken on its runqueue preempts no more than any other wakee: what runs is accounted first",
    "enqueue_task_fair(), requeue_delayed_entity(), Linux 7.2";
    "lag is limited by the longest slice on the queue and a tick, not by twice the own slice",
    "entity_lag(), Linux 7.0";
    "virtual time is divided exactly, and weights are not scaled down in it",
    "__calc_delta(), avg_vruntime(), Linux 7.2";
    "sums of load tracking keep their full width where they are raised to what their averages need",
    "dequeue_load_avg(), Linux 7.2";
    "a balancer counts and moves who sleeps and is queued still by its load only",
    "update_sg_lb_stats(), can_migrate_task(), Linux 6.14";
    "one pass at a time balances NUMA domains, those of newly idle CPUs included; one that is refused counts as balanced",
    "sched_balance_rq(), Linux 7.2";
    "a newly idle CPU that balances rarely always does: NI_RATE is on",
    "update_newidle_stats(), Linux 7.2";
    "whatever ends the idleness of a CPU counts for its average, not wakeups alone",
    "update_rq_avg_idle(), Linux 7.2";
    "a CPU with tasks of SCHED_IDLE alone is no idle one for another task of SCHED_IDLE",
    "choose_sched_idle_rq(), Linux 7.2";
};

const ONLY_7_2: &[Difference] = differences! {
    "a wakee with a shorter request preempts if it would be picked, were what runs not protected",
    "wakeup_preempt_fair(), Linux 7.2";
    "the protection of the running task ends at a virtual time: after its own slice or the shortest one \
     that waits",
    "set_protect_slice(), Linux 6.17";
    "a balancer moves nobody between others who could not run there at once, unless a balance has failed",
    "task_is_ineligible_on_dst_cpu(), Linux 6.13";
};

const ONLY_7_3: &[Difference] = differences! {
    "all tasks of a CPU are in one tree, whatever their groups, and weigh there what their groups leave them",
    "__calc_prop_weight(), reweight_eevdf(), Linux 7.3";
    "a group with several runnable tasks weighs more: cgroup_mode=concur",
    "calc_concur_shares(), Linux 7.3";
    "a wakee with a shorter request that is owed time preempts, whoever has the earlier deadline, and runs next",
    "wakeup_preempt_fair(), set_short_buddy(), Linux 7.3";
    "the protection of the running task ends at a virtual time: after its own slice, or where it is owed nothing any \
     more beside a shorter one",
    "set_protect_slice(), Linux 7.3";
    "a balancer moves nobody between others who could not run there at once, unless a balance has failed",
    "task_is_ineligible_on_dst_cpu(), Linux 6.13 and 7.3";
    "a balance that stops a task looks soon again, whatever comes of it, and does not stop one that is leaving",
    "sched_balance_rq(), Linux 7.3";
    "the idle CPU that balances for the others is one on an idle core, if there is one",
    "find_new_ilb(), Linux 7.3";
};

pub(super) const V7_2: &[Difference] =
    &joined::<{ ONLY_7_2.len() + SINCE_7_2.len() }>(ONLY_7_2, SINCE_7_2);
pub(super) const V7_3: &[Difference] =
    &joined::<{ ONLY_7_3.len() + SINCE_7_2.len() }>(ONLY_7_3, SINCE_7_2);

/// The first list, and behind it the second.
const fn joined<const N: usize>(first: &[Difference], second: &[Difference]) -> [Difference; N] {
    let mut all = [Difference { what: "", source: "" }; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}
