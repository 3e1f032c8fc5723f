//! Preemption: when the running task has to go.

use simsched_core::{Preempt, SchedPolicy, World};
use simsched_topology::CpuId;

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::order::nested::find_matching_se;
use crate::fair::weight::{LoadWeight, calc_delta_fair};

/// Whether a woken entity should preempt `curr`, by how far it is behind in virtual time: -1 it is
/// not behind, 0 by no more than the granularity, 1 by more.
///
/// The granularity is `granularity_ns` as virtual time of the wakee: a light one waits longer.
/// Source: `wakeup_preempt_entity()`, `wakeup_gran()`.
#[inline]
#[must_use]
pub fn wakeup_preempt_entity(
    curr_vruntime: u64,
    vruntime: u64,
    load: LoadWeight,
    granularity_ns: u64,
) -> i8 {
    let vdiff = curr_vruntime.wrapping_sub(vruntime).cast_signed();
    if vdiff <= 0 {
        return -1;
    }
    i8::from(vdiff > calc_delta_fair(granularity_ns, load).cast_signed())
}

impl Hierarchy {
    #[inline]
    pub(super) fn wakeup_preempt_entity(&self, curr: EntityId, se: EntityId) -> i8 {
        let (curr, se) = (self.entity(curr), self.entity(se));
        let granularity_ns = self.tunables.wakeup_granularity_ns;
        wakeup_preempt_entity(curr.vruntime, se.vruntime, se.load, granularity_ns)
    }

    /// Whether `wakee`, just queued on `cpu`, preempts `curr`. Source: `check_preempt_wakeup()`.
    pub(super) fn check_preempt_wakeup_cfs(
        &mut self,
        world: &World,
        cpu: CpuId,
        [curr, wakee]: [EntityId; 2],
        fork: bool,
    ) -> Preempt {
        if curr == wakee {
            return Preempt::No;
        }
        let scale = self.is_crowded(self.cfs_rq_of(curr));
        let marked = self.features.next_buddy && scale && !fork;
        if marked {
            self.set_next_buddy(wakee);
        }
        if world.rq(cpu).need_resched {
            return Preempt::No;
        }
        let [curr_policy, policy] = [curr, wakee].map(|se| self.entity(se).policy);
        let [se, pse] = if curr_policy == SchedPolicy::Idle && policy != SchedPolicy::Idle {
            [curr, wakee]
        } else {
            if policy != SchedPolicy::Normal || !self.features.wakeup_preemption {
                return Preempt::No;
            }
            let [se, pse] = find_matching_se(self, curr, wakee);
            if !self.is_behind([se, pse], world.rq(cpu).clock_task, marked) {
                return Preempt::No;
            }
            [se, pse]
        };
        debug_assert!(self.entity(pse).on_rq, "a wakee is queued");
        let is_task = self.entity(se).my_q.is_none();
        if self.features.last_buddy && scale && is_task && self.entity(se).on_rq {
            self.set_last_buddy(se);
        }
        Preempt::Hard
    }

    /// Whether a queue is so long that buddies pay. Source: `scale` in `check_preempt_wakeup()`.
    fn is_crowded(&self, queue: QueueId) -> bool {
        u64::from(self.queue(queue).nr_running) >= self.tunables.nr_latency()
    }

    /// The siblings' comparison; the winner becomes the next buddy.
    fn is_behind(&mut self, [se, pse]: [EntityId; 2], now: u64, marked: bool) -> bool {
        match [se, pse].map(|se| self.entity(se).is_idle()) {
            [true, false] => return true,
            [false, true] => return false,
            _ => {}
        }
        self.update_curr(self.cfs_rq_of(se), now);
        let behind = self.wakeup_preempt_entity(se, pse) == 1;
        if behind && !marked {
            self.set_next_buddy(pse);
        }
        behind
    }

    /// The tick on `curr`, at every level. Source: `task_tick_fair()`, `entity_tick()`.
    #[inline]
    pub(super) fn task_tick_cfs(&mut self, curr: EntityId, now: u64) -> Preempt {
        let (mut above, mut preempt) = (Some(curr), Preempt::No);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            self.update_curr(queue, now);
            self.update_load_avg(queue, se, now, Update::Tg);
            self.update_cfs_group(se, now);
            if self.queue(queue).nr_running > 1
                && self.check_preempt_tick(queue, se) == Preempt::Hard
            {
                preempt = Preempt::Hard;
            }
            above = self.queue(queue).se;
        }
        preempt
    }

    /// Whether the running entity has had its slice, or is a slice ahead of the leftmost. Beside
    /// light tasks a slice may be long; since 6.3 it is one latency period at most.
    /// Source: `check_preempt_tick()`; "sched/fair: Limit sched slice duration", 6.3.
    pub(in crate::fair) fn check_preempt_tick(
        &mut self,
        queue: QueueId,
        curr: EntityId,
    ) -> Preempt {
        let mut slice = self.sched_slice(queue, curr);
        if self.rules.latency_limits_slice {
            slice = slice.min(self.tunables.latency_ns);
        }
        let entity = self.entity(curr);
        let ran = entity.sum_exec_runtime.wrapping_sub(entity.prev_sum_exec_runtime);
        if ran > slice {
            // A buddy does not get another turn just because it has had one.
            self.clear_buddies(queue, curr);
            return Preempt::Hard;
        }
        if ran < self.tunables.min_granularity_ns {
            return Preempt::No;
        }
        let Some(left) = self.cfs(queue).timeline.first_vruntime() else { return Preempt::No };
        let ahead = entity.vruntime.wrapping_sub(left).cast_signed();
        if ahead > slice.cast_signed() { Preempt::Hard } else { Preempt::No }
    }

    /// `curr` lets others run first. Source: `yield_task_fair()`.
    pub(super) fn yield_task_cfs(&mut self, curr: EntityId, now: u64) {
        let queue = self.cfs_rq_of(curr);
        self.clear_buddies(queue, curr);
        if self.entity(curr).policy != SchedPolicy::Batch {
            self.update_curr(queue, now);
        }
        self.set_skip_buddy(curr);
    }
}
