//! `Threads`: the state of a running schbench, and which thread's program goes on.

use std::sync::Arc;

use simsched_core::{
    MarkId, MaskId, Nanos, Notes, Op, Outcome, ProcId, SchedPolicy, Seed, Setup, SimTime, Start,
    Stream, TaskId, TaskSpec, Workload,
};
use simsched_topology::{CpuId, CpuSet, Topology};

use super::main_thread::Main;
use super::messenger::Messenger;
use super::tables::Tables;
use super::worker::Worker;
use super::{SMT_MILLI, Schbench, WORD, WORK_PERCENT};
use crate::buckets::Buckets;
use crate::lognormal::LogNormal;
use crate::postbox::{Postbox, Wait};

/// The main thread begins to count.
pub(super) const START: MarkId = MarkId(0);
/// The main thread has said that the time is over.
pub(super) const STOP: MarkId = MarkId(1);
/// A request begins.
pub(super) const BEGIN: MarkId = MarkId(2);
/// A request is done.
pub(super) const DONE: MarkId = MarkId(3);

/// A thread of the program.
#[derive(Clone, Debug)]
enum Thread {
    Main(Main),
    Messenger(Messenger),
    Worker(Box<Worker>),
}

/// What a step of a thread's program comes to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// It goes on in user space.
    Next,
    /// It calls the kernel.
    Call(Op),
    /// It makes two calls.
    Calls([Op; 2]),
}

/// Who asks, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Its number among all tasks.
    pub(super) task: u32,
    pub(super) now: SimTime,
    pub(super) last: Outcome,
}

/// What all threads share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) options: Arc<Schbench>,
    pub(super) post: Postbox,
    pub(super) stopping: bool,
    /// By task: since when it is to be awake.
    pub(super) wake_time: Vec<SimTime>,
    /// By task: requests that are queued, and all that were since it looked last.
    pub(super) requests: Vec<u32>,
    pub(super) pending: Vec<u32>,
    /// By CPU: whether its lock is held.
    pub(super) locks: Vec<bool>,
    /// Who has multiplied with the shared matrices last.
    pub(super) sharer: Option<u32>,
    pub(super) wakeups: Buckets,
    pub(super) latencies: Buckets,
    pub(super) rps: Buckets,
    pub(super) loops: u64,
    /// The time from the start to the last end of a request, of all workers together.
    pub(super) loop_time: u64,
    pub(super) tables: Tables,
    /// How long a multiplication with a worker's own matrices takes, and with the shared ones.
    pub(super) operation: [Nanos; 2],
    /// How multiplications vary, and sleeps.
    pub(super) work: Option<LogNormal>,
    pub(super) sleep: Option<LogNormal>,
    /// Requests a second of each message thread.
    pub(super) rps_each: u32,
}

/// A schbench that runs.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    /// By task: the second of two calls.
    second: Vec<Option<Op>>,
    shared: Shared,
    /// By task.
    streams: Vec<Stream>,
}

/// Microseconds, as `gettimeofday()` tells them.
pub(super) fn us(at: SimTime) -> u64 {
    at.get() / 1000
}

impl Schbench {
    /// The number of a message thread among all tasks; its workers follow.
    pub(super) fn messenger(&self, nth: u32) -> u32 {
        1 + nth * (self.workers + 1)
    }

    fn nr_tasks(&self) -> u32 {
        self.messenger(self.messengers)
    }

    /// The CPUs of message thread `nth`.
    pub(super) fn message_mask(nth: u32) -> MaskId {
        MaskId(1 + nth)
    }
}

/// Those of the workers.
pub(super) const WORKER_MASK: MaskId = MaskId(0);

impl Threads {
    pub(super) fn new(options: &Schbench, seed: Seed, topology: Option<&Topology>) -> Threads {
        let options = Arc::new(options.clone());
        let nr_tasks = options.nr_tasks() as usize;
        let mut threads = vec![Thread::Main(Main::default())];
        for nth in 0..options.messengers {
            threads.push(Thread::Messenger(Messenger::new(nth)));
            let parent = options.messenger(nth);
            let worker = || Thread::Worker(Box::new(Worker::new(parent, nth)));
            threads.extend((0..options.workers).map(|_| worker()));
        }
        let matrices = options.matrices();
        let operation = [matrices.private, matrices.shared];
        let shared = Shared {
            post: Postbox::new(nr_tasks, options.messengers as usize),
            stopping: false,
            wake_time: vec![SimTime::ZERO; nr_tasks],
            requests: vec![0; nr_tasks],
            pending: vec![0; nr_tasks],
            locks: Vec::new(),
            sharer: None,
            wakeups: Buckets::default(),
            latencies: Buckets::default(),
            rps: Buckets::default(),
            loops: 0,
            loop_time: 0,
            tables: Tables::default(),
            operation: operation.map(|rows| Schbench::operation(rows, topology)),
            work: LogNormal::new(options.lognormal.unwrap_or(WORK_PERCENT)),
            sleep: options.lognormal.and_then(LogNormal::new),
            rps_each: options.rps / options.messengers,
            options,
        };
        let stream = |task: usize| seed.stream("thread", task as u64);
        Threads {
            threads,
            second: vec![None; nr_tasks],
            streams: (0..nr_tasks).map(stream).collect(),
            shared,
        }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.threads.iter().map(|thread| match thread {
            Thread::Main(_) => "schbench",
            Thread::Messenger(_) => "schbench-msg",
            Thread::Worker(_) => "schbench-worker",
        })
    }
}

