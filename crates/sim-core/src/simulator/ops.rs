//! Begin an op, end an op, turn its verdict into a block or a wake.

use simsched_topology::CpuId;

use super::cpu::{Phase, Progress, Stage, TaskRun};
use super::state::{Simulator, Step};
use super::waitq::WaitQueue;
use crate::error::SimError;
use crate::ids::TaskId;
use crate::ipc::Verdict;
use crate::names::ReschedCause;
use crate::observer::{Cost, Observer, Tracepoint};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::{Op, Outcome, RousedBy, SchedPolicy, Workload};
use crate::world::TaskState;

/// So many ops of one task without any time passing are a program that never ends.
const LIVELOCK: u32 = 1_000_000;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Begins `op`, or the first of those after it that takes time.
    pub(super) fn begin_op(&mut self, cpu: CpuId, task: TaskId, mut op: Op) -> Step {
        for _ in 0..LIVELOCK {
            if !self.declares(op) {
                return Err(self.undeclared(task, op).into());
            }
            let timeless = self.is_timeless(task, op);
            let run = &mut self.cpus[cpu.idx()].run;
            if timeless {
                run.outcome = match op {
                    Op::GetCpu => Outcome::Cpu(cpu),
                    Op::GetTraced => Outcome::Lines(self.counters.traced),
                    _ => Outcome::Done,
                };
                op = self.workload.next_op(task, self.world.now(), run.outcome);
                continue;
            }
            (run.op, run.progress, run.retry) = (op, Progress::Under, false);
            if self.in_turns() {
                match op {
                    Op::Write { .. } | Op::Read { .. } => {
                        self.enter_pipe(cpu, op);
                        return Ok(());
                    }
                    Op::Pause(ns) => {
                        self.pauses(cpu, ns);
                        return Ok(());
                    }
                    _ => {}
                }
            }
            let (cost, ns) = self.price(cpu, task, op);
            self.begin(cpu, Stage::Op, cost, ns);
            return Ok(());
        }
        let name = self.world.tasks().name(task).to_owned();
        Err(SimError::Livelock { at: self.world.now(), task: task.0, name }.into())
    }

    fn declares(&self, op: Op) -> bool {
        let masks = self.world.tasks().nr_masks();
        let unknown = matches!(op, Op::SetAffinity { mask, .. } if mask.idx() >= masks);
        let unknown_region = matches!(op, Op::Stream { region, .. } | Op::Touch { region, .. }
            if region.idx() >= self.nr_regions);
        self.ipc.declares(op) && !unknown && !unknown_region
    }

    fn undeclared(&self, task: TaskId, op: Op) -> SimError {
        let contract = format!("task {task} does {op:?} on an object that was not declared");
        SimError::WorkloadBroke { at: self.world.now(), contract }
    }

    /// Does an op that takes no time; false if it takes some.
    fn is_timeless(&mut self, task: TaskId, op: Op) -> bool {
        match op {
            Op::Mark(mark) => {
                self.emit(Tracepoint::Mark { task, mark });
                true
            }
            Op::CallRcu { until } => {
                let desk = self.desk(self.world.task(task).cpu);
                desk.callbacks_until = desk.callbacks_until.max(until);
                true
            }
            Op::Rouse { task: sleeper, at, by } => {
                let cpu = match by {
                    RousedBy::ThisCpu => self.world.task(task).cpu,
                    RousedBy::OwnTimer => self.tasks[sleeper.idx()].timer_cpu,
                };
                self.rouse(cpu, sleeper, at);
                true
            }
            Op::FutexSet { .. } => {
                let verdict = self.ipc.attempt(task, op, false, &mut self.scratch);
                debug_assert!(verdict != Verdict::Block && self.scratch.is_empty());
                true
            }
            Op::Run(Nanos::ZERO)
            | Op::Pause(Nanos::ZERO)
            | Op::GetCpu
            | Op::GetTraced
            | Op::Fetch { lines: 0, .. } => true,
            Op::Stream { .. } | Op::Touch { .. } => self.hardware.memory.is_none(),
            _ => false,
        }
    }

    /// Goes on with an op that was interrupted; a pipe's mutex is held that much longer.
    pub(super) fn continue_op(&mut self, cpu: CpuId) {
        let TaskRun { op, remains, look, .. } = self.cpus[cpu.idx()].run;
        if op.is_memory() {
            let task = self.cpus[cpu.idx()].task.expect("an op has a task");
            let ns = self.memory_begins(cpu, task, op, true);
            self.begin(cpu, Stage::Op, Cost::Memory, ns);
            return;
        }
        if matches!(op, Op::Pause(_)) && self.in_turns() {
            self.continue_pauses(cpu, remains);
            return;
        }
        let cost = if op.is_user() { Cost::User } else { Cost::Syscall };
        self.begin(cpu, Stage::Op, cost, remains);
        if let Op::Write { pipe, .. } | Op::Read { pipe, .. } = op
            && !look
        {
            let free = &mut self.pipes_free[pipe.idx()];
            *free = (*free).max(self.cpus[cpu.idx()].until);
        }
    }

    /// A sleeper is back in its system call and looks again.
    pub(super) fn retry_op(&mut self, cpu: CpuId) {
        let recheck = self.prices.list().recheck;
        let run = &mut self.cpus[cpu.idx()].run;
        let slept_for_mutex = run.phase == Phase::Sleep;
        (run.progress, run.retry) = (Progress::Under, run.retry || !slept_for_mutex);
        let ns = match self.cpus[cpu.idx()].run.op {
            Op::Write { .. } | Op::Read { .. } if self.in_turns() => return self.retry_pipe(cpu),
            op @ (Op::Write { pipe, bytes } | Op::Read { pipe, bytes }) => {
                self.pipe_op(cpu, op, pipe, recheck, bytes)
            }
            op @ Op::Recv { .. } => self.retry_socket(cpu, op),
            Op::FutexWait { .. } => self.jittered(cpu, recheck + self.prices.list().futex_woken),
            _ => self.jittered(cpu, recheck),
        };
        self.begin(cpu, Stage::Op, Cost::Syscall, ns);
    }

    /// What `op` costs on `cpu`, and to whom.
    fn price(&mut self, cpu: CpuId, task: TaskId, op: Op) -> (Cost, Nanos) {
        let list = self.prices.list();
        let syscall = list.syscall;
        let ns = match op {
            Op::Run(ns) | Op::Pause(ns) => {
                let ns = self.without_spins(task, ns);
                self.computes(cpu, task, ns);
                return (Cost::User, ns);
            }
            Op::Fetch { from, lines } => return (Cost::User, self.fetch(cpu, from, lines)),
            Op::Stream { .. } | Op::Touch { .. } => {
                return (Cost::Memory, self.memory_begins(cpu, task, op, false));
            }
            Op::Write { pipe, bytes } | Op::Read { pipe, bytes } => {
                let entry = self.prices.pipe_entry(op);
                return (Cost::Syscall, self.pipe_op(cpu, op, pipe, entry, bytes));
            }
            Op::Send { .. } | Op::Recv { .. } => {
                return (Cost::Syscall, self.socket_op(cpu, op, syscall));
            }
            Op::Shutdown(_) => syscall + list.tcp_send,
            Op::PollPipe(_) | Op::PollSocket(_) => syscall + list.recheck,
            Op::Lock(_) | Op::Unlock(_) | Op::Barrier(_) => list.lock,
            Op::FutexWait { .. } => syscall + list.futex_look,
            Op::FutexWake { futex, .. } if self.ipc.has_sleepers(futex) => syscall + list.futex,
            Op::FutexWake { .. } => syscall + list.futex_none,
            Op::Join(_) => syscall + list.futex + list.futex_tail,
            Op::Spawn(child) if self.world.task(child).proc == self.world.task(task).proc => {
                list.thread_create
            }
            Op::Spawn(_) => list.process_create,
            Op::Exit if self.ipc.is_last_of_process(task) => list.process_exit,
            Op::Exit => list.thread_exit,
            Op::DownRead(_) | Op::DownReadTrylock(_) | Op::DownWrite(_) => list.lock,
            Op::UpRead { held, .. } | Op::UpWrite { held, .. } => held,
            _ => syscall,
        };
        (Cost::Syscall, self.jittered(cpu, ns))
    }

    /// What is left of `ns` when a waker has spun for some of it, which is in its recorded times.
    fn without_spins(&mut self, task: TaskId, ns: Nanos) -> Nanos {
        if !self.recorded {
            return ns;
        }
        let spun = &mut self.spun[task.idx()];
        let done = (*spun).min(ns);
        *spun = Nanos(spun.0 - done.0);
        Nanos(ns.0 - done.0)
    }

    /// An op has taken its time: now it takes effect.
    #[inline]
    pub(super) fn end_op(&mut self, cpu: CpuId) -> Step {
        let row = &self.cpus[cpu.idx()];
        let task = row.task.expect("an op has a task");
        let op = row.run.op;
        let phase = row.run.phase;
        if row.run.look && !self.looked(cpu, op) {
            return Ok(());
        }
        if phase != Phase::None && self.pipe_goes_on(cpu, task, op)? {
            return Ok(());
        }
        match op {
            Op::Write { .. } | Op::Read { .. } if self.in_turns() => {
                let retry = self.cpus[cpu.idx()].run.retry;
                let looks = self.ipc.looks_for_sleepers(op, retry);
                self.attempt(cpu, task, op);
                if !self.is_blocked(cpu) {
                    self.looked_for_sleepers(cpu, looks);
                    self.frees_pages(cpu, op);
                }
            }
            Op::Write { .. } | Op::Read { .. } => self.attempt(cpu, task, op),
            Op::Run(_) | Op::Pause(_) | Op::Fetch { .. } => self.done(cpu, Outcome::Done),
            Op::Stream { .. } | Op::Touch { .. } => {
                self.memory_stops(cpu);
                self.done(cpu, Outcome::Done);
            }
            Op::Sleep(ns) => self.sleep_until(cpu, task, self.world.now() + ns, cpu),
            Op::SleepUntil(at) => self.sleep_until(cpu, task, at, cpu),
            Op::AwaitCall { from, after, .. } => {
                let callers = self.world.task(from).cpu;
                let is_busy = self.cpus[callers.idx()].task.is_some();
                let on = if is_busy { callers } else { cpu };
                self.sleep_until(cpu, task, self.world.now() + after, on);
            }
            Op::Spawn(child) => return self.spawn(cpu, task, child),
            Op::Yield => return self.sched_yield(cpu, task),
            Op::SetNice(nice) => self.set_nice(cpu, task, nice),
            Op::SetAffinity { task: confined, mask } => {
                self.done(cpu, Outcome::Done);
                self.set_affinity(cpu, confined, mask);
            }
            Op::Exec => {
                self.done(cpu, Outcome::Done);
                self.sched_exec(cpu, task);
            }
            Op::ExecMmap(proc) => {
                self.done(cpu, Outcome::Done);
                self.takes_image(cpu, task, proc);
            }
            Op::Exit if self.exit_gives_way(cpu, task) => return Ok(()),
            Op::Exit => self.exit(cpu, task),
            Op::DownWrite(sem) if self.spins_on(cpu, task, sem) => return Ok(()),
            Op::PollPipe(_) | Op::PollSocket(_) if self.spins_at_queue(cpu, op) => return Ok(()),
            _ => {
                self.attempt(cpu, task, op);
                self.price_behind(cpu, op);
            }
        }
        if self.scratch.is_empty() && self.desks[cpu.idx()].wakes.is_empty() {
            return self.after_op(cpu, task);
        }
        self.desks[cpu.idx()].wakes.extend(self.scratch.drain());
        self.desks[cpu.idx()].waitq = WaitQueue::of(op);
        self.run_wakes(cpu)
    }

    /// The op woke nobody: the task goes on at once, unless something else comes first.
    #[inline]
    fn after_op(&mut self, cpu: CpuId, task: TaskId) -> Step {
        let row = &self.cpus[cpu.idx()];
        if row.deferred.any() {
            self.take_deferred(cpu);
            return Ok(());
        }
        if row.run.progress == Progress::Next && !row.sees_request() {
            return self.next_op(cpu, task);
        }
        self.resume_task(cpu, task)
    }

    #[inline]
    pub(super) fn done(&mut self, cpu: CpuId, outcome: Outcome) {
        let run = &mut self.cpus[cpu.idx()].run;
        run.outcome = outcome;
        run.progress = Progress::Next;
    }

    #[inline]
    fn attempt(&mut self, cpu: CpuId, task: TaskId, op: Op) {
        match self.ipc.attempt(task, op, self.cpus[cpu.idx()].run.retry, &mut self.scratch) {
            Verdict::Done(outcome) => self.done(cpu, outcome),
            Verdict::Block => {
                self.cpu(cpu).run.progress = Progress::Blocked;
                let row = self.world.task_mut(task);
                row.state = TaskState::Sleeping;
                row.uninterruptible = matches!(op, Op::DownRead(_) | Op::DownWrite(_));
            }
        }
    }

    /// What is left of a call when it has had its effect. A lock or barrier for which somebody waits,
    /// or has to wait, makes a futex call. Who waits for a futex looks at the word early
    /// (`futex_wait_setup()`): the rest is the way to the sleep, or back.
    fn price_behind(&mut self, cpu: CpuId, op: Op) {
        let list = self.prices.list();
        let calls = op.is_lock() && (!self.scratch.is_empty() || self.is_blocked(cpu));
        let (ns, tail) = match op {
            _ if calls => (list.syscall + list.futex, list.futex_tail),
            Op::FutexWait { .. } if !self.cpus[cpu.idx()].run.retry => {
                ((list.futex + list.futex_tail).saturating_sub(list.futex_look), 0)
            }
            Op::FutexWake { .. } if !self.scratch.is_empty() => (0, list.futex_tail),
            _ => return,
        };
        self.cpus[cpu.idx()].debt += ns;
        if self.scratch.is_empty() {
            self.cpus[cpu.idx()].debt += tail;
        } else {
            self.desk(cpu).behind_wakes = tail;
        }
    }

    fn is_blocked(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.idx()].run.progress == Progress::Blocked
    }

    fn spawn(&mut self, cpu: CpuId, parent: TaskId, child: TaskId) -> Step {
        if self.world.task(child).state != TaskState::New {
            let contract = format!("task {parent} spawns task {child}, which has started already");
            return Err(SimError::WorkloadBroke { at: self.world.now(), contract }.into());
        }
        self.done(cpu, Outcome::Done);
        self.ipc.spawned(parent, child);
        self.begin_fork(cpu, parent, child)
    }

    fn sched_yield(&mut self, cpu: CpuId, task: TaskId) -> Step {
        self.done(cpu, Outcome::Done);
        self.world.update_rq_clock(cpu);
        self.world.rq_mut(cpu).yld_count += 1;
        self.yield_task(cpu, task);
        let is_batch = self.world.task(task).policy == SchedPolicy::Batch;
        if self.world.rq(cpu).nr_running != 1 && !is_batch {
            self.world.skip_clock_update(cpu);
        }
        self.enter_schedule(cpu);
        Ok(())
    }

    fn set_nice(&mut self, cpu: CpuId, task: TaskId, nice: i8) {
        self.done(cpu, Outcome::Done);
        self.world.update_rq_clock(cpu);
        self.world.task_mut(task).nice = nice.clamp(-20, 19);
        let preempt = self.reweight_task(task);
        self.resched_as(cpu, cpu, preempt, ReschedCause::Other);
    }
}
