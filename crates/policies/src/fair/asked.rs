//! `Asked`: what the class asks of the simulator beside the answer of a call, until the call ends.

use simsched_core::{Cx, TaskId};
use simsched_topology::{CpuId, CpuSet};

/// What the functions of [`Hierarchy`](super::Hierarchy), which have no context of the call, ask for.
///
/// The one that answers the call hands it over at its end ([`Asked::tell`]).
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Something is below.
    any: bool,
    /// CPUs whose current task is to be rescheduled (`resched_curr()` in `update_curr()`).
    resched: CpuSet,
    /// Sleepers that have left their runqueues (`__block_task()`).
    blocked: Vec<TaskId>,
}

impl Asked {
    /// Nothing, with room for all that `nr_tasks` tasks can need.
    pub(super) fn with_capacity(nr_tasks: usize) -> Asked {
        Asked { blocked: Vec::with_capacity(nr_tasks), ..Asked::default() }
    }

    /// The current task of `cpu` is to be rescheduled.
    #[inline]
    pub(super) fn resched(&mut self, cpu: CpuId) {
        self.any = true;
        self.resched.insert(cpu);
    }

    /// `task` has left its runqueue.
    #[inline]
    pub(super) fn block(&mut self, task: TaskId) {
        self.any = true;
        self.blocked.push(task);
    }

    /// Whether the current task of `cpu` is to be rescheduled; the request is gone with the answer.
    #[inline]
    pub(super) fn take_resched(&mut self, cpu: CpuId) -> bool {
        self.any && self.resched.remove(cpu)
    }

    /// What an earlier call has asked of `cpu` and is not true yet is asked by this one: the functions that
    /// clear such a request, or answer with it, see both.
    #[inline]
    pub(super) fn recall(&mut self, cx: &mut Cx<'_>, cpu: CpuId) {
        if cx.take_resched(cpu) {
            self.resched(cpu);
        }
    }

    /// The call ends: asks the simulator for all of it.
    #[inline]
    pub(super) fn tell(&mut self, cx: &mut Cx<'_>) {
        if self.any {
            self.tell_all(cx);
        }
    }

    #[inline(never)]
    fn tell_all(&mut self, cx: &mut Cx<'_>) {
        self.any = false;
        self.blocked.drain(..).for_each(|task| cx.block(task));
        while let Some(cpu) = self.resched.first() {
            self.resched.remove(cpu);
            cx.resched(cpu);
        }
    }
}
