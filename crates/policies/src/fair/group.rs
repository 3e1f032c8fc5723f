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
    /// The sum of what its queues have contributed.
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
        let tg_shares = self.shares.cast_signed();
        let load = scale_load_down(child.load.weight).max(child.avg.load_avg).cast_signed();
        let contrib = child.tg_load_avg_contrib.cast_signed();
        let tg_weight = self.load_avg.wrapping_sub(contrib).wrapping_add(load);
        let mut shares = tg_shares.wrapping_mul(load);
        if tg_weight != 0 {
            shares /= tg_weight;
        }
        // The upper bound wins where the two cross, as in the kernel's `clamp_t`.
        shares.max(MIN_SHARES).min(tg_shares).cast_unsigned()
    }

    /// Tells the group what has changed in its queue `child`, unless it is less than 1/64 of what
    /// the group knows; true when the group's sum was written. Not to be called for the root
    /// group. Source: `update_tg_load_avg()` of 6.1.
    #[inline]
    pub fn update_tg_load_avg(&mut self, child: &mut CfsRq) -> bool {
        let delta = child.avg.load_avg.wrapping_sub(child.tg_load_avg_contrib).cast_signed();
        if delta.unsigned_abs() <= child.tg_load_avg_contrib / 64 {
            return false;
        }
        self.load_avg = self.load_avg.wrapping_add(delta);
        child.tg_load_avg_contrib = child.avg.load_avg;
        true
    }
}
