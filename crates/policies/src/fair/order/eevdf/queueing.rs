//! An entity joins and leaves one queue, or stays on it while it sleeps.

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::order::rules::{DelayedLag, UtilEstUpdate};
use crate::fair::queueing::{DequeueFlags, EnqueueFlags};

impl Hierarchy {
    /// A group stays queued, and what it asks for changes.
    pub(super) fn set_slice(&mut self, queue: QueueId, se: EntityId, slice: u64) {
        self.eevdf.requests[se.idx()].slice = slice;
        if self.queue(queue).curr != Some(se) {
            self.eevdf.nodes.set_slice(se, slice);
        }
    }

    /// Takes a sample of the utilization of `se`, if it is a task.
    /// Source: `update_load_avg()` with `UPDATE_UTIL_EST`, Linux 7.2.
    #[inline]
    fn util_est_update_of_task(&mut self, se: EntityId) {
        if self.entity(se).my_q.is_none() {
            self.util_est_update(se);
        }
    }

    /// Source: `enqueue_entity()`.
    #[inline]
    pub(super) fn enqueue_entity_eevdf(
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

    /// False if `se` stays queued, being delayed. Source: `dequeue_entity()`.
    #[inline]
    pub(super) fn dequeue_entity_eevdf(
        &mut self,
        queue: QueueId,
        se: EntityId,
        flags: DequeueFlags,
        now: u64,
    ) -> bool {
        self.update_curr(queue, now);
        self.clear_next_buddy(queue, se);
        let samples = self.rules.util_est == UtilEstUpdate::With;
        let may_stay = flags.sleep && !flags.delayed && !flags.special;
        if may_stay && self.features.delay_dequeue && !self.is_eligible(queue, se) {
            self.update_load_avg(queue, se, now, Update::Age);
            if samples {
                self.util_est_update_of_task(se);
            }
            if self.rules.delayed_lag == DelayedLag::NoLess {
                self.update_entity_lag(queue, se);
            }
            self.set_delayed(se, true);
            return false;
        }
        let is_task = self.entity(se).my_q.is_none();
        let update = if is_task && flags.migrating { Update::Detach } else { Update::Tg };
        self.update_load_avg(queue, se, now, update);
        if samples && flags.sleep && !flags.delayed {
            self.util_est_update_of_task(se);
        }
        self.se_update_runnable(se);

        self.update_entity_lag(queue, se);
        if self.features.place_rel_deadline && !flags.sleep {
            let vruntime = self.entity(se).vruntime;
            let request = &mut self.eevdf.requests[se.idx()];
            request.deadline = request.deadline.wrapping_sub(vruntime);
            self.entity_mut(se).rel_deadline = true;
        }
        if self.queue(queue).curr != Some(se) {
            self.wait_no_more(queue, se);
        }
        self.entity_mut(se).on_rq = false;
        self.account_entity_dequeue(queue, se);
        self.update_cfs_group(se, now);
        if flags.delayed {
            self.finish_delayed_dequeue_entity(se);
        }
        true
    }
}
