//! What a task does for the kernel when it returns to user mode (`task_work_run()`).

use simsched_topology::CpuId;

use super::cpu::{Border, Stage};
use super::state::{Simulator, Step};
use crate::ids::TaskId;
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::Workload;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `task` returns to user mode between two ops: true if that takes a stage of its own.
    pub(super) fn returns_to_user(&mut self, cpu: CpuId, task: TaskId) -> bool {
        if self.task_work_begins(cpu, task) {
            return true;
        }
        let ns = self.prices.list().switch_return;
        let returns = self.cpus[cpu.idx()].run.border.take(Border::SWITCHED) && ns > 0;
        if returns {
            self.begin(cpu, Stage::Debt, Cost::Syscall, Nanos(u64::from(ns)));
        }
        returns
    }

    /// Whether the op under way on `cpu` computes in user space.
    pub(super) fn is_in_user(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.idx()].run.op.is_user()
    }

    /// `task`, which has nothing to do in the system any more and keeps the CPU, does what a call of the
    /// policy has left it, once; false if it can go on at once.
    #[inline]
    pub(super) fn task_work_begins(&mut self, cpu: CpuId, task: TaskId) -> bool {
        self.cpus[cpu.idx()].run.border.take(Border::WORK) && self.enter_task_work(cpu, task)
    }

    /// The work is not done at the instant of the interrupt that has left it: where the ticks of all CPUs come at
    /// once, each of them sees what was there before the first of them works.
    #[cold]
    fn enter_task_work(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let ns = self.prices.list().task_work;
        if ns == 0 {
            return self.run_task_work(cpu, task);
        }
        let ns = self.jittered(cpu, ns);
        self.begin(cpu, Stage::TaskWork, Cost::Syscall, ns);
        true
    }

    /// The current task of `cpu` has reached its work, and goes on behind it.
    pub(super) fn task_work_reached(&mut self, cpu: CpuId) -> Step {
        let task = self.world.curr(cpu).expect("a CPU that works for its current task has one");
        if self.run_task_work(cpu, task) { Ok(()) } else { self.back_in(cpu) }
    }

    /// What it asks for is looked at before the task is in user mode again (`exit_to_user_mode_loop()`).
    #[cold]
    fn run_task_work(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let look = self.task_work(cpu, task);
        if look.cpus == 0 {
            let goes = self.cpus[cpu.idx()].need_resched.any();
            if goes {
                self.enter_schedule(cpu);
            }
            return goes;
        }
        let ns = self.prices.task_work_look(&look) + self.prices.balance_lines(&look);
        let ns = self.jittered(cpu, ns);
        self.begin(cpu, Stage::Debt, Cost::Syscall, ns);
        true
    }
}
