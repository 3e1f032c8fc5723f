//! `Builder`: processes, threads, objects and programs, put together and checked.

mod body;
mod check;

use simsched_core::{
    BarrierId, FutexId, LockId, MarkId, MaskId, PipeId, ProcId, RegionId, RegionSpec, SchedPolicy,
    Seed, SemId, Setup, SocketId, SocketSpec, Start, Stores, TaskId,
};
use simsched_topology::{CpuId, CpuSet};

pub use body::Body;

use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{ARGS, ClockId, Inst, Parts, Programs, Shared, StackId, ThreadSpec, When};
use check::Use;

/// A program of a [`Builder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramId(usize);

/// What a program is, beside its instructions.
#[derive(Clone, Debug)]
struct Program {
    name: String,
    entry: u32,
    /// The largest argument of its threads, by place; `None` while it has no thread.
    max_args: Option<[u32; ARGS]>,
}

/// Puts a workload together.
///
/// ```
/// # use simsched_workloads::{Builder, Dist, Operand};
/// # use simsched_core::{Nanos, Seed};
/// let mut b = Builder::new();
/// let pipe = b.pipes(1);
/// let proc = b.process("pair");
/// let writer = b.program("writer", |p| {
///     p.repeat(10, |p, _| {
///         p.run(Dist::Exponential(Nanos::from_micros(5)));
///         p.write(pipe, 100);
///     });
/// });
/// let reader = b.program("reader", |p| p.repeat(10, |p, _| p.read_full(pipe, 100)));
/// b.start("writer", proc, writer, [0, 0]);
/// b.start("reader", proc, reader, [0, 0]);
/// let workload = b.build(Seed(1))?;
/// assert_eq!(workload.nr_threads(), 2);
/// # Ok::<(), simsched_workloads::WorkloadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    code: Vec<Inst>,
    dists: Vec<Dist>,
    whens: Vec<When>,
    traffics: Vec<[u32; 2]>,
    shared: Shared,
    threads: Vec<ThreadSpec>,
    names: Vec<String>,
    setup: Setup,
    programs: Vec<Program>,
    uses: Vec<Use>,
    /// Instructions that leave the endless loop that is being written.
    exits: Vec<u32>,
    /// What is wrong and cannot be said before `build`.
    broken: Option<WorkloadError>,
}

impl Builder {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Declares a process: an address space.
    pub fn process(&mut self, name: &str) -> ProcId {
        self.setup.procs.push(name.to_owned());
        ProcId::new(self.setup.procs.len() - 1)
    }

    /// Declares `count` pipes and returns the first; the others follow.
    pub fn pipes(&mut self, count: u32) -> PipeId {
        PipeId(self.take("pipes", |setup| &mut setup.pipes, count))
    }

    /// Declares `count` socket pairs and returns the first end of the first; the others follow.
    pub fn sockets(&mut self, count: u32, spec: SocketSpec) -> SocketId {
        let first = SocketId::new(2 * self.setup.sockets.len());
        self.setup.sockets.extend((0..count).map(|_| spec));
        first
    }

    /// Declares `count` mutexes and returns the first.
    pub fn locks(&mut self, count: u32) -> LockId {
        LockId(self.take("mutexes", |setup| &mut setup.locks, count))
    }

    /// Declares `count` semaphores of the kernel and returns the first.
    pub fn sems(&mut self, count: u32) -> SemId {
        SemId(self.take("semaphores", |setup| &mut setup.sems, count))
    }

    /// Declares a barrier where `parties` tasks meet.
    pub fn barrier(&mut self, parties: u32) -> BarrierId {
        self.setup.barriers.push(parties);
        BarrierId::new(self.setup.barriers.len() - 1)
    }

    /// Declares `count` futex words and returns the first.
    pub fn futexes(&mut self, count: u32) -> FutexId {
        FutexId(self.take("futex words", |setup| &mut setup.futexes, count))
    }

    /// Declares a part of memory of so many KiB, whose pages nobody has touched.
    pub fn region(&mut self, kib: u32, stores: Stores) -> RegionId {
        self.setup.regions.push(RegionSpec { kib, stores });
        RegionId::new(self.setup.regions.len() - 1)
    }

    /// Says how many bytes a declared task keeps in use while it computes.
    ///
    /// # Panics
    /// When the task was not declared here.
    pub fn footprint(&mut self, task: TaskId, bytes: u32) {
        assert!(task.idx() < self.threads.len(), "task {task} was not declared here");
        let footprints = &mut self.setup.footprints;
        footprints.resize(footprints.len().max(task.idx() + 1), 0);
        footprints[task.idx()] = bytes;
    }

    /// Declares a place where an instant is noted; until then it holds the start of the run.
    pub fn clock(&mut self) -> ClockId {
        self.shared.clocks += 1;
        ClockId(self.shared.clocks - 1)
    }

    /// Declares `count` stacks of numbers below `items`, and returns the first. A number is on one
    /// of them at most, once.
    pub fn stacks(&mut self, count: u32, items: u32) -> StackId {
        let first = self.shared.stacks;
        self.shared.stacks += count;
        self.shared.items = self.shared.items.max(items);
        StackId(first)
    }

    /// Declares a point in time to measure.
    pub fn mark(&mut self, name: &str) -> MarkId {
        self.setup.marks.push(name.to_owned());
        MarkId::new(self.setup.marks.len() - 1)
    }

