//! Picking: the earliest deadline of those who are owed time, and the protection of who runs.

use super::Eevdf;
use super::tree::Key;
use crate::fair::GROUP_LEVEL;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::order::nested;
use crate::fair::order::rules::{PickBuddy, Protection};
use crate::fair::queueing::DequeueFlags;
use crate::fair::timeline::before;
use simsched_topology::CpuId;

impl Hierarchy {
    /// `se` waits on `queue`. Source: `__enqueue_entity()`.
    #[inline]
    pub(in crate::fair) fn wait_by_deadline(&mut self, queue: QueueId, se: EntityId) {
        let weight = self.tree_weight(se);
        let (entity, request) = (&self.entities[se.idx()], &self.eevdf.requests[se.idx()]);
        let eevdf = &mut self.eevdf.queues[queue.idx()];
        eevdf.add(entity.vruntime, weight);
        let (deadline, slice) = (request.deadline, request.slice);
        let key = Key { deadline, vruntime: entity.vruntime, slice };
        self.eevdf.nodes.insert(&mut eevdf.timeline, se, key);
    }

    /// `se` waits no more. Source: `__dequeue_entity()`.
    #[inline]
    pub(in crate::fair) fn wait_no_more(&mut self, queue: QueueId, se: EntityId) {
        let weight = self.tree_weight(se);
        let entity = &self.entities[se.idx()];
        let eevdf = &mut self.eevdf.queues[queue.idx()];
        self.eevdf.nodes.remove(&mut eevdf.timeline, se);
        eevdf.sub(entity.vruntime, weight);
    }

    /// `se`, which begins to run, is not to be preempted until its request is served; since 6.17 for no
    /// longer than the shortest slice that waits. Source: `set_protect_slice()`.
    #[inline]
    pub(in crate::fair) fn set_protect_slice(&mut self, queue: QueueId, se: EntityId) {
        let request = self.eevdf.requests[se.idx()];
        let mut until = request.deadline;
        if self.rules.protection.has_end() {
            let slice = match self.features.run_to_parity {
                true => self.slices(queue).map_or(request.slice, |(shortest, _)| shortest),
                false => self.tunables.normalized_base_slice_ns,
            };
            if slice < request.slice {
                until = match self.rules.protection == Protection::Eligible
                    && self.features.preempt_short
                {
                    true => earlier(until, self.eevdf_rq(queue).ineligible_vruntime()),
                    false => self.earlier(until, self.entity(se).vruntime, se, slice),
                };
            }
        }
        self.set_protection(se, until);
    }

    /// Whether the end of a protection has a field of its own.
    #[inline]
    fn keeps_vprot(&self) -> bool {
        matches!(self.rules.protection, Protection::ShortestApart | Protection::Eligible)
    }

    /// The virtual time up to which `se`, which runs, is protected (6.17 and later).
    #[inline]
    fn protection(&self, se: EntityId) -> u64 {
        let request = &self.eevdf.requests[se.idx()];
        if self.keeps_vprot() { request.vprot } else { request.vlag.cast_unsigned() }
    }

    #[inline]
    fn set_protection(&mut self, se: EntityId, until: u64) {
        let keeps_vprot = self.keeps_vprot();
        let request = &mut self.eevdf.requests[se.idx()];
        if keeps_vprot {
            request.vprot = until;
        } else {
            request.vlag = until.cast_signed();
        }
    }

    /// The earlier of `until` and the time at which `se` has run for `slice` from `vruntime` on.
    fn earlier(&self, until: u64, vruntime: u64, se: EntityId, slice: u64) -> u64 {
        earlier(until, vruntime.wrapping_add(self.virtual_time(slice, se)))
    }

    /// A shorter request has come: the protection of `se` ends with it (6.17 and later).
    /// Source: `update_protect_slice()`.
    pub(in crate::fair) fn update_protect_slice(&mut self, queue: QueueId, se: EntityId) {
        if let Some((shortest, _)) = self.slices(queue) {
            let mut from = self.entity(se).vruntime;
            if self.rules.protection == Protection::Eligible {
                from = earlier(from, self.avg_vruntime(queue));
            }
            let until = self.earlier(self.protection(se), from, se, shortest);
            self.set_protection(se, until);
        }
    }

    /// Whether the running `se` is protected: its deadline is that of when it was picked. Since 6.17:
    /// its virtual time has not come to the end of its protection. Source: `protect_slice()`.
    #[inline]
    pub(in crate::fair) fn is_protected(&self, se: EntityId) -> bool {
        let request = &self.eevdf.requests[se.idx()];
        if self.rules.protection.has_end() {
            return before(self.entity(se).vruntime, self.protection(se));
        }
        request.vlag == request.deadline.cast_signed()
    }

