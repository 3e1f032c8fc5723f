//! The trait `Workload`, `Op`, `Outcome`: what user space asks of the kernel.

mod setup;

pub use setup::{
    RecordedTimes, RegionSpec, SchedPolicy, Setup, SocketSpec, Start, Stores, TaskSpec,
};

use simsched_topology::CpuId;

use crate::ids::{
    BarrierId, FutexId, LockId, MarkId, MaskId, PipeId, ProcId, RegionId, SemId, SocketId, TaskId,
};
use crate::time::{Nanos, SimTime};

/// Userland: what the tasks are, and what each does next.
///
/// A workload is data and time: it sees no world, so it cannot know on which CPU it runs.
pub trait Workload {
    /// All tasks, processes and kernel objects of the run, declared before it starts.
    fn setup(&self) -> Setup;

    /// The next system call of `task`, whose last one ended with `last` at `now`.
    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op;

    /// What a program that measures itself has written so far; most leave that to their marks.
    fn notes(&self) -> Notes {
        Notes::default()
    }

    /// How long an idle CPU takes to the switch to `task`, which was just woken, if that was measured
    /// ([`RecordedTimes`]); `None` is as long as usual.
    fn dispatch(&self, task: TaskId) -> Option<Nanos> {
        let _ = task;
        None
    }

    /// How long `task`, which has just gone to sleep, goes on to run inside `schedule()`, from leaving its
    /// runqueue to the switch away from it, if that was measured ([`RecordedTimes`]); `None` is as long as
    /// that takes on the machine. It is asked once for each time that a task leaves.
    fn leave(&mut self, task: TaskId) -> Option<Nanos> {
        let _ = task;
        None
    }

    /// What it has counted itself up to `now` is not to count: only what follows is measured.
    fn measure_from(&mut self, now: SimTime) {
        let _ = now;
    }

    /// How often `task` will begin the body of the innermost loop that it is in once more, with all
    /// turns of the loops around that one; `None` where it is in no loop of a fixed number of turns.
    fn turns_left(&self, task: TaskId) -> Option<u64> {
        let _ = task;
        None
    }

    /// Leaves out so many of these, which are at most [`Workload::turns_left`]: the task goes on as
    /// if it had done them.
    fn skip_turns(&mut self, task: TaskId, turns: u64) {
        let _ = (task, turns);
    }
}

/// What a program writes of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Lines separated by `\n`, none at the end.
    pub text: String,
    /// What it has counted or divided, by name.
    pub values: Vec<(&'static str, u64)>,
    /// The same of its tasks, where it measures each.
    pub by_task: Vec<(String, i64)>,
}

impl<T: Workload + ?Sized> Workload for Box<T> {
    fn setup(&self) -> Setup {
        (**self).setup()
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        (**self).next_op(task, now, last)
    }

    fn notes(&self) -> Notes {
        (**self).notes()
    }

    fn dispatch(&self, task: TaskId) -> Option<Nanos> {
        (**self).dispatch(task)
    }

    fn leave(&mut self, task: TaskId) -> Option<Nanos> {
        (**self).leave(task)
    }

    fn measure_from(&mut self, now: SimTime) {
        (**self).measure_from(now);
    }

    fn turns_left(&self, task: TaskId) -> Option<u64> {
        (**self).turns_left(task)
    }

    fn skip_turns(&mut self, task: TaskId, turns: u64) {
        (**self).skip_turns(task, turns);
    }
}

