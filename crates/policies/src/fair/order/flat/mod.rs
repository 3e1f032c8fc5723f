//! One tree for all tasks of a CPU, whatever their groups: EEVDF as of 7.3.
//!
//! What a group weighs goes into the weight of its tasks ([`Request::weight`]): the product of their parts of the
//! queues above them. Group entities are in no tree; the queues of groups are walked for load tracking, shares and
//! counts only, and know as [`CfsRq::curr`] who of them is current. The rest (placement, lag, choice, protection)
//! is that of `eevdf`, on the root queue. Source: kernel/sched/fair.c, Linux 7.3.4.
//!
//! [`Request::weight`]: crate::fair::Request::weight
//! [`CfsRq::curr`]: crate::fair::CfsRq::curr

mod pick;
mod preempt;
mod queueing;
mod weight;

use simsched_core::{Preempt, World};
use simsched_topology::CpuId;

use super::Discipline;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::queueing::{DequeueFlags, EnqueueFlags};

/// Earliest eligible virtual deadline first, with one tree for all groups: 7.3.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flat;

impl Discipline for Flat {
    #[inline]
    fn enqueue_task(h: &mut Hierarchy, se: EntityId, flags: EnqueueFlags, now: u64) {
        h.enqueue_task_flat(se, flags, now);
    }

    #[inline]
    fn dequeue_task(h: &mut Hierarchy, se: EntityId, flags: DequeueFlags, now: u64) -> bool {
        h.util_est_dequeue_flat(se);
        h.dequeue_task_flat(se, flags, now)
    }

    #[inline]
    fn pick_next_task(
        h: &mut Hierarchy,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId> {
        h.pick_next_task_flat(cpu, prev, now)
    }

    fn put_prev_task(h: &mut Hierarchy, se: EntityId, now: u64) {
        h.put_prev_task_flat(se, None, now);
    }

    fn set_next_task(h: &mut Hierarchy, se: EntityId, now: u64) {
        h.set_next_task_flat(se, false, now);
    }

    #[inline]
    fn task_tick(h: &mut Hierarchy, cpu: CpuId, curr: EntityId, now: u64) -> Preempt {
        h.task_tick_flat(curr, now);
        h.asked.take_due(cpu)
    }

    fn slice_end(h: &mut Hierarchy, cpu: CpuId, now: u64) -> Preempt {
        h.slice_end_flat(cpu, now)
    }

    fn yield_task(h: &mut Hierarchy, curr: EntityId, now: u64) {
        h.yield_task_flat(curr, now);
    }

    #[inline]
    fn check_preempt_wakeup(
        h: &mut Hierarchy,
        world: &World,
        cpu: CpuId,
        pair: [EntityId; 2],
        fork: bool,
    ) -> Preempt {
        h.check_preempt_wakeup_flat(world, cpu, pair, fork)
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
        h.update_curr_flat(queue, curr, now);
    }

    /// The plain weight, for load tracking and shares; nothing at all where it stays the same.
    fn reweight_entity(h: &mut Hierarchy, se: EntityId, weight: u64, _now: u64) {
        if h.entity(se).load.weight != weight {
            let queue = h.cfs_rq_of(se);
            h.queues[queue.idx()].reweight_entity(&mut h.entities[se.idx()], weight);
        }
    }

    fn check(h: &Hierarchy, queue: QueueId) -> Result<(), String> {
        if h.queue(queue).se.is_some() { Ok(()) } else { h.check_virtual_time(queue) }
    }
}
