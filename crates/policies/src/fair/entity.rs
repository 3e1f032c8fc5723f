//! `Entity`: what the fair class knows of a task, or of a task group on one CPU.

use std::num::NonZeroU32;

use simsched_core::pelt::{SchedAvg, SeState, UTIL_AVG_UNCHANGED, update_load_avg_se};
use simsched_core::{SchedPolicy, TaskId};

use super::weight::{LoadWeight, NICE_0_LOAD, calc_delta_fair, scale_load_down};

/// The row of an entity: tasks first, by [`TaskId`], then the entities of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityId(NonZeroU32);

impl EntityId {
    /// The entity of row `idx`.
    ///
    /// # Panics
    /// When `idx` does not fit in 32 bits less one.
    #[inline]
    #[must_use]
    pub fn new(idx: usize) -> EntityId {
        let id = u32::try_from(idx + 1).ok().and_then(NonZeroU32::new);
        EntityId(id.expect("fewer than 2^32 - 1 entities"))
    }

    /// The entity of `task`.
    #[inline]
    #[must_use]
    pub fn of(task: TaskId) -> EntityId {
        EntityId(NonZeroU32::MIN.saturating_add(task.0))
    }

    /// The task of this entity, if it is one (`task_of()`; the caller knows).
    #[inline]
    #[must_use]
    pub const fn task(self) -> TaskId {
        TaskId(self.0.get() - 1)
    }

    /// The row.
    #[inline]
    #[must_use]
    pub const fn idx(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The row of a fair queue: those of the root group first, by CPU, then group by group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

impl QueueId {
    /// Where an entity stands that has not been queued yet.
    pub const FIRST: QueueId = QueueId(0);

    /// The row.
    #[inline]
    #[must_use]
    pub const fn idx(self) -> usize {
        self.0 as usize
    }
}

/// The estimated utilization of a task (`struct util_est` of 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtilEst {
    /// `util_avg` when it last went to sleep, and the flag [`UTIL_AVG_UNCHANGED`].
    pub enqueued: u32,
    /// A moving average of those.
    pub ewma: u32,
}

impl UtilEst {
    /// What the task is expected to need (`_task_util_est()` of 6.1).
    #[inline]
    #[must_use]
    pub fn value(self) -> u32 {
        self.ewma.max(self.enqueued & !UTIL_AVG_UNCHANGED)
    }
}

/// A schedulable entity (`struct sched_entity`): two cache lines, load tracking in the first.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Entity {
    /// Load, runnable and utilization.
    pub avg: SchedAvg,
    /// Estimated utilization (tasks only).
    pub util_est: UtilEst,
    /// Virtual time, in ns of a nice-0 task: absolute while queued or asleep, relative to
    /// `min_vruntime` while on its way from one queue to another.
    pub vruntime: u64,
    /// When it was last accounted, in ns of `clock_task`; 0 right after a migration.
    pub exec_start: u64,
    /// CPU time so far, in ns.
    pub sum_exec_runtime: u64,
    /// The same, when it was picked.
    pub prev_sum_exec_runtime: u64,
    /// Its weight.
    pub load: LoadWeight,
    /// The queue on which it competes (`se->cfs_rq`).
    pub cfs_rq: QueueId,
    /// The queue below it, if it stands for a group (`se->my_q`).
    pub my_q: Option<NonZeroU32>,
    /// Queued, running or waiting.
    pub on_rq: bool,
    /// Levels above it.
    pub depth: u8,
    /// The nice value of the task as of its last weighing.
    pub nice: i8,
    /// The policy of the task; a group is [`SchedPolicy::Normal`].
    pub policy: SchedPolicy,
    /// It sleeps, and stays queued until it is picked or has nothing more to work off (EEVDF).
    pub sched_delayed: bool,
    /// Its deadline is relative to its virtual time (EEVDF).
    pub rel_deadline: bool,
    /// Its slice is its own, not that of the queue (EEVDF).
    pub custom_slice: bool,
}

const _: () = assert!(size_of::<Entity>() == 128, "two cache lines");