impl Workload for Threads {
    fn setup(&self) -> Setup {
        let options = &self.shared.options;
        let rows = u64::from(options.matrices().private);
        let bytes = u32::try_from(3 * WORD * rows * rows).unwrap_or(u32::MAX);
        let has_matrices = options.pipe == 0;
        let task = |name: &'static str| TaskSpec {
            name: name.to_owned(),
            proc: ProcId(0),
            nice: 0,
            policy: SchedPolicy::Normal,
            allowed: options.worker_cpus.filter(|_| name == "schbench-worker"),
            start: if name == "schbench" { Start::AtZero(CpuId(0)) } else { Start::Spawned },
        };
        let footprint = |name| if name == "schbench-worker" && has_matrices { bytes } else { 0 };
        let first = options.worker_cpus.unwrap_or_else(|| CpuSet::single(CpuId(0)));
        let pins = options.message_cpus.into_iter().flat_map(|cpus| {
            let cpus: Vec<CpuId> = cpus.iter().collect();
            (0..options.messengers as usize).map(move |nth| CpuSet::single(cpus[nth % cpus.len()]))
        });
        Setup {
            procs: vec!["schbench".to_owned()],
            tasks: self.names().map(task).collect(),
            futexes: u32::try_from(self.threads.len()).expect("tasks are counted in 32 bits"),
            masks: std::iter::once(first).chain(pins).collect(),
            footprints: self.names().map(footprint).collect(),
            marks: ["start", "stop", "begin", "done"].map(str::to_owned).to_vec(),
            spans: vec![(BEGIN, DONE)],
            smt_milli: has_matrices.then_some(SMT_MILLI),
            ..Setup::default()
        }
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        if let Some(op) = self.second[task.idx()].take() {
            return op;
        }
        let asked = Asked { task: task.0, now, last };
        loop {
            let shared = &mut self.shared;
            let step = match &mut self.threads[task.idx()] {
                Thread::Main(main) => main.step(shared, asked),
                Thread::Messenger(messenger) => messenger.step(shared, asked),
                Thread::Worker(worker) => worker.step(shared, &mut self.streams[task.idx()], asked),
            };
            match step {
                Step::Next => {}
                Step::Call(op) => return op,
                Step::Calls([first, second]) => {
                    self.second[task.idx()] = Some(second);
                    return first;
                }
            }
        }
    }

    fn notes(&self) -> Notes {
        self.shared.notes()
    }

    fn measure_from(&mut self, now: SimTime) {
        self.shared.reset();
        if let Some(Thread::Main(main)) = self.threads.first_mut() {
            main.forgets(now);
        }
    }
}

impl Shared {
    /// Wakes a task if it waits.
    pub(super) fn post(&mut self, task: u32) -> Step {
        self.post.post(task).map_or(Step::Next, Step::Calls)
    }

    /// One look of a task that waits: the call, and whether it need not wait any longer.
    pub(super) fn wait(&mut self, task: u32) -> (Op, bool) {
        match self.post.wait(task) {
            Wait::Posted(op) => (op, true),
            Wait::Sleep(op) => (op, false),
        }
    }

    /// Whether message threads hand out requests.
    pub(super) fn has_rps(&self) -> bool {
        self.options.rps > 0
    }

    /// The lines of a page that is written whole and was written by another: half of them wait for each
    /// other. Source: section 6 of the cost model (modified lines of another core, independent).
    pub(super) fn page(&self, from: u32) -> Op {
        let lines = self.options.pipe.div_ceil(2 * u32::try_from(super::LINE).expect("64"));
        Op::Fetch { from: TaskId(from), lines }
    }

    /// The lock of a CPU.
    pub(super) fn lock(&mut self, cpu: CpuId) -> &mut bool {
        if self.locks.len() <= cpu.idx() {
            self.locks.resize(cpu.idx() + 1, false);
        }
        &mut self.locks[cpu.idx()]
    }

    /// Forgets what was counted, but for the requests.
    pub(super) fn reset(&mut self) {
        self.wakeups.clear();
        self.latencies.clear();
        self.rps.clear();
    }
}
