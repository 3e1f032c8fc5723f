//! Delayed dequeue: a sleeper that has had more than its part stays queued until it has worked that
//! off, is picked, or is woken.

use crate::fair::entity::EntityId;
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::order::rules::DelayedLag;

impl Hierarchy {
    /// A task begins to be delayed, or ends: it counts as queued and as not runnable meanwhile. A group
    /// that is delayed has no tasks. Source: `set_delayed()`, `clear_delayed()`.
    pub(in crate::fair) fn set_delayed(&mut self, se: EntityId, delayed: bool) {
        self.entity_mut(se).sched_delayed = delayed;
        let mut above = Some(se).filter(|&se| self.entity(se).my_q.is_none());
        if above.is_some() && self.llc.is_some() {
            self.count_delayed(se, delayed);
        }
        while let Some(se) = above {
            let cfs_rq = self.queue_mut(self.cfs_rq_of(se));
            if delayed {
                cfs_rq.h_nr_delayed += 1;
            } else {
                cfs_rq.h_nr_delayed -= 1;
            }
            above = cfs_rq.se;
        }
    }

    /// A task that begins or ends to be delayed is counted by cache-aware load balancing (`pref_llc_running_dec()`,
    /// `pref_llc_running_inc()`, 7.2).
    fn count_delayed(&mut self, task: EntityId, delayed: bool) {
        let cpu = self.queue(self.cfs_rq_of(task)).cpu;
        if let Some(llc) = &mut self.llc {
            llc.set_delayed(task.task(), cpu, delayed);
        }
    }

    /// A sleeper is woken that is still queued, or a group gets a task. If it is owed something by now it
    /// is placed anew, as one that is owed nothing; since 7.2 wherever its lag is not what its virtual time tells.
    /// Source: `requeue_delayed_entity()`.
    pub(super) fn requeue_delayed_entity(&mut self, se: EntityId, now: u64) {
        let queue = self.cfs_rq_of(se);
        if self.rules.delayed_lag == DelayedLag::NoLess {
            self.update_curr(queue, now);
            if self.update_entity_lag(queue, se) {
                self.place_again(se);
            }
        } else if self.features.delay_zero {
            self.update_entity_lag(queue, se);
            if self.eevdf.requests[se.idx()].vlag > 0 {
                self.eevdf.requests[se.idx()].vlag = 0;
                self.place_again(se);
            }
        }
        self.update_load_avg(queue, se, now, Update::Age);
        self.set_delayed(se, false);
    }

    /// `se`, which is queued, is placed by its lag. Source: `requeue_delayed_entity()`.
    fn place_again(&mut self, se: EntityId) {
        let queue = self.cfs_rq_of(se);
        let is_curr = self.queue(queue).curr == Some(se);
        self.queue_mut(queue).nr_running -= 1;
        if !is_curr {
            self.wait_no_more(queue, se);
        }
        self.place_entity(queue, se, false);
        if !is_curr {
            self.wait_by_deadline(queue, se);
        }
        self.queue_mut(queue).nr_running += 1;
    }

    /// A delayed entity has left. Source: `finish_delayed_dequeue_entity()`.
    pub(super) fn finish_delayed_dequeue_entity(&mut self, se: EntityId) {
        self.set_delayed(se, false);
        if self.features.delay_zero && self.rules.delayed_lag == DelayedLag::Now {
            let request = &mut self.eevdf.requests[se.idx()];
            request.vlag = request.vlag.min(0);
        }
    }
}
