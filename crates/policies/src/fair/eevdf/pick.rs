//! Picking: the earliest deadline of those who are owed time, and the protection of who runs.

use super::tree::Key;
use crate::fair::GROUP_LEVEL;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::features::Version;
use crate::fair::hierarchy::Hierarchy;
use crate::fair::queueing::DequeueFlags;
use crate::fair::timeline::before;
use crate::fair::weight::calc_delta_fair;
use simsched_topology::CpuId;

impl Hierarchy {
    /// `se` waits on `queue`. Source: `__enqueue_entity()`.
    #[inline]
    pub(in crate::fair) fn wait_by_deadline(&mut self, queue: QueueId, se: EntityId) {
        let (entity, request) = (&self.entities[se.idx()], &self.requests[se.idx()]);
        let eevdf = &mut self.queues[queue.idx()].eevdf;
        eevdf.add(entity.vruntime, entity.weight());
        let (deadline, slice) = (request.deadline, request.slice);
        let key = Key { deadline, vruntime: entity.vruntime, slice };
        self.nodes.insert(&mut eevdf.timeline, se, key);
    }

    /// `se` waits no more. Source: `__dequeue_entity()`.
    #[inline]
    pub(in crate::fair) fn wait_no_more(&mut self, queue: QueueId, se: EntityId) {
        let entity = &self.entities[se.idx()];
        let eevdf = &mut self.queues[queue.idx()].eevdf;
        self.nodes.remove(&mut eevdf.timeline, se);
        eevdf.sub(entity.vruntime, entity.weight());
    }

    /// `se`, which begins to run, is not to be preempted until its request is served; since 6.17 for no
    /// longer than the shortest slice that waits. Source: `set_protect_slice()`.
    #[inline]
    pub(in crate::fair) fn set_protect_slice(&mut self, queue: QueueId, se: EntityId) {
        let request = self.requests[se.idx()];
        let mut until = request.deadline;
        if self.features.version >= Version::V7_0 {
            let slice = match self.features.run_to_parity {
                true => self.slices(queue).map_or(request.slice, |(shortest, _)| shortest),
                false => self.tunables.normalized_base_slice_ns,
            };
            if slice < request.slice {
                until = self.earlier(until, se, slice);
            }
        }
        self.requests[se.idx()].vlag = until.cast_signed();
    }

    /// The earlier of `until` and the time at which `se` has run for `slice`.
    fn earlier(&self, until: u64, se: EntityId, slice: u64) -> u64 {
        let se = self.entity(se);
        let end = se.vruntime.wrapping_add(calc_delta_fair(slice, se.load));
        if before(end, until) { end } else { until }
    }

    /// A shorter request has come: the protection of `se` ends with it (6.17 and later).
    /// Source: `update_protect_slice()`.
    pub(super) fn update_protect_slice(&mut self, queue: QueueId, se: EntityId) {
        if let Some((shortest, _)) = self.slices(queue) {
            let until = self.requests[se.idx()].vlag.cast_unsigned();
            self.requests[se.idx()].vlag = self.earlier(until, se, shortest).cast_signed();
        }
    }

    /// Whether the running `se` is protected: its deadline is that of when it was picked. Since 6.17:
    /// its virtual time has not come to the end of its protection. Source: `protect_slice()`.
    #[inline]
    pub(super) fn is_protected(&self, se: EntityId) -> bool {
        let request = &self.requests[se.idx()];
        if self.features.version >= Version::V7_0 {
            return before(self.entity(se).vruntime, request.vlag.cast_unsigned());
        }
        request.vlag == request.deadline.cast_signed()
    }

    /// Source: `cancel_protect_slice()`.
    pub(super) fn cancel_protect_slice(&mut self, se: EntityId) {
        if !self.is_protected(se) {
            return;
        }
        let request = &mut self.requests[se.idx()];
        request.vlag = match self.features.version >= Version::V7_0 {
            true => self.entities[se.idx()].vruntime.cast_signed(),
            false => request.deadline.cast_signed().wrapping_add(1),
        };
    }

