//! Accounting, and when the running task has to go.

use simsched_core::{Preempt, SchedPolicy, World};
use simsched_topology::CpuId;

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::weight::NICE_0_LOAD;

/// What a wakee that may preempt is compared by (`enum preempt_wakeup_action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// Whether it would be picked.
    Pick,
    /// It has a shorter slice: the current task is not protected from it.
    Short,
    /// It preempts.
    Resched,
    /// It does not, and shortens the protection of the current task.
    Update,
}

impl Hierarchy {
    /// Charges the current entity of `queue`. Only a task has virtual time; one whose request is served, or whose
    /// protection has ended, has to go if others wait. Source: `update_curr()`.
    #[inline]
    pub(super) fn update_curr_flat(&mut self, queue: QueueId, curr: EntityId, now: u64) {
        let ran = self.entities[curr.idx()].account(now);
        if ran == 0 || self.entity(curr).my_q.is_some() {
            return;
        }
        self.account_llc(queue, curr, ran);
        let cpu = self.queue(queue).cpu;
        let root = Hierarchy::root_of(cpu);
        let ran = self.virtual_time(ran, curr);
        let entity = self.entity_mut(curr);
        entity.vruntime = entity.vruntime.wrapping_add(ran);
        let is_served = self.update_deadline(root, curr);
        if self.tree_nr(root) == 1 {
            return;
        }
        if is_served || !self.is_protected(curr) {
            self.asked.resched_lazy(cpu);
            self.clear_next_buddy(root, curr);
        }
    }

    /// Source: `update_curr_fair()`.
    fn update_curr_fair(&mut self, curr: EntityId, now: u64) {
        let mut above = Some(curr);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            self.update_curr(queue, now);
            above = self.queue(queue).se;
        }
    }

    /// The tick on `curr`, at every level, and its weight anew. Source: `task_tick_fair()`, `entity_tick()`.
    #[inline]
    pub(in crate::fair) fn task_tick_flat(&mut self, curr: EntityId, now: u64) {
        if !self.entity(curr).on_rq {
            return;
        }
        let (mut above, mut weight) = (Some(curr), NICE_0_LOAD);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            self.update_curr(queue, now);
            self.update_load_avg(queue, se, now, Update::Tg);
            self.update_cfs_group(se, now);
            weight = self.prop_weight(queue, se, weight);
            above = self.queue(queue).se;
        }
        self.reweight_task_flat(self.root_queue_of(curr), curr, weight, true);
    }

    /// `curr` lets others run first: it gives up the rest of its request, as if it had run.
    /// Source: `yield_task_fair()`.
    pub(super) fn yield_task_flat(&mut self, curr: EntityId, now: u64) {
        let root = self.root_queue_of(curr);
        self.clear_next_buddy(root, curr);
        self.update_curr_of_tree(root, now);
        if self.is_eligible(root, curr) {
            self.entity_mut(curr).vruntime = self.eevdf.requests[curr.idx()].deadline;
            self.update_deadline(root, curr);
        }
    }

    /// Source: `set_next_buddy()`.
    fn set_next(&mut self, root: QueueId, se: EntityId) {
        if !self.entity(se).is_idle() {
            self.queue_mut(root).next = Some(se);
        }
    }

    /// Whether `wakee`, just queued on `cpu`, preempts `curr`. Source: `wakeup_preempt_fair()`.
    pub(super) fn check_preempt_wakeup_flat(
        &mut self,
        world: &World,
        cpu: CpuId,
        [curr, wakee]: [EntityId; 2],
        fork: bool,
    ) -> Preempt {
        let is_marked = !self.features.preempt_short && world.rq(cpu).need_resched;
        if curr == wakee || is_marked || !self.features.wakeup_preemption {
            return Preempt::No;
        }
        let (root, now) = (Hierarchy::root_of(cpu), world.rq(cpu).clock_task);
        let mut action = self.wakeup_action(root, [curr, wakee], fork, now);
        if matches!(action, Action::Pick | Action::Short) {
            let is_short = action == Action::Short;
            let wins = self.pick_flat(root, !is_short, now) == Some(wakee)
                || is_short && self.is_eligible(root, wakee);
            action = if wins { Action::Resched } else { Action::Update };
            if wins {
                self.cancel_protect_slice(curr);
                if is_short {
                    self.set_short_buddy(root, wakee);
                }
            }
        } else if action == Action::Resched {
            self.cancel_protect_slice(curr);
        }
        if action == Action::Update && self.features.run_to_parity {
            self.update_protect_slice(root, curr);
        }
        match self.asked.take_due(cpu) {
            Preempt::No if action == Action::Resched => Preempt::Lazy,
            due => due,
        }
    }

    /// How the two compare, behind an accounting of `curr`.
    fn wakeup_action(
        &mut self,
        root: QueueId,
        [curr, wakee]: [EntityId; 2],
        fork: bool,
        now: u64,
    ) -> Action {
        let is_idle = [curr, wakee].map(|se| self.entity(se).is_idle());
        if is_idle == [true, false] {
            return Action::Resched;
        }
        self.update_curr_fair(curr, now);
        let entity = self.entity(wakee);
        let may = is_idle[0] == is_idle[1]
            && entity.policy == SchedPolicy::Normal
            && !entity.sched_delayed;
        if !may {
            return Action::Update;
        }
        let slice = |se: EntityId| self.eevdf.requests[se.idx()].slice;
        if self.features.preempt_short && slice(wakee) < slice(curr) {
            return Action::Short;
        }
        if fork {
            return Action::Update;
        }
        if self.features.next_buddy {
            self.set_preempt_buddy(root, wakee);
        }
        Action::Pick
    }

    /// `wakee` is to be picked next, unless somebody is whose deadline is earlier. Source: `set_preempt_buddy()`.
    fn set_preempt_buddy(&mut self, root: QueueId, wakee: EntityId) {
        let deadline = |se: EntityId| self.eevdf.requests[se.idx()].deadline;
        let next = self.queue(root).next;
        if !next.is_some_and(|next| crate::fair::timeline::before(deadline(next), deadline(wakee)))
        {
            self.set_next(root, wakee);
        }
    }

    /// `wakee` is to be picked next, unless somebody is whose slice is shorter. Source: `set_short_buddy()`.
    fn set_short_buddy(&mut self, root: QueueId, wakee: EntityId) {
        let slice = |se: EntityId| self.eevdf.requests[se.idx()].slice;
        if self.queue(root).next.is_none_or(|next| slice(next) >= slice(wakee)) {
            self.set_next(root, wakee);
        }
    }
}
