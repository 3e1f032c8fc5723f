//! The order of one runqueue under EEVDF, earliest eligible virtual deadline first: who is owed time,
//! who asked for how much of it until when, and who sleeps and has still to work off what it had too
//! much. The rest of the class is the same. Source: kernel/sched/fair.c, Linux 6.12.117; what other releases do
//! differently stands in [`Rules`](super::Rules).

mod delay;
mod pick;
mod place;
mod preempt;
mod queueing;
mod request;
mod reweight;
mod rows;
mod tree;
mod virtual_time;

use simsched_core::{Preempt, World};
use simsched_topology::CpuId;

pub use request::{Request, entity_lag, lag_limit};
pub(in crate::fair) use rows::EevdfRows;
pub use tree::{DeadlineTree, Key, Nodes};
pub use virtual_time::{EevdfRq, QueuedCurr};

use super::Discipline;
use super::nested::{self, Nested};
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::queueing::{DequeueFlags, EnqueueFlags};

/// Earliest eligible virtual deadline first, with a queue for each group: 6.6 and later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Eevdf;

impl Discipline for Eevdf {
    #[inline]
    fn enqueue_task(h: &mut Hierarchy, se: EntityId, flags: EnqueueFlags, now: u64) {
        nested::enqueue_task::<Eevdf>(h, se, flags, now);
        if !flags.delayed {
            h.start_slice(Hierarchy::root_of(h.queue(h.cfs_rq_of(se)).cpu));
        }
    }

    #[inline]
    fn dequeue_task(h: &mut Hierarchy, se: EntityId, flags: DequeueFlags, now: u64) -> bool {
        nested::dequeue_task::<Eevdf>(h, se, flags, now)
    }

    #[inline]
    fn pick_next_task(
        h: &mut Hierarchy,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId> {
        h.pick_next_task_eevdf(cpu, prev, now)
    }

    fn put_prev_task(h: &mut Hierarchy, se: EntityId, now: u64) {
        nested::put_prev_task::<Eevdf>(h, se, now);
    }

    fn set_next_task(h: &mut Hierarchy, se: EntityId, now: u64) {
        nested::set_next_task::<Eevdf>(h, se, false, now);
    }

    #[inline]
    fn task_tick(h: &mut Hierarchy, cpu: CpuId, curr: EntityId, now: u64) -> Preempt {
        h.task_tick_eevdf(cpu, curr, now)
    }

    fn slice_end(h: &mut Hierarchy, cpu: CpuId, now: u64) -> Preempt {
        h.slice_end_nested(cpu, now)
    }

    fn yield_task(h: &mut Hierarchy, curr: EntityId, now: u64) {
        h.yield_task_eevdf(curr, now);
    }

    #[inline]
    fn check_preempt_wakeup(
        h: &mut Hierarchy,
        world: &World,
        cpu: CpuId,
        pair: [EntityId; 2],
        fork: bool,
    ) -> Preempt {
        h.check_preempt_wakeup_eevdf(world, cpu, pair, fork)
    }

    /// It is placed where it is queued; nothing of it is owed (`__sched_fork()`).
    fn task_fork(h: &mut Hierarchy, se: EntityId, cpu: CpuId, _now: u64) {
        h.set_task_rq(se, cpu);
    }

    /// What it is owed was noted when it was dequeued.
    #[inline]
    fn leave(_h: &mut Hierarchy, _se: EntityId) {}

    #[inline]
    fn update_curr(h: &mut Hierarchy, queue: QueueId, curr: EntityId, now: u64) {
        h.update_curr_eevdf(queue, curr, now);
    }

    fn reweight_entity(h: &mut Hierarchy, se: EntityId, weight: u64, now: u64) {
        h.reweight_entity_eevdf(se, weight, now);
    }

    fn check(h: &Hierarchy, queue: QueueId) -> Result<(), String> {
        h.check_virtual_time(queue)
    }
}

impl Nested for Eevdf {
    #[inline]
    fn enqueue_entity(
        h: &mut Hierarchy,
        queue: QueueId,
        se: EntityId,
        flags: EnqueueFlags,
        now: u64,
    ) {
        h.enqueue_entity_eevdf(queue, se, flags, now);
    }

    #[inline]
    fn dequeue_entity(
        h: &mut Hierarchy,
        queue: QueueId,
        se: EntityId,
        flags: DequeueFlags,
        now: u64,
    ) -> bool {
        h.dequeue_entity_eevdf(queue, se, flags, now)
    }

    #[inline]
    fn wait(h: &mut Hierarchy, queue: QueueId, se: EntityId) {
        h.wait_by_deadline(queue, se);
    }

    #[inline]
    fn wait_no_more(h: &mut Hierarchy, queue: QueueId, se: EntityId, first: bool) {
        h.wait_no_more(queue, se);
        if first || !h.rules.protects_picked {
            h.set_protect_slice(queue, se);
        }
    }

    #[inline]
    fn clear_buddies(h: &mut Hierarchy, queue: QueueId, se: EntityId) {
        h.clear_next_buddy(queue, se);
    }

    fn requeue_delayed_entity(h: &mut Hierarchy, se: EntityId, now: u64) {
        h.requeue_delayed_entity(se, now);
    }

    fn set_group_slice(h: &mut Hierarchy, queue: QueueId, se: EntityId, slice: u64) {
        h.set_slice(queue, se, slice);
    }

    #[inline]
    fn group_slice(h: &Hierarchy, queue: QueueId) -> Option<u64> {
        if !h.rules.group_slices {
            return None;
        }
        h.slices(queue).map(|(shortest, _)| shortest)
    }
}