/// What a task asks for. An op takes its time first and takes effect at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Compute for this long, as measured on an idle core of capacity 1024 with warm caches.
    Run(Nanos),
    /// Compute for about this long by an instruction that gives up the rest of a turn (`PAUSE`), again and
    /// again while more than half a turn is missing: on a machine whose CPUs take turns it ends with a turn, the
    /// one whose end is nearest, of two the earlier. Behind each such instruction the task reads the counter of time
    /// stamps: up to four turns between two reads count, interrupts included, and what took longer counts as one turn.
    /// On all other machines it is [`Op::Run`].
    Pause(Nanos),
    /// Sleep for this long and the timer slack (`nanosleep`).
    Sleep(Nanos),
    /// Sleep until this instant and the timer slack; a microsecond if it has passed.
    SleepUntil(SimTime),
    /// Sleep, and be woken from an interrupt on the CPU of another task so long from now: who plays a
    /// recording makes a wakeup so whose caller has passed its call already. Where that CPU is idle, the
    /// interrupt comes on the sleeper's own.
    AwaitCall {
        /// On whose CPU.
        from: TaskId,
        /// When.
        after: Nanos,
        /// Whether the wakeup says that the waker is about to sleep (`WF_SYNC`).
        sync: bool,
    },
    /// Write all `bytes` to a pipe; ends with [`Outcome::Done`].
    Write {
        /// The pipe.
        pipe: PipeId,
        /// How many bytes.
        bytes: u32,
    },
    /// Read at most `bytes` from a pipe; ends with [`Outcome::Bytes`], at least 1.
    Read {
        /// The pipe.
        pipe: PipeId,
        /// How many bytes at most.
        bytes: u32,
    },
    /// Load and store so much of a region, in sequence: how long it takes is decided by what comes from
    /// memory and goes there, and what is computed meanwhile is no matter. For data that the caches
    /// do not hold.
    Stream {
        /// The region; goes over all of its touched pages alike.
        region: RegionId,
        /// How much is loaded, in KiB.
        loaded_kib: u32,
        /// How much is stored, in KiB.
        stored_kib: u32,
    },
    /// Store to so much of a region for the first time: its pages come from the node where the task
    /// runs.
    Touch {
        /// The region.
        region: RegionId,
        /// How much, in KiB.
        kib: u32,
    },
    /// Load so many cache lines that another task has stored last, one after another: each comes from the
    /// core where that task has run last.
    Fetch {
        /// Who has stored them.
        from: TaskId,
        /// How many lines.
        lines: u32,
    },
    /// Wait until the pipe holds data (`poll` with `POLLIN`); takes none of it.
    PollPipe(PipeId),
    /// Send one message of `bytes` from this end of a socket pair to the other.
    Send {
        /// The sending end.
        socket: SocketId,
        /// How many bytes.
        bytes: u32,
    },
    /// Receive at most `bytes` that the other end has sent, of datagrams one; ends with
    /// [`Outcome::Bytes`], and none if the other end was shut down.
    Recv {
        /// The receiving end.
        socket: SocketId,
        /// How many bytes at most.
        bytes: u32,
    },
    /// Wait until there is something to receive at this end; takes none of it.
    PollSocket(SocketId),
    /// Send nothing more from this end of a TCP connection (`shutdown` with `SHUT_WR`).
    Shutdown(SocketId),
    /// Take a mutex of user space.
    Lock(LockId),
    /// Release a mutex of user space.
    Unlock(LockId),
    /// Take a semaphore of the kernel to read, together with other readers (`down_read`).
    DownRead(SemId),
    /// Take a semaphore of the kernel to read if nobody writes and nobody waits for it (`down_read_trylock`); does not
    /// sleep, and ends with [`Outcome::Busy`] where it does not get it.
    DownReadTrylock(SemId),
    /// Work in the kernel for so long with a semaphore held to read, then release it.
    UpRead {
        /// The semaphore.
        sem: SemId,
        /// How long it is held, in ns.
        held: u32,
    },
    /// Take a semaphore of the kernel to write (`down_write`): spins while its holder is at work.
    DownWrite(SemId),
    /// Work in the kernel for so long with a semaphore held to write, then release it.
    UpWrite {
        /// The semaphore.
        sem: SemId,
        /// How long it is held, in ns.
        held: u32,
    },
    /// Arrive at a barrier and wait for the others.
    Barrier(BarrierId),
    /// Sleep while the futex word holds `value`; at once done if it holds another.
    FutexWait {
        /// The futex word.
        futex: FutexId,
        /// The value on which to sleep.
        value: u32,
    },
    /// Store `value` in the futex word; costs nothing, wakes nobody.
    FutexSet {
        /// The futex word.
        futex: FutexId,
        /// The new value.
        value: u32,
    },
    /// Wake at most `count` sleepers of a futex word.
    FutexWake {
        /// The futex word.
        futex: FutexId,
        /// How many sleepers at most.
        count: u32,
        /// Whether the wakeups say that the waker is about to sleep (`WF_SYNC`). Those of futexes do not;
        /// who plays a recording also makes the wakeups of pipes in this way.
        sync: bool,
    },
    /// Start a task that `setup` declared (`clone` or `fork`, by whether the process is the same).
    Spawn(TaskId),
    /// Wait for the end of this task (`pthread_join`, `waitpid`).
    Join(TaskId),
    /// Wait for the end of any task that this one spawned and has not waited for (`wait`); ends
    /// with [`Outcome::Child`].
    WaitAny,
    /// `sched_yield`.
    Yield,
    /// Change the own nice value, -20..=19.
    SetNice(i8),
    /// Confine a task, the own one or another, to the CPUs of a mask (`sched_setaffinity`). Who runs
    /// elsewhere is moved by the stopper of its CPU.
    SetAffinity {
        /// Who is confined.
        task: TaskId,
        /// Where it may run.
        mask: MaskId,
    },
    /// Execute a new program, as far as the scheduler cares: a chance to change the CPU
    /// (`sched_exec`). Loading the program is for the workload to add, and so is the new address space
    /// ([`Op::ExecMmap`]).
    Exec,
    /// Leave the address space of the own process for that of another one, which a declared task has
    /// (`exec_mmap` within `execve`). Who executes a new program does this behind [`Op::Exec`] and the ends of the
    /// other threads of its process (`de_thread`), which it joins before; the process is a new one if none of its
    /// tasks has begun.
    ExecMmap(ProcId),
    /// Queue a callback of RCU on this CPU (`call_rcu`), whose tick goes on while it is idle until that
    /// has run; costs nothing.
    CallRcu {
        /// When the callback will have run.
        until: SimTime,
    },
    /// Have a task that is in a sleep of known length woken up earlier; costs nothing.
    Rouse {
        /// The sleeper.
        task: TaskId,
        /// When it is woken up.
        at: SimTime,
        /// By which timer.
        by: RousedBy,
    },
    /// Ask on which CPU the task runs (`getcpu` of the vDSO); ends with [`Outcome::Cpu`], costs nothing.
    GetCpu,
    /// Ask how many lines the trace of the kernel has by now (`entries-written` of its buffers); ends with
    /// [`Outcome::Lines`], costs nothing.
    GetTraced,
    /// A point in time that the workload wants measured; costs nothing.
    Mark(MarkId),
    /// The end of the task.
    Exit,
}

/// Which timer ends a sleep earlier ([`Op::Rouse`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RousedBy {
    /// One of the CPU of the task that asks for it.
    ThisCpu,
    /// That of the sleeper, on the CPU where it is.
    OwnTimer,
}

/// How the last op of a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There was none: the task has just started. ([`Start::Background`] has been in a sleep.)
    Started,
    /// It is done.
    Done,
    /// It has not got what it tried to take, and has changed nothing.
    Busy,
    /// It is done and moved that many bytes.
    Bytes(u32),
    /// A child has ended.
    Child(TaskId),
    /// It ran on this CPU.
    Cpu(CpuId),
    /// So many lines had been traced since the begin of the run: switches, wakings, wakeups, migrations, forks and ends;
    /// 0 where nothing is traced, so that its pages cost nothing (`trace_page` of the machine's costs).
    Lines(u32),
}

const _: () = assert!(size_of::<Op>() == 16, "an op is copied at every event");
