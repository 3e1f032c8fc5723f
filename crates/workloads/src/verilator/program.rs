//! `Model`: the threads of a model that runs.

use simsched_core::{
    FutexId, MarkId, Nanos, Op, Outcome, ProcId, SchedPolicy, Seed, Setup, SimTime, Start, Stream,
    TaskId, TaskSpec, Workload,
};
use simsched_topology::CpuId;

use super::{FLAG_LINES, LOOK, LOOKS, QUEUE_LINES, SERIAL, TASK, TASKS, Verilator};
use crate::lognormal::LogNormal;

/// The first cycle begins.
pub(super) const START: MarkId = MarkId(0);
/// The last is over.
pub(super) const STOP: MarkId = MarkId(1);
/// A cycle is over.
pub(super) const DONE: MarkId = MarkId(2);

/// The word of a thread that sleeps until the next cycle, and of one that does not.
const ASLEEP: u32 = 1;
const AWAKE: u32 = 0;

/// Where a thread is; a number is that of a thread, or of a task of its list.
#[derive(Clone, Copy, Debug)]
enum At {
    Create(u32),
    Cycle,
    Release(u32),
    Rouse(u32),
    Await,
    Begin,
    Need(u32),
    Fetch(u32),
    Task(u32),
    Signal(u32),
    Gather,
    Gathered,
    Serial,
    Over(u32),
    Join(u32),
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    at: At,
    /// Looks since it waits.
    looks: u32,
    /// Tasks that it has done, of all cycles.
    done: u64,
    /// The word of its futex.
    word: u32,
}

/// A model that runs.
#[derive(Clone, Debug)]
pub(super) struct Model {
    options: Verilator,
    threads: Vec<Thread>,
    second: Vec<Option<Op>>,
    streams: Vec<Stream>,
    lognormal: Option<LogNormal>,
    /// Cycles that were begun.
    cycle: u64,
    is_over: bool,
}

/// The queue of a worker comes from the thread that changed it last, to be changed.
fn queue_of(thread: u32) -> Op {
    Op::Fetch { from: TaskId(thread), lines: QUEUE_LINES }
}

/// A flag comes from the thread that looked at it last, or stored it.
fn flag_of(thread: u32) -> Op {
    Op::Fetch { from: TaskId(thread), lines: FLAG_LINES }
}

/// What a step comes to: where the thread goes on, and what it calls.
type Step = (At, Option<Op>);

impl Model {
    pub(super) fn new(options: Verilator, seed: Seed) -> Model {
        let nr = options.threads as usize;
        let thread = |nth| Thread {
            at: if nth == 0 { At::Create(1) } else { At::Await },
            looks: 0,
            done: 0,
            word: AWAKE,
        };
        Model {
            threads: (0..nr).map(thread).collect(),
            second: vec![None; nr],
            streams: (0..nr).map(|nth| seed.stream("thread", nth as u64)).collect(),
            lognormal: LogNormal::new(options.lognormal),
            cycle: 0,
            is_over: false,
            options,
        }
    }

    fn step(&mut self, own: u32) -> Step {
        match self.threads[own as usize].at {
            At::Await => self.awaits(own),
            At::Begin | At::Need(_) | At::Fetch(_) | At::Task(_) | At::Signal(_) => self.works(own),
            _ => self.leads(),
        }
    }

    /// The main thread between two lists of its own.
    fn leads(&mut self) -> Step {
        let nr = self.options.threads;
        match self.threads[0].at {
            At::Create(nth) if nth < nr => (At::Create(nth + 1), Some(Op::Spawn(TaskId(nth)))),
            At::Create(_) => (At::Cycle, Some(Op::Mark(START))),
            At::Cycle if self.cycle == u64::from(self.options.cycles) => {
                self.is_over = true;
                (At::Over(1), Some(Op::Mark(STOP)))
            }
            At::Cycle => {
                self.cycle += 1;
                (At::Release(1), None)
            }
            At::Release(nth) if nth < nr => (At::Rouse(nth), Some(queue_of(nth))),
            At::Rouse(nth) => (At::Release(nth + 1), self.rouses(nth)),
            At::Release(_) => (At::Need(0), None),
            At::Gather => {
                let all = self.cycle * u64::from(TASKS);
                match self.threads.iter().all(|thread| thread.done >= all) {
                    true => (At::Gathered, (nr > 1).then(|| flag_of(nr - 1))),
                    false => (At::Gather, Some(self.looks(0))),
                }
            }
            At::Gathered => (At::Serial, Some(Op::Run(SERIAL))),
            At::Serial => (At::Cycle, Some(Op::Mark(DONE))),
            At::Over(nth) if nth < nr => (At::Join(nth), self.rouses(nth)),
            At::Join(nth) => (At::Over(nth + 1), Some(Op::Join(TaskId(nth)))),
            at => (at, Some(Op::Exit)),
        }
    }

