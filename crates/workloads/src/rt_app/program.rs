//! A running rt-app: the main thread and the threads of all tasks.
//!
//! Source: `thread_body()`, `run()`, `run_event()`, `__shutdown()` and `main()` of `rt-app.c`.

use std::fmt::Write;
use std::sync::Arc;

use simsched_core::{
    BarrierId, FutexId, MarkId, Nanos, Notes, Op, Outcome, ProcId, RegionSpec, SchedPolicy, Setup,
    SimTime, Start, Stores, TaskId, TaskSpec, Workload,
};
use simsched_topology::{CpuId, CpuSet};

use super::config::{Config, TimerRef};
use super::size::fork_counts;
use super::sync::{Condition, Semaphore, Timer};
use super::thread::{Step, Thread, lock, unlock};

/// The main thread begins.
pub(super) const START: MarkId = MarkId(0);
/// The main thread has waited for all others.
pub(super) const STOP: MarkId = MarkId(1);

/// The name of the program, and of its main thread.
pub(super) const COMM: &str = "rt-app";
/// The longest name of a thread that the kernel takes; of a longer one rt-app keeps its own.
const MAX_COMM: usize = 15;

/// The main thread.
pub(super) const MAIN: usize = 0;

/// A running rt-app.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) config: Arc<Config>,
    cpus: CpuSet,
    masks: Vec<CpuSet>,
    /// By task: the main thread, those that it starts, and those that may be forked.
    pub(super) threads: Vec<Thread>,
    /// By row of the forks: its first thread, how many there may be, and how many there are.
    pub(super) pools: Vec<[usize; 3]>,
    /// How many threads rt-app has numbered.
    pub(super) numbered: usize,
    pub(super) conds: Vec<Condition>,
    pub(super) sems: Vec<Semaphore>,
    /// By barrier: how many are still to come before the last one.
    pub(super) barriers: Vec<i64>,
    pub(super) timers: Vec<Timer>,
    /// By task of the file: how much of its buffer was stored to, in KiB.
    pub(super) touched: Vec<u32>,
    pub(super) zero: SimTime,
    pub(super) is_stopped: bool,
    pub(super) text: String,
}

impl Program {
    pub(super) fn new(config: &Arc<Config>, cpus: CpuSet) -> Program {
        let mut program = Program {
            config: Arc::clone(config),
            cpus,
            masks: Vec::new(),
            threads: vec![Thread::new(usize::MAX, Vec::new(), 0)],
            pools: Vec::new(),
            numbered: 0,
            conds: vec![Condition::default(); config.conds.len() + config.barriers.len()],
            sems: vec![Semaphore::default(); config.sems.len()],
            barriers: config.barriers.iter().map(|(_, users)| users - 1).collect(),
            timers: timers(&config.timers),
            touched: vec![0; config.tasks.len()],
            zero: SimTime::ZERO,
            is_stopped: false,
            text: String::new(),
        };
        for (def, task) in config.tasks.iter().enumerate() {
            for _ in 0..task.instances {
                program.add(def);
            }
        }
        let started = program.threads.len();
        for (fork, count) in fork_counts(config).into_iter().enumerate() {
            let def = config.tasks.iter().position(|task| task.name == config.forks[fork]);
            program.pools.push([program.threads.len(), count, 0]);
            (0..count).for_each(|_| program.add(def.unwrap_or_default()));
        }
        program.find_masks();
        program.begin_main(started);
        program
    }

    fn add(&mut self, def: usize) {
        let task = &self.config.tasks[def];
        let (own, nice) = (timers(&task.timers), task.nice);
        self.threads.push(Thread::new(def, own, nice));
    }

    /// All sets of CPUs that the file names; the first is all.
    fn find_masks(&mut self) {
        let tasks = self.config.tasks.iter();
        let sets = tasks.flat_map(|task| {
            task.cpus.into_iter().chain(task.phases.iter().filter_map(|phase| phase.cpus))
        });
        self.masks = std::iter::once(self.cpus).chain(sets).collect();
        self.masks.dedup();
    }

    /// The row of the mask of a phase: its own, its task's or all CPUs.
    pub(super) fn mask(&self, def: usize, phase: usize) -> usize {
        let task = &self.config.tasks[def];
        let set = task.phases[phase].cpus.or(task.cpus).unwrap_or(self.cpus);
        self.masks.iter().position(|mask| *mask == set).unwrap_or_default()
    }

    /// The main thread starts all others, and waits.
    fn begin_main(&mut self, end: usize) {
        match self.config.global.ns_per_loop {
            Some(ns) => self.notice(&format!("pLoad = {ns}ns")),
            None => self.notice("Calibrate ns per loop"),
        }
        let main = &mut self.threads[MAIN];
        main.is_started = true;
        main.then([Step::Call(Op::Mark(START))]);
        for thread in 1..end {
            self.number(thread, None);
            self.begin(thread, true);
            self.threads[MAIN].then([Step::Call(Op::Spawn(TaskId::new(thread)))]);
        }
        let main = &mut self.threads[MAIN];
        if let Ok(seconds @ 1..) = u64::try_from(self.config.global.duration_s) {
            // Who was about to sleep when all were woken up is woken up once more.
            let pause = Step::Call(Op::Sleep(Nanos::from_micros(100)));
            main.then([Step::Call(Op::Sleep(Nanos::from_secs(seconds)))]);
            main.then([Step::Stop, Step::Shake(0), Step::Rouse(1), pause, Step::Rouse(1)]);
        }
        main.then([Step::Join, Step::Call(Op::Mark(STOP)), Step::Leave]);
    }

