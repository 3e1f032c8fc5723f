//! `Ipc`: all kernel objects of a run; `Verdict` (done, or blocked) and `Wakes` (whom to wake).
//!
//! Pure objects: an op on one of them is answered with what became of it and whom the waker has
//! to wake, in order. Nothing here knows time, CPUs or the simulator, and nothing is called back.

mod barrier;
mod ends;
mod exit;
mod futex;
mod lock;
mod pipe;
mod questions;
mod rwsem;
mod socket;
mod tcp;
mod udp;
mod version;
mod waitq;

use barrier::Barrier;
use ends::End;
pub(crate) use ends::SocketKind;
use exit::Lives;
use futex::Futex;
use lock::Lock;
use pipe::Pipe;
pub(crate) use questions::Slots;
pub(crate) use rwsem::Holder;
use rwsem::RwSem;
pub use version::IpcVersion;
use waitq::{Sleepers, Sync, WaitFor};

use crate::ids::{FutexId, LockId, PipeId, ProcId, SemId, SocketId, TaskId};
use crate::workload::{Op, Outcome, Setup};

/// What an op on a pipe does to the pipe's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// A write or a read goes on in the same page.
    Stays,
    /// A write begins one that a read has left.
    Begun,
    /// A write begins a new one.
    Allocated,
    /// A read comes to the end of one, which is kept for the next writes.
    Ended,
    /// A read comes to the end of one, which is freed.
    Freed,
}

/// What became of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It took effect.
    Done(Outcome),
    /// The task is on the object's wait queue and must sleep. When it is woken it tries again, as
    /// a retry, and may have to sleep again (a spurious wakeup).
    Block,
}

/// A wakeup that an op asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Who is woken.
    pub task: TaskId,
    /// Whether the waker promises to sleep soon (`WF_SYNC`): pipes, sockets and the ends of
    /// processes do, futexes do not.
    pub sync: bool,
}

/// The wakeups that ops ask for, in the order in which the waker makes them.
///
/// The list is lent to each op, which appends to it; the caller empties it.
#[derive(Clone, Debug, Default)]
pub struct Wakes(Vec<Wake>);

impl Wakes {
    /// An empty list.
    #[must_use]
    pub fn new() -> Wakes {
        Wakes::default()
    }

    /// The wakeups, first to last.
    #[must_use]
    pub fn as_slice(&self) -> &[Wake] {
        &self.0
    }

    /// Whether nobody is woken.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are woken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Empties the list and keeps its memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes the wakeups out, first to last, and keeps the memory.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Wake> {
        self.0.drain(..)
    }

    #[inline]
    fn push(&mut self, task: TaskId, sync: Sync) {
        self.0.push(Wake { task, sync: sync == Sync::Yes });
    }
}

/// All kernel objects of a run.
#[derive(Clone, Debug)]
pub struct Ipc {
    version: IpcVersion,
    /// A read of a full pipe wakes a writer even if it frees no slot.
    wakes_spuriously: bool,
    sleepers: Sleepers,
    pipes: Vec<Pipe>,
    ends: Vec<End>,
    locks: Vec<Lock>,
    sems: Vec<RwSem>,
    barriers: Vec<Barrier>,
    futexes: Vec<Futex>,
    lives: Lives,
}

impl Ipc {
    /// The objects that `setup` declares: empty pipes, free locks, futex words of 0.
    #[must_use]
    pub fn new(setup: &Setup, version: IpcVersion) -> Ipc {
        Ipc {
            version,
            wakes_spuriously: version.wakes_spuriously(),
            sleepers: Sleepers::new(setup.tasks.len()),
            pipes: vec![Pipe::new(version.most_spare()); setup.pipes as usize],
            ends: setup.sockets.iter().flat_map(|spec| [End::new(spec), End::new(spec)]).collect(),
            locks: vec![Lock::default(); setup.locks as usize],
            sems: vec![RwSem::default(); setup.sems as usize],
            barriers: setup.barriers.iter().copied().map(Barrier::new).collect(),
            futexes: vec![Futex::default(); setup.futexes as usize],
            lives: Lives::new(&setup.tasks),
        }
    }

    /// These, where a read of a full pipe wakes a writer even if it frees no slot, or does not; `None` leaves that to the
    /// version.
    #[must_use]
    pub fn with_spurious_wakeups(self, wakes: Option<bool>) -> Ipc {
        Ipc { wakes_spuriously: wakes.unwrap_or(self.wakes_spuriously), ..self }
    }