    /// Of the entities of `queue` that are eligible the one with the earliest deadline; while `protect`,
    /// the running one as long as it is eligible and protected. Source: `pick_eevdf()`.
    #[inline]
    pub(in crate::fair) fn pick_eevdf(&self, queue: QueueId, protect: bool) -> Option<EntityId> {
        let cfs_rq = self.queue(queue);
        let (tree, curr) = (cfs_rq.eevdf.timeline, cfs_rq.curr);
        let mut curr = curr.filter(|&curr| self.entity(curr).on_rq);
        if cfs_rq.nr_running == 1 {
            return curr.or_else(|| self.nodes.any(tree));
        }
        let sum = self.queued_curr(queue);
        let is_eligible = |vruntime| cfs_rq.eevdf.is_eligible(sum, vruntime);
        curr = curr.filter(|&curr| is_eligible(self.entity(curr).vruntime));
        if let Some(curr) = curr
            && protect
            && self.is_protected(curr)
        {
            return Some(curr);
        }
        let best = self.nodes.pick(tree, is_eligible);
        let deadline = |se: EntityId| self.requests[se.idx()].deadline;
        match (best, curr) {
            (Some(best), Some(curr)) if before(deadline(curr), deadline(best)) => Some(curr),
            (None, curr) => curr,
            (best, _) => best,
        }
    }

    /// Whether the discipline protects who runs at all; since 6.17 how long, says the protection.
    #[inline]
    pub(super) fn protects(&self) -> bool {
        self.features.run_to_parity || self.features.version >= Version::V7_0
    }

    /// The entity of `queue` that should run next: the next buddy if it is eligible, or the pick. A
    /// sleeper that is picked leaves; then there is no answer yet. Source: `pick_next_entity()`.
    #[inline]
    fn choose(&mut self, queue: QueueId, now: u64) -> Option<EntityId> {
        let wants_buddy = match self.features.version {
            Version::V6_6 => self.features.next_buddy,
            _ => self.features.pick_buddy,
        };
        if wants_buddy
            && let Some(next) = self.queue(queue).next
            && self.is_eligible(queue, next)
        {
            return Some(next);
        }
        let se = self.pick_eevdf(queue, self.protects())?;
        if self.entity(se).sched_delayed {
            let cpu = self.queue(queue).cpu;
            let was_sched_idle = self.root(cpu).has_only_sched_idle();
            self.dequeue_entities(se, DequeueFlags::DELAYED, now);
            self.walked(se, GROUP_LEVEL);
            if !was_sched_idle && self.root(cpu).has_only_sched_idle() {
                self.asked.note_sched_idle();
            }
            return None;
        }
        Some(se)
    }

    /// The task that should run next on `cpu`; nothing is moved yet. Source: `pick_task_fair()`.
    #[inline]
    fn pick_task(&mut self, root: QueueId, now: u64) -> Option<EntityId> {
        'again: while self.queue(root).nr_running > 0 {
            let mut below = root;
            loop {
                if self.queue(below).curr.is_some_and(|curr| self.entity(curr).on_rq) {
                    self.update_curr(below, now);
                }
                let Some(se) = self.choose(below, now) else { continue 'again };
                match self.entity(se).group_cfs_rq() {
                    Some(child) => below = child,
                    None => return Some(se),
                }
            }
        }
        None
    }

    /// The next task of `cpu`, as under CFS. Source: `pick_next_task_fair()`.
    #[inline]
    pub(in crate::fair) fn pick_next_task_eevdf(
        &mut self,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId> {
        let next = self.pick_task(Hierarchy::root_of(cpu), now);
        match (prev, next) {
            (None, Some(next)) => self.set_next_task(next, now),
            (Some(prev), Some(next)) if prev != next => self.switch(prev, next, now),
            _ => {}
        }
        // Since 6.12 a task that is picked again stays where it is.
        let stays = self.features.version >= Version::V6_12 && next == prev;
        if let Some(next) = next.filter(|_| !stays) {
            self.mru.move_front(cpu, next.task());
        }
        // Who was current needs not be told to go any more (`clear_tsk_need_resched()`).
        self.asked.take_resched(cpu);
        next
    }
}
