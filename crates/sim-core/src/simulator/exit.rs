//! `do_exit()`: the end of a task, and what it leaves for callbacks to free.

use simsched_topology::CpuId;

use super::cpu::{Progress, Stage};
use super::state::Simulator;
use crate::ids::TaskId;
use crate::names::ReschedCause;
use crate::observer::{Cost, Observer, Tracepoint};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::Workload;

/// Ticks from the end of a task to the end of the callbacks that free it: a grace period is under way, the next one begins
/// behind it, and one more tick sees its end. On the machines of the lab under 6.1 an idle CPU balances for the last time at
/// the fifth tick behind the end of a scenario, and the next time would be at the ninth; of 262 CPUs of `t16` under 7.3.4
/// on which a task ended last, 16 had four ticks more, 108 five, 129 six to eleven and nine more.
const CALLBACK_TICKS: u64 = 4;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// The rest of the last system call of the current task, which has ended; false if that has been done.
    pub(super) fn end_exit(&mut self, cpu: CpuId) -> bool {
        let run = &mut self.cpus[cpu.idx()].run;
        let tail = std::mem::take(&mut run.remains);
        if tail == Nanos::ZERO {
            return false;
        }
        let tail = u32::try_from(tail.0).expect("a price");
        let ns = self.jittered(cpu, tail);
        self.begin(cpu, Stage::Debt, Cost::Syscall, ns);
        true
    }

    /// `task`, which ends on `cpu`, has let go of its address space: whether the CPU is rescheduled before the parent is
    /// woken ([`KernelRules::exit_resched`](crate::KernelRules::exit_resched)). The kernel also dequeues and enqueues the
    /// task there (`sched_move_task()`); that is not followed.
    pub(super) fn exit_gives_way(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let others = self.world.rq(cpu).nr_running > 1;
        if !self.rules.exit_resched || !others || self.world.task(task).exiting {
            return false;
        }
        self.lets_go(cpu, task);
        self.resched_curr(cpu, cpu, ReschedCause::Other);
        let run = &mut self.cpu(cpu).run;
        (run.progress, run.remains) = (Progress::Under, Nanos::ZERO);
        self.enter_schedule(cpu);
        true
    }

    fn lets_go(&mut self, cpu: CpuId, task: TaskId) {
        self.world.task_mut(task).exiting = true;
        self.exit_mm(cpu, task);
    }

    /// `task` ends on `cpu`: its last system call is done but for what freeing it takes.
    pub(super) fn exit(&mut self, cpu: CpuId, task: TaskId) {
        if !self.world.task(task).exiting {
            self.lets_go(cpu, task);
        }
        let list = self.prices.list();
        let last = self.ipc.is_last_of_process(task);
        let tail = if last { list.process_exit_tail } else { list.thread_exit_tail };
        let run = &mut self.cpu(cpu).run;
        (run.progress, run.remains) = (Progress::Ended, Nanos(u64::from(tail)));
        self.ipc.exit(task, &mut self.scratch);
        // What it leaves is freed after a grace period, by callbacks of this CPU.
        let ticks = Nanos(CALLBACK_TICKS * self.world.tick().0);
        let until = self.world.now() + ticks;
        let desk = self.desk(cpu);
        desk.callbacks_until = desk.callbacks_until.max(until);
        self.counters.alive -= u32::from(!self.world.tasks().is_background(task));
        self.emit(Tracepoint::Exit { task });
    }
}
