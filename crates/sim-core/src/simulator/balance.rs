//! The load balancer's passes: where they begin, their steps one after the other, and the tasks that
//! they move.

use simsched_topology::CpuId;

use super::cpu::{Pass, Stage};
use super::state::{Simulator, Step};
use super::stopper::StopWork;
use crate::error::SimError;
use crate::ids::TaskId;
use crate::names::CallId;
use crate::observer::{Cost, Observer, Tracepoint};
use crate::policy::{BalanceStep, Enqueue, Policy};
use crate::time::Nanos;
use crate::workload::Workload;

/// How many domains in a row may be skipped where that takes no time: more than all CPUs of a machine have.
const MAX_SKIPS: u32 = 1 << 16;

/// What one CPU asks another to call (`call_single_data_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// `nohz_csd_func()`: to balance for all idle CPUs.
    NohzCsd,
    /// A call of the policy's own.
    Policy(CallId),
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `kick_ilb()`: `cpu` is told to balance for all idle CPUs, by a call in the list that hand-offs
    /// are in too.
    pub(super) fn kick_ilb(&mut self, from: CpuId, cpu: CpuId) {
        if from == cpu {
            self.nohz_csd(cpu);
            return;
        }
        self.call_on(from, cpu, Call::NohzCsd);
    }

    /// `smp_call_function_single_async()`: `cpu` is to make this call, if it is not to make it already.
    pub(super) fn call_on(&mut self, from: CpuId, cpu: CpuId, call: Call) {
        if self.desks[cpu.idx()].calls.contains(&call) {
            return;
        }
        let first = self.call_queue_is_empty(cpu);
        self.desk(cpu).calls.push_back(call);
        if first {
            self.kick(from, cpu);
        }
    }

    /// Who finds the list empty has to tell its CPU (`__smp_call_single_queue()`).
    pub(super) fn call_queue_is_empty(&self, cpu: CpuId) -> bool {
        let desk = &self.desks[cpu.idx()];
        desk.inbox.is_empty() && desk.calls.is_empty()
    }

    /// `flush_smp_call_function_queue()`, all at once.
    pub(super) fn flush_call_queue(&mut self, cpu: CpuId) {
        self.take_call_queue(cpu);
        self.activate_all_taken(cpu);
    }

    /// `flush_smp_call_function_queue()`, up to the wakeups, which come last: they are taken.
    pub(super) fn take_call_queue(&mut self, cpu: CpuId) {
        while let Some(call) = self.desk(cpu).calls.pop_front() {
            match call {
                Call::NohzCsd => self.nohz_csd(cpu),
                Call::Policy(what) => {
                    self.world.update_rq_clock(cpu);
                    self.called(cpu, what);
                }
            }
        }
        self.take_hand_offs(cpu);
    }

    fn nohz_csd(&mut self, cpu: CpuId) {
        if self.nohz_csd_func(cpu) {
            self.cpu(cpu).softirq = true;
        }
    }

    /// `__do_softirq()`: what is raised meanwhile is done right after it.
    pub(super) fn do_softirq(&mut self, cpu: CpuId) -> Step {
        let row = self.cpu(cpu);
        row.softirq = false;
        row.pass = Pass::Softirq;
        self.softirq_goes_on(cpu);
        self.run_rebalance_domains(cpu);
        self.balance(cpu)
    }

    /// From here on the softirq's time counts as interrupt time.
    fn softirq_goes_on(&mut self, cpu: CpuId) {
        let owed = Nanos(u64::from(self.cpus[cpu.idx()].debt));
        self.desks[cpu.idx()].irq_since = self.world.now() + owed;
    }

    /// `newidle_balance()` of a CPU whose policy wants it; true if it does.
    pub(super) fn newidle_begins(&mut self, cpu: CpuId) -> bool {
        let begins = self.newidle_balance(cpu);
        if begins {
            self.cpu(cpu).pass = Pass::NewIdle;
        }
        begins
    }

    /// `nohz_run_idle_balance()`, once each time that the idle task has come from `schedule()`.
    pub(super) fn idle_pass_begins(&mut self, cpu: CpuId) -> bool {
        if !std::mem::take(&mut self.desk(cpu).idle_begins) {
            return false;
        }
        let begins = self.nohz_run_idle_balance(cpu);
        if begins {
            self.cpu(cpu).pass = Pass::Idle;
        }
        begins
    }

    /// An interrupt comes in the middle of a step; `schedule()` is closed to it.
    pub(super) fn interrupt_balance(&mut self, cpu: CpuId) {
        let pass = self.cpus[cpu.idx()].pass;
        if pass == Pass::NewIdle {
            return;
        }
        self.desk(cpu).remains = self.cut_short(cpu);
        if pass == Pass::Softirq {
            self.account_irq_time(cpu);
        }
        self.take_deferred(cpu);
    }

    /// The interrupt is over: the step goes on. A softirq that it has raised in the idle loop's pass
    /// comes after that.
    pub(super) fn resume_balance(&mut self, cpu: CpuId) {
        if self.cpus[cpu.idx()].pass == Pass::Softirq {
            self.softirq_goes_on(cpu);
        }
        let remains = self.desks[cpu.idx()].remains;
        self.begin(cpu, Stage::Balance, Cost::Balance, remains);
    }

    /// A step has taken its time. Where CPUs take turns, a balancer that finds the lock of a runqueue
    /// taken looks again in its next one: what that takes is part of what the domain's balance has cost.
    pub(super) fn balance_goes_on(&mut self, cpu: CpuId) -> Step {
        if let Some(locked) = self.desks[cpu.idx()].locking {
            if self.in_turns() && self.rq_is_locked(locked) {
                self.begin_pause(cpu, Stage::Balance, Cost::Balance, 0);
                return Ok(());
            }
            self.desk(cpu).locking = None;
            self.world.update_rq_clock(locked);
        }
        self.balance(cpu)
    }

    /// The next step of the pass on `cpu`: what it does is done, and its time passes. The lock of the
    /// source comes after those who asked for it before, with its lines, and is held while tasks leave
    /// (`load_balance()`, `detach_tasks()`): both are part of what the domain's balance has cost.
    pub(super) fn balance(&mut self, cpu: CpuId) -> Step {
        let mut wait = Nanos::ZERO;
        let skip = self.prices.list().balance_skip;
        let mut step = self.balance_step(cpu);
        // A skip that takes no time is no event; a pass that has no other step is one in the end, so that it is found.
        for _ in 0..MAX_SKIPS {
            if step != BalanceStep::Skip || skip != 0 {
                break;
            }
            step = self.balance_step(cpu);
        }
        let ns = match step {
            BalanceStep::Look(look) => {
                let lines = if self.hardware.free { 0 } else { self.prices.balance_lines(&look) };
                wait = Nanos(u64::from(lines));
                self.prices.balance_look(&look)
            }
            BalanceStep::Skip => skip,
            BalanceStep::Lock(locked) => {
                self.desk(cpu).locking = Some(locked);
                let ns = self.prices.list().balance_cpu_same_llc;
                wait = self.lock_rq(cpu, locked, ns);
                ns
            }
            BalanceStep::Move => {
                self.move_tasks(cpu)?;
                let ns = self.prices.move_tasks(self.moves.tasks.len());
                self.keep_rq_locked(self.moves.from, ns);
                ns
            }
            BalanceStep::Stop { from } => {
                self.stop(cpu, from, StopWork::ActiveBalance);
                self.prices.list().wakeup
            }
            BalanceStep::Done => return self.balance_done(cpu),
        };
        let ns = self.jittered(cpu, ns);
        self.stall(cpu, Cost::RqLock, wait);
        self.begin(cpu, Stage::Balance, Cost::Balance, ns);
        Ok(())
    }

    fn balance_done(&mut self, cpu: CpuId) -> Step {
        match std::mem::replace(&mut self.cpu(cpu).pass, Pass::No) {
            Pass::NewIdle => return self.newidle_done(cpu),
            Pass::Softirq => self.account_irq_time(cpu),
            Pass::Idle | Pass::No => {}
        }
        if self.cpus[cpu.idx()].softirq {
            return self.do_softirq(cpu);
        }
        self.back_in(cpu)
    }

    /// Makes the policy's moves true: the tasks leave their runqueue, and are attached to the other
    /// in reverse order (`detach_tasks()`, `attach_tasks()`). In the kernel they are on neither for a
    /// moment; here that moment has no length.
    pub(super) fn move_tasks(&mut self, balancer: CpuId) -> Step {
        let to = self.moves.to;
        for idx in 0..self.moves.tasks.len() {
            self.check_move(self.moves.tasks[idx])?;
            self.detached(self.moves.tasks[idx]);
        }
        self.world.update_rq_clock(to);
        for idx in (0..self.moves.tasks.len()).rev() {
            self.attach_task(balancer, to, self.moves.tasks[idx]);
        }
        Ok(())
    }

    /// `detach_task()`, after its dequeue.
    fn detached(&mut self, task: TaskId) {
        let (from, to) = (self.moves.from, self.moves.to);
        let (cause, reason, domain) = (self.moves.cause, self.moves.reason, self.moves.domain);
        self.count_task(task, -1);
        let row = self.world.task_mut(task);
        (row.cpu, row.migrating) = (to, true);
        self.emit(Tracepoint::Migrate { task, from, to, cause, reason, domain });
    }

    /// `attach_task()` to a runqueue whose clock is up to date.
    pub(super) fn attach_task(&mut self, balancer: CpuId, cpu: CpuId, task: TaskId) {
        self.enqueue_task(cpu, task, Enqueue::Moved);
        self.world.task_mut(task).migrating = false;
        self.count_task(task, 1);
        self.check_preempt_curr(balancer, cpu, task, Enqueue::Moved);
    }

    fn check_move(&self, task: TaskId) -> Step {
        let (from, to) = (self.moves.from, self.moves.to);
        let row = self.world.task(task);
        let waits = row.on_rq && row.cpu == from && !row.on_cpu;
        if waits && from != to && self.world.is_allowed(task, to) {
            return Ok(());
        }
        let contract = format!("moved task {task} from CPU {from} to CPU {to}");
        let why = if waits { "where it may not run" } else { "although it does not wait there" };
        let contract = format!("{contract}, {why}");
        Err(SimError::PolicyBroke { at: self.world.now(), contract }.into())
    }
}