    /// Source: `cancel_protect_slice()`.
    pub(in crate::fair) fn cancel_protect_slice(&mut self, se: EntityId) {
        if !self.is_protected(se) {
            return;
        }
        let until = match self.rules.protection.has_end() {
            true => self.entity(se).vruntime,
            false => self.eevdf.requests[se.idx()].deadline.wrapping_add(1),
        };
        self.set_protection(se, until);
    }

    /// Of the entities of `queue` that are eligible the one with the earliest deadline; while `protect`,
    /// the running one as long as it is eligible and protected. Source: `pick_eevdf()`.
    #[inline]
    pub(in crate::fair) fn pick_eevdf(&self, queue: QueueId, protect: bool) -> Option<EntityId> {
        let cfs_rq = self.queue(queue);
        let (tree, curr) = (self.eevdf_rq(queue).timeline, self.tree_curr(queue));
        let mut curr = curr.filter(|&curr| self.entity(curr).on_rq);
        if self.tree_nr(queue) == 1 {
            return curr.or_else(|| self.eevdf.nodes.any(tree));
        }
        let sum = self.queued_curr(queue);
        let is_eligible = |vruntime| self.is_eligible_at(queue, sum, vruntime);
        if let Some(next) = cfs_rq.next
            && self.rules.pick_buddy == PickBuddy::Within
            && self.features.pick_buddy
            && protect
            && is_eligible(self.entity(next).vruntime)
        {
            return Some(next);
        }
        curr = curr.filter(|&curr| is_eligible(self.entity(curr).vruntime));
        if let Some(curr) = curr
            && protect
            && self.is_protected(curr)
        {
            return Some(curr);
        }
        let best = self.eevdf.nodes.pick(tree, is_eligible);
        let deadline = |se: EntityId| self.eevdf.requests[se.idx()].deadline;
        match (best, curr) {
            (Some(best), Some(curr)) if before(deadline(curr), deadline(best)) => Some(curr),
            (None, curr) => curr,
            (best, _) => best,
        }
    }

    /// Whether the discipline protects who runs at all; since 6.17 how long, says the protection.
    #[inline]
    pub(super) fn protects(&self) -> bool {
        self.features.run_to_parity || self.rules.protection.has_end()
    }

    /// The entity of `queue` that should run next: the next buddy if it is eligible, or the pick. A
    /// sleeper that is picked leaves; then there is no answer yet. Source: `pick_next_entity()`.
    #[inline]
    fn choose(&mut self, queue: QueueId, now: u64) -> Option<EntityId> {
        let wants_buddy = match self.rules.pick_buddy {
            PickBuddy::NextBuddy => self.features.next_buddy,
            PickBuddy::Before => self.features.pick_buddy,
            PickBuddy::Within => false,
        };
        if wants_buddy
            && let Some(next) = self.queue(queue).next
            && self.is_eligible(queue, next)
        {
            return Some(next);
        }
        self.pick_runnable(queue, self.protects(), now)
    }

    /// The pick of `queue`, unless that is a sleeper, which leaves. Source: `pick_next_entity()`, Linux 7.2.
    #[inline]
    pub(super) fn pick_runnable(
        &mut self,
        queue: QueueId,
        protect: bool,
        now: u64,
    ) -> Option<EntityId> {
        let se = self.pick_eevdf(queue, protect)?;
        if self.entity(se).sched_delayed {
            let cpu = self.queue(queue).cpu;
            let was_sched_idle = self.root(cpu).has_only_sched_idle();
            nested::dequeue_entities::<Eevdf>(self, se, DequeueFlags::DELAYED, now);
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
    pub(super) fn pick_next_task_eevdf(
        &mut self,
        cpu: CpuId,
        prev: Option<EntityId>,
        now: u64,
    ) -> Option<EntityId> {
        let next = self.pick_task(Hierarchy::root_of(cpu), now);
        match (prev, next) {
            (None, Some(next)) => nested::set_next_task::<Eevdf>(self, next, true, now),
            (Some(prev), Some(next)) if prev != next => {
                nested::switch::<Eevdf>(self, prev, next, now)
            }
            _ => {}
        }
        let stays = self.rules.keeps_place && next == prev;
        if let Some(next) = next.filter(|_| !stays) {
            self.mru.move_front(cpu, next.task());
            self.start_slice_of(Hierarchy::root_of(cpu), next);
        }
        // The request to reschedule is served (`clear_tsk_need_resched()`).
        self.asked.take_due(cpu);
        next
    }
}

/// The earlier of two virtual times; the first of equals. Source: `min_vruntime()`.
fn earlier(a: u64, b: u64) -> u64 {
    if before(b, a) { b } else { a }
}
