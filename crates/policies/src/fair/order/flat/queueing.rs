//! A task joins the one tree of its CPU and the queues of its groups, leaves them, or stays while it sleeps.

use simsched_core::SchedPolicy;

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::queueing::{DequeueFlags, EnqueueFlags};
use crate::fair::weight::NICE_0_LOAD;

impl Hierarchy {
    /// Source: `enqueue_task_fair()`.
    pub(super) fn enqueue_task_flat(&mut self, se: EntityId, flags: EnqueueFlags, now: u64) {
        let root = self.root_queue_of(se);
        if !self.entity(se).sched_delayed || flags.delayed {
            self.util_est_enqueue(se);
        }
        self.update_curr_of_tree(root, now);
        if flags.delayed {
            self.requeue_delayed_flat(root, se, now);
            return;
        }
        // Who runs and was taken out for a moment is placed before it is counted.
        let is_curr = self.tree_curr(root) == Some(se);
        if is_curr {
            self.place_entity(root, se, flags.initial);
        }
        let weight = self.enqueue_hierarchy(se, flags, now);
        if !is_curr {
            self.reweight_task_flat(root, se, weight, false);
            let nr_others = self.tree_nr(root) - 1;
            self.place_entity_among(root, nr_others, se, flags.initial);
            self.wait_by_deadline(root, se);
        }
        self.start_slice(root);
    }

    /// The root queue of the CPU of `se`.
    #[inline]
    pub(super) fn root_queue_of(&self, se: EntityId) -> QueueId {
        Hierarchy::root_of(self.queue(self.cfs_rq_of(se)).cpu)
    }

    /// Charges the current task of the tree, on the queue of its group. Source: `update_curr_eevdf()`.
    #[inline]
    pub(super) fn update_curr_of_tree(&mut self, root: QueueId, now: u64) {
        if let Some(curr) = self.tree_curr(root) {
            self.update_curr(self.cfs_rq_of(curr), now);
        }
    }

    /// Level by level from the task up; its weight among all of the CPU. Source: `enqueue_hierarchy()`.
    #[inline]
    fn enqueue_hierarchy(&mut self, task: EntityId, flags: EnqueueFlags, now: u64) -> u64 {
        let idle = u32::from(self.entity(task).policy == SchedPolicy::Idle);
        let delayed = u32::from(self.entity(task).sched_delayed && !flags.wakeup);
        let (mut weight, mut above, mut migrated) = (NICE_0_LOAD, Some(task), flags.migrated);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            self.update_curr(queue, now);
            if self.entity(se).on_rq {
                self.refresh_level(queue, se, now);
            } else {
                self.update_load_avg(queue, se, now, Update::Attach);
                self.se_update_runnable(se);
                self.update_cfs_group(se, now);
                self.account_entity_enqueue(queue, se);
                if migrated {
                    self.entity_mut(se).exec_start = 0;
                }
                self.entity_mut(se).on_rq = true;
                self.queue_mut(queue).on_list = true;
            }
            let cfs_rq = self.queue_mut(queue);
            cfs_rq.h_nr_running += 1;
            cfs_rq.h_nr_delayed += delayed;
            cfs_rq.idle_h_nr_running += idle;
            above = cfs_rq.se;
            weight = self.prop_weight(queue, se, weight);
            migrated = false;
        }
        weight
    }

    /// A sleeper that is queued still is woken. Where that changes what it is owed it is placed anew. Its averages
    /// are aged with those of the root queue, whatever its group. Source: `requeue_delayed_entity()`.
    fn requeue_delayed_flat(&mut self, root: QueueId, se: EntityId, now: u64) {
        if self.update_entity_lag(root, se) {
            let is_curr = self.tree_curr(root) == Some(se);
            if !is_curr {
                self.wait_no_more(root, se);
            }
            let nr_others = self.tree_nr(root) - 1;
            self.place_entity_among(root, nr_others, se, false);
            if !is_curr {
                self.wait_by_deadline(root, se);
            }
        }
        self.update_load_avg(root, se, now, Update::Age);
        self.set_delayed(se, false);
    }

    /// Source: `util_est_dequeue()` in `dequeue_task_fair()`.
    #[inline]
    pub(super) fn util_est_dequeue_flat(&mut self, se: EntityId) {
        if !self.entity(se).sched_delayed {
            self.util_est_dequeue(se);
        }
    }

    /// False if the task stays queued, being delayed. Source: `__dequeue_task()`.
    pub(super) fn dequeue_task_flat(
        &mut self,
        se: EntityId,
        flags: DequeueFlags,
        now: u64,
    ) -> bool {
        let root = self.root_queue_of(se);
        self.clear_next_buddy(root, se);
        self.update_curr_of_tree(root, now);
        self.update_entity_lag(root, se);
        let may_stay = flags.sleep && !flags.delayed && !flags.special;
        if may_stay && self.features.delay_dequeue && !self.is_eligible(root, se) {
            self.update_load_avg(self.cfs_rq_of(se), se, now, Update::Age);
            self.util_est_update(se);
            self.set_delayed(se, true);
            return false;
        }
        self.dequeue_hierarchy(se, flags, now);
        if self.features.place_rel_deadline && !flags.sleep {
            let vruntime = self.entity(se).vruntime;
            let request = &mut self.eevdf.requests[se.idx()];
            request.deadline = request.deadline.wrapping_sub(vruntime);
            self.entity_mut(se).rel_deadline = true;
        }
        if self.tree_curr(root) != Some(se) {
            self.wait_no_more(root, se);
        }
        if flags.delayed {
            self.set_delayed(se, false);
            self.asked.block(se.task());
        }
        true
    }

    /// Level by level from the task up. Source: `dequeue_hierarchy()`.
    #[inline]
    fn dequeue_hierarchy(&mut self, task: EntityId, flags: DequeueFlags, now: u64) {
        let entity = self.entity(task);
        let idle = u32::from(entity.policy == SchedPolicy::Idle);
        // Who was delayed and sleeps on counts as runnable until `clear_delayed()`.
        let delayed = u32::from(entity.sched_delayed && !flags.sleep);
        let (mut above, mut leaving) = (Some(task), true);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            self.update_curr(queue, now);
            if leaving {
                self.dequeue_level(queue, se, flags, now);
                leaving = self.queue(queue).load.weight == 0;
            } else {
                self.refresh_level(queue, se, now);
            }
            let cfs_rq = self.queue_mut(queue);
            cfs_rq.h_nr_running -= 1;
            cfs_rq.h_nr_delayed -= delayed;
            cfs_rq.idle_h_nr_running -= idle;
            above = cfs_rq.se;
        }
    }

    /// Source: `dequeue_entity()`.
    #[inline]
    fn dequeue_level(&mut self, queue: QueueId, se: EntityId, flags: DequeueFlags, now: u64) {
        let is_task = self.entity(se).my_q.is_none();
        let update = if is_task && flags.migrating { Update::Detach } else { Update::Tg };
        self.update_load_avg(queue, se, now, update);
        if is_task && flags.sleep && !flags.delayed {
            self.util_est_update(se);
        }
        self.se_update_runnable(se);
        self.entity_mut(se).on_rq = false;
        self.account_entity_dequeue(queue, se);
        self.update_cfs_group(se, now);
    }
}
