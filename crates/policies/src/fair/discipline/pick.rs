//! Picking: who runs next, and what a switch does to the queues.

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::timeline::before;
use simsched_topology::CpuId;

impl Hierarchy {
    /// The entity of `queue` that should run next: the leftmost, unless it has yielded or a buddy
    /// is not too far behind it. `curr` competes although it is not in the timeline.
    ///
    /// The queue must not be empty. Source: `pick_next_entity()`.
    #[inline]
    pub(in crate::fair) fn pick_next_entity(
        &self,
        queue: QueueId,
        curr: Option<EntityId>,
    ) -> Option<EntityId> {
        let cfs_rq = self.queue(queue);
        let left = match (cfs_rq.timeline.first(), curr) {
            (Some(left), Some(curr)) if self.is_before(curr, left) => curr,
            (Some(left), _) => left,
            (None, curr) => curr?,
        };
        let mut se = left;
        if cfs_rq.skip == Some(left)
            && let Some(second) = self.second(queue, left, curr)
            && self.wakeup_preempt_entity(second, left) < 1
        {
            se = second;
        }
        if let Some(next) = cfs_rq.next
            && self.wakeup_preempt_entity(next, left) < 1
        {
            se = next;
        } else if let Some(last) = cfs_rq.last
            && self.wakeup_preempt_entity(last, left) < 1
        {
            se = last;
        }
        Some(se)
    }

    /// Who would run if `left` did not.
    fn second(&self, queue: QueueId, left: EntityId, curr: Option<EntityId>) -> Option<EntityId> {
        let timeline = &self.queue(queue).timeline;
        if curr == Some(left) {
            return timeline.first();
        }
        match (timeline.second(), curr) {
            (Some(second), Some(curr)) if self.is_before(curr, second) => Some(curr),
            (Some(second), _) => Some(second),
            (None, curr) => curr,
        }
    }

    #[inline]
    fn is_before(&self, a: EntityId, b: EntityId) -> bool {
        before(self.entity(a).vruntime, self.entity(b).vruntime)
    }

    /// `se` stops running; it waits again if it is still queued. Source: `put_prev_entity()`.
    #[inline]
    fn put_prev_entity(&mut self, queue: QueueId, se: EntityId, now: u64) {
        if self.entity(se).on_rq {
            self.update_curr(queue, now);
            if self.is_eevdf {
                self.wait_by_deadline(queue, se);
            } else {
                let vruntime = self.entity(se).vruntime;
                self.queue_mut(queue).timeline.insert(vruntime, se);
            }
            self.update_load_avg(queue, se, now, Update::Age);
        }
        self.queue_mut(queue).curr = None;
    }

    /// `se` runs from now on. Source: `set_next_entity()`.
    #[inline]
    fn set_next_entity(&mut self, queue: QueueId, se: EntityId, now: u64) {
        self.clear_buddies(queue, se);
        let entity = self.entity(se);
        if entity.on_rq {
            if self.is_eevdf {
                self.wait_no_more(queue, se);
                self.set_protect_slice(queue, se);
            } else {
                let vruntime = entity.vruntime;
                self.queue_mut(queue).timeline.remove(vruntime, se);
            }
            self.update_load_avg(queue, se, now, Update::Tg);
        }
        self.queue_mut(queue).curr = Some(se);
        let entity = self.entity_mut(se);
        entity.exec_start = now;
        entity.prev_sum_exec_runtime = entity.sum_exec_runtime;
    }

    /// Source: `put_prev_task_fair()`.
    pub(in crate::fair) fn put_prev_task(&mut self, se: EntityId, now: u64) {
        let mut above = Some(se);
        while let Some(se) = above {
            self.put_prev_entity(self.cfs_rq_of(se), se, now);
            above = self.parent(se);
        }
    }

    /// Source: `set_next_task_fair()`.
    pub(in crate::fair) fn set_next_task(&mut self, se: EntityId, now: u64) {
        if self.entity(se).on_rq {
            let cpu = self.queue(self.cfs_rq_of(se)).cpu;
            self.mru.move_front(cpu, se.task());
        }
        let mut above = Some(se);
        while let Some(se) = above {
            self.set_next_entity(self.cfs_rq_of(se), se, now);
            above = self.parent(se);
        }
    }

    /// The next task of `cpu`, which from now on is the running one; `prev` was it and is put
    /// back. Nothing is runnable: `None`, and `prev` stays `curr` of its queues until the CPU
    /// switches (`put_prev_task`), behind a pass for newly idle CPUs. What is queued meanwhile runs
    /// `update_curr()` on it, also where it sleeps. Source: `pick_next_task_fair()`.
    #[inline]
    pub(in crate::fair) fn pick_next_task(
        &mut self,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId> {
        if self.is_eevdf {
            return self.pick_next_task_eevdf(cpu, prev, now);
        }
        let root = Hierarchy::root_of(cpu);
        let is_empty = self.queue(root).nr_running == 0;
        if is_empty {
            return None;
        }
        let next = match prev {
            None => self.pick_afresh(root, now)?,
            Some(prev) => {
                let next = self.pick_beside_curr(root, now)?;
                if next != prev {
                    self.switch(prev, next, now);
                }
                next
            }
        };
        self.mru.move_front(cpu, next.task());
        Some(next)
    }

    /// Nobody of this class was running: each level's choice is made current on the way down.
    fn pick_afresh(&mut self, root: QueueId, now: u64) -> Option<EntityId> {
        let mut below = root;
        loop {
            let se = self.pick_next_entity(below, None)?;
            self.set_next_entity(below, se, now);
            match self.entity(se).group_cfs_rq() {
                Some(child) => below = child,
                None => return Some(se),
            }
        }
    }

    /// The running entities compete; nothing is moved yet.
    #[inline]
    fn pick_beside_curr(&mut self, root: QueueId, now: u64) -> Option<EntityId> {
        let mut below = root;
        loop {
            let curr = self.queue(below).curr.filter(|&curr| self.entity(curr).on_rq);
            if curr.is_some() {
                self.update_curr(below, now);
            }
            let se = self.pick_next_entity(below, curr)?;
            match self.entity(se).group_cfs_rq() {
                Some(child) => below = child,
                None => return Some(se),
            }
        }
    }

    /// Puts back and sets next only below the level at which the two tasks part.
    #[inline]
    pub(in crate::fair) fn switch(&mut self, prev: EntityId, next: EntityId, now: u64) {
        let (mut pse, mut se) = (prev, next);
        while self.cfs_rq_of(se) != self.cfs_rq_of(pse) {
            let (depth, prev_depth) = (self.entity(se).depth, self.entity(pse).depth);
            if depth <= prev_depth {
                self.put_prev_entity(self.cfs_rq_of(pse), pse, now);
                pse = self.parent(pse).expect("queues of one CPU meet at the root");
            }
            if depth >= prev_depth {
                self.set_next_entity(self.cfs_rq_of(se), se, now);
                se = self.parent(se).expect("queues of one CPU meet at the root");
            }
        }
        let queue = self.cfs_rq_of(se);
        self.put_prev_entity(queue, pse, now);
        self.set_next_entity(queue, se, now);
    }
}
