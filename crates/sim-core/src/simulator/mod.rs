//! The event loop: what can happen, and who deals with it.

mod actions;
mod affinity;
mod balance;
mod calls;
mod charge;
mod cpu;
mod deactivate;
mod exec;
mod exit;
mod flags;
mod fork;
mod functions;
mod hand_off;
mod hardware;
mod idle;
mod irq;
mod mutex;
mod op_kinds;
mod ops;
mod pause;
mod pipe;
mod resched;
mod sem;
mod sleepers;
mod socket;
mod state;
mod stopper;
mod switch;
mod task_run;
mod task_work;
mod timers;
mod tmigr;
mod waitq;
mod wakeup;
mod watch;

pub use state::Simulator;

use simsched_topology::CpuId;

use crate::agenda::Event;
use crate::error::{Blocked, SimError};
use crate::ids::TaskId;
use crate::ipc::Verdict;
use crate::names::Reason;
use crate::observer::{Observer, Tracepoint};
use crate::policy::Policy;
use crate::time::{Nanos, SimTime};
use crate::workload::{Op, Outcome, Start, Workload};
use crate::world::TaskState;
use cpu::{Progress, Stage};
use state::Step;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All tasks have ended, but for those that belong to the machine.
    Finished,
    /// The horizon is reached.
    Horizon,
    /// As many events as asked for are done, or the observer has asked for a pause.
    Paused,
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Runs until all tasks have ended or the horizon is reached.
    ///
    /// # Errors
    /// A deadlock, a livelock, or a broken contract of the policy or the workload.
    pub fn run_until(&mut self, horizon: SimTime) -> Result<Status, SimError> {
        self.run_events(horizon, u64::MAX)
    }

    /// Runs like [`Simulator::run_until`], for at most `max_events` events, and until the observer
    /// [pauses](Observer::pauses) it.
    ///
    /// # Errors
    /// As [`Simulator::run_until`].
    pub fn run_events(&mut self, horizon: SimTime, max_events: u64) -> Result<Status, SimError> {
        let mut left = max_events;
        while left > 0 && !self.observer.pauses() {
            if self.counters.busy_cpus == 0 || self.counters.alive == 0 {
                if self.counters.alive == 0 {
                    self.close();
                    return Ok(Status::Finished);
                }
                if self.is_stuck() {
                    self.close();
                    return Err(self.deadlock());
                }
            }
            if self.has_short_way
                && let Some((at, cpu)) = self.agenda.next_stage(self.agenda.stages_until(horizon))
            {
                left -= if self.cpus[cpu.idx()].may_be_plain() {
                    self.run_plain_ops((at, cpu), horizon, left).map_err(|error| *error)?
                } else {
                    self.step(at, Event::StageEnd(cpu)).map_err(|error| *error)?;
                    1
                };
                continue;
            }
            let Some((now, event)) = self.agenda.next_until(horizon) else {
                self.world.set_now(horizon.max(self.world.now()));
                self.close();
                return Ok(Status::Horizon);
            };
            left -= 1;
            self.step(now, event).map_err(|error| *error)?;
        }
        Ok(Status::Paused)
    }

    #[inline(always)]
    fn step(&mut self, now: SimTime, event: Event) -> Step {
        self.counters.at_once = if now == self.world.now() { self.counters.at_once + 1 } else { 0 };
        self.world.set_now(now);
        self.counters.events += 1;
        self.watch_instant()?;
        match event {
            Event::StageEnd(cpu) => {
                self.world.set_this_cpu(cpu);
                return self.end_stage(cpu);
            }
            Event::Resched(cpu) => {
                self.world.set_this_cpu(cpu);
                self.resched_arrives(cpu);
            }
            Event::Tick(cpu) => {
                self.world.set_this_cpu(cpu);
                self.tick_arrives(cpu);
            }
            Event::Timer(task) => self.timer_arrives(task),
            Event::PolicyTimer(timer) => self.policy_timer_arrives(timer),
        }
        self.after_event()
    }

    /// The stage of `cpu` ends, or its way to an errand.
    fn end_stage(&mut self, cpu: CpuId) -> Step {
        let row = &self.cpus[cpu.idx()];
        if row.errand {
            self.run_errand(cpu);
            return Ok(());
        }
        self.stage_end(cpu, row.stage)?;
        self.after_event()
    }

    #[inline(always)]
    fn after_event(&mut self) -> Step {
        if self.actions.follow_event() { self.aftermath() } else { Ok(()) }
    }

    /// What comes behind each event with costs of the policy, and behind all of a run that is watched or paranoid.
    #[inline(never)]
    fn aftermath(&mut self) -> Step {
        if self.actions.has_costs() {
            self.pay_costs();
        }
        if self.is_watched {
            self.tell_traced();
        }
        self.check_broken()?;
        if self.paranoid { self.check_policy() } else { Ok(()) }
    }

    /// Fails if the policy has done what it may not, or cannot go on.
    fn check_broken(&mut self) -> Step {
        self.broken.take().map_or(Ok(()), |error| Err(error.into()))
    }

    #[inline]
    fn stage_end(&mut self, cpu: CpuId, stage: Stage) -> Step {
        match stage {
            Stage::Op => self.end_op(cpu),
            Stage::Look | Stage::Spin => self.look_done(cpu),
            Stage::Lock => {
                self.lock_reached(cpu);
                Ok(())
            }
            Stage::Wake => self.finish_wakeup(cpu),
            Stage::Schedule => self.schedule(cpu),
            Stage::Dequeue => self.uncounted(cpu),
            Stage::Pick => self.pick_done(cpu),
            Stage::Switch => self.finish_switch(cpu),
            Stage::Irq(irq) => self.irq_done(cpu, irq),
            Stage::TaskWork => self.task_work_reached(cpu),
            Stage::Balance => self.balance_goes_on(cpu),
            Stage::Stopper => self.stopper_done(cpu),
            Stage::IdleExit | Stage::Debt => self.back_in(cpu),
            Stage::Idle => Ok(()),
        }
    }

    fn start(&mut self, task: TaskId, start: Start) -> Step {
        match start {
            Start::Spawned => Ok(()),
            Start::AtZero(cpu) => self.start_at_zero(task, cpu),
            Start::Asleep(cpu) => self.start_in_sleep(task, cpu),
            Start::Background { cpu, until, .. } => self.start_asleep(task, cpu, until),
        }
    }

    /// Puts a task of the first hour on its CPU.
    fn start_at_zero(&mut self, task: TaskId, cpu: CpuId) -> Step {
        self.check_start(task, cpu)?;
        self.world.task_mut(task).cpu = cpu;
        self.world.set_this_cpu(cpu);
        self.task_fork(cpu, None, task);
        self.emit(Tracepoint::Fork { parent: None, child: task });
        self.emit(Tracepoint::Waking { wakee: task, waker: cpu, sync: false });
        self.enqueue_new(cpu, cpu, task, Reason::PINNED, 0);
        self.plan_resched(cpu, SimTime::ZERO);
        Ok(())
    }

    /// Lays a task of the machine down on the CPU where it sleeps until its timer expires.
    fn start_asleep(&mut self, task: TaskId, cpu: CpuId, until: SimTime) -> Step {
        self.lay_down(task, cpu)?;
        let run = &mut self.tasks[task.idx()];
        (run.progress, run.timer_cpu) = (Progress::Timed, cpu);
        self.arm_timer(task, until);
        Ok(())
    }

    /// Lays a task down in the sleep that is its first op.
    fn start_in_sleep(&mut self, task: TaskId, cpu: CpuId) -> Step {
        self.lay_down(task, cpu)?;
        self.counters.alive += 1;
        let op = self.workload.next_op(task, SimTime::ZERO, Outcome::Started);
        let run = &mut self.tasks[task.idx()];
        (run.op, run.progress, run.timer_cpu) = (op, Progress::Timed, cpu);
        match op {
            Op::Sleep(ns) => self.arm_timer(task, SimTime::ZERO + ns),
            Op::SleepUntil(at) => self.arm_timer(task, at),
            Op::FutexWait { .. } if self.ipc.declares(op) => {
                run.progress = Progress::Blocked;
                let verdict = self.ipc.attempt(task, op, false, &mut self.scratch);
                if verdict != Verdict::Block {
                    return Err(self.not_asleep(task, op).into());
                }
            }
            _ => return Err(self.not_asleep(task, op).into()),
        }
        Ok(())
    }

    fn lay_down(&mut self, task: TaskId, cpu: CpuId) -> Step {
        self.check_start(task, cpu)?;
        let row = self.world.task_mut(task);
        (row.cpu, row.state) = (cpu, TaskState::Sleeping);
        self.task_asleep(cpu, task);
        Ok(())
    }

    fn not_asleep(&self, task: TaskId, op: Op) -> SimError {
        let contract = format!("task {task} begins asleep in {op:?}, which is no sleep");
        SimError::WorkloadBroke { at: self.world.now(), contract }
    }

    fn check_start(&self, task: TaskId, cpu: CpuId) -> Step {
        if cpu.idx() < self.cpus.len() && self.world.is_allowed(task, cpu) {
            return Ok(());
        }
        let contract = format!("task {task} starts on CPU {cpu}, where it may not run");
        Err(SimError::WorkloadBroke { at: self.world.now(), contract }.into())
    }

    /// Charges what is under way, so that all CPU time up to now is accounted for.
    fn close(&mut self) {
        // Where CPUs take turns, some may be ahead.
        let last = self.cpus.iter().map(|row| row.charged).fold(self.world.now(), SimTime::max);
        self.world.set_now(last);
        for idx in 0..self.cpus.len() {
            self.charge(CpuId::new(idx));
        }
    }

    /// Whether nobody runs, nobody will wake up, and somebody waits.
    #[inline]
    fn is_stuck(&self) -> bool {
        let counters = &self.counters;
        counters.busy_cpus == 0
            && counters.timers == 0
            && counters.in_flight == 0
            && !self.policy_may_let_go()
    }

    fn deadlock(&self) -> SimError {
        let tasks = (0..self.tasks.len()).map(TaskId::new);
        let is_held = |task: TaskId| self.world.task(task).on_rq && self.world.task(task).throttled;
        let waits = |task: &TaskId| {
            let sleeps = self.world.task(*task).state == TaskState::Sleeping;
            (sleeps || is_held(*task)) && !self.world.tasks().is_background(*task)
        };
        let blocked = tasks.filter(waits).map(|task| Blocked {
            task: task.0,
            name: self.world.tasks().name(task).to_owned(),
            waits_for: match self.ipc.blocked_on(task) {
                _ if is_held(task) => "the policy, which throttles it".to_owned(),
                found => found.unwrap_or_else(|| "nothing".to_owned()),
            },
        });
        SimError::Deadlock { at: self.world.now(), blocked: blocked.collect() }
    }

    /// Time must pass: a run that does event after event at one instant is stuck.
    #[inline(always)]
    fn watch_instant(&self) -> Step {
        if self.counters.at_once < self.at_once_limit {
            return Ok(());
        }
        Err(self.livelock(self.world.now()).into())
    }

    /// Time does not pass: nor can it behind the end of the clock.
    fn livelock(&self, at: SimTime) -> SimError {
        if at >= SimTime::LAST {
            return SimError::ClockEnd { at };
        }
        let current = (0..self.cpus.len()).find_map(|idx| self.world.curr(CpuId::new(idx)));
        let task = current.unwrap_or(TaskId(0));
        SimError::Livelock { at, task: task.0, name: self.world.tasks().name(task).to_owned() }
    }

    fn check_policy(&self) -> Step {
        for idx in 0..self.cpus.len() {
            let broken = self.policy.check(&self.world, CpuId::new(idx));
            broken.map_err(|contract| SimError::PolicyBroke { at: self.world.now(), contract })?;
        }
        Ok(())
    }

    /// How long the run has lasted.
    pub fn elapsed(&self) -> Nanos {
        self.world.now().since(SimTime::ZERO)
    }
}
