//! `Rules`: what the orders of the releases do differently, as one value for each.

use crate::fair::features::Version;

/// How virtual time is reckoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum Arith {
    /// By reciprocals of weights, and weights scaled down in sums (to 7.0).
    Scaled,
    /// By 64-bit divisions, 128-bit products and weights at full resolution (7.2 and later).
    Exact,
}

/// How long the current task is protected from others that are eligible. Source: `set_protect_slice()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum Protection {
    /// Until its request is served, with `RUN_TO_PARITY` (to 6.16).
    Request,
    /// Until it has had the shortest slice that waits, or the base slice without `RUN_TO_PARITY`, if that is less than its
    /// own (6.17); the end stands in its lag.
    Shortest,
    /// Likewise, and the end has a field of its own (`vprot`, 7.2).
    ShortestApart,
    /// Likewise, but with `PREEMPT_SHORT` a shorter slice ends it when it is not eligible any more; and who comes
    /// meanwhile counts from the virtual time of the queue, if that is earlier (7.3).
    Eligible,
}

impl Protection {
    /// Whether it ends at a virtual time that is noted (6.17 and later).
    #[inline]
    pub(in crate::fair) const fn has_end(self) -> bool {
        !matches!(self, Protection::Request)
    }
}

/// How far an entity may be behind or ahead of its queue. Source: `entity_lag()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum LagLimit {
    /// By twice its own slice, or a tick if that is more (to 6.19).
    Own,
    /// By the longest slice that competes and a tick; where nobody does, its own counts (7.0).
    LongestOrOwn,
    /// By the longest slice that competes, or none, and a tick (7.2).
    Longest,
}

/// What an entity keeps when its weight changes while it is queued. Source: `reweight_entity()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum Reweight {
    /// Its virtual time, and what is left of its request (6.6).
    KeepsVruntime,
    /// What it is owed, and what is left of its request behind the virtual time of the queue (6.12).
    KeepsLag,
    /// Likewise, its protection, too, and all at full resolution; off the queue as well (`rescale_entity()`, 7.2).
    Rescale,
}

/// What a sleeper that is still queued is owed. Source: `update_entity_lag()`, `finish_delayed_dequeue_entity()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum DelayedLag {
    /// What the virtual time tells when it leaves or is woken; with `DELAY_ZERO` no more than nothing (to 7.1).
    Now,
    /// No less than when it went to sleep; with `DELAY_ZERO` no more than nothing. It is placed anew wherever that is not what its
    /// virtual time tells (7.2).
    NoLess,
}

/// When a sleeping task's utilization is sampled, and whether the estimate of its CPU has it while it is delayed.
/// Source: `util_est_update()`, `enqueue_task_fair()`, `dequeue_task_fair()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum UtilEstUpdate {
    /// Behind all of the dequeue (to 6.11).
    Behind,
    /// Before the averages are brought up to date (6.12).
    Before,
    /// With them (`UPDATE_UTIL_EST`); a delayed task has left the estimate, whatever it is dequeued for (7.2).
    With,
}

/// Where the next buddy is chosen, and by which feature. Source: `pick_next_entity()`, `pick_eevdf()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum PickBuddy {
    /// Before the pick, with `NEXT_BUDDY` (6.6).
    NextBuddy,
    /// Before the pick, with `PICK_BUDDY` (6.12).
    Before,
    /// In the pick, while the current one is protected (7.2).
    Within,
}

/// What `sched_yield()` costs. Source: `yield_task_fair()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum Yield {
    /// One more slice is added to the deadline (6.6).
    AddsSlice,
    /// An eligible task gives up the rest of its request, as if it had run (6.12).
    GivesUp,
}

/// What the order of a release does its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) struct Rules {
    /// How virtual time is reckoned.
    pub(in crate::fair) arith: Arith,
    /// How long the current task is protected.
    pub(in crate::fair) protection: Protection,
    /// It is protected when it was picked, and not when it only goes on after a change (7.2).
    pub(in crate::fair) protects_picked: bool,
    /// How far an entity may be behind or ahead.
    pub(in crate::fair) lag_limit: LagLimit,
    /// What a queued entity keeps when its weight changes.
    pub(in crate::fair) reweight: Reweight,
    /// What a delayed sleeper is owed.
    pub(in crate::fair) delayed_lag: DelayedLag,
    /// When a sleeper's utilization is sampled.
    pub(in crate::fair) util_est: UtilEstUpdate,
    /// Where the next buddy is chosen.
    pub(in crate::fair) pick_buddy: PickBuddy,
    /// What a yield costs.
    pub(in crate::fair) yields: Yield,
    /// The end of a request and wakeups ask for the return to user mode, not for the next interrupt's end
    /// (`resched_curr_lazy()`, 7.2).
    pub(in crate::fair) lazy: bool,
    /// A group asks for the shortest slice of those below it (6.12).
    pub(in crate::fair) group_slices: bool,
    /// A task that is picked again keeps its place in the list of the balancer (6.12).
    pub(in crate::fair) keeps_place: bool,
    /// A slice is no longer than the latency period (`cfs`, 6.3).
    pub(in crate::fair) latency_limits_slice: bool,
}

impl Rules {
    /// `cfs` to 6.2. It has no virtual deadlines: the rules of `eevdf`, which are those of 6.6 here, are never read.
    const V6_1: Rules = Rules {
        arith: Arith::Scaled,
        protection: Protection::Request,
        protects_picked: false,
        lag_limit: LagLimit::Own,
        reweight: Reweight::KeepsVruntime,
        delayed_lag: DelayedLag::Now,
        util_est: UtilEstUpdate::Behind,
        pick_buddy: PickBuddy::NextBuddy,
        yields: Yield::AddsSlice,
        lazy: false,
        group_slices: false,
        keeps_place: false,
        latency_limits_slice: false,
    };

    const V6_5: Rules = Rules { latency_limits_slice: true, ..Rules::V6_1 };

    const V6_6: Rules = Rules::V6_5;

    const V6_12: Rules = Rules {
        reweight: Reweight::KeepsLag,
        util_est: UtilEstUpdate::Before,
        pick_buddy: PickBuddy::Before,
        yields: Yield::GivesUp,
        group_slices: true,
        keeps_place: true,
        ..Rules::V6_6
    };

    const V7_0: Rules = Rules {
        protection: Protection::Shortest,
        lag_limit: LagLimit::LongestOrOwn,
        ..Rules::V6_12
    };

    const V7_2: Rules = Rules {
        arith: Arith::Exact,
        protection: Protection::ShortestApart,
        protects_picked: true,
        lag_limit: LagLimit::Longest,
        reweight: Reweight::Rescale,
        delayed_lag: DelayedLag::NoLess,
        util_est: UtilEstUpdate::With,
        pick_buddy: PickBuddy::Within,
        lazy: true,
        ..Rules::V7_0
    };

    const V7_3: Rules = Rules { protection: Protection::Eligible, ..Rules::V7_2 };

    /// Those of a release.
    pub(in crate::fair) const fn of(version: Version) -> Rules {
        match version {
            Version::V5_16 | Version::V6_1 => Rules::V6_1,
            Version::V6_5 => Rules::V6_5,
            Version::V6_6 => Rules::V6_6,
            Version::V6_12 => Rules::V6_12,
            Version::V7_0 => Rules::V7_0,
            Version::V7_2 => Rules::V7_2,
            Version::V7_3 => Rules::V7_3,
        }
    }
}

impl Default for Rules {
    /// Those of the version that is meant if none is named.
    fn default() -> Rules {
        Rules::of(Version::default())
    }
}
