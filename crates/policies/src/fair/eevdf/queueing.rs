//! A task joins and leaves the queues of its CPU, or stays on them while it sleeps.

use simsched_core::SchedPolicy;

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::features::Version;
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::queueing::{DequeueFlags, EnqueueFlags};

impl Hierarchy {
    /// Source: `enqueue_task_fair()`.
    pub(in crate::fair) fn enqueue_task_eevdf(
        &mut self,
        task: EntityId,
        flags: EnqueueFlags,
        now: u64,
    ) {
        let idle = u32::from(self.entity(task).policy == SchedPolicy::Idle);
        let was_delayed = self.entity(task).sched_delayed;
        // Who comes as it left has not been added to the estimate of its CPU, being asleep.
        if !was_delayed || flags.wakeup || flags.delayed {
            self.util_est_enqueue(task);
        }
        if flags.delayed {
            self.requeue_delayed_entity(task, now);
            return;
        }
        let delayed = u32::from(was_delayed && !flags.wakeup);
        let (mut flags, mut above, mut joining, mut slice) = (flags, Some(task), true, None);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            if joining && self.entity(se).on_rq {
                joining = false;
                if self.entity(se).sched_delayed {
                    self.requeue_delayed_entity(se, now);
                }
            }
            if joining {
                if let Some(slice) = slice {
                    self.requests[se.idx()].slice = slice;
                    self.entity_mut(se).custom_slice = true;
                }
                self.enqueue_entity_eevdf(queue, se, flags, now);
                flags = EnqueueFlags::ABOVE;
            } else {
                self.refresh_level(queue, se, now);
                self.pass_slice_up(queue, se, slice);
            }
            slice = self.slice_of_group(queue);
            let cfs_rq = self.queue_mut(queue);
            cfs_rq.h_nr_running += 1;
            cfs_rq.idle_h_nr_running += idle;
            cfs_rq.h_nr_delayed += delayed;
            above = cfs_rq.se;
        }
    }

    /// The slice of the group whose queue this is: the shortest one below (6.12 and later).
    #[inline]
    fn slice_of_group(&self, queue: QueueId) -> Option<u64> {
        let has_group = self.queue(queue).se.is_some() && self.features.version >= Version::V6_12;
        if has_group { self.slices(queue).map(|(shortest, _)| shortest) } else { None }
    }

    /// A group stays queued, and what it asks for changes.
    fn pass_slice_up(&mut self, queue: QueueId, se: EntityId, slice: Option<u64>) {
        let Some(slice) = slice else { return };
        self.requests[se.idx()].slice = slice;
        if self.queue(queue).curr != Some(se) {
            self.nodes.set_slice(se, slice);
        }
    }

    /// Source: `enqueue_entity()`.
    #[inline]
    fn enqueue_entity_eevdf(
        &mut self,
        queue: QueueId,
        se: EntityId,
        flags: EnqueueFlags,
        now: u64,
    ) {
        let is_curr = self.queue(queue).curr == Some(se);
        if is_curr {
            self.place_entity(queue, se, flags.initial);
        }
        self.update_curr(queue, now);
        self.update_load_avg(queue, se, now, Update::Attach);
        self.se_update_runnable(se);
        self.update_cfs_group(se, now);
        if !is_curr {
            self.place_entity(queue, se, flags.initial);
        }
        self.account_entity_enqueue(queue, se);
        if flags.migrated {
            self.entity_mut(se).exec_start = 0;
        }
        if !is_curr {
            self.wait_by_deadline(queue, se);
        }
        self.entity_mut(se).on_rq = true;
        self.queue_mut(queue).on_list = true;
    }

    /// False if the task stays queued, being delayed. Source: `dequeue_task_fair()`.
    pub(in crate::fair) fn dequeue_task_eevdf(
        &mut self,
        task: EntityId,
        flags: DequeueFlags,
        now: u64,
    ) -> bool {
        if !self.entity(task).sched_delayed || flags.sleep {
            self.util_est_dequeue(task);
        }
        let is_single = self.features.version >= Version::V6_12;
        if flags.sleep && is_single {
            self.util_est_update(task);
        }
        let has_left = self.dequeue_entities(task, flags, now);
        if flags.sleep && !is_single {
            self.util_est_update(task);
        }
        has_left
    }

    /// Takes `se` and, level by level, the groups that it leaves empty; false if `se` itself stays, being
    /// delayed. Source: `dequeue_entities()`.
    pub(super) fn dequeue_entities(
        &mut self,
        first: EntityId,
        flags: DequeueFlags,
        now: u64,
    ) -> bool {
        let (is_task, entity) = (self.entity(first).my_q.is_none(), self.entity(first));
        let nr = u32::from(is_task);
        let idle = u32::from(is_task && entity.policy == SchedPolicy::Idle);
        let delayed = u32::from(is_task && entity.sched_delayed && !flags.sleep);
        let (mut level, mut above, mut leaving, mut slice) = (flags, Some(first), true, None);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            let was_leaving = leaving;
            if leaving && !self.dequeue_entity_eevdf(queue, se, level, now) {
                if se == first && is_task {
                    return false;
                }
                // The group stays, and is as it was but for its counts.
                leaving = false;
                if self.features.version >= Version::V6_12 {
                    slice = self.slices(queue).map(|(shortest, _)| shortest);
                }
            }
            if !leaving {
                self.refresh_level(queue, se, now);
                self.pass_slice_up(queue, se, slice);
            }
            slice = self.slice_of_group(queue);
            let cfs_rq = self.queue_mut(queue);
            cfs_rq.h_nr_running -= nr;
            cfs_rq.idle_h_nr_running -= idle;
            cfs_rq.h_nr_delayed -= delayed;
            above = cfs_rq.se;
            if was_leaving && leaving {
                leaving = cfs_rq.load.weight == 0;
                if let (Some(parent), false, true) = (above, leaving, flags.sleep) {
                    self.set_next_buddy(parent);
                }
                level = DequeueFlags { sleep: true, delayed: false, special: false, ..level };
            }
        }
        if is_task && flags.delayed {
            self.asked.block(first.task());
        }
        true
    }

    /// False if `se` stays queued, being delayed. Source: `dequeue_entity()`.
    #[inline]
    fn dequeue_entity_eevdf(
        &mut self,
        queue: QueueId,
        se: EntityId,
        flags: DequeueFlags,
        now: u64,
    ) -> bool {
        self.update_curr(queue, now);
        self.clear_buddies(queue, se);
        let may_stay = flags.sleep && !flags.delayed && !flags.special;
        if may_stay && self.features.delay_dequeue && !self.is_eligible(queue, se) {
            self.update_load_avg(queue, se, now, Update::Age);
            self.set_delayed(se, true);
            return false;
        }
        let is_task = self.entity(se).my_q.is_none();
        let update = if is_task && flags.migrating { Update::Detach } else { Update::Tg };
        self.update_load_avg(queue, se, now, update);
        self.se_update_runnable(se);

        self.update_entity_lag(queue, se);
        if self.features.place_rel_deadline && !flags.sleep {
            let vruntime = self.entity(se).vruntime;
            let request = &mut self.requests[se.idx()];
            request.deadline = request.deadline.wrapping_sub(vruntime);
            self.entity_mut(se).rel_deadline = true;
        }
        if self.queue(queue).curr != Some(se) {
            self.wait_no_more(queue, se);
        }
        let (entity, cfs_rq) = (&mut self.entities[se.idx()], &mut self.queues[queue.idx()]);
        entity.on_rq = false;
        cfs_rq.load.sub(entity.load.weight);
        cfs_rq.nr_running -= 1;
        cfs_rq.idle_nr_running -= u32::from(entity.is_idle());
        if is_task {
            self.mru.remove(se.task());
            if let Some(llc) = &mut self.llc {
                llc.dequeue(se.task(), cfs_rq.cpu);
            }
        }
        self.update_cfs_group(se, now);
        if flags.delayed {
            self.finish_delayed_dequeue_entity(se);
        }
        true
    }
}
