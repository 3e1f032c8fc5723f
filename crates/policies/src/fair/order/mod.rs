//! The order in which the tasks of a CPU run: what CFS and EEVDF do each in its own way, and the seam between that
//! and the rest of the class.
//!
//! The rest (load tracking, groups, selection, balancing) is the same for all orders and calls [`Discipline`] only.
//! The seam is at whole-task operations, because below them orders differ: with CFS and EEVDF to 7.2 (`nested`) each
//! group has a queue of its own, in which it competes with its siblings; since 7.3 (`flat`) all tasks of a CPU are in
//! one tree.

mod buddies;
pub(super) mod cfs;
pub(super) mod eevdf;
mod flat;
mod nested;
mod rules;
mod slice;

use simsched_core::{Preempt, World};
use simsched_topology::CpuId;

use self::cfs::Cfs;
use self::eevdf::Eevdf;
use self::flat::Flat;
pub(super) use self::rules::Rules;
use super::entity::{EntityId, QueueId};
use super::features::Version;
use super::hierarchy::Hierarchy;
use super::queueing::{DequeueFlags, EnqueueFlags};

/// Where the virtual time of a queue starts. Source: `init_cfs_rq()`.
const MIN_VRUNTIME: u64 = 0u64.wrapping_sub(1 << 20);

/// Which order a [`Hierarchy`] is in, for the whole of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// By virtual time (`cfs`).
    #[default]
    Cfs,
    /// By eligible virtual deadline, in a queue for each group (`eevdf`, to 7.2).
    Eevdf,
    /// By eligible virtual deadline, in one tree for all groups (`flat`, 7.3).
    Flat,
}

impl Order {
    /// The order of a version.
    pub(super) const fn of(version: Version) -> Order {
        match version {
            version if version.is_flat() => Order::Flat,
            version if version.is_eevdf() => Order::Eevdf,
            _ => Order::Cfs,
        }
    }
}

/// What an order of tasks has to do.
///
/// Its state stands in the rows of the [`Hierarchy`], which each function gets: the walks change both. `now` is
/// `clock_task` of the CPU in ns.
pub(super) trait Discipline {
    /// The task `se` joins the queues of its CPU. Source: `enqueue_task_fair()`.
    fn enqueue_task(h: &mut Hierarchy, se: EntityId, flags: EnqueueFlags, now: u64);
    /// It leaves them; false if it stays queued although it sleeps. Source: `dequeue_task_fair()`.
    fn dequeue_task(h: &mut Hierarchy, se: EntityId, flags: DequeueFlags, now: u64) -> bool;
    /// The next task of `cpu`, which from now on is the current one in place of `prev`.
    /// Source: `pick_next_task_fair()`.
    fn pick_next_task(
        h: &mut Hierarchy,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId>;
    /// The task `se` is current no more. Source: `put_prev_task_fair()`.
    fn put_prev_task(h: &mut Hierarchy, se: EntityId, now: u64);
    /// The task `se` is current without having been picked. Source: `set_next_task_fair()`.
    fn set_next_task(h: &mut Hierarchy, se: EntityId, now: u64);
    /// A tick on the current task. Source: `task_tick_fair()`.
    fn task_tick(h: &mut Hierarchy, cpu: CpuId, curr: EntityId, now: u64) -> Preempt;
    /// The slice timer of `cpu` has expired (feature `HRTICK`). Source: `hrtick()`.
    fn slice_end(_h: &mut Hierarchy, _cpu: CpuId, _now: u64) -> Preempt {
        Preempt::No
    }
    /// The current task lets others run first. Source: `yield_task_fair()`.
    fn yield_task(h: &mut Hierarchy, curr: EntityId, now: u64);
    /// Whether the second of `pair`, just queued on `cpu`, preempts the first, which is current.
    /// Source: `check_preempt_wakeup_fair()`.
    fn check_preempt_wakeup(
        h: &mut Hierarchy,
        world: &World,
        cpu: CpuId,
        pair: [EntityId; 2],
        fork: bool,
    ) -> Preempt;
    /// A new task on its parent's CPU, not queued yet. Source: `task_fork_fair()`.
    fn task_fork(h: &mut Hierarchy, se: EntityId, cpu: CpuId, now: u64);
    /// A sleeper leaves its CPU for another one. Source: `migrate_task_rq_fair()`.
    fn leave(h: &mut Hierarchy, se: EntityId);
    /// Sets the virtual time of the task `se`, which has slept on its CPU for long. Under EEVDF nothing is to be set: it
    /// is placed when it is queued.
    fn lay_down(_h: &mut Hierarchy, _se: EntityId) {}
    /// Whether a hint wants `se` to run soon on `queue`, so that its cache is worth keeping. Source: `task_hot()`.
    fn is_buddy(h: &Hierarchy, queue: QueueId, se: EntityId) -> bool {
        h.queue(queue).next == Some(se)
    }
    /// Charges `curr`, the current entity of `queue`, for the time since its last accounting.
    /// Source: `update_curr()`.
    fn update_curr(h: &mut Hierarchy, queue: QueueId, curr: EntityId, now: u64);
    /// Gives `se` a new weight, queued or not. Source: `reweight_entity()`.
    fn reweight_entity(h: &mut Hierarchy, se: EntityId, weight: u64, now: u64);
    /// What must hold for `queue` between two calls.
    ///
    /// # Errors
    /// What does not.
    fn check(h: &Hierarchy, queue: QueueId) -> Result<(), String>;
}

/// Calls a function of the order that `$h` is in: a branch on a constant of the run, and no call through a pointer,
/// for `update_curr()` is the most frequent function of all.
macro_rules! ordered {
    ($h:ident.$function:ident($($arg:expr),*)) => {
        match $h.order {
            Order::Cfs => Cfs::$function($h, $($arg),*),
            Order::Eevdf => Eevdf::$function($h, $($arg),*),
            Order::Flat => Flat::$function($h, $($arg),*),
        }
    };
}

impl Hierarchy {
    #[inline]
    pub(super) fn enqueue_task(&mut self, se: EntityId, flags: EnqueueFlags, now: u64) {
        ordered!(self.enqueue_task(se, flags, now));
    }

