//! Picking: who runs next.

use super::Cfs;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::order::nested;
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
        let order = self.cfs(queue);
        let left = match (order.timeline.first(), curr) {
            (Some(left), Some(curr)) if self.is_before(curr, left) => curr,
            (Some(left), _) => left,
            (None, curr) => curr?,
        };
        let mut se = left;
        if order.skip == Some(left)
            && let Some(second) = self.second(queue, left, curr)
            && self.wakeup_preempt_entity(second, left) < 1
        {
            se = second;
        }
        if let Some(next) = self.queue(queue).next
            && self.wakeup_preempt_entity(next, left) < 1
        {
            se = next;
        } else if let Some(last) = order.last
            && self.wakeup_preempt_entity(last, left) < 1
        {
            se = last;
        }
        Some(se)
    }

    /// Who would run if `left` did not.
    fn second(&self, queue: QueueId, left: EntityId, curr: Option<EntityId>) -> Option<EntityId> {
        let timeline = &self.cfs(queue).timeline;
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

    /// The next task of `cpu`, which from now on is the running one; `prev` was it and is put
    /// back. Nothing is runnable: `None`, and `prev` stays `curr` of its queues until the CPU
    /// switches (`put_prev_task`), behind a pass for newly idle CPUs. What is queued meanwhile runs
    /// `update_curr()` on it, also where it sleeps. Source: `pick_next_task_fair()`.
    #[inline]
    pub(super) fn pick_next_task_cfs(
        &mut self,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId> {
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
                    nested::switch::<Cfs>(self, prev, next, now);
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
            nested::set_next_entity::<Cfs>(self, below, se, true, now);
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
}