    /// Does `op` for `task`, or puts the task to sleep on the object; appends to `wakes` whom it
    /// wakes.
    ///
    /// A task that was told to [`Block`](Verdict::Block) and was woken tries the same op again with
    /// `retry`; a write goes on where it stopped. Ops that concern no object here are done at
    /// once.
    ///
    /// # Panics
    /// When the task or the object was not declared.
    #[inline]
    pub fn attempt(&mut self, task: TaskId, op: Op, retry: bool, wakes: &mut Wakes) -> Verdict {
        let sleepers = &mut self.sleepers;
        match op {
            Op::Write { pipe: id, bytes } => {
                let call = pipe::Call { id, task, retry, sleepers, wakes };
                self.pipes[id.idx()].write(bytes, call)
            }
            Op::Read { pipe: id, bytes } => {
                let call = pipe::Call { id, task, retry, sleepers, wakes };
                self.pipes[id.idx()].read(bytes, self.wakes_spuriously, call)
            }
            Op::PollPipe(id) => {
                let call = pipe::Call { id, task, retry, sleepers, wakes };
                self.pipes[id.idx()].poll(call)
            }
            Op::Send { .. } | Op::Recv { .. } | Op::PollSocket(_) | Op::Shutdown(_) => {
                self.attempt_socket(task, op, retry, wakes)
            }
            Op::DownRead(_)
            | Op::DownReadTrylock(_)
            | Op::UpRead { .. }
            | Op::DownWrite(_)
            | Op::UpWrite { .. } => self.attempt_sem(task, op, retry, wakes),
            _ => self.attempt_user(task, op, retry, wakes),
        }
    }

    /// Does `op`, the first attempt at an op on a pipe, if it neither blocks nor wakes and is short;
    /// `None` if it may not, and then nothing has happened.
    #[inline(always)]
    pub(crate) fn pass(&mut self, op: Op) -> Option<Outcome> {
        match op {
            Op::Write { pipe, bytes } => {
                self.pipes[pipe.idx()].pass_write(bytes).then_some(Outcome::Done)
            }
            Op::Read { pipe, bytes } => self.pipes[pipe.idx()].pass_read(bytes).map(Outcome::Bytes),
            _ => None,
        }
    }

    /// `child` was started by `parent`, who may wait for its end.
    ///
    /// # Panics
    /// When one of them was not declared.
    pub fn spawned(&mut self, parent: TaskId, child: TaskId) {
        self.lives.spawned(parent, child);
    }

    /// Whether the address space of `task` ends with it: nobody else is left of its process.
    ///
    /// # Panics
    /// When it was not declared.
    #[must_use]
    pub fn is_last_of_process(&self, task: TaskId) -> bool {
        self.lives.is_last_of_process(task)
    }

    /// `task` has taken a new image and is of `proc` from now on.
    ///
    /// # Panics
    /// When no task was declared of `proc`, or `task` was not declared.
    pub fn exec(&mut self, task: TaskId, proc: ProcId) {
        self.lives.exec(task, proc);
    }

    /// `task` ends; appends to `wakes` who waited for that.
    ///
    /// # Panics
    /// When it was not declared.
    pub fn exit(&mut self, task: TaskId, wakes: &mut Wakes) {
        self.lives.exit(task, &mut self.sleepers, wakes);
    }

    /// What `task` sleeps for, in words that complete "waits for ..."; `None` when it does not
    /// sleep on an object, or was woken.
    ///
    /// # Panics
    /// When it was not declared.
    #[must_use]
    pub fn blocked_on(&self, task: TaskId) -> Option<String> {
        let blocked = self.sleepers.blocked_on(task)?;
        let text = blocked.to_string();
        let holder = match blocked.wait_for {
            WaitFor::Lock => self.locks[LockId(blocked.object).idx()].holder(),
            _ => None,
        };
        Some(holder.map_or(text.clone(), |holder| format!("{text}, which task {holder} holds")))
    }

    /// Who holds `sem`.
    pub(crate) fn sem_holder(&self, sem: SemId) -> Holder {
        self.sems[sem.idx()].holder()
    }

    /// Whether somebody sleeps on the futex word: `futex_wake()` of one where nobody does is back
    /// before it takes a lock (`hb_waiters_pending()`).
    pub(crate) fn has_sleepers(&self, futex: FutexId) -> bool {
        self.futexes[futex.idx()].has_sleepers()
    }

