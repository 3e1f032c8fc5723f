//! What a call of the policy has asked for beside its answer, made true.

use simsched_topology::CpuId;

use super::balance::Call;
use super::cpu::Border;
use super::state::Simulator;
use super::watch::Locked;
use crate::ids::TaskId;
use crate::names::CallId;
use crate::observer::Observer;
use crate::policy::{Cx, Policy, Preempt};
use crate::workload::Workload;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Makes true what the calls of the policy have asked for, in the name of the CPU that made them. Who leaves
    /// its runqueue does so before any CPU is rescheduled, and these are in the order of their numbers: each
    /// interrupt is paid by the CPU that made the call, and delays the next.
    #[inline(never)]
    pub(super) fn make_true(&mut self) {
        let cpu = self.world.this_cpu();
        if let Some(why) = self.actions.take_failed() {
            self.policy_failed(why);
        }
        loop {
            self.block_tasks();
            self.throttle_tasks();
            self.leave_work();
            self.change_timers();
            while let Some(at) = self.actions.next_resched() {
                self.resched_if_any(cpu, at, Preempt::Hard);
            }
            while let Some(at) = self.actions.next_resched_lazy() {
                self.resched_if_any(cpu, at, Preempt::Lazy);
            }
            let Some((at, what)) = self.actions.next_call_on() else { return };
            if !self.is_cpu(at) {
                continue;
            }
            let call = Call::Policy(what);
            if at == cpu && !self.desks[cpu.idx()].calls.contains(&call) {
                self.call_here(cpu, what);
            } else {
                self.call_on(cpu, at, call);
            }
        }
    }

    /// Reschedules `at` if there is a task to go, or if it is idle and has tasks to run.
    fn resched_if_any(&mut self, from: CpuId, at: CpuId, how: Preempt) {
        if !self.is_cpu(at) {
            return;
        }
        let rq = self.world.rq(at);
        if rq.curr.is_some() || (!rq.stopping && rq.nr_tasks() > 0) {
            self.resched_as(from, at, how, self.resched_cause);
        }
    }

    /// `__block_task()`.
    fn block_tasks(&mut self) {
        while let Some(task) = self.actions.next_blocked() {
            if task.idx() >= self.tasks.len() || !self.world.task(task).delayed {
                self.policy_broke(format!(
                    "let task {task} leave, which does not sleep on its runqueue"
                ));
                continue;
            }
            self.count_task(task, -1);
            let row = self.world.task_mut(task);
            (row.on_rq, row.delayed, row.throttled) = (false, false, false);
        }
    }

    /// Who is throttled counts no more, and who is unthrottled counts again, if it is on its runqueue.
    fn throttle_tasks(&mut self) {
        while let Some((task, throttled)) = self.actions.next_throttle() {
            if !self.is_task(task) || self.world.task(task).throttled == throttled {
                continue;
            }
            self.world.task_mut(task).throttled = false;
            // Who is on its way is counted where it arrives.
            let row = self.world.task(task);
            if row.on_rq && !row.migrating {
                self.count_task(task, if throttled { -1 } else { 1 });
            }
            self.world.task_mut(task).throttled = throttled;
        }
    }

    /// `add_nr_running()` of the runqueue of `task`, by 1 or -1, unless it is throttled.
    #[inline]
    pub(super) fn count_task(&mut self, task: TaskId, by: i32) {
        let row = self.world.task(task);
        if !row.throttled {
            let cpu = row.cpu;
            self.world.rq_update(cpu, |rq| rq.nr_running = rq.nr_running.wrapping_add_signed(by));
        }
    }

    /// `task_work_add()`.
    fn leave_work(&mut self) {
        while let Some(task) = self.actions.next_work() {
            if self.is_task(task) {
                self.run(task).border.add(Border::WORK);
            }
        }
    }

    /// A CPU that asks itself to call does so at once, with what is asked for there made true behind it.
    fn call_here(&mut self, cpu: CpuId, what: CallId) {
        // A policy whose calls never end is found like tasks that never let time pass.
        self.counters.at_once += 1;
        if self.counters.at_once > self.at_once_limit {
            self.policy_broke(format!("called CPU {cpu} on itself without an end"));
            return;
        }
        self.world.update_rq_clock(cpu);
        self.policy.called(Cx::new(&self.world, &mut self.actions), cpu, what);
        self.look_at_util(Locked::Cpu(cpu));
    }

    /// Whether the machine has this CPU; the run ends if it does not.
    pub(super) fn is_cpu(&mut self, cpu: CpuId) -> bool {
        let count = self.cpus.len();
        if cpu.idx() >= count {
            self.policy_broke(format!("asked for CPU {cpu}, and there are {count}"));
        }
        cpu.idx() < count
    }

    /// Whether there is this task; the run ends if there is not.
    fn is_task(&mut self, task: TaskId) -> bool {
        let count = self.tasks.len();
        if task.idx() >= count {
            self.policy_broke(format!("asked for task {task}, and there are {count}"));
        }
        task.idx() < count
    }
}