    #[inline]
    pub(super) fn dequeue_task(&mut self, se: EntityId, flags: DequeueFlags, now: u64) -> bool {
        ordered!(self.dequeue_task(se, flags, now))
    }

    #[inline]
    pub(super) fn pick_next_task(
        &mut self,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId> {
        ordered!(self.pick_next_task(cpu, prev, now))
    }

    #[inline]
    pub(super) fn put_prev_task(&mut self, se: EntityId, now: u64) {
        ordered!(self.put_prev_task(se, now));
    }

    #[inline]
    pub(super) fn set_next_task(&mut self, se: EntityId, now: u64) {
        ordered!(self.set_next_task(se, now));
    }

    #[inline]
    pub(super) fn task_tick(&mut self, cpu: CpuId, curr: EntityId, now: u64) -> Preempt {
        ordered!(self.task_tick(cpu, curr, now))
    }

    pub(super) fn slice_end(&mut self, cpu: CpuId, now: u64) -> Preempt {
        ordered!(self.slice_end(cpu, now))
    }

    #[inline]
    pub(super) fn yield_task(&mut self, curr: EntityId, now: u64) {
        ordered!(self.yield_task(curr, now));
    }

    #[inline]
    pub(super) fn check_preempt_wakeup(
        &mut self,
        world: &World,
        cpu: CpuId,
        pair: [EntityId; 2],
        fork: bool,
    ) -> Preempt {
        ordered!(self.check_preempt_wakeup(world, cpu, pair, fork))
    }

    #[inline]
    pub(super) fn task_fork(&mut self, se: EntityId, cpu: CpuId, now: u64) {
        ordered!(self.task_fork(se, cpu, now));
    }

    #[inline]
    pub(super) fn leave(&mut self, se: EntityId) {
        ordered!(self.leave(se));
    }

    pub(super) fn lay_down(&mut self, se: EntityId) {
        ordered!(self.lay_down(se));
    }

    #[inline]
    pub(super) fn is_buddy(&self, queue: QueueId, se: EntityId) -> bool {
        ordered!(self.is_buddy(queue, se))
    }

    /// Charges the current entity of `queue`, if it has one, for the time since its last accounting.
    #[inline]
    pub(super) fn update_curr(&mut self, queue: QueueId, now: u64) {
        let Some(curr) = self.queue(queue).curr else { return };
        ordered!(self.update_curr(queue, curr, now));
    }

    #[inline]
    pub(super) fn reweight_entity(&mut self, se: EntityId, weight: u64, now: u64) {
        ordered!(self.reweight_entity(se, weight, now));
    }

    pub(super) fn check_order(&self, queue: QueueId) -> Result<(), String> {
        ordered!(self.check(queue))
    }
}