    /// Gives a thread that is about to be started its number and name.
    pub(super) fn number(&mut self, thread: usize, fork: Option<usize>) {
        let index = self.numbered;
        self.numbered += 1;
        let row = &mut self.threads[thread];
        let name = &self.config.tasks[row.def].name;
        row.name = match fork {
            None => format!("{name}-{index}"),
            Some(nth) => format!("{name}-{index}-{nth:04}"),
        };
        (row.index, row.is_started) = (index, true);
        let text = format!("thread_data_set_unique_name {index} {}", row.name);
        self.notice(&text);
    }

    /// What a thread does before its first phase.
    pub(super) fn begin(&mut self, thread: usize, is_first: bool) {
        let row = &mut self.threads[thread];
        if row.index == 0 {
            row.then([Step::Zero]);
        }
        if is_first {
            row.then([Step::Call(Op::Barrier(BarrierId(0)))]);
        }
        row.then([Step::Delay, Step::Begin]);
    }

    /// A line that rt-app prints.
    pub(super) fn notice(&mut self, what: &str) {
        let _ = writeln!(self.text, "[{COMM}] <notice> {what}");
    }

    /// The futex word of a semaphore; conditions come first.
    pub(super) fn word_of(&self, sem: usize) -> FutexId {
        FutexId::new(self.conds.len() + sem)
    }

    fn spec(&self, (thread, row): (usize, &Thread)) -> TaskSpec {
        let task = self.config.tasks.get(row.def);
        let name = match task {
            Some(_) if row.is_started && row.name.len() <= MAX_COMM => row.name.clone(),
            Some(task) if !row.is_started && task.name.len() <= MAX_COMM => task.name.clone(),
            _ => COMM.to_owned(),
        };
        TaskSpec {
            name,
            proc: ProcId(0),
            nice: task.map_or(0, |task| task.nice),
            policy: task.map_or(SchedPolicy::Normal, |task| task.policy),
            allowed: None,
            start: if thread == MAIN { Start::AtZero(CpuId(0)) } else { Start::Spawned },
        }
    }

    /// What the kernel is asked when all that user space does was done.
    fn next(&mut self, thread: usize, now: SimTime) -> Op {
        if self.is_stopped && !self.threads[thread].is_leaving {
            let row = &mut self.threads[thread];
            row.is_leaving = true;
            row.steps.clear();
            row.then([Step::Leave]);
        }
        loop {
            let step = self.threads[thread].steps.pop_front().unwrap_or(Step::Next);
            if let Some(op) = self.step(thread, step, now) {
                return op;
            }
        }
    }
}

impl Workload for Program {
    fn setup(&self) -> Setup {
        let count = |count: usize| u32::try_from(count).expect("a file that somebody wrote");
        let config = &self.config;
        let kib = config.global.mem_buffer.div_ceil(1024);
        let has_memory = config.tasks.iter().any(|task| task.uses_memory);
        let regions = if has_memory { config.tasks.len() } else { 0 };
        let parties = self.threads.iter().filter(|row| row.is_started).count() - 1;
        Setup {
            procs: vec![COMM.to_owned()],
            tasks: self.threads.iter().enumerate().map(|row| self.spec(row)).collect(),
            locks: count(config.mutexes.len() + config.barriers.len()),
            barriers: vec![count(parties.max(1))],
            futexes: count(self.conds.len() + self.sems.len()),
            masks: self.masks.clone(),
            regions: vec![RegionSpec { kib, stores: Stores::Allocate }; regions],
            marks: ["start", "stop"].map(str::to_owned).to_vec(),
            ..Setup::default()
        }
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, _: Outcome) -> Op {
        let thread = task.idx();
        let op = self.next(thread, now);
        let row = &mut self.threads[thread];
        match op {
            Op::Lock(mutex) => row.held.push(mutex.0),
            Op::Unlock(mutex) => row.held.retain(|held| *held != mutex.0),
            Op::Exit => row.has_ended = true,
            _ => {}
        }
        op
    }

    fn notes(&self) -> Notes {
        let has_perf = self.config.global.ns_per_loop.is_some();
        let mut rows: Vec<&Thread> =
            self.threads[1..].iter().filter(|row| row.is_started).collect();
        rows.sort_by_key(|row| row.index);
        let numbers = rows.iter().flat_map(|row| {
            let of_thread = row.log.numbers(has_perf).into_iter();
            of_thread.map(|(name, number)| (format!("{}.{name}", row.name), number))
        });
        let text = self.text.trim_end_matches('\n').to_owned();
        Notes { text, by_task: numbers.collect(), ..Notes::default() }
    }

