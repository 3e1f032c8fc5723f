//! Accounting, and when the running task has to go.

use simsched_core::{Preempt, SchedPolicy, World};
use simsched_topology::CpuId;

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::order::nested::find_matching_se;
use crate::fair::order::rules::{Arith, Yield};
use crate::fair::timeline::before;
use crate::fair::weight::calc_delta_fair;

impl Hierarchy {
    /// Charges the running entity of `queue`; whose request is served, or who has lost its protection
    /// and is ahead, has to go if others wait. Source: `update_curr()`.
    #[inline]
    pub(super) fn update_curr_eevdf(&mut self, queue: QueueId, curr: EntityId, now: u64) {
        let is_exact = self.rules.arith == Arith::Exact;
        let entity = &mut self.entities[curr.idx()];
        let ran = if is_exact { entity.account(now) } else { entity.charge(now) };
        if ran == 0 {
            return;
        }
        self.account_llc(queue, curr, ran);
        if is_exact {
            let ran = self.virtual_time(ran, curr);
            let entity = self.entity_mut(curr);
            entity.vruntime = entity.vruntime.wrapping_add(ran);
        }
        let is_served = self.update_deadline(queue, curr);
        if self.queue(queue).nr_running == 1 {
            return;
        }
        if is_served || self.has_lost(queue, curr) {
            let cpu = self.queue(queue).cpu;
            match self.rules.lazy {
                true => self.asked.resched_lazy(cpu),
                false => self.asked.resched(cpu),
            }
            self.clear_next_buddy(queue, curr);
        }
    }

    /// Source: `did_preempt_short()`; since 6.17 the end of the protection alone.
    #[inline]
    fn has_lost(&self, queue: QueueId, curr: EntityId) -> bool {
        if self.rules.protection.has_end() {
            return !self.is_protected(curr);
        }
        self.features.preempt_short && !self.is_protected(curr) && !self.is_eligible(queue, curr)
    }

    /// Source: `update_deadline()`.
    #[inline]
    pub(in crate::fair) fn update_deadline(&mut self, queue: QueueId, se: EntityId) -> bool {
        let (slice, vruntime) = (self.common_slice(se), self.entity(se).vruntime);
        let mut request = self.eevdf.requests[se.idx()];
        let is_served = request.renew(vruntime, slice, |slice| self.virtual_time(slice, se));
        if is_served {
            self.eevdf.requests[se.idx()] = request;
            self.avg_vruntime(queue);
        }
        is_served
    }

    /// Whether `wakee`, just queued on `cpu`, preempts `curr`. Source: `check_preempt_wakeup_fair()`.
    pub(super) fn check_preempt_wakeup_eevdf(
        &mut self,
        world: &World,
        cpu: CpuId,
        [curr, wakee]: [EntityId; 2],
        fork: bool,
    ) -> Preempt {
        if curr == wakee {
            return Preempt::No;
        }
        if self.rules.lazy {
            return self.wakeup_preempt_lazy(world, cpu, [curr, wakee], fork);
        }
        if self.features.next_buddy && !fork && !self.entity(wakee).sched_delayed {
            self.set_next_buddy(wakee);
        }
        let is_marked = world.rq(cpu).need_resched || self.asked.has_resched(cpu);
        if is_marked || !self.features.wakeup_preemption {
            return Preempt::No;
        }
        let [se, pse] = find_matching_se(self, curr, wakee);
        match [se, pse].map(|se| self.entity(se).is_idle()) {
            [true, false] => {
                self.cancel_protect_slice(se);
                return Preempt::Hard;
            }
            [false, true] => return Preempt::No,
            _ => {}
        }
        if self.entity(wakee).policy != SchedPolicy::Normal {
            return Preempt::No;
        }
        let queue = self.cfs_rq_of(se);
        self.update_curr(queue, world.rq(cpu).clock_task);
        let wins = self.wins(queue, se, pse);
        if self.asked.take_resched(cpu) || wins { Preempt::Hard } else { Preempt::No }
    }

    /// Whether `pse` would be picked now, with a shorter request also against the protection of `se`.
    fn wins(&mut self, queue: QueueId, se: EntityId, pse: EntityId) -> bool {
        let slice = |se: EntityId| self.eevdf.requests[se.idx()].slice;
        let is_short = self.features.preempt_short && slice(pse) < slice(se);
        if self.rules.protection.has_end() {
            let wins = self.pick_eevdf(queue, !is_short) == Some(pse);
            if !wins && is_short && self.features.run_to_parity {
                self.update_protect_slice(queue, se);
            }
            return wins;
        }
        let deadline = |se: EntityId| self.eevdf.requests[se.idx()].deadline;
        if is_short
            && self.is_eligible(queue, pse)
            && (before(deadline(pse), deadline(se)) || !self.is_eligible(queue, se))
        {
            self.cancel_protect_slice(se);
        }
        self.pick_eevdf(queue, self.protects()) == Some(pse)
    }

