//! What a schedule consists of: threads, and what the kernel's `sched` tracepoints tell of them.

use std::io;

/// The index of a thread in [`Threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadIx(pub u32);

/// A thread as tracepoints name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its number; 0 is the idle task, of which each CPU has its own.
    pub pid: i32,
    /// The number of its process (`tgid`); that of the thread itself where it is not known.
    pub tgid: i32,
    /// Its name, at most 15 bytes in a kernel.
    pub comm: String,
    /// Its priority as the kernel counts: 120 is nice 0, 0 the stopper, 120 also the idle task.
    pub prio: i32,
}

/// All threads of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// By [`ThreadIx`].
    pub all: Vec<Thread>,
}

/// In which state a task leaves its CPU (`prev_state` of `sched_switch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrevState {
    /// Runnable (`R`, or `R+` where the kernel preempted it); the idle task is always so.
    Running {
        /// Whether the kernel took the CPU away (`+`).
        preempted: bool,
    },
    /// Asleep, and woken by signals, too (`S`).
    Interruptible,
    /// Asleep, and not woken by signals (`D`).
    Uninterruptible,
    /// It has ended and is waited for (`Z`).
    Zombie,
    /// It is gone (`X`).
    Dead,
}

/// What has happened. The names are those of the tracepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `sched_switch`: the CPU goes from `prev` to `next`.
    Switch {
        /// Who ran.
        prev: ThreadIx,
        /// How it leaves.
        prev_state: PrevState,
        /// Who runs now.
        next: ThreadIx,
    },
    /// `sched_waking`: somebody begins to wake `wakee`.
    Waking {
        /// Who is woken.
        wakee: ThreadIx,
        /// The CPU that it is on before the choice.
        target_cpu: u32,
        /// Whether the waker says that it is about to sleep (`WF_SYNC`). Kernels do not tell; the text of a
        /// simulation does.
        sync: bool,
    },
    /// `sched_wakeup`: `wakee` is runnable.
    Wakeup {
        /// Who was woken.
        wakee: ThreadIx,
        /// The CPU that it is queued on.
        target_cpu: u32,
    },
    /// `sched_wakeup_new`: a new task is runnable for the first time.
    WakeupNew {
        /// Who is new.
        wakee: ThreadIx,
        /// The CPU that it is queued on.
        target_cpu: u32,
    },
    /// `sched_migrate_task`: `task` changes its CPU.
    Migrate {
        /// Who moves.
        task: ThreadIx,
        /// Where it was.
        orig_cpu: u32,
        /// Where it goes.
        dest_cpu: u32,
    },
    /// `sched_process_fork`: `parent` has a new thread.
    Fork {
        /// Who forked.
        parent: ThreadIx,
        /// The new one.
        child: ThreadIx,
    },
    /// `sched_process_exit`: `task` ends.
    Exit {
        /// Who ends.
        task: ThreadIx,
    },
}

/// One line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ns.
    pub time: u64,
    /// The CPU whose code tells it.
    pub cpu: u32,
    /// The current thread of that CPU; of a switch it is `prev`.
    pub current: ThreadIx,
    /// What.
    pub what: What,
}

/// Whoever takes a schedule event by event: a writer of a format, or a count over it.
///
/// Events come in the order of time, and all threads are known before the first.
pub trait Sink {
    /// Takes the next event.
    ///
    /// # Errors
    /// What could not be written.
    fn event(&mut self, threads: &Threads, event: &Event) -> io::Result<()>;

    /// Whether it wants counters; they are not even counted where nobody does.
    fn wants_counters(&self) -> bool {
        false
    }

    /// Takes the value of a counter of `cpu`, from `time` in ns on; formats without counters leave it out.
    /// A counter of a cache is that of the first CPU behind it.
    ///
    /// # Errors
    /// What could not be written.
    fn counter(&mut self, time: u64, cpu: u32, name: &'static str, value: u64) -> io::Result<()> {
        let _ = (time, cpu, name, value);
        Ok(())
    }

    /// Is told that the schedule has ended at `time`, in ns.
    ///
    /// # Errors
    /// What could not be written.
    fn finish(&mut self, threads: &Threads, time: u64) -> io::Result<()> {
        let _ = (threads, time);
        Ok(())
    }
}

impl Threads {
    /// The thread behind an index that this table gave.
    pub fn get(&self, ix: ThreadIx) -> &Thread {
        &self.all[ix.0 as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a thread.
    pub fn push(&mut self, thread: Thread) -> ThreadIx {
        let ix = ThreadIx(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(thread);
        ix
    }
}
