//! `Threads`: the state of a running old schbench.

use rand::distr::{Distribution, Uniform};
use simsched_core::{
    MarkId, Nanos, Notes, Op, Outcome, ProcId, SchedPolicy, Seed, Setup, SimTime, Start, Stream,
    TaskId, TaskSpec, Workload,
};
use simsched_topology::CpuId;

use super::thread::{At, Thread};
use super::{LOOK, SchbenchOld};
use crate::buckets::Buckets;
use crate::lognormal::LogNormal;
use crate::postbox::{Postbox, Wait};

/// The time begins.
pub(super) const START: MarkId = MarkId(0);
/// The time is over.
pub(super) const STOP: MarkId = MarkId(1);
/// A worker has spun.
pub(super) const DONE: MarkId = MarkId(2);

/// An old schbench that runs.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    options: SchbenchOld,
    threads: Vec<Thread>,
    second: Vec<Option<Op>>,
    streams: Vec<Stream>,
    post: Postbox,
    stopping: bool,
    wake_time: Vec<SimTime>,
    /// By task: when its requests came.
    requests: Vec<Vec<SimTime>>,
    latencies: Buckets,
    lognormal: Option<LogNormal>,
    /// Loops a second of all workers, each over its own time, in hundredths.
    rate: u128,
    text: String,
}

fn us(at: SimTime) -> u64 {
    at.get() / 1000
}

/// Microseconds from one clock to the next.
fn delta(from: SimTime, to: SimTime) -> u64 {
    us(to).saturating_sub(us(from))
}

impl Threads {
    pub(super) fn new(options: SchbenchOld, seed: Seed) -> Threads {
        let mut threads = vec![Thread::new(At::Create(0), 0, 0)];
        for nth in 0..options.messengers {
            let parent = 1 + nth * (options.workers + 1);
            threads.push(Thread::new(At::Create(0), 0, nth));
            threads.extend((0..options.workers).map(|_| Thread::new(At::Top, parent, nth)));
        }
        let nr_tasks = threads.len();
        Threads {
            second: vec![None; nr_tasks],
            streams: (0..nr_tasks).map(|task| seed.stream("thread", task as u64)).collect(),
            post: Postbox::new(nr_tasks, options.messengers as usize),
            stopping: false,
            wake_time: vec![SimTime::ZERO; nr_tasks],
            requests: vec![Vec::new(); nr_tasks],
            latencies: Buckets::default(),
            lognormal: LogNormal::new(options.lognormal),
            rate: 0,
            text: String::new(),
            options,
            threads,
        }
    }

    /// How many threads a thread creates, and the task of one of them.
    fn children(&self, task: u32) -> (u32, impl Fn(u32) -> u32 + use<>) {
        let workers = self.options.workers;
        let (count, step) =
            if task == 0 { (self.options.messengers, workers + 1) } else { (workers, 1) };
        (count, move |nth| task + 1 + nth * step)
    }

    fn page(&self, from: u32) -> Op {
        Op::Fetch { from: TaskId(from), lines: self.options.pipe.div_ceil(128) }
    }

    fn varied(&mut self, task: u32, mean: Nanos) -> Nanos {
        let stream = &mut self.streams[task as usize];
        self.lognormal.map_or(mean, |dist| dist.sample(mean, stream))
    }

    /// One step of a thread: where it goes on, and what it calls.
    fn step(&mut self, task: u32, now: SimTime) -> (At, Option<[Option<Op>; 2]>) {
        let own = task as usize;
        let (count, child) = self.children(task);
        let thread = &mut self.threads[own];
        let one = |op: Op| Some([Some(op), None]);
        let is_main = task == 0;
        match thread.at {
            At::Create(nth) if nth < count => {
                (At::Create(nth + 1), one(Op::Spawn(TaskId(child(nth)))))
            }
            At::Create(_) if is_main => (At::Sleep, one(Op::Mark(START))),
            At::Create(_) if self.options.rps > 0 => (At::Delay, None),
            At::Create(_) => (At::Block, None),
            At::Sleep => (At::Over, one(Op::Sleep(self.options.runtime))),
            At::Over if !self.stopping => {
                self.stopping = true;
                (At::Post(0), one(Op::Mark(STOP)))
            }
            At::Post(nth) if nth < count => (At::Join(nth), self.posts(child(nth))),
            At::Join(nth) => (At::Post(nth + 1), one(Op::Join(TaskId(child(nth))))),
            At::Post(_) if is_main => {
                self.report();
                (At::Over, None)
            }
            At::Over | At::Post(_) => (At::Over, one(Op::Exit)),
            At::Block | At::Take | At::Wake | At::Fill(_) | At::Wait => self.serves(task, now),
            At::Delay | At::Batch | At::Hand(_) | At::Kick(_) => self.hands_out(task, now),
            At::Report | At::Call | At::Called | At::Waiting | At::Woken => self.reports(task, now),
            At::Top | At::Begin | At::Spin | At::Spun => self.works(task, now),
        }
    }

