//! Ids of several scenarios on one machine: those of each begin where those of the one before it end.

use simsched_core::{
    BarrierId, FutexId, LockId, MarkId, MaskId, Op, PipeId, ProcId, RegionId, SemId, Setup,
    SocketId, Start, TaskId, TaskSpec,
};

/// Where the ids of a scenario begin, by their kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Base {
    pub(super) tasks: u32,
    pub(super) procs: u32,
    pipes: u32,
    sockets: u32,
    locks: u32,
    sems: u32,
    barriers: u32,
    pub(super) futexes: u32,
    masks: u32,
    regions: u32,
    pub(super) marks: u32,
}

impl Base {
    /// Behind so many marks.
    pub(super) fn behind_marks(marks: u32) -> Base {
        Base { marks, ..Base::default() }
    }

    /// Where the ids of the next scenario begin.
    pub(super) fn behind(self, setup: &Setup) -> Base {
        let count = |len: usize| u32::try_from(len).expect("a run has a limit");
        Base {
            tasks: self.tasks + count(setup.tasks.len()),
            procs: self.procs + count(setup.procs.len()),
            pipes: self.pipes + setup.pipes,
            sockets: self.sockets + 2 * count(setup.sockets.len()),
            locks: self.locks + setup.locks,
            sems: self.sems + setup.sems,
            barriers: self.barriers + count(setup.barriers.len()),
            futexes: self.futexes + setup.futexes,
            masks: self.masks + count(setup.masks.len()),
            regions: self.regions + count(setup.regions.len()),
            marks: self.marks + count(setup.marks.len()),
        }
    }

    /// The op of a task of this scenario, with the ids of the run.
    pub(super) fn shift(self, op: Op) -> Op {
        let pipe = |id: PipeId| PipeId(id.0 + self.pipes);
        let socket = |id: SocketId| SocketId(id.0 + self.sockets);
        let lock = |id: LockId| LockId(id.0 + self.locks);
        let sem = |id: SemId| SemId(id.0 + self.sems);
        let futex = |id: FutexId| FutexId(id.0 + self.futexes);
        let task = |id: TaskId| TaskId(id.0 + self.tasks);
        let region = |id: RegionId| RegionId(id.0 + self.regions);
        match op {
            Op::Stream { region: id, loaded_kib, stored_kib } => {
                Op::Stream { region: region(id), loaded_kib, stored_kib }
            }
            Op::Touch { region: id, kib } => Op::Touch { region: region(id), kib },
            Op::Write { pipe: id, bytes } => Op::Write { pipe: pipe(id), bytes },
            Op::Read { pipe: id, bytes } => Op::Read { pipe: pipe(id), bytes },
            Op::PollPipe(id) => Op::PollPipe(pipe(id)),
            Op::Send { socket: id, bytes } => Op::Send { socket: socket(id), bytes },
            Op::Recv { socket: id, bytes } => Op::Recv { socket: socket(id), bytes },
            Op::PollSocket(id) => Op::PollSocket(socket(id)),
            Op::Shutdown(id) => Op::Shutdown(socket(id)),
            Op::Lock(id) => Op::Lock(lock(id)),
            Op::Unlock(id) => Op::Unlock(lock(id)),
            Op::DownRead(id) => Op::DownRead(sem(id)),
            Op::DownReadTrylock(id) => Op::DownReadTrylock(sem(id)),
            Op::UpRead { sem: id, held } => Op::UpRead { sem: sem(id), held },
            Op::DownWrite(id) => Op::DownWrite(sem(id)),
            Op::UpWrite { sem: id, held } => Op::UpWrite { sem: sem(id), held },
            Op::Barrier(id) => Op::Barrier(BarrierId(id.0 + self.barriers)),
            Op::FutexWait { futex: id, value } => Op::FutexWait { futex: futex(id), value },
            Op::FutexSet { futex: id, value } => Op::FutexSet { futex: futex(id), value },
            Op::FutexWake { futex: id, count, sync } => {
                Op::FutexWake { futex: futex(id), count, sync }
            }
            Op::Spawn(id) => Op::Spawn(task(id)),
            Op::Join(id) => Op::Join(task(id)),
            Op::SetAffinity { task: id, mask } => {
                Op::SetAffinity { task: task(id), mask: MaskId(mask.0 + self.masks) }
            }
            Op::ExecMmap(id) => Op::ExecMmap(ProcId(id.0 + self.procs)),
            Op::Mark(id) => Op::Mark(MarkId(id.0 + self.marks)),
            Op::Fetch { from, lines } => Op::Fetch { from: task(from), lines },
            Op::Run(_)
            | Op::Pause(_)
            | Op::Sleep(_)
            | Op::SleepUntil(_)
            | Op::AwaitCall { .. }
            | Op::GetCpu
            | Op::GetTraced
            | Op::WaitAny
            | Op::Yield
            | Op::SetNice(_)
            | Op::Exec
            | Op::CallRcu { .. }
            | Op::Rouse { .. }
            | Op::Exit => op,
        }
    }

    /// Puts a scenario behind what is declared already; its marks get new names.
    pub(super) fn append(self, own: Setup, name: impl Fn(String) -> String, all: &mut Setup) {
        let Setup {
            procs,
            tasks,
            pipes,
            sockets,
            locks,
            sems,
            barriers,
            futexes,
            masks,
            footprints,
            regions,
            smt_milli,
            recorded,
            marks,
            spans,
        } = own;
        all.procs.extend(procs);
        if !footprints.is_empty() {
            all.footprints.resize(all.tasks.len(), 0);
            all.footprints.extend(footprints);
        }
        let mark = |id: MarkId| MarkId(id.0 + self.marks);
        all.spans.extend(spans.into_iter().map(|(from, to)| (mark(from), mark(to))));
        all.tasks.extend(tasks.into_iter().map(|spec| TaskSpec {
            proc: ProcId(spec.proc.0 + self.procs),
            start: Start::Spawned,
            ..spec
        }));
        all.pipes += pipes;
        all.sockets.extend(sockets);
        all.locks += locks;
        all.sems += sems;
        all.barriers.extend(barriers);
        all.futexes += futexes;
        all.masks.extend(masks);
        all.regions.extend(regions);
        all.smt_milli = all.smt_milli.or(smt_milli);
        all.recorded = all.recorded.or(recorded);
        all.marks.extend(marks.into_iter().map(name));
    }
}
