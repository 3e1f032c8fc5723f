//! `wake_up_new_task`: the way of a child to its first runqueue.

use simsched_topology::CpuId;

use super::cpu::Waking;
use super::state::{Simulator, Step};
use crate::ids::TaskId;
use crate::names::{Cause, Reason};
use crate::observer::{Observer, Tracepoint};
use crate::policy::{Enqueue, Placement, Policy, WakeKind, Wakeup};
use crate::workload::Workload;
use crate::world::TaskState;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `wake_up_new_task()` up to the choice of a CPU: the parent's op is done, the child is next.
    pub(super) fn begin_fork(&mut self, cpu: CpuId, parent: TaskId, child: TaskId) -> Step {
        self.world.update_rq_clock(cpu);
        self.world.task_mut(child).cpu = cpu;
        self.world.task_mut(child).state = TaskState::Waking;
        self.task_fork(cpu, Some(parent), child);
        self.emit(Tracepoint::Fork { parent: Some(parent), child });
        self.emit(Tracepoint::Waking { wakee: child, waker: cpu, sync: false });
        self.begin_look(cpu, child, WakeKind::Fork);
        Ok(())
    }

    /// `select_task_rq()` of `wake_up_new_task()`.
    pub(super) fn place_new(&mut self, cpu: CpuId, child: TaskId) {
        let kind = WakeKind::Fork;
        let placement = self.ask(Wakeup { wakee: child, prev: cpu, waker: cpu, kind });
        let waking = Waking { task: child, placement, migrated: false, fork: true, locked: None };
        self.begin_placement(cpu, waking, false);
    }

    /// The rest of `wake_up_new_task()`.
    pub(super) fn wake_up_new_task(
        &mut self,
        parent_cpu: CpuId,
        task: TaskId,
        placement: Placement,
    ) {
        let Placement { cpu, reason, scanned, .. } = placement;
        if cpu != parent_cpu {
            self.world.task_mut(task).cpu = cpu;
            let (from, cause) = (parent_cpu, Cause::Fork);
            let domain = self.policy.domain_of(from, cpu);
            self.emit(Tracepoint::Migrate { task, from, to: cpu, cause, reason, domain });
        }
        // Here the event is written before the child's CPU is told.
        self.cpus[parent_cpu.idx()].debt += self.prices.list().wakeup_event;
        self.enqueue_new(parent_cpu, cpu, task, reason, scanned);
    }

    pub(super) fn enqueue_new(
        &mut self,
        from: CpuId,
        cpu: CpuId,
        task: TaskId,
        reason: Reason,
        scanned: u16,
    ) {
        self.world.update_rq_clock(cpu);
        self.counters.alive += 1;
        self.activate(cpu, task, Enqueue::New);
        self.emit(Tracepoint::Wakeup { wakee: task, cpu, reason, scanned });
        self.check_preempt_curr(from, cpu, task, Enqueue::New);
    }
}