    /// Wakes a thread if it sleeps.
    fn rouses(&mut self, nth: u32) -> Option<Op> {
        let thread = &mut self.threads[nth as usize];
        if std::mem::replace(&mut thread.word, AWAKE) == AWAKE {
            return None;
        }
        self.second[0] = Some(Op::FutexWake { futex: FutexId(nth), count: 1, sync: false });
        Some(Op::FutexSet { futex: FutexId(nth), value: AWAKE })
    }

    /// Another thread waits for the next cycle.
    fn awaits(&mut self, own: u32) -> Step {
        let (cycle, is_over) = (self.cycle, self.is_over);
        let thread = &mut self.threads[own as usize];
        if thread.done < cycle * u64::from(TASKS) {
            thread.looks = 0;
            return (At::Begin, Some(queue_of(0)));
        }
        if is_over {
            return (At::Await, Some(Op::Exit));
        }
        if thread.looks < LOOKS {
            thread.looks += 1;
            return (At::Await, Some(Op::Run(LOOK)));
        }
        thread.looks = 0;
        thread.word = ASLEEP;
        let futex = FutexId(own);
        self.second[own as usize] = Some(Op::FutexWait { futex, value: ASLEEP });
        (At::Await, Some(Op::FutexSet { futex, value: ASLEEP }))
    }

    /// Any thread does its list: what a task needs comes from the task before it of another thread.
    fn works(&mut self, own: u32) -> Step {
        let nr = self.options.threads;
        let before = (self.cycle - 1) * u64::from(TASKS);
        match self.threads[own as usize].at {
            At::Begin => (At::Need(0), None),
            At::Need(TASKS) if own == 0 => (At::Gather, None),
            At::Need(TASKS) => (At::Await, None),
            At::Need(0) => (At::Task(0), Some(self.task(own))),
            At::Need(nth) => {
                let other = (own + nth) % nr;
                if other == own {
                    return (At::Task(nth), Some(self.task(own)));
                }
                match self.threads[other as usize].done >= before + u64::from(nth) {
                    true => {
                        self.threads[own as usize].looks = 0;
                        let lines = self.options.lines + FLAG_LINES;
                        (At::Fetch(nth), Some(Op::Fetch { from: TaskId(other), lines }))
                    }
                    false => (At::Need(nth), Some(self.looks(own))),
                }
            }
            At::Fetch(nth) => (At::Task(nth), Some(self.task(own))),
            // Who needs it has looked at the flag last; after the last task that is the main thread.
            At::Task(nth) => {
                let waits = if nth + 1 < TASKS { (own + nr - (nth + 1) % nr) % nr } else { 0 };
                (At::Signal(nth), (waits != own).then(|| flag_of(waits)))
            }
            At::Signal(nth) => {
                self.threads[own as usize].done += 1;
                (At::Need(nth + 1), None)
            }
            at => (at, None),
        }
    }

    /// Who waits within a cycle looks again, and yields from time to time.
    fn looks(&mut self, own: u32) -> Op {
        let thread = &mut self.threads[own as usize];
        thread.looks += 1;
        if thread.looks <= LOOKS {
            return Op::Run(LOOK);
        }
        thread.looks = 0;
        Op::Yield
    }

    fn task(&mut self, own: u32) -> Op {
        let stream = &mut self.streams[own as usize];
        Op::Run(self.lognormal.map_or(TASK, |dist| dist.sample(TASK, stream)))
    }
}

impl Workload for Model {
    fn setup(&self) -> Setup {
        let task = |nth: usize| TaskSpec {
            name: "emu".to_owned(),
            proc: ProcId(0),
            nice: 0,
            policy: SchedPolicy::Normal,
            allowed: None,
            start: if nth == 0 { Start::AtZero(CpuId(0)) } else { Start::Spawned },
        };
        let nr = self.threads.len();
        let part = u64::from(self.options.state_kib) * 1024 / nr as u64;
        Setup {
            procs: vec!["emu".to_owned()],
            tasks: (0..nr).map(task).collect(),
            futexes: self.options.threads,
            footprints: vec![u32::try_from(part).unwrap_or(u32::MAX); nr],
            marks: ["start", "stop", "done"].map(str::to_owned).to_vec(),
            ..Setup::default()
        }
    }

    fn next_op(&mut self, task: TaskId, _: SimTime, _: Outcome) -> Op {
        if let Some(op) = self.second[task.idx()].take() {
            return op;
        }
        loop {
            let (next, op) = self.step(task.0);
            self.threads[task.idx()].at = next;
            match op {
                Some(Op::Run(Nanos::ZERO)) | None => {}
                Some(op) => return op,
            }
        }
    }
}
