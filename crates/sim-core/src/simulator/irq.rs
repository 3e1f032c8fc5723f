//! Interrupts: the tick, timers, and interprocessor interrupts; now if the CPU is open to them,
//! else as soon as it is.

use simsched_topology::CpuId;

use super::cpu::{Deferred, Desk, Irq, Pass, Progress, Stage};
use super::state::{Simulator, Step};
use crate::agenda::Event;
use crate::hardware::at_full_speed;
use crate::ids::TaskId;
use crate::ipc::Wake;
use crate::names::{ReschedCause, TimerId};
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::{Op, Outcome, Workload};

/// A timer that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    /// That of a sleeping task.
    Task(TaskId),
    /// One of the policy's.
    Policy(TimerId),
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// A rescheduling interrupt arrives, or a polling CPU sees its flag.
    pub(super) fn resched_arrives(&mut self, cpu: CpuId) {
        self.counters.in_flight -= 1;
        let row = self.cpu(cpu);
        if std::mem::take(&mut row.ipi_sent) {
            row.deferred.add(Deferred::IPI);
            self.interrupt(cpu);
        } else if row.stage == Stage::Idle {
            self.leave_idle(cpu);
        }
    }

    /// The tick of `cpu`; the next one is planned at once.
    pub(super) fn tick_arrives(&mut self, cpu: CpuId) {
        let next = self.world.now() + self.world.tick();
        self.agenda.arm(Event::Tick(cpu), next);
        self.jiffies_due = next;
        if !self.hardware.speed.is_constant() {
            self.change_speed(cpu);
        }
        self.cpu(cpu).deferred.add(Deferred::TICK);
        self.interrupt(cpu);
    }

    /// The timer of `task` expires on the CPU where it was started. A deferrable one waits while the tick of an idle CPU
    /// is stopped, as no interrupt is asked for it; where an idle CPU has kept its tick, that finds it.
    pub(super) fn timer_arrives(&mut self, task: TaskId) {
        let cpu = self.expires_on(task);
        self.world.set_this_cpu(cpu);
        let is_quiet =
            self.cpus[cpu.idx()].stage == Stage::Idle && self.desks[cpu.idx()].tick_stopped;
        if is_quiet && self.world.tasks().is_deferrable(task) {
            let next = self.world.now() + self.world.tick();
            self.agenda.arm(Event::Timer(task), next);
            return;
        }
        self.count_in_wheel(task, -1);
        self.desk(cpu).timers.push_back(Expired::Task(task));
        let is_background = self.world.tasks().is_background(task);
        let tick_stopped = self.desks[cpu.idx()].tick_stopped;
        let row = self.cpu(cpu);
        row.deferred.add(Deferred::TIMER);
        if is_background && tick_stopped {
            // The timers of the kernel's threads are in the wheel, and only a tick turns that
            // (`tick_sched_timer()`).
            row.deferred.add(Deferred::TICK);
        }
        self.interrupt(cpu);
    }

    /// The CPU that expires the timer of `task`: the one that has started it, or for that if it is idle the migrator
    /// ([`Tmigr`](super::tmigr::Tmigr)). What is at most a tick ahead when the tick is to be stopped is left to nobody
    /// (`fetch_next_timer_interrupt()`).
    fn expires_on(&self, task: TaskId) -> CpuId {
        let cpu = self.tasks[task.idx()].timer_cpu;
        let tasks = self.world.tasks();
        let is_global = tasks.is_background(task)
            && !tasks.is_deferrable(task)
            && tasks.allowed(task).is_none_or(|cpus| cpus.len() > 1);
        let Desk { tick_stopped, tick_stopped_at, .. } = self.desks[cpu.idx()];
        let is_far = self.world.now() > tick_stopped_at + self.world.tick();
        match &self.tmigr {
            Some(tmigr) if is_global && tick_stopped && is_far => tmigr.migrator(),
            _ => cpu,
        }
    }

    /// Interrupts what `cpu` does, if it can be interrupted now.
    pub(super) fn interrupt(&mut self, cpu: CpuId) {
        match self.cpus[cpu.idx()].stage {
            Stage::Idle => self.leave_idle(cpu),
            Stage::Op => {
                if self.in_turns() {
                    self.interrupt_pause(cpu);
                }
                self.cpu(cpu).run.remains = self.cut_short(cpu);
                if self.cpus[cpu.idx()].run.op.is_memory() {
                    self.memory_stops(cpu);
                }
                self.take_deferred(cpu);
            }
            Stage::Balance => self.interrupt_balance(cpu),
            _ => {}
        }
    }

    /// Ends the stage of `cpu` early: what is left of it. What the CPU still owes becomes a debt again.
    pub(super) fn cut_short(&mut self, cpu: CpuId) -> Nanos {
        let now = self.world.now();
        let row = self.cpu(cpu);
        row.debt = u32::try_from(row.debt_end.since(now).0).expect("a debt is short");
        let left = row.until.since(row.debt_end.max(now));
        if row.is_steady() { left } else { at_full_speed(left, row.speed) }
    }

    /// Starts the handler of the first interrupt that waits: the tick before messages of other
    /// CPUs before timers, as their vectors rank.
    pub(super) fn take_deferred(&mut self, cpu: CpuId) {
        let list = self.prices.list();
        let (tick, timer) = (list.tick, list.timer_handler);
        let (ipi, behind) = (list.ipi_handler, list.hrtimer_rearm.min(timer));
        let now = self.world.now();
        let row = &mut self.cpus[cpu.idx()];
        if !row.in_irq {
            row.in_irq = true;
            self.desks[cpu.idx()].irq_since = now + Nanos(u64::from(row.debt));
        }
        let (irq, cost, ns) = if row.deferred.take(Deferred::TICK) {
            (Irq::Tick, Cost::Tick, tick)
        } else if row.deferred.take(Deferred::IPI) {
            (Irq::Ipi, Cost::Ipi, ipi)
        } else {
            let timers = &mut self.desks[cpu.idx()].timers;
            let expired = timers.pop_front().expect("an interrupt waits");
            if timers.is_empty() {
                row.deferred.take(Deferred::TIMER);
            }
            let irq = match expired {
                Expired::Task(task) => Irq::Timer(task),
                Expired::Policy(timer) => self.begin_policy_timer(timer),
            };
            self.desks[cpu.idx()].rearms = true;
            (irq, Cost::Timer, timer - behind)
        };
        let ns = self.jittered(cpu, ns);
        self.begin(cpu, Stage::Irq(irq), cost, ns);
    }

    /// The handler of `irq` has done its work: now it takes effect.
    pub(super) fn irq_done(&mut self, cpu: CpuId, irq: Irq) -> Step {
        match irq {
            Irq::Tick => self.scheduler_tick(cpu),
            Irq::Ipi => {
                self.take_call_queue(cpu);
                if self.goes_on_activating(cpu) {
                    return Ok(());
                }
            }
            Irq::Activate => {
                self.activate_taken(cpu);
                if self.goes_on_activating(cpu) {
                    return Ok(());
                }
            }
            Irq::Timer(task) => {
                self.counters.timers -= u32::from(!self.world.tasks().is_background(task));
                let sync = self.timed_out(task);
                if self.begin_wakeup(cpu, Wake { task, sync })? {
                    return Ok(());
                }
            }
            Irq::Policy(timer) => self.end_policy_timer(cpu, timer),
        }
        self.irq_exit(cpu)
    }

    /// The handler of a rescheduling interrupt turns to the next wakee that it has taken. Where
    /// queueing has no price of its own all are queued at once.
    fn goes_on_activating(&mut self, cpu: CpuId) -> bool {
        let activate = self.prices.list().activate;
        if activate == 0 {
            self.activate_all_taken(cpu);
        }
        if self.desks[cpu.idx()].taken.is_empty() {
            return false;
        }
        let ns = self.jittered(cpu, activate);
        self.begin(cpu, Stage::Irq(Irq::Activate), Cost::Ipi, ns);
        true
    }

    /// The sleep of `task` is over; whether the wakeup is synchronous.
    fn timed_out(&mut self, task: TaskId) -> bool {
        let run = self.run(task);
        run.progress = Progress::Next;
        run.outcome = Outcome::Done;
        matches!(run.op, Op::AwaitCall { sync: true, .. })
    }

    /// `scheduler_tick()`.
    fn scheduler_tick(&mut self, cpu: CpuId) {
        self.world.update_rq_clock(cpu);
        if let Some(curr) = self.world.curr(cpu) {
            if self.world.rq(cpu).need_resched_lazy {
                self.resched_curr(cpu, cpu, ReschedCause::Promoted);
            }
            self.resched_cause = ReschedCause::Tick;
            let preempt = self.task_tick(cpu, curr);
            self.resched_cause = ReschedCause::Other;
            self.resched_as(cpu, cpu, preempt, ReschedCause::Tick);
        } else {
            self.desk(cpu).idle_ticked = true;
        }
        let trigger = self.trigger_load_balance(cpu);
        if trigger.softirq {
            self.cpu(cpu).softirq = true;
        }
        if let Some(target) = trigger.kick {
            self.kick_ilb(cpu, target);
        }
    }

    /// The end of interrupt handling, unless another one waits: back to where the CPU was, and first
    /// to the softirq.
    pub(super) fn irq_exit(&mut self, cpu: CpuId) -> Step {
        if self.cpus[cpu.idx()].deferred.any() {
            self.take_deferred(cpu);
            return Ok(());
        }
        if std::mem::take(&mut self.desks[cpu.idx()].rearms) {
            let list = self.prices.list();
            self.owe(cpu, list.hrtimer_rearm.min(list.timer_handler));
        }
        self.account_irq_time(cpu);
        let row = &mut self.cpus[cpu.idx()];
        row.in_irq = false;
        if row.pass != Pass::No {
            self.resume_balance(cpu);
            return Ok(());
        }
        if row.softirq {
            return self.do_softirq(cpu);
        }
        self.back_in(cpu)
    }

    /// `irqtime_account_irq()`: the time since the interrupt or the softirq began is nobody's.
    pub(super) fn account_irq_time(&mut self, cpu: CpuId) {
        if self.config.irq_accounting {
            let owed = Nanos(u64::from(self.cpus[cpu.idx()].debt));
            let spent = (self.world.now() + owed).since(self.desks[cpu.idx()].irq_since);
            self.world.rq_mut(cpu).irq_time += spent.0;
        }
    }
}
