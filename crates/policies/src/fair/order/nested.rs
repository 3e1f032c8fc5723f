//! One queue for each group and CPU: a task joins, leaves and runs level by level, from itself to the root.

use simsched_core::SchedPolicy;

use super::Discipline;
use super::rules::UtilEstUpdate;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::queueing::{DequeueFlags, EnqueueFlags};

/// What an order does on one queue with one entity, a task or a group.
pub(super) trait Nested: Discipline {
    /// `se` joins `queue`. Source: `enqueue_entity()`.
    fn enqueue_entity(
        h: &mut Hierarchy,
        queue: QueueId,
        se: EntityId,
        flags: EnqueueFlags,
        now: u64,
    );
    /// `se` leaves `queue`; false if it stays, being delayed. Source: `dequeue_entity()`.
    fn dequeue_entity(
        h: &mut Hierarchy,
        queue: QueueId,
        se: EntityId,
        flags: DequeueFlags,
        now: u64,
    ) -> bool;
    /// `se`, which was current, waits on `queue`. Source: `__enqueue_entity()`.
    fn wait(h: &mut Hierarchy, queue: QueueId, se: EntityId);
    /// `se`, which waits on `queue`, is going to be current; `first` if it was picked.
    /// Source: `__dequeue_entity()`, `set_protect_slice()`.
    fn wait_no_more(h: &mut Hierarchy, queue: QueueId, se: EntityId, first: bool);
    /// No hint names `se` any more. Source: `clear_buddies()`.
    fn clear_buddies(h: &mut Hierarchy, queue: QueueId, se: EntityId);
    /// A sleeper that is queued still is woken, or a group that is gets a task.
    /// Source: `requeue_delayed_entity()`.
    fn requeue_delayed_entity(h: &mut Hierarchy, se: EntityId, now: u64);
    /// A group asks for the shortest slice of those below (6.12 and later).
    fn set_group_slice(h: &mut Hierarchy, queue: QueueId, se: EntityId, slice: u64);
    /// The shortest slice on `queue`, if groups ask for one.
    fn group_slice(h: &Hierarchy, queue: QueueId) -> Option<u64>;
}

/// Source: `enqueue_task_fair()`.
#[inline]
pub(super) fn enqueue_task<N: Nested>(
    h: &mut Hierarchy,
    task: EntityId,
    flags: EnqueueFlags,
    now: u64,
) {
    let idle = u32::from(h.entity(task).policy == SchedPolicy::Idle);
    let was_delayed = h.entity(task).sched_delayed;
    // Who comes as it left has not been added to the estimate of its CPU, being asleep.
    let is_waking = flags.wakeup && h.rules.util_est != UtilEstUpdate::With;
    if !was_delayed || is_waking || flags.delayed {
        h.util_est_enqueue(task);
    }
    if flags.delayed {
        N::requeue_delayed_entity(h, task, now);
        return;
    }
    let delayed = u32::from(was_delayed && !flags.wakeup);
    let (mut flags, mut above, mut joining, mut slice) = (flags, Some(task), true, None);
    while let Some(se) = above {
        let queue = h.cfs_rq_of(se);
        if joining && h.entity(se).on_rq {
            joining = false;
            if h.entity(se).sched_delayed {
                N::requeue_delayed_entity(h, se, now);
            }
        }
        if joining {
            if let Some(slice) = slice {
                h.eevdf.requests[se.idx()].slice = slice;
                h.entity_mut(se).custom_slice = true;
            }
            N::enqueue_entity(h, queue, se, flags, now);
            flags = EnqueueFlags::ABOVE;
        } else {
            h.refresh_level(queue, se, now);
            if let Some(slice) = slice {
                N::set_group_slice(h, queue, se, slice);
            }
        }
        slice = h.queue(queue).se.and_then(|_| N::group_slice(h, queue));
        let cfs_rq = h.queue_mut(queue);
        cfs_rq.h_nr_running += 1;
        cfs_rq.idle_h_nr_running += idle;
        cfs_rq.h_nr_delayed += delayed;
        above = cfs_rq.se;
    }
}

/// Source: `dequeue_task_fair()`.
#[inline]
pub(super) fn dequeue_task<N: Nested>(
    h: &mut Hierarchy,
    task: EntityId,
    flags: DequeueFlags,
    now: u64,
) -> bool {
    if !h.entity(task).sched_delayed || flags.sleep && h.rules.util_est != UtilEstUpdate::With {
        h.util_est_dequeue(task);
    }
    if flags.sleep && h.rules.util_est == UtilEstUpdate::Before {
        h.util_est_update(task);
    }
    let has_left = dequeue_entities::<N>(h, task, flags, now);
    if flags.sleep && h.rules.util_est == UtilEstUpdate::Behind {
        h.util_est_update(task);
    }
    has_left
}

