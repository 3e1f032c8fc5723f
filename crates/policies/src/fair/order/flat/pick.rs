//! Picking from the one tree, and what a switch does to it and to the queues of groups.

use simsched_topology::CpuId;

use crate::fair::GROUP_LEVEL;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::queueing::DequeueFlags;
use crate::fair::weight::NICE_0_LOAD;

impl Hierarchy {
    /// The task that should run next; a sleeper that is picked leaves, and the choice is repeated.
    /// Source: `pick_next_entity()`.
    #[inline]
    pub(super) fn pick_flat(&mut self, root: QueueId, protect: bool, now: u64) -> Option<EntityId> {
        while self.tree_nr(root) > 0 {
            let se = self.pick_eevdf(root, protect)?;
            if !self.entity(se).sched_delayed {
                return Some(se);
            }
            let cpu = self.queue(root).cpu;
            let was_sched_idle = self.root(cpu).has_only_sched_idle();
            self.dequeue_task_flat(se, DequeueFlags::DELAYED, now);
            self.walked(se, GROUP_LEVEL);
            if !was_sched_idle && self.root(cpu).has_only_sched_idle() {
                self.asked.note_sched_idle();
            }
        }
        None
    }

    /// Source: `pick_task_fair()`, `put_prev_set_next_task()`.
    #[inline]
    pub(super) fn pick_next_task_flat(
        &mut self,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId> {
        let root = Hierarchy::root_of(cpu);
        if self.tree_curr(root).is_some_and(|curr| self.entity(curr).on_rq) {
            self.update_curr_of_tree(root, now);
        }
        let next = self.pick_flat(root, true, now);
        if let Some(next) = next
            && Some(next) != prev
        {
            if let Some(prev) = prev {
                self.put_prev_task_flat(prev, Some(next), now);
            }
            self.set_next_task_flat(next, true, now);
        }
        // Who was current needs not be told to go any more (`clear_tsk_need_resched()`).
        self.asked.take_due(cpu);
        next
    }

    /// `prev` is current no more, nor are the groups above it that `next` is not in. It waits again if it is still
    /// queued. Source: `put_prev_task_fair()`.
    pub(super) fn put_prev_task_flat(&mut self, prev: EntityId, next: Option<EntityId>, now: u64) {
        let (mut above, mut other) = (Some(prev), next);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            if other.is_none() || self.queue(queue).curr.is_some() {
                self.put_prev_level(queue, se, now);
            }
            if let Some(next) = other {
                if self.cfs_rq_of(next) == queue {
                    break;
                }
                let (depth, next_depth) = (self.entity(se).depth, self.entity(next).depth);
                if next_depth >= depth {
                    other = self.parent(next);
                }
                if next_depth > depth {
                    continue;
                }
            }
            above = self.parent(se);
        }
        let root = self.root_queue_of(prev);
        self.eevdf_rq_mut(root).curr = None;
        if self.entity(prev).on_rq {
            self.wait_by_deadline(root, prev);
        }
    }

    /// Source: `put_prev_entity()`.
    #[inline]
    fn put_prev_level(&mut self, queue: QueueId, se: EntityId, now: u64) {
        if self.entity(se).on_rq {
            self.update_curr(queue, now);
            self.update_load_avg(queue, se, now, Update::Age);
        }
        self.queue_mut(queue).curr = None;
    }

    /// `se` is current from now on, and so are the groups above it; `first` if it was picked.
    /// Source: `set_next_task_fair()`.
    pub(super) fn set_next_task_flat(&mut self, task: EntityId, first: bool, now: u64) {
        let root = self.root_queue_of(task);
        let on_rq = self.entity(task).on_rq;
        self.clear_next_buddy(root, task);
        if on_rq {
            self.wait_no_more(root, task);
        }
        let (mut above, mut weight) = (Some(task), NICE_0_LOAD);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            if !first || self.queue(queue).curr.is_none() {
                if self.entity(se).on_rq {
                    self.update_load_avg(queue, se, now, Update::Tg);
                }
                self.queue_mut(queue).curr = Some(se);
                self.entity_mut(se).starts(now);
            }
            weight = self.prop_weight_if(on_rq, queue, se, weight);
            above = self.queue(queue).se;
        }
        self.eevdf_rq_mut(root).curr = Some(task);
        if on_rq {
            self.reweight_task_flat(root, task, weight, true);
            if first {
                self.set_protect_slice(root, task);
            }
            let cpu = self.queue(root).cpu;
            self.mru.move_front(cpu, task.task());
        }
        if first {
            self.start_slice_of(root, task);
        }
    }

    #[inline]
    fn prop_weight_if(&self, on_rq: bool, queue: QueueId, se: EntityId, weight: u64) -> u64 {
        if on_rq { self.prop_weight(queue, se, weight) } else { weight }
    }
}