    fn posts(&mut self, task: u32) -> Option<[Option<Op>; 2]> {
        self.post.post(task).map(|ops| ops.map(Some))
    }

    /// A message thread wakes all that wait, waits to be posted, and sleeps.
    fn serves(&mut self, task: u32, now: SimTime) -> (At, Option<[Option<Op>; 2]>) {
        let one = |op: Op| Some([Some(op), None]);
        let (pipe, stopping) = (self.options.pipe, self.stopping);
        let thread = &mut self.threads[task as usize];
        match thread.at {
            At::Block => (At::Take, one(self.post.block(task))),
            At::Take => {
                (thread.next, thread.since) = (self.post.take(thread.stack), now);
                (At::Wake, None)
            }
            At::Wake => match thread.next {
                Some(worker) if pipe > 0 => (At::Fill(worker), one(self.page(worker))),
                Some(worker) => {
                    (At::Wake, self.wakes(task, worker, self.threads[task as usize].since))
                }
                None if stopping && thread.is_last => (At::Post(0), None),
                None if stopping => {
                    thread.is_last = true;
                    (At::Take, None)
                }
                None => (At::Wait, None),
            },
            At::Fill(worker) => (At::Wake, self.wakes(task, worker, now)),
            _ => match self.post.wait(task) {
                Wait::Sleep(op) => (At::Wait, one(op)),
                Wait::Posted(op) if pipe > 0 || self.options.sleep == Nanos::ZERO => {
                    (At::Block, one(op))
                }
                Wait::Posted(op) => {
                    let mean = self.options.sleep;
                    let sleep = self.varied(task, mean).get() / 1000;
                    let most = mean.get() / 4000;
                    let jitter = Uniform::new(0, most.max(1)).expect("at least one");
                    let jitter = jitter.sample(&mut self.streams[task as usize]);
                    (
                        At::Block,
                        Some([Some(op), Some(Op::Sleep(Nanos::from_micros(sleep + jitter)))]),
                    )
                }
            },
        }
    }

    fn wakes(&mut self, task: u32, worker: u32, at: SimTime) -> Option<[Option<Op>; 2]> {
        self.threads[task as usize].next = self.post.below(worker);
        self.wake_time[worker as usize] = at;
        self.posts(worker)
    }

    /// A message thread sleeps and then gives a request to two thirds of its workers.
    fn hands_out(&mut self, task: u32, now: SimTime) -> (At, Option<[Option<Op>; 2]>) {
        let SchbenchOld { workers, rps, messengers, .. } = self.options;
        let batch = (workers * 2 / 3).max(1);
        match self.threads[task as usize].at {
            At::Delay => {
                let batches = (rps / messengers).div_ceil(batch).max(1);
                let sleep = Nanos::from_micros(u64::from(1_000_000 / batches));
                (At::Batch, Some([Some(Op::Sleep(sleep)), None]))
            }
            At::Batch => {
                self.threads[task as usize].since = now;
                (At::Hand(0), None)
            }
            At::Hand(nth) if nth < batch => {
                let thread = &mut self.threads[task as usize];
                let worker = task + 1 + thread.turn % workers;
                thread.turn = thread.turn.wrapping_add(1);
                self.wake_time[worker as usize] = thread.since;
                self.requests[worker as usize].push(now);
                (At::Hand(nth + 1), self.posts(worker))
            }
            At::Hand(_) if !self.stopping => (At::Delay, None),
            At::Kick(nth) if nth < workers => (At::Kick(nth + 1), self.posts(task + 1 + nth)),
            At::Kick(_) => (At::Post(0), None),
            _ => (At::Kick(0), None),
        }
    }

