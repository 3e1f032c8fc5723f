//! replay: a schedule that was recorded, as programs.
//!
//! Each thread of the recording computes as long as it ran there, from switch to switch, and sleeps where
//! it slept. Whom another thread woke waits for that one to come to the same point of its own work; whom
//! a timer or an interrupt woke sleeps until the same instant of the recording, or for the same time.
//! Where threads run, and in which order, is for the policy to decide.
//!
//! # What counts as work
//!
//! A thread's time from the switch to it to the switch away holds what the kernel did meanwhile: system
//! calls, wakeups of others, half of each switch, interrupts. All of it is its work here, so the kernel's
//! paths take no time of their own where a task is current ([`Setup::recorded`]). What an idle CPU does
//! from a wakeup to the switch is in nobody's time, and takes what it takes on the simulated machine.
//! On hardware that is free each thread gets the CPU time of the recording to the nanosecond; else its
//! work takes longer beside a busy sibling and on a slower clock. Where the recording was made on that machine,
//! what siblings and clocks took there is taken out of its times first ([`Speeds`]).
//!
//! # A wakeup that comes before its sleep
//!
//! A sleep that a thread ended waits for that wakeup and no other one. If it comes before the wakee has
//! gone to sleep, that passes and does not sleep. (perf's own `sched replay` counts wakeups with a semaphore
//! for each thread; then a thread can run ahead of the one that it waited for, and the order of the recording
//! is lost for good.)
//!
//! # Timers
//!
//! By default a sleep that no thread ended lasts until the instant at which it ended in the recording,
//! as requests from outside and periodic timers come when they come, whatever the scheduler does
//! (rt-app's `timer` in its mode `absolute`). With `--timers relative` it lasts as long as there
//! (rt-app's `sleep`), for programs that think between two steps.
//!
//! [`Setup::recorded`]: simsched_core::Setup::recorded

mod lower;
mod players;
mod speeds;
mod text;

use std::sync::Arc;

use simsched_core::{MarkId, MaskId, TaskId};

pub use lower::lower;
pub use players::{Ends, Players};
pub use speeds::Speeds;
pub use text::{NAME, Named, OPTIONS, Replay, parse};

/// A thread that is awake at the end of the recording has come to that point.
pub const DONE: MarkId = MarkId(0);
/// All threads have come to the end of the recording.
pub const END: MarkId = MarkId(1);

/// A schedule that was recorded.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// From its first event to its last, in ns.
    pub span: u64,
    /// From the call for a thread to the switch to it on a CPU that was idle, the median, in ns.
    pub dispatch: u64,
    /// From the call for a thread, or the tick, to the switch away from the one that it preempts, in ns.
    pub preempt: u64,
    /// From the instant at which a thread is asleep to the switch away from it, in ns, as far as calls tell
    /// that come between; 0 if there was none.
    pub leave: u64,
    /// It was made on the machine on which it is replayed: what the kernel's paths and cache lines took is in its
    /// times.
    pub here: bool,
    /// How fast its CPUs were, where the machine is known and that changes; without, a time on a CPU is taken for
    /// work at full speed.
    pub speeds: Option<Speeds>,
    /// All threads that are known to have done something. The idle tasks and the stoppers are none.
    pub threads: Vec<Thread>,
}

/// What a thread of a recording did. Times are in ns from the begin of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its name.
    pub comm: String,
    /// Its number.
    pub pid: i32,
    /// The number of its process.
    pub tgid: i32,
    /// Its priority at first, as the kernel counts: 120 is nice 0, below 100 are real-time classes.
    pub prio: i32,
    /// How it begins.
    pub begin: Begin,
    /// What it did, in the order of its progress.
    pub deeds: Vec<Deed>,
    /// How it ends.
    pub end: End,
    /// Where it ran.
    pub cpus: Vec<u32>,
    /// The CPU that it could not leave from its begin on, as what it did tells.
    pub kept: Option<u32>,
}

/// How a thread begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Another one forks it; from then to the first switch to it so many ns, where its CPU was idle.
    Forked(Option<u64>),
    /// It runs on this CPU.
    Running(u32),
    /// It waits for this CPU.
    Waiting(u32),
    /// It sleeps, and ran on this CPU before.
    Asleep(u32),
}

/// How a thread is at the end of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Awake.
    Awake,
    /// Asleep.
    Asleep,
    /// It has ended.
    Exited,
}