    /// Whether all objects that `op` names were declared.
    #[inline]
    pub(crate) fn declares(&self, op: Op) -> bool {
        match op {
            Op::Write { pipe, .. } | Op::Read { pipe, .. } | Op::PollPipe(pipe) => {
                pipe.idx() < self.pipes.len()
            }
            Op::Send { socket, .. } | Op::Recv { socket, .. } | Op::PollSocket(socket) => {
                socket.idx() < self.ends.len()
            }
            Op::Shutdown(socket) => self.ends.get(socket.idx()).is_some_and(End::is_tcp),
            Op::Lock(lock) | Op::Unlock(lock) => lock.idx() < self.locks.len(),
            Op::DownRead(sem)
            | Op::DownReadTrylock(sem)
            | Op::UpRead { sem, .. }
            | Op::DownWrite(sem)
            | Op::UpWrite { sem, .. } => sem.idx() < self.sems.len(),
            Op::Barrier(barrier) => barrier.idx() < self.barriers.len(),
            Op::FutexWait { futex, .. }
            | Op::FutexSet { futex, .. }
            | Op::FutexWake { futex, .. } => futex.idx() < self.futexes.len(),
            Op::Spawn(task)
            | Op::Join(task)
            | Op::SetAffinity { task, .. }
            | Op::AwaitCall { from: task, .. } => task.idx() < self.sleepers.len(),
            Op::ExecMmap(proc) => self.lives.declares(proc),
            _ => true,
        }
    }

    /// How many bytes are in `pipe`, written and not read.
    ///
    /// # Panics
    /// When it was not declared.
    #[must_use]
    pub fn pipe_bytes(&self, pipe: PipeId) -> u32 {
        self.pipes[pipe.idx()].bytes()
    }

    /// Of which kind a socket is.
    #[inline]
    pub(crate) fn socket_kind(&self, socket: SocketId) -> SocketKind {
        self.ends[socket.idx()].kind()
    }

    /// How many bytes one receive at this end would take now; of datagrams, those of the first.
    #[inline]
    pub(crate) fn receivable(&self, socket: SocketId) -> u32 {
        self.ends[socket.idx()].receivable()
    }

    /// How many bytes wait at this end of a socket pair to be received.
    ///
    /// # Panics
    /// When it was not declared.
    #[must_use]
    pub fn socket_bytes(&self, socket: SocketId) -> u64 {
        self.ends[socket.idx()].bytes()
    }

    fn attempt_socket(&mut self, task: TaskId, op: Op, retry: bool, wakes: &mut Wakes) -> Verdict {
        let (Op::Send { socket: id, .. }
        | Op::Recv { socket: id, .. }
        | Op::PollSocket(id)
        | Op::Shutdown(id)) = op
        else {
            unreachable!("only ops on sockets come here")
        };
        let call = socket::Call { id, task, retry, sleepers: &mut self.sleepers, wakes };
        ends::attempt(&mut self.ends, op, call)
    }

    fn attempt_sem(&mut self, task: TaskId, op: Op, retry: bool, wakes: &mut Wakes) -> Verdict {
        let sleepers = &mut self.sleepers;
        match op {
            Op::DownRead(id) => {
                self.sems[id.idx()].down_read(rwsem::Call { id, task, retry, sleepers })
            }
            Op::DownReadTrylock(id) => self.sems[id.idx()].down_read_trylock(),
            Op::DownWrite(id) => {
                self.sems[id.idx()].down_write(rwsem::Call { id, task, retry, sleepers })
            }
            Op::UpRead { sem, .. } => self.sems[sem.idx()].up_read(sleepers, wakes),
            Op::UpWrite { sem, .. } => self.sems[sem.idx()].up_write(sleepers, wakes),
            _ => unreachable!("only ops on semaphores come here"),
        }
    }

    /// The objects of user space, and the ends of tasks. Who sleeps at a barrier or on a futex is
    /// woken for good.
    fn attempt_user(&mut self, task: TaskId, op: Op, retry: bool, wakes: &mut Wakes) -> Verdict {
        let sleepers = &mut self.sleepers;
        match op {
            Op::Lock(id) => self.locks[id.idx()].lock(id, task, sleepers),
            Op::Unlock(id) => self.locks[id.idx()].unlock(sleepers, wakes),
            Op::Barrier(_) | Op::FutexWait { .. } if retry => Verdict::Done(Outcome::Done),
            Op::Barrier(id) => self.barriers[id.idx()].arrive(id, task, sleepers, wakes),
            Op::FutexWait { futex: id, value } => {
                self.futexes[id.idx()].wait(id, value, task, sleepers)
            }
            Op::FutexSet { futex, value } => self.futexes[futex.idx()].set(value),
            Op::FutexWake { futex, count, sync } => {
                let sync = if sync { Sync::Yes } else { Sync::No };
                self.futexes[futex.idx()].wake(count, sync, sleepers, wakes)
            }
            Op::Join(child) => self.lives.join(child, task, sleepers),
            Op::WaitAny => self.lives.wait_any(task, sleepers),
            _ => Verdict::Done(Outcome::Done),
        }
    }
}