impl Entity {
    /// A new task, which has not been queued: as heavy as its weight, with no other history.
    /// Source: `init_entity_runnable_average()`, `set_load_weight()`.
    #[must_use]
    pub fn new_task(nice: i8, policy: SchedPolicy, cfs_rq: QueueId) -> Entity {
        let mut se = Entity::new(task_load(nice, policy), cfs_rq);
        se.avg.load_avg = scale_load_down(se.load.weight);
        (se.nice, se.policy) = (nice, policy);
        se
    }

    /// The entity of a group that competes on `cfs_rq` and owns `my_q`.
    /// Source: `init_tg_cfs_entry()`.
    #[must_use]
    pub fn new_group(cfs_rq: QueueId, my_q: QueueId, depth: u8) -> Entity {
        let my_q = NonZeroU32::new(my_q.0);
        Entity { my_q, depth, ..Entity::new(LoadWeight::new(NICE_0_LOAD), cfs_rq) }
    }

    /// Charges it for having run until `now`: so many ns, 0 if it has not or the clock went back.
    /// Source: `update_curr()`.
    #[inline]
    pub(super) fn charge(&mut self, now: u64) -> u64 {
        let delta_exec = self.account(now);
        if delta_exec != 0 {
            self.vruntime = self.vruntime.wrapping_add(calc_delta_fair(delta_exec, self.load));
        }
        delta_exec
    }

    /// [`Entity::charge`] without its virtual time. Source: `update_se()`, Linux 7.3.
    #[inline]
    pub(super) fn account(&mut self, now: u64) -> u64 {
        let delta_exec = now.wrapping_sub(self.exec_start);
        if delta_exec.cast_signed() <= 0 {
            return 0;
        }
        self.exec_start = now;
        self.sum_exec_runtime = self.sum_exec_runtime.wrapping_add(delta_exec);
        delta_exec
    }

    /// It is current from `now` on, in ns of `clock_task`. Source: `update_stats_curr_start()`, `set_next_entity()`.
    #[inline]
    pub(super) fn starts(&mut self, now: u64) {
        self.exec_start = now;
        self.prev_sum_exec_runtime = self.sum_exec_runtime;
    }

    fn new(load: LoadWeight, cfs_rq: QueueId) -> Entity {
        Entity {
            avg: SchedAvg::default(),
            util_est: UtilEst::default(),
            vruntime: 0,
            exec_start: 0,
            sum_exec_runtime: 0,
            prev_sum_exec_runtime: 0,
            load,
            cfs_rq,
            my_q: None,
            on_rq: false,
            depth: 0,
            nice: 0,
            policy: SchedPolicy::Normal,
            sched_delayed: false,
            rel_deadline: false,
            custom_slice: false,
        }
    }

    /// The queue of the group that it stands for. Source: `group_cfs_rq()`.
    #[inline]
    #[must_use]
    pub fn group_cfs_rq(&self) -> Option<QueueId> {
        // The root queues come first, so no group owns queue 0.
        self.my_q.map(|idx| QueueId(idx.get()))
    }

    /// Whether it is a task of policy `SCHED_IDLE`. Source: `se_is_idle()`, without `cpu.idle`.
    #[inline]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.policy == SchedPolicy::Idle
    }

    /// Its weight, scaled down. Source: `se_weight()`.
    #[inline]
    #[must_use]
    pub fn weight(&self) -> u64 {
        scale_load_down(self.load.weight)
    }

    /// Ages its averages to `now`. `runnable` is the stored count of a group and ignored for a
    /// task; who is delayed is not runnable. Source: `__update_load_avg_se()`, `se_runnable()`.
    #[inline]
    pub fn update_load_avg(&mut self, now: u64, runnable: u64, running: bool) {
        let runnable = match self.my_q {
            _ if self.sched_delayed => 0,
            Some(_) => runnable,
            None => u64::from(self.on_rq),
        };
        let state = SeState { weight: self.weight(), on_rq: self.on_rq, runnable, running };
        update_load_avg_se(now, &mut self.avg, state, &mut self.util_est.enqueued);
    }
}

/// The weight of a task. Source: `set_load_weight()`.
#[must_use]
pub fn task_load(nice: i8, policy: SchedPolicy) -> LoadWeight {
    match policy {
        SchedPolicy::Idle => LoadWeight::of_idle_policy(),
        SchedPolicy::Normal | SchedPolicy::Batch => LoadWeight::of_nice(nice),
    }
}
