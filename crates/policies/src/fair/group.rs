//! `TaskGroup`: a task group, its shares, and the sum of its load over all CPUs.

use super::cfs_rq::CfsRq;
use super::weight::{NICE_0_LOAD, scale_load_down};

/// The row of a task group; 0 is the root group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupId(pub u32);

impl GroupId {
    /// The root group.
    pub const ROOT: GroupId = GroupId(0);

    /// The row.
    #[inline]
    #[must_use]
    pub const fn idx(self) -> usize {
        self.0 as usize
    }
}

/// The least shares of a group, at full resolution in `calc_group_shares` and scaled down where
/// they are set. Source: `MIN_SHARES`.
const MIN_SHARES: i64 = 2;

/// The most shares of a group, scaled down. Source: `MAX_SHARES`.
const MAX_SHARES: u64 = 1 << 18;

/// A task group (`struct task_group`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The group above; `None` at the root.
    pub parent: Option<GroupId>,
    /// Its weight against its siblings, at full resolution.
    pub shares: u64,
    /// The sum of what its queues have contributed; 0 where each node has its own counter.
    pub load_avg: i64,
}

impl TaskGroup {
    /// A group of default shares below `parent`.
    #[must_use]
    pub const fn new(parent: Option<GroupId>) -> TaskGroup {
        TaskGroup { parent, shares: NICE_0_LOAD, load_avg: 0 }
    }

    /// Limits shares to what a group may have. Source: `__sched_group_set_shares()`.
    #[must_use]
    pub fn clamp_shares(shares: u64) -> u64 {
        shares.clamp(MIN_SHARES.cast_unsigned() << 10, MAX_SHARES << 10)
    }

    /// The part of the group's shares that falls to its queue `child`.
    ///
    /// ```text
    /// shares * load / (load_avg of the group - contribution of the queue + load)
    /// ```
    ///
    /// where `load` is the queue's weight or load, whichever is more.
    /// Source: `calc_group_shares()`.
    #[inline]
    #[must_use]
    pub fn calc_group_shares(&self, child: &CfsRq) -> u64 {
        self.shares_of(child, self.load_avg)
    }

    /// The same, where the group's load is `load_avg`.
    #[inline]
    #[must_use]
    pub(super) fn shares_of(&self, child: &CfsRq, load_avg: i64) -> u64 {
        let tg_shares = self.shares.cast_signed();
        let load = scale_load_down(child.load.weight).max(child.avg.load_avg).cast_signed();
        let contrib = child.tg_load_avg_contrib.cast_signed();
        let tg_weight = load_avg.wrapping_sub(contrib).wrapping_add(load);
        let mut shares = tg_shares.wrapping_mul(load);
        if tg_weight != 0 {
            shares /= tg_weight;
        }
        // The upper bound wins where the two cross, as in the kernel's `clamp_t`.
        shares.max(MIN_SHARES).min(tg_shares).cast_unsigned()
    }

    /// Tells the group what has changed in its queue `child`. Not to be called for the root group.
    /// Source: `update_tg_load_avg()`.
    #[inline]
    pub fn update_tg_load_avg(&mut self, child: &mut CfsRq, limit: Option<u64>) -> TgUpdate {
        let update = child.update_tg_contrib(limit);
        if let TgUpdate::Written(delta) = update {
            self.load_avg = self.load_avg.wrapping_add(delta);
        }
        update
    }
}

/// What came of telling a group about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TgUpdate {
    /// This was added to the group's load.
    Written(i64),
    /// Nothing: it is no more than 1/64 of what the group knows.
    Small,
    /// Nothing: the last time is too short ago.
    Limited,
}

/// How long a queue keeps a change to itself under the rate limit, in ns. Source:
/// `update_tg_load_avg()` of 6.7.
const TG_LIMIT_NS: u64 = 1_000_000;

impl CfsRq {
    /// What its group has to be told; the queue takes it as told. With a `limit`, the time by
    /// `sched_clock()`, not more than once per ms. Source: `update_tg_load_avg()` of 6.1 and of 6.7.
    #[inline]
    pub(super) fn update_tg_contrib(&mut self, limit: Option<u64>) -> TgUpdate {
        if let Some(now) = limit
            && now.wrapping_sub(self.last_update_tg_load_avg) < TG_LIMIT_NS
        {
            return TgUpdate::Limited;
        }
        // What could not be taken from this queue has been given to another one nevertheless.
        let delta = self
            .avg
            .load_avg
            .wrapping_sub(self.tg_load_avg_contrib)
            .wrapping_add(self.tg_moved)
            .cast_signed();
        if delta.unsigned_abs() <= self.tg_load_avg_contrib / 64 {
            return TgUpdate::Small;
        }
        self.tg_load_avg_contrib = self.avg.load_avg;
        self.tg_moved = 0;
        if let Some(now) = limit {
            self.last_update_tg_load_avg = now;
        }
        TgUpdate::Written(delta)
    }

    /// Load has left for another queue of the group, which has it in its contribution: it leaves
    /// this one's, as far as that goes.
    #[inline]
    pub(super) fn take_moved(&mut self) {
        let taken = self.tg_moved.min(self.tg_load_avg_contrib);
        self.tg_load_avg_contrib -= taken;
        self.tg_moved -= taken;
    }
}