/// Something that a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deed {
    /// When.
    pub time: u64,
    /// What.
    pub does: Does,
}

/// What a thread did; others are named by their place in [`Recording::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It got this CPU.
    In(u32),
    /// The CPU was taken from it.
    Out,
    /// It went to sleep; none is for the rest of the recording.
    Sleep(Option<Woken>),
    /// It woke this one out of so-many-th of its sleeps that end by [`Wake::Thread`], from 0 on; and whether
    /// it did so synchronously (`WF_SYNC`).
    Wakes(usize, u32, bool),
    /// It started this one.
    Forks(usize),
    /// It kept this one on a CPU from then on, or let it go everywhere, as what that did tells.
    Keeps(usize, Option<u32>),
    /// It had this priority from then on.
    Prio(i32),
    /// It ended.
    Exits,
}

/// The end of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Who ended it.
    pub by: Wake,
    /// From the call for the sleeper to the switch to it, in ns, where its CPU was idle.
    pub dispatch: Option<u64>,
    /// How long before the switch away from the sleeper it was called for, in ns; 0 if that was later.
    pub early: u64,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Another thread of the recording did [`Does::Wakes`].
    Thread,
    /// Something else, at this time.
    Outside(u64),
}

/// What a sleep is that no thread ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timers {
    /// It lasts until the instant of the recording.
    #[default]
    Absolute,
    /// It lasts as long as in the recording.
    Relative,
}

/// On which CPUs a thread may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Threads of the kernel that belong to one CPU by their names, there; others where they were kept, as
    /// far and as long as what they did tells ([`Thread::kept`], [`Does::Keeps`]); all others everywhere.
    #[default]
    Inferred,
    /// Threads of the kernel that belong to one CPU by their names, there; all others everywhere.
    Known,
    /// Each where it ran in the recording.
    Seen,
}

/// How a recording is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Sleeps that no thread ended.
    pub timers: Timers,
    /// Where threads may run.
    pub affinity: Affinity,
    /// The time of a tick of the recording, in ns from its begin, if it is known: the ticks of the
    /// simulated machine come with those.
    pub tick: Option<u64>,
    /// Of how many bytes the text of the recording may be, unpacked.
    pub max_input: u64,
}

impl Default for Options {
    fn default() -> Options {
        let (timers, affinity) = (Timers::default(), Affinity::default());
        Options { timers, affinity, tick: None, max_input: 2 << 30 }
    }
}

/// Something that a thread does in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Compute for so many ns.
    Run(u64),
    /// Compute until this instant of the run, in ns.
    RunUntil(u64),
    /// The next wakeup of this thread takes an idle CPU so many ns.
    Dispatch(u32),
    /// The next wait begins so many ns before the switch away from this thread.
    Leave(u32),
    /// The next wait was over so many ns before that switch, in place of behind it.
    Early(u32),
    /// Wait until this wakeup has come.
    Wait(u32),
    /// Sleep for so many ns.
    Sleep(u64),
    /// Sleep until this instant of the run, in ns.
    SleepUntil(u64),
    /// Give this thread this wakeup, whether it waits for it already or not.
    Wake(TaskId, u32),
    /// Give this thread this wakeup synchronously, whether it waits for it already or not.
    WakeSync(TaskId, u32),
    /// Start this thread.
    Spawn(TaskId),
    /// Keep this thread where that mask says.
    Keep(TaskId, MaskId),
    /// Have another nice value.
    Nice(i8),
}

/// A recording as programs, ready to be run any number of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// The setup of a run.
    pub setup: simsched_core::Setup,
    /// What all tasks do, one after the other.
    pub acts: Vec<Act>,
    /// By task: where its acts begin, and how it ends.
    pub players: Vec<Player>,
    /// By task: which thread of the recording it is.
    pub threads: Vec<usize>,
    /// How many wakeups by threads there are.
    pub wakeups: u32,
    /// When the recording begins in a run, in ns.
    pub lead: u64,
}

/// A task of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    /// Its first act.
    pub first: u32,
    /// The place behind its last one.
    pub end: u32,
    /// How it ends.
    pub ends: End,
    /// How long an idle CPU takes to its first switch to it, in ns; 0 if that is not known.
    pub dispatch: u32,
}

/// What is shared by all runs of a replay.
pub(crate) type Shared = Arc<Lowered>;
