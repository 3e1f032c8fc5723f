//! `TaskGroup`: a task group, its shares, and the sum of its load over all CPUs.

use super::cfs_rq::CfsRq;
use super::weight::{NICE_0_LOAD, SCHED_PRIO_TO_WEIGHT, scale_load_down};

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
    /// The sum of what its queues have contributed of their runnable averages: 1024 is one task (7.3).
    pub runnable_avg: i64,
    /// How many CPUs its tasks may use: those that are online, or those of its cpuset (7.3).
    pub nr_cpus: u32,
}

impl TaskGroup {
    /// A group of default shares below `parent`.
    #[must_use]
    pub const fn new(parent: Option<GroupId>) -> TaskGroup {
        TaskGroup { parent, shares: NICE_0_LOAD, load_avg: 0, runnable_avg: 0, nr_cpus: 1 }
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
        self.shares_by(CgroupMode::Smp, child, self.load_avg)
    }

    /// The weight of the group's entity above `child`, where the group's load is `load_avg`, by one of the formulas of
    /// 7.3. Source: `calc_group_shares()`, Linux 7.3.
    #[inline]
    #[must_use]
    pub fn shares_by(&self, mode: CgroupMode, child: &CfsRq, load_avg: i64) -> u64 {
        let shares = self.shares.cast_signed();
        let nr_cpus = i64::from(self.nr_cpus.max(1));
        let nr_tasks = (self.runnable_avg >> 10).max(1);
        let all = match mode {
            CgroupMode::Up => return self.shares,
            CgroupMode::Smp => shares,
            CgroupMode::Concur => shares.wrapping_mul(nr_tasks.min(nr_cpus)),
            CgroupMode::Max => {
                let nice_20 = (SCHED_PRIO_TO_WEIGHT[0] << 10).cast_signed();
                return part_of([shares.wrapping_mul(nr_cpus), nice_20], child, load_avg);
            }
            CgroupMode::Tasks => shares.wrapping_mul(nr_tasks),
        };
        part_of([all, all], child, load_avg)
    }

    /// Tells the group what has changed in its queue `child`. Not to be called for the root group.
    /// Source: `update_tg_load_avg()`.
    #[inline]
    pub fn update_tg_load_avg(&mut self, child: &mut CfsRq, limit: Option<u64>) -> TgUpdate {
        let update = child.update_tg_contrib(limit, false);
        if let TgUpdate::Written { load, .. } = update {
            self.load_avg = self.load_avg.wrapping_add(load);
        }
        update
    }
}

/// The part of `shares` of a group that falls to its queue `child`, at most `most`.
///
/// ```text
/// shares * load / (load_avg of the group - contribution of the queue + load)
/// ```
///
/// Source: `calc_group_shares()`; `__calc_smp_shares()`, Linux 7.3.
#[inline]
fn part_of([all, most]: [i64; 2], child: &CfsRq, load_avg: i64) -> u64 {
    let load = scale_load_down(child.load.weight).max(child.avg.load_avg).cast_signed();
    let contrib = child.tg_load_avg_contrib.cast_signed();
    let tg_weight = load_avg.wrapping_sub(contrib).wrapping_add(load);
    let mut shares = all.wrapping_mul(load);
    if tg_weight != 0 {
        shares /= tg_weight;
    }
    // The upper bound wins where the two cross, as in the kernel's `clamp_t`.
    shares.max(MIN_SHARES).min(most).cast_unsigned()
}

/// How the weight of a group's entity on a CPU follows from the group's shares (`cgroup_mode` in debugfs, 7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CgroupMode {
    /// The shares, on each CPU.
    Up,
    /// The shares, divided among the CPUs by their load: the only way up to 7.2.
    Smp,
    /// The shares of as many CPUs as there are runnable tasks in the group, divided among the CPUs by their load.
    #[default]
    Concur,
    /// The shares of all CPUs, divided among them by their load, and at most the weight of nice -20 on one.
    Max,
    /// The shares times the number of runnable tasks in the group, divided among the CPUs by their load.
    Tasks,
}

impl CgroupMode {
    const ALL: [CgroupMode; 5] =
        [CgroupMode::Up, CgroupMode::Smp, CgroupMode::Concur, CgroupMode::Max, CgroupMode::Tasks];
    /// The words of the setting.
    pub(in crate::fair) const VALUES: &[&str] = &["up", "smp", "concur", "max", "tasks"];

    /// Whether the number of runnable tasks of the group goes into it.
    #[inline]
    #[must_use]
    pub const fn counts_tasks(self) -> bool {
        matches!(self, CgroupMode::Concur | CgroupMode::Tasks)
    }

    /// The word of the setting.
    #[must_use]
    pub fn name(self) -> &'static str {
        CgroupMode::VALUES[self as usize]
    }

    /// By its word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<CgroupMode> {
        CgroupMode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// What came of telling a group about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TgUpdate {
    /// This was added to the group's load, and to its runnable average where there is one.
    Written {
        /// To the load.
        load: i64,
        /// To the runnable average (7.3).
        runnable: i64,
    },
    /// Nothing: it is no more than 1/64 of what the group knows.
    Small,
    /// Nothing: the last time is too short ago.
    Limited,
}

/// How long a queue keeps a change to itself under the rate limit, in ns. Source:
/// `update_tg_load_avg()` of 6.7.
const TG_LIMIT_NS: u64 = 1_000_000;

impl CfsRq {
    /// What this queue has to add to the sums of its group, which it takes as added. With a `limit`, the time by
    /// `sched_clock()` (since 7.2 of the runqueue's clock), not more than once per ms. With `both` the sum of runnable
    /// averages changes, too, if either average has changed enough.
    /// Source: `update_tg_load_avg()` of 6.1, of 6.7 and of 7.3.
    #[inline]
    pub fn update_tg_contrib(&mut self, limit: Option<u64>, both: bool) -> TgUpdate {
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
        let mut runnable = 0;
        let mut is_small = delta.unsigned_abs() <= self.tg_load_avg_contrib / 64;
        if both {
            let added = self.tg_runnable_avg_contrib;
            runnable = self.avg.runnable_avg.wrapping_sub(added).cast_signed();
            is_small &= runnable.unsigned_abs() <= added / 64;
        }
        if is_small {
            return TgUpdate::Small;
        }
        if both {
            self.tg_runnable_avg_contrib = self.avg.runnable_avg;
        }
        self.tg_load_avg_contrib = self.avg.load_avg;
        self.tg_moved = 0;
        if let Some(now) = limit {
            self.last_update_tg_load_avg = now;
        }
        TgUpdate::Written { load: delta, runnable }
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
