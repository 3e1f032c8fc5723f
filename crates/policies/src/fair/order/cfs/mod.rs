//! The order of one runqueue under CFS: who is where in virtual time, who runs next, and when the
//! running one has to go. Source: kernel/sched/fair.c, Linux 6.1.

mod buddies;
mod pick;
mod place;
mod preempt;
mod queueing;
mod row;
mod slice;

use simsched_core::{Preempt, World};
use simsched_topology::CpuId;

pub use preempt::wakeup_preempt_entity;
pub use row::CfsOrder;

use super::Discipline;
use super::nested::{self, Nested};
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::queueing::{DequeueFlags, EnqueueFlags};

/// The completely fair scheduler: to 6.5.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cfs;

impl Discipline for Cfs {
    #[inline]
    fn enqueue_task(h: &mut Hierarchy, se: EntityId, flags: EnqueueFlags, now: u64) {
        nested::enqueue_task::<Cfs>(h, se, flags, now);
    }

    #[inline]
    fn dequeue_task(h: &mut Hierarchy, se: EntityId, flags: DequeueFlags, now: u64) -> bool {
        nested::dequeue_task::<Cfs>(h, se, flags, now)
    }

    #[inline]
    fn pick_next_task(
        h: &mut Hierarchy,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId> {
        h.pick_next_task_cfs(cpu, prev, now)
    }

    fn put_prev_task(h: &mut Hierarchy, se: EntityId, now: u64) {
        nested::put_prev_task::<Cfs>(h, se, now);
    }

    fn set_next_task(h: &mut Hierarchy, se: EntityId, now: u64) {
        nested::set_next_task::<Cfs>(h, se, false, now);
    }

    #[inline]
    fn task_tick(h: &mut Hierarchy, _cpu: CpuId, curr: EntityId, now: u64) -> Preempt {
        h.task_tick_cfs(curr, now)
    }

    fn yield_task(h: &mut Hierarchy, curr: EntityId, now: u64) {
        h.yield_task_cfs(curr, now);
    }

    #[inline]
    fn check_preempt_wakeup(
        h: &mut Hierarchy,
        world: &World,
        cpu: CpuId,
        pair: [EntityId; 2],
        fork: bool,
    ) -> Preempt {
        h.check_preempt_wakeup_cfs(world, cpu, pair, fork)
    }

    /// `child_runs_first` is 0.
    fn task_fork(h: &mut Hierarchy, se: EntityId, cpu: CpuId, now: u64) {
        h.set_task_rq(se, cpu);
        let queue = h.cfs_rq_of(se);
        if let Some(curr) = h.queue(queue).curr {
            h.update_curr(queue, now);
            h.entity_mut(se).vruntime = h.entity(curr).vruntime;
        }
        h.place_initial(queue, se, now);
        Cfs::leave(h, se);
    }

    /// Its virtual time becomes relative to the queue that it leaves.
    #[inline]
    fn leave(h: &mut Hierarchy, se: EntityId) {
        let min_vruntime = h.cfs(h.cfs_rq_of(se)).min_vruntime;
        let entity = h.entity_mut(se);
        entity.vruntime = entity.vruntime.wrapping_sub(min_vruntime);
    }

    /// Moves the floor of virtual time, too.
    #[inline]
    fn update_curr(h: &mut Hierarchy, queue: QueueId, curr: EntityId, now: u64) {
        let se = &mut h.entities[curr.idx()];
        let ran = se.charge(now);
        if ran == 0 {
            return;
        }
        h.cfs[queue.idx()].update_min_vruntime(se.on_rq.then_some(se.vruntime));
        h.account_llc(queue, curr, ran);
    }

    fn lay_down(h: &mut Hierarchy, se: EntityId) {
        h.entity_mut(se).vruntime = h.cfs(h.cfs_rq_of(se)).min_vruntime;
    }

    fn is_buddy(h: &Hierarchy, queue: QueueId, se: EntityId) -> bool {
        h.queue(queue).next == Some(se) || h.cfs(queue).last == Some(se)
    }

    fn reweight_entity(h: &mut Hierarchy, se: EntityId, weight: u64, now: u64) {
        let queue = h.cfs_rq_of(se);
        if h.entity(se).on_rq && h.queue(queue).curr == Some(se) {
            h.update_curr(queue, now);
        }
        h.queues[queue.idx()].reweight_entity(&mut h.entities[se.idx()], weight);
    }

    fn check(h: &Hierarchy, queue: QueueId) -> Result<(), String> {
        h.check_timeline(queue)
    }
}

impl Nested for Cfs {
    #[inline]
    fn enqueue_entity(
        h: &mut Hierarchy,
        queue: QueueId,
        se: EntityId,
        flags: EnqueueFlags,
        now: u64,
    ) {
        h.enqueue_entity_cfs(queue, se, flags, now);
    }

    #[inline]
    fn dequeue_entity(
        h: &mut Hierarchy,
        queue: QueueId,
        se: EntityId,
        flags: DequeueFlags,
        now: u64,
    ) -> bool {
        h.dequeue_entity_cfs(queue, se, flags, now);
        true
    }

    #[inline]
    fn wait(h: &mut Hierarchy, queue: QueueId, se: EntityId) {
        let vruntime = h.entity(se).vruntime;
        h.cfs_mut(queue).timeline.insert(vruntime, se);
    }

    #[inline]
    fn wait_no_more(h: &mut Hierarchy, queue: QueueId, se: EntityId, _first: bool) {
        let vruntime = h.entity(se).vruntime;
        h.cfs_mut(queue).timeline.remove(vruntime, se);
    }

    #[inline]
    fn clear_buddies(h: &mut Hierarchy, queue: QueueId, se: EntityId) {
        h.clear_buddies(queue, se);
    }

    #[inline]
    fn requeue_delayed_entity(_h: &mut Hierarchy, _se: EntityId, _now: u64) {
        unreachable!("a sleeper leaves its queue");
    }

    #[inline]
    fn set_group_slice(_h: &mut Hierarchy, _queue: QueueId, _se: EntityId, _slice: u64) {}

    #[inline]
    fn group_slice(_h: &Hierarchy, _queue: QueueId) -> Option<u64> {
        None
    }
}