    fn measure_from(&mut self, _: SimTime) {
        for row in &mut self.threads {
            row.log.forget();
        }
    }
}

impl Program {
    /// Does a step; its system call if it is one.
    fn step(&mut self, thread: usize, step: Step, now: SimTime) -> Option<Op> {
        match step {
            Step::Call(op) => return Some(op),
            Step::Zero => self.zero = now,
            Step::Delay => return self.delay(thread, now),
            Step::Begin => self.begin_phase(thread),
            Step::Begun => {
                let row = &mut self.threads[thread];
                (row.begun, row.event) = (now, 0);
            }
            Step::Next => self.next_event(thread, now),
            Step::Start => self.threads[thread].started = now,
            Step::Until(us) => return self.until(thread, us, now),
            Step::Ran => self.ran(thread, now),
            Step::Timer(timer, us) => return self.timer(thread, timer, us, now),
            Step::Rang => self.rang(thread, now),
            Step::Fork(fork) => return self.fork(thread, fork),
            Step::Join => return self.join(thread),
            Step::Stop => {
                (self.is_stopped, self.threads[thread].is_leaving) = (true, true);
            }
            Step::Shake(futex) => return self.shake(thread, futex),
            Step::Rouse(from) => return self.rouse(thread, from, now),
            Step::Leave => return Some(self.leave(thread)),
            _ => return self.synchronize(thread, step),
        }
        None
    }

    /// The same of a step that has to do with a condition, a barrier or a semaphore.
    fn synchronize(&mut self, thread: usize, step: Step) -> Option<Op> {
        match step {
            Step::Enter(cond) => self.threads[thread].value = self.conds[cond].enter(),
            Step::Sleep(cond) => {
                let row = &mut self.threads[thread];
                row.steps.push_front(Step::Woken(cond));
                return Some(Op::FutexWait { futex: FutexId::new(cond), value: row.value });
            }
            Step::Woken(cond) => {
                if !self.conds[cond].leave() {
                    let row = &mut self.threads[thread];
                    row.value = self.conds[cond].word;
                    row.steps.push_front(Step::Sleep(cond));
                }
            }
            Step::Signal(cond, most) => {
                if self.conds[cond].signal(most) {
                    let (futex, value) = (FutexId::new(cond), self.conds[cond].word);
                    return Some(self.wake(thread, futex, value, most));
                }
            }
            Step::Meet(barrier) => self.meet(thread, barrier),
            Step::Met(barrier) => self.barriers[barrier] += 1,
            Step::Down(sem) => {
                if !self.sems[sem].take() {
                    self.sems[sem].sleepers += 1;
                    self.threads[thread].steps.push_front(Step::Again(sem));
                    let value = self.sems[sem].word;
                    return Some(Op::FutexWait { futex: self.word_of(sem), value });
                }
            }
            Step::Again(sem) => {
                self.sems[sem].sleepers -= 1;
                self.threads[thread].steps.push_front(Step::Down(sem));
            }
            Step::Up(sem) => {
                if self.sems[sem].post() {
                    let (futex, value) = (self.word_of(sem), self.sems[sem].word);
                    return Some(self.wake(thread, futex, value, 1));
                }
            }
            _ => unreachable!("{step:?} is done by its own thread"),
        }
        None
    }

    /// Changes a futex word and wakes so many who sleep on it.
    pub(super) fn wake(&mut self, thread: usize, futex: FutexId, value: u32, count: u32) -> Op {
        let wake = Step::Call(Op::FutexWake { futex, count, sync: false });
        self.threads[thread].steps.push_front(wake);
        Op::FutexSet { futex, value }
    }

    /// At a barrier: the last one wakes up the others, who leave when they have the mutex again.
    fn meet(&mut self, thread: usize, barrier: usize) {
        let mutex = self.config.mutexes.len() + barrier;
        let cond = self.config.conds.len() + barrier;
        let row = &mut self.threads[thread];
        if self.barriers[barrier] == 0 {
            row.then([Step::Signal(cond, u32::MAX)]);
        } else {
            self.barriers[barrier] -= 1;
            row.then([Step::Enter(cond), unlock(mutex), Step::Sleep(cond), lock(mutex)]);
            row.then([Step::Met(barrier)]);
        }
        row.then([unlock(mutex)]);
    }
}

fn timers(timers: &[(String, bool)]) -> Vec<Timer> {
    timers.iter().map(|(_, is_absolute)| Timer { next: None, is_absolute: *is_absolute }).collect()
}

/// Microseconds, rounded as rt-app does.
pub(super) fn rounded_us(time: Nanos) -> u64 {
    (time.get() + 500) / 1000
}

/// The timer of a thread that an event names.
pub(super) fn timer_of<'a>(
    shared: &'a mut [Timer],
    own: &'a mut [Timer],
    timer: TimerRef,
) -> &'a mut Timer {
    match timer {
        TimerRef::Shared(row) => &mut shared[row],
        TimerRef::Own(row) => &mut own[row],
    }
}