/// Takes `first` and, level by level, the groups that it leaves empty; false if `first` itself is a task and stays,
/// being delayed. Source: `dequeue_entities()`.
pub(super) fn dequeue_entities<N: Nested>(
    h: &mut Hierarchy,
    first: EntityId,
    flags: DequeueFlags,
    now: u64,
) -> bool {
    let (is_task, entity) = (h.entity(first).my_q.is_none(), h.entity(first));
    let nr = u32::from(is_task);
    let idle = u32::from(is_task && entity.policy == SchedPolicy::Idle);
    let delayed = u32::from(is_task && entity.sched_delayed && !flags.sleep);
    let (mut level, mut above, mut leaving, mut slice) = (flags, Some(first), true, None);
    while let Some(se) = above {
        let queue = h.cfs_rq_of(se);
        let was_leaving = leaving;
        if leaving && !N::dequeue_entity(h, queue, se, level, now) {
            if se == first && is_task {
                return false;
            }
            // The group stays, and is as it was but for its counts.
            leaving = false;
            slice = N::group_slice(h, queue);
        }
        if !leaving {
            h.refresh_level(queue, se, now);
            if let Some(slice) = slice {
                N::set_group_slice(h, queue, se, slice);
            }
        }
        slice = h.queue(queue).se.and_then(|_| N::group_slice(h, queue));
        let cfs_rq = h.queue_mut(queue);
        cfs_rq.h_nr_running -= nr;
        cfs_rq.idle_h_nr_running -= idle;
        cfs_rq.h_nr_delayed -= delayed;
        above = cfs_rq.se;
        if was_leaving && leaving {
            leaving = cfs_rq.load.weight == 0;
            if let (Some(parent), false, true) = (above, leaving, flags.sleep) {
                // The sleeper's neighbours shall run for the rest of its slice.
                h.set_next_buddy(parent);
            }
            level = DequeueFlags { sleep: true, delayed: false, special: false, ..level };
        }
    }
    if is_task && flags.delayed {
        h.asked.block(first.task());
    }
    true
}

/// `se` stops running; it waits again if it is still queued. Source: `put_prev_entity()`.
#[inline]
fn put_prev_entity<N: Nested>(h: &mut Hierarchy, queue: QueueId, se: EntityId, now: u64) {
    if h.entity(se).on_rq {
        h.update_curr(queue, now);
        N::wait(h, queue, se);
        h.update_load_avg(queue, se, now, Update::Age);
    }
    h.queue_mut(queue).curr = None;
}

/// `se` runs from now on. Source: `set_next_entity()`.
#[inline]
pub(super) fn set_next_entity<N: Nested>(
    h: &mut Hierarchy,
    queue: QueueId,
    se: EntityId,
    first: bool,
    now: u64,
) {
    N::clear_buddies(h, queue, se);
    if h.entity(se).on_rq {
        N::wait_no_more(h, queue, se, first);
        h.update_load_avg(queue, se, now, Update::Tg);
    }
    h.queue_mut(queue).curr = Some(se);
    h.entity_mut(se).starts(now);
}

/// Source: `put_prev_task_fair()`.
pub(super) fn put_prev_task<N: Nested>(h: &mut Hierarchy, se: EntityId, now: u64) {
    let mut above = Some(se);
    while let Some(se) = above {
        put_prev_entity::<N>(h, h.cfs_rq_of(se), se, now);
        above = h.parent(se);
    }
}

/// `se` is current from now on; `first` if it was picked. Source: `set_next_task_fair()`.
pub(super) fn set_next_task<N: Nested>(h: &mut Hierarchy, se: EntityId, first: bool, now: u64) {
    if h.entity(se).on_rq {
        let cpu = h.queue(h.cfs_rq_of(se)).cpu;
        h.mru.move_front(cpu, se.task());
    }
    let mut above = Some(se);
    while let Some(se) = above {
        set_next_entity::<N>(h, h.cfs_rq_of(se), se, first, now);
        above = h.parent(se);
    }
}

/// Puts back and sets next only below the level at which the two tasks part. Source: `pick_next_task_fair()`.
#[inline]
pub(super) fn switch<N: Nested>(h: &mut Hierarchy, prev: EntityId, next: EntityId, now: u64) {
    let (mut pse, mut se) = (prev, next);
    while h.cfs_rq_of(se) != h.cfs_rq_of(pse) {
        let (depth, prev_depth) = (h.entity(se).depth, h.entity(pse).depth);
        if depth <= prev_depth {
            put_prev_entity::<N>(h, h.cfs_rq_of(pse), pse, now);
            pse = h.parent(pse).expect("queues of one CPU meet at the root");
        }
        if depth >= prev_depth {
            set_next_entity::<N>(h, h.cfs_rq_of(se), se, true, now);
            se = h.parent(se).expect("queues of one CPU meet at the root");
        }
    }
    let queue = h.cfs_rq_of(se);
    put_prev_entity::<N>(h, queue, pse, now);
    set_next_entity::<N>(h, queue, se, true, now);
}

/// The two entities of one queue under which the tasks are. Source: `find_matching_se()`.
pub(super) fn find_matching_se(h: &Hierarchy, curr: EntityId, wakee: EntityId) -> [EntityId; 2] {
    let up = |se| h.parent(se).expect("queues of one CPU meet at the root");
    let (mut se, mut pse) = (curr, wakee);
    while h.entity(se).depth > h.entity(pse).depth {
        se = up(se);
    }
    while h.entity(pse).depth > h.entity(se).depth {
        pse = up(pse);
    }
    while h.cfs_rq_of(se) != h.cfs_rq_of(pse) {
        (se, pse) = (up(se), up(pse));
    }
    [se, pse]
}