    /// Whether `wakee`, just queued on `cpu`, preempts `curr` when that returns to user mode.
    /// Source: `wakeup_preempt_fair()`, Linux 7.2.
    fn wakeup_preempt_lazy(
        &mut self,
        world: &World,
        cpu: CpuId,
        [curr, wakee]: [EntityId; 2],
        fork: bool,
    ) -> Preempt {
        if world.rq(cpu).need_resched || !self.features.wakeup_preemption {
            return Preempt::No;
        }
        let [se, pse] = find_matching_se(self, curr, wakee);
        match [se, pse].map(|se| self.entity(se).is_idle()) {
            [true, false] => {
                self.cancel_protect_slice(se);
                self.clear_next_buddy(self.cfs_rq_of(curr), se);
                return Preempt::Lazy;
            }
            [false, true] => return Preempt::No,
            _ => {}
        }
        if self.entity(wakee).policy != SchedPolicy::Normal {
            return Preempt::No;
        }
        let (queue, now) = (self.cfs_rq_of(se), world.rq(cpu).clock_task);
        self.update_curr(queue, now);
        let wins = self.wins_lazy(queue, [se, pse], fork, now);
        match self.asked.take_due(cpu) {
            Preempt::No if wins => Preempt::Lazy,
            due => due,
        }
    }

    /// Whether `pse` would be picked now from `queue`, with a shorter slice also against the protection of `se`.
    /// Source: `wakeup_preempt_fair()`, Linux 7.2.
    fn wins_lazy(
        &mut self,
        queue: QueueId,
        [se, pse]: [EntityId; 2],
        fork: bool,
        now: u64,
    ) -> bool {
        let slice = |se: EntityId| self.eevdf.requests[se.idx()].slice;
        let is_short = self.features.preempt_short && slice(pse) < slice(se);
        if !is_short {
            if fork || self.entity(pse).sched_delayed {
                return false;
            }
            if self.features.next_buddy {
                self.set_preempt_buddy_nested(queue, pse);
            }
        }
        let mut picked = None;
        while picked.is_none() && self.queue(queue).nr_running > 0 {
            picked = self.pick_runnable(queue, !is_short, now);
        }
        let wins = picked == Some(pse);
        if wins && is_short {
            self.cancel_protect_slice(se);
            self.clear_next_buddy(queue, se);
        } else if !wins && self.features.run_to_parity {
            self.update_protect_slice(queue, se);
        }
        wins
    }

    /// `pse` is to be picked next, unless somebody is who has the earlier deadline.
    /// Source: `set_preempt_buddy()`, Linux 7.2.
    fn set_preempt_buddy_nested(&mut self, queue: QueueId, pse: EntityId) {
        let deadline = |se: EntityId| self.eevdf.requests[se.idx()].deadline;
        let stays =
            self.queue(queue).next.is_some_and(|next| before(deadline(next), deadline(pse)));
        if !stays {
            self.set_next_buddy(pse);
        }
    }

    /// The tick on `curr`, at every level. Source: `task_tick_fair()`, `entity_tick()`.
    #[inline]
    pub(in crate::fair) fn task_tick_eevdf(
        &mut self,
        cpu: CpuId,
        curr: EntityId,
        now: u64,
    ) -> Preempt {
        let mut above = Some(curr);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            self.update_curr(queue, now);
            self.update_load_avg(queue, se, now, Update::Tg);
            self.update_cfs_group(se, now);
            above = self.queue(queue).se;
        }
        self.asked.take_due(cpu)
    }

    /// `curr` lets others run first: it gives up the rest of its request, as if it had run. In 6.6 it asks
    /// for one more instead. Source: `yield_task_fair()`.
    pub(super) fn yield_task_eevdf(&mut self, curr: EntityId, now: u64) {
        let queue = self.cfs_rq_of(curr);
        self.clear_next_buddy(queue, curr);
        self.update_curr(queue, now);
        if self.rules.yields == Yield::AddsSlice {
            let (load, request) = (self.entity(curr).load, &mut self.eevdf.requests[curr.idx()]);
            request.deadline = request.deadline.wrapping_add(calc_delta_fair(request.slice, load));
        } else if self.is_eligible(queue, curr) {
            self.entity_mut(curr).vruntime = self.eevdf.requests[curr.idx()].deadline;
            self.update_deadline(queue, curr);
        }
    }
}
