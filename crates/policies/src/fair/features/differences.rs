//! What each version of the fair class changed in that of the version before.

/// One thing that a version does otherwise than the version before it of the same policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it does, in one line.
    pub what: &'static str,
    /// Where the change is: the patch or the function, and the Linux version that brought it.
    pub source: &'static str,
}

macro_rules! differences {
    ($($what:literal, $source:literal;)*) => {
        &[$(Difference { what: $what, source: $source },)*]
    };
}

pub(super) const V6_1: &[Difference] = differences! {
    "an idle scan is limited by how busy the LLC is, not by how long the waker's CPU tends to be idle: SIS_UTIL in \
     place of SIS_PROP",
    "\"sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of util_avg\", 6.0";
    "wakees are handed over to any idle CPU, and not to other LLCs only",
    "\"sched: Remove the limitation of WF_ON_CPU on wakelist if wakee cpu is idle\", 6.0";
    "a task that wakes up elsewhere is aged by the idle time of its old CPU",
    "\"sched/fair: Decay task PELT values during wakeup migration\", 6.0";
    "a fork leaves its node once as many tasks run there as the NUMA domain allows, which depends on its LLCs, where it \
     was a quarter of its CPUs: fork_imbalance=6.0, numa_imbalance=merged",
    "\"sched/fair: Adjust the allowed NUMA imbalance when SD_NUMA spans multiple LLCs\", 5.18";
    "a balance asks that limit of the local group, not of the busiest, before it leaves a pair on the other node",
    "\"sched/fair: Improve consistency of allowed NUMA balance calculations\", 5.18";
    "it asks that of the whole difference, and not of half of it",
    "\"sched/numa: Apply imbalance limitations consistently\", 6.0";
    "a newly idle CPU stops balancing when a task has come to it",
    "\"sched: Allow newidle balancing to bail out of load_balance\", 6.0";
    "one task on a CPU that interrupts keep busy is pulled",
    "\"sched/fair: fix case with reduced capacity CPU\", 6.0";
    "a local group above the average load pulls nothing",
    "\"sched/fair: Fix imbalance overflow\", 6.3 and carried back";
    "a newly idle CPU balances a domain as often as that has found something before, by chance: NI_RANDOM is on",
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

pub(super) const V6_12: &[Difference] = differences! {
    "a sleeper that is ahead stays queued until it would be picked: DELAY_DEQUEUE and DELAY_ZERO are on",
    "kernel/sched/features.h, Linux 6.12";
    "a task that is moved keeps what is left of its request: PLACE_REL_DEADLINE is on",
    "kernel/sched/features.h, Linux 6.12";
    "a wakee with a shorter request ends the protection of the running one: PREEMPT_SHORT is on",
    "kernel/sched/features.h, Linux 6.12";
    "another task of the group of a sleeper is preferred: PICK_BUDDY is on",
    "kernel/sched/features.h, Linux 6.12";
    "base_slice_ns is 700000 in place of 750000",
    "sysctl_sched_base_slice, Linux 6.15 and carried back";
    "a new weight leaves lag as it is, and changes virtual time",
    "reweight_eevdf(), Linux 6.7";
    "a task that yields is moved on in virtual time, not given a later deadline alone",
    "yield_task_fair(), Linux 6.18 and carried back";
    "the request of a group is the shortest one below, not base_slice_ns",
    "cfs_rq_min_slice(), Linux 6.12";
    "estimated utilization is an average without the last sample beside it, and tasks that had to wait give no samples",
    "util_est_update(), Linux 6.8";
    "a queue writes its group's load at most once per ms: tg_ratelimit is on",
    "\"sched/fair: Ratelimit update to tg->load_avg\", 6.7";
    "of groups with a task that does not fit the first of equals is the busiest",
    "update_sd_pick_busiest(), Linux 6.9";
    "a balance looks at no more tasks than its limit, whether one may move or not",
    "detach_tasks(), Linux 6.11";
    "a newly idle CPU ends its passes when a domain says so, not as soon as a task has come",
    "sched_balance_newidle(), Linux 6.12";
    "a newly idle CPU balances a domain as often as that has found something before, by chance: NI_RANDOM is on",
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
    "beside the class: a reader of a full pipe wakes a writer only if it frees a slot (spurious_writer_wakeups)",
    "pipe_read(), Linux 6.14";
    "beside the class: a pipe keeps two pages that were read out, not one",
    "anon_pipe_put_page(), Linux 6.15";
};

pub(super) const V7_2: &[Difference] = differences! {
    "a wakee with a shorter request preempts if it would be picked, were what runs not protected",
    "wakeup_preempt_fair(), Linux 7.2";
    "slices end by a timer, not at ticks: HRTICK is on",
    "hrtick_start_fair(), kernel/sched/features.h, Linux 7.2";
    "who has to go does so when it returns to user mode, and another CPU is sent no interrupt for that",
    "resched_curr_lazy(), Linux 7.2";
    "a sleeper that is woken on its runqueue preempts no more than any other wakee: what runs is accounted first",
    "enqueue_task_fair(), requeue_delayed_entity(), Linux 7.2";
    "virtual time is divided exactly, and weights are not scaled down in it",
    "__calc_delta(), avg_vruntime(), Linux 7.2";
    "sums of load tracking keep their full width where they are raised to what their averages need",
    "dequeue_load_avg(), Linux 7.2";
    "one pass at a time balances NUMA domains, those of newly idle CPUs included; one that is refused counts as balanced",
    "sched_balance_rq(), Linux 7.2";
    "a newly idle CPU that balances rarely always does: NI_RATE is on",
    "update_newidle_stats(), Linux 7.2";
    "whatever ends the idleness of a CPU counts for its average, not wakeups alone",
    "update_rq_avg_idle(), Linux 7.2";
    "a CPU with tasks of SCHED_IDLE alone is no idle one for another task of SCHED_IDLE",
    "choose_sched_idle_rq(), Linux 7.2";
};

pub(super) const V7_3: &[Difference] = differences! {
    "all tasks of a CPU are in one tree, whatever their groups, and weigh there what their groups leave them",
    "__calc_prop_weight(), reweight_eevdf(), Linux 7.3";
    "a group with several runnable tasks weighs more: cgroup_mode=concur",
    "calc_concur_shares(), Linux 7.3";
    "a wakee with a shorter request that is owed time preempts, whoever has the earlier deadline, and runs next",
    "wakeup_preempt_fair(), set_short_buddy(), Linux 7.3";
    "the protection of the running task ends at a virtual time: after its own slice, or where it is owed nothing any \
     more beside a shorter one",
    "set_protect_slice(), Linux 7.3";
    "whether a task could run at once where a balancer would move it is asked of all tasks of both CPUs, not of those of \
     its group",
    "task_is_ineligible_on_dst_cpu(), Linux 7.3";
    "a balance that stops a task looks soon again, whatever comes of it, and does not stop one that is leaving",
    "sched_balance_rq(), Linux 7.3";
    "the idle CPU that balances for the others is one on an idle core, if there is one",
    "find_new_ilb(), Linux 7.3";
    "beside the class: a write allocates the pages that its pipe may lack before it takes the pipe's mutex, not under it",
    "anon_pipe_prefill_and_lock(), Linux 7.3";
};
