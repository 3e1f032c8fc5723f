//! The slice timer: a slice ends when it is used up, not at the next tick (feature `HRTICK`).

use simsched_core::{Nanos, Preempt};
use simsched_topology::CpuId;

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::weight::NICE_0_LOAD;

/// No slice ends sooner than this, in ns. Source: `hrtick_start()`.
const LEAST_DELAY_NS: u64 = 10_000;

impl Hierarchy {
    /// Somebody was queued: the slice of the current task has an end from now on, unless it has one already. One that
    /// is beyond its end is to go. Source: `hrtick_update()`.
    #[inline]
    pub(super) fn start_slice(&mut self, root: QueueId) {
        let cpu = self.queue(root).cpu;
        if !self.features.hrtick || self.asked.slices.is_active(cpu) {
            return;
        }
        if let Some(curr) = self.curr_task(root)
            && !self.start_slice_of(root, curr)
        {
            self.asked.resched(cpu);
        }
    }

    /// The slice of `se` ends at its deadline, if others wait. False if it is beyond that.
    /// Source: `hrtick_start_fair()`.
    #[inline]
    pub(super) fn start_slice_of(&mut self, root: QueueId, se: EntityId) -> bool {
        if !self.features.hrtick || self.queue(root).h_nr_running <= 1 {
            return true;
        }
        let cpu = self.queue(root).cpu;
        let Some(left) = self.slice_left(cpu, se) else { return false };
        // Who has left its queue and is current still, is so while its CPU balances in `schedule()`.
        let schedules = !self.entity(se).on_rq;
        self.asked.start_slice(cpu, left, schedules);
        true
    }

    /// How long it takes until `se`, which runs on `cpu`, gets to its deadline, if it is not beyond that.
    /// Source: `hrtick_start_fair()`, `hrtick_start()`.
    #[inline]
    pub(in crate::fair) fn slice_left(&self, cpu: CpuId, se: EntityId) -> Option<Nanos> {
        let left = self.eevdf.requests[se.idx()].deadline.wrapping_sub(self.entity(se).vruntime);
        if left.cast_signed() < 0 {
            return None;
        }
        let delta = self.tree_weight(se).wrapping_mul(left) / NICE_0_LOAD;
        let delay = self.asked.slices.beside_interrupts(cpu, delta);
        Some(Nanos(delay.max(LEAST_DELAY_NS)))
    }

    /// The current task of the CPU of `root`.
    #[inline]
    fn curr_task(&self, root: QueueId) -> Option<EntityId> {
        let mut curr = self.tree_curr(root)?;
        while let Some(below) = self.entity(curr).group_cfs_rq() {
            curr = self.queue(below).curr?;
        }
        Some(curr)
    }

    /// The slice timer of `cpu` has expired where queues are nested: as a tick, and the current task has to go.
    /// Source: `hrtick()`.
    pub(super) fn slice_end_nested(&mut self, cpu: CpuId, now: u64) -> Preempt {
        let Some(curr) = self.curr_task(Hierarchy::root_of(cpu)) else { return Preempt::No };
        self.task_tick_eevdf(cpu, curr, now);
        Preempt::Hard
    }

    /// The slice timer of `cpu` has expired where all tasks are in one tree: as a tick, and the current task has to go.
    /// Source: `hrtick()`.
    pub(super) fn slice_end_flat(&mut self, cpu: CpuId, now: u64) -> Preempt {
        let Some(curr) = self.tree_curr(Hierarchy::root_of(cpu)) else { return Preempt::No };
        self.task_tick_flat(curr, now);
        self.asked.take_due(cpu);
        if self.entity(curr).on_rq { Preempt::Hard } else { Preempt::No }
    }
}