    /// A worker tells its message thread that it waits, and waits until it is posted.
    fn reports(&mut self, task: u32, now: SimTime) -> (At, Option<[Option<Op>; 2]>) {
        let one = |op: Op| Some([Some(op), None]);
        let own = task as usize;
        let Thread { parent, stack, at, .. } = self.threads[own];
        match at {
            At::Report => match self.options.pipe {
                0 => (At::Call, None),
                _ => (At::Call, one(self.page(parent))),
            },
            At::Call => {
                let op = self.post.block(task);
                self.wake_time[own] = now;
                if self.options.rps == 0 {
                    self.post.push(stack, task);
                    return (At::Called, one(op));
                }
                let mine = &mut self.threads[own].mine;
                std::mem::swap(mine, &mut self.requests[own]);
                mine.reverse();
                match mine.len() {
                    0 => (At::Called, one(op)),
                    _ => (At::Top, one(self.post.run(task))),
                }
            }
            At::Called => (At::Waiting, self.posts(parent)),
            At::Waiting if self.stopping => (At::Woken, None),
            At::Waiting => match self.post.wait(task) {
                Wait::Sleep(op) => (At::Waiting, one(op)),
                Wait::Posted(op) => (At::Woken, one(op)),
            },
            _ => {
                let latency = delta(self.wake_time[own], now);
                if self.options.rps == 0 && latency > 0 {
                    self.latencies.add(latency);
                }
                (At::Top, None)
            }
        }
    }

    /// A worker spins by the clock, once or for each of its requests.
    fn works(&mut self, task: u32, now: SimTime) -> (At, Option<[Option<Op>; 2]>) {
        let one = |op: Op| Some([Some(op), None]);
        let own = task as usize;
        let rps = self.options.rps > 0;
        match self.threads[own].at {
            At::Top => {
                let thread = &mut self.threads[own];
                if thread.begun == SimTime::ZERO {
                    thread.begun = now;
                }
                if self.stopping {
                    let lasted = delta(thread.begun, now).max(1);
                    self.rate += u128::from(thread.loops) * 100_000_000 / u128::from(lasted);
                    return (At::Over, None);
                }
                (if rps && thread.mine.is_empty() { At::Report } else { At::Begin }, None)
            }
            At::Begin => {
                let spins = self.varied(task, self.options.cpu).get() / 1000;
                let thread = &mut self.threads[own];
                (thread.since, thread.spins_us) = (now, spins);
                (At::Spin, None)
            }
            At::Spin => {
                let Thread { since, spins_us, .. } = self.threads[own];
                let spun = delta(since, now);
                if spins_us == 0 || spun > spins_us {
                    return (At::Spun, one(Op::Mark(DONE)));
                }
                let left = Nanos((us(since) + spins_us + 1) * 1000 - now.get());
                (At::Spin, one(Op::Run(Nanos(left.get().min(LOOK.get())))))
            }
            _ => {
                let thread = &mut self.threads[own];
                thread.loops += 1;
                let Some(came) = thread.mine.pop() else { return (At::Report, None) };
                let cpu = self.options.cpu.get() / 1000;
                let latency = delta(came, now).checked_sub(cpu).filter(|over| *over > 0);
                self.latencies.add(latency.unwrap_or(1));
                (if thread.mine.is_empty() { At::Top } else { At::Begin }, None)
            }
        }
    }

    fn report(&mut self) {
        self.text = super::text::table(&self.latencies);
        let workers = u128::from(self.options.workers) * u128::from(self.options.messengers);
        if self.options.pipe > 0 {
            self.text += &super::text::transfers(self.rate / workers, self.options.pipe);
        }
        if self.options.rps > 0 {
            self.text += &super::text::rates(self.rate, &self.latencies, self.options.cpu);
        }
    }
}

impl Workload for Threads {
    fn setup(&self) -> Setup {
        let task = |nth: usize| TaskSpec {
            name: "schbench".to_owned(),
            proc: ProcId(0),
            nice: 0,
            policy: SchedPolicy::Normal,
            allowed: None,
            start: if nth == 0 { Start::AtZero(CpuId(0)) } else { Start::Spawned },
        };
        Setup {
            procs: vec!["schbench".to_owned()],
            tasks: (0..self.threads.len()).map(task).collect(),
            futexes: u32::try_from(self.threads.len()).expect("tasks are counted in 32 bits"),
            marks: ["start", "stop", "done"].map(str::to_owned).to_vec(),
            ..Setup::default()
        }
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, _: Outcome) -> Op {
        if let Some(op) = self.second[task.idx()].take() {
            return op;
        }
        loop {
            let (next, calls) = self.step(task.0, now);
            self.threads[task.idx()].at = next;
            if let Some([Some(first), second]) = calls {
                self.second[task.idx()] = second;
                return first;
            }
        }
    }

    fn notes(&self) -> Notes {
        let values = super::text::values(&self.latencies);
        Notes { text: self.text.clone(), values, ..Notes::default() }
    }

    fn measure_from(&mut self, _: SimTime) {
        self.latencies.clear();
    }
}
