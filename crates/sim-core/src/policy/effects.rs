//! `Effects`: what a call of a policy did beyond its answer, and the simulator has to make true.

use simsched_topology::{CpuId, CpuSet};

use crate::ids::TaskId;

/// What a policy wants besides what it was asked for, since the list was last taken.
///
/// A policy whose accounting may ask for a reschedule (`resched_curr()` in `update_curr()`), or whose
/// sleepers may stay on their runqueue until they are picked (`sched_delayed`), has one.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// CPUs whose current task is to be rescheduled.
    pub resched: CpuSet,
    /// Sleepers that have now left their runqueue (`__block_task()`).
    pub blocked: Vec<TaskId>,
}

impl Effects {
    /// An empty list with room for `nr_tasks`.
    #[must_use]
    pub fn with_capacity(nr_tasks: usize) -> Effects {
        Effects { resched: CpuSet::new(), blocked: Vec::with_capacity(nr_tasks) }
    }

    /// Whether the current task of `cpu` is to be rescheduled; asked for once.
    #[inline]
    pub fn take_resched(&mut self, cpu: CpuId) -> bool {
        let is_due = !self.resched.is_empty() && self.resched.contains(cpu);
        if is_due {
            self.resched.remove(cpu);
        }
        is_due
    }
}