    /// Measures how long each task takes from passing `from` to passing `to`.
    pub fn span(&mut self, from: MarkId, to: MarkId) {
        self.setup.spans.push((from, to));
    }

    /// Writes a program. It ends with an exit, if it does not say so itself.
    pub fn program(&mut self, name: &str, write: impl FnOnce(&mut Body<'_>)) -> ProgramId {
        let entry = self.here();
        self.programs.push(Program { name: name.to_owned(), entry, max_args: None });
        let mut body = Body::new(self);
        write(&mut body);
        body.exit();
        self.check_exits();
        ProgramId(self.programs.len() - 1)
    }

    /// Declares a task that another one spawns; it runs `program` with `args`.
    pub fn thread(
        &mut self,
        name: &str,
        proc: ProcId,
        program: ProgramId,
        args: [u32; ARGS],
    ) -> TaskId {
        self.declare(name, proc, program, args, Start::Spawned)
    }

    /// Declares a task that runs from the start, on CPU 0 at first.
    pub fn start(
        &mut self,
        name: &str,
        proc: ProcId,
        program: ProgramId,
        args: [u32; ARGS],
    ) -> TaskId {
        self.start_on(CpuId(0), name, proc, program, args)
    }

    /// Declares a task that runs from the start, on this CPU at first.
    pub fn start_on(
        &mut self,
        cpu: CpuId,
        name: &str,
        proc: ProcId,
        program: ProgramId,
        args: [u32; ARGS],
    ) -> TaskId {
        self.declare(name, proc, program, args, Start::AtZero(cpu))
    }

    /// Declares a set of CPUs.
    pub fn mask(&mut self, cpus: CpuSet) -> MaskId {
        self.setup.masks.push(cpus);
        MaskId::new(self.setup.masks.len() - 1)
    }

    /// Says where a declared task may run from its start on.
    ///
    /// # Panics
    /// When the task was not declared here.
    pub fn allow(&mut self, task: TaskId, mask: MaskId) {
        self.threads[task.idx()].allowed = Some(mask);
    }

    /// Gives a declared task a nice value and a policy within the fair class.
    ///
    /// # Panics
    /// When the task was not declared here.
    pub fn schedule(&mut self, task: TaskId, nice: i8, policy: SchedPolicy) {
        let spec = &mut self.threads[task.idx()];
        (spec.nice, spec.policy) = (nice, policy);
    }

    /// Checks all and makes the workload; random lengths are drawn from one stream per thread.
    ///
    /// # Errors
    /// When an instruction names an object that was not declared, a loop has no turn or no system
    /// call, loops are nested too deep, a length cannot be drawn, or no task runs at the start.
    pub fn build(self, seed: Seed) -> Result<Programs, WorkloadError> {
        self.check()?;
        let is_random = self.dists.iter().any(|dist| !dist.is_constant());
        let nr_streams = if is_random { self.threads.len() } else { 0 };
        let stream = |id: usize| seed.stream("thread", id as u64);
        Ok(Programs::new(Parts {
            streams: (0..nr_streams).map(stream).collect(),
            code: self.code,
            dists: self.dists,
            whens: self.whens,
            traffics: self.traffics,
            shared: self.shared,
            threads: self.threads,
            names: self.names,
            setup: self.setup,
        }))
    }

    fn declare(
        &mut self,
        name: &str,
        proc: ProcId,
        program: ProgramId,
        args: [u32; ARGS],
        start: Start,
    ) -> TaskId {
        let name = self.intern(name);
        let program = &mut self.programs[program.0];
        let max = program.max_args.unwrap_or_default();
        program.max_args = Some(std::array::from_fn(|nth| max[nth].max(args[nth])));
        let entry = program.entry;
        let policy = SchedPolicy::Normal;
        let (nice, allowed) = (0, None);
        self.threads.push(ThreadSpec { name, proc, nice, policy, start, allowed, entry, args });
        TaskId::new(self.threads.len() - 1)
    }

    /// Few names serve many threads.
    fn intern(&mut self, name: &str) -> u32 {
        let known = self.names.iter().rposition(|n| n == name);
        let row = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u32::try_from(row).expect("fewer names than threads")
    }

    /// Counts `count` objects more and returns the number of the first.
    fn take(
        &mut self,
        what: &'static str,
        counter: impl FnOnce(&mut Setup) -> &mut u32,
        count: u32,
    ) -> u32 {
        let counter = counter(&mut self.setup);
        let first = *counter;
        match first.checked_add(count) {
            Some(sum) => *counter = sum,
            None => {
                let (count, limit) = (u64::from(first) + u64::from(count), u64::from(u32::MAX));
                self.fail(WorkloadError::TooMany { what, count, limit });
            }
        }
        first
    }

    /// Only endless loops are left, and there must be one.
    fn check_exits(&mut self) {
        if !std::mem::take(&mut self.exits).is_empty() {
            let program = self.programs.last().map_or(String::new(), |p| p.name.clone());
            let what = "a loop is left, and there is none".to_owned();
            self.fail(WorkloadError::Program { program, what });
        }
    }

    /// The next instruction's number.
    fn here(&self) -> u32 {
        u32::try_from(self.code.len()).expect("a program that somebody wrote")
    }

    /// Remembers the first thing that is wrong.
    fn fail(&mut self, error: WorkloadError) {
        self.broken.get_or_insert(error);
    }
}
