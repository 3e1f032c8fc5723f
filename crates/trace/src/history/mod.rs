//! `History`: what each thread of a schedule did, from its events.
//!
//! A thread runs, is preempted, sleeps until it is woken, wakes others and starts others. Who was awake
//! or asleep when the window began is told by the first event of each.
//!
//! A wakeup is the deed of a thread if that was current and no interrupt had come over it, as far as
//! the trace tells: the kernel's tracer does, `perf script` does not. The idle task and the stopper wake
//! nobody of their own accord. It is made when it is called for (`sched_waking`; `sched_wakeup` in a
//! trace without), but not before the wakee has left its CPU, for which the kernel waits
//! (`try_to_wake_up()`, all versions).

mod affinity;
mod builder;
mod row;
mod stays;
mod tick;

use std::collections::BTreeSet;

use crate::event::{Thread, ThreadIx, Threads};
use crate::reader::Trace;
use builder::Builder;

/// What all threads of a schedule did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The time of the first event, in ns.
    pub begin: u64,
    /// The time of the last event, in ns.
    pub end: u64,
    /// By [`ThreadIx`].
    pub lives: Vec<Life>,
    /// How long it took from the call for a thread to the switch to it where that was one from the idle
    /// task: the median, in ns; 0 if there was none.
    pub dispatch: u64,
    /// How long it took from the call for a thread to the switch to it where that took the CPU from one
    /// that could go on: the median, in ns; `dispatch` if there was none.
    pub preempt: u64,
    /// From the instant at which a thread is asleep to the switch away from it, in ns, as the calls tell that
    /// came between: twice their median, as they come at any instant of it; 0 if there was none.
    pub leave: u64,
    /// From each call for a thread (`sched_waking`) to the switch to it, in ns, in the order of the switches.
    pub latencies: Vec<u64>,
    /// How often a thread was found elsewhere, or in another state, than its events before had said:
    /// events are missing.
    pub gaps: u64,
}

/// What a thread did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// How it begins.
    pub begin: Begin,
    /// What it did, in the order of its progress.
    pub deeds: Vec<Deed>,
    /// How it is at the end of the window.
    pub end: End,
    /// Where it ran.
    pub cpus: BTreeSet<u32>,
    /// It was not free to leave a CPU for some time, as far as what it did tells.
    pub kept: bool,
    /// The CPU that it could not leave from its begin on: until [`Does::Keeps`] tells otherwise.
    pub kept_first: Option<u32>,
    /// What can be counted.
    pub seen: Seen,
}

/// What a trace counts of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// How long it had a CPU, from switch to switch, in ns.
    pub runtime: u64,
    /// How often it left its CPU.
    pub switches: u64,
    /// How often it was moved (`sched_migrate_task`).
    pub migrations: u64,
    /// How often it ran behind a wakeup.
    pub wakeups: u64,
    /// From the call for it (`sched_waking`) to the switch to it: the sum, in ns,
    pub latency_sum: u64,
    /// and the longest.
    pub latency_max: u64,
}

/// How a thread begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// Nothing is known of it but its name: it does nothing.
    #[default]
    Unknown,
    /// Another one forks it; from then to the first switch to it so many ns, where that was one from the
    /// idle task.
    Forked(Option<u64>),
    /// It runs on this CPU when the window begins.
    Running(u32),
    /// It waits for this CPU when the window begins.
    Waiting(u32),
    /// It sleeps when the window begins, and ran on this CPU before.
    Asleep(u32),
}

/// How a thread is at the end of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Awake.
    #[default]
    Awake,
    /// Asleep.
    Asleep,
    /// It has ended.
    Exited,
}

/// Something that a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deed {
    /// When, in ns.
    pub time: u64,
    /// What.
    pub does: Does,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It gets this CPU.
    In(u32),
    /// The CPU is taken from it.
    Out,
    /// It goes to sleep, and is woken then; `None` is not within the window.
    Sleep(Option<Wake>),
    /// It wakes this thread out of so-many-th of its sleeps that threads ended, from 0 on.
    Wakes(ThreadIx, u32, Sync),
    /// It starts this thread.
    Forks(ThreadIx),
    /// It keeps this one on a CPU from now on, or lets it go everywhere.
    Keeps(ThreadIx, Option<u32>),
    /// It has this priority from now on.
    Prio(i32),
    /// It ends.
    Exits,
}

/// The end of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When it was called for, in ns.
    pub time: u64,
    /// Who called; `None` is a timer, an interrupt, or somebody unknown.
    pub by: Option<ThreadIx>,
    /// How long it took to the switch to it, in ns, where that was one from the idle task.
    pub dispatch: Option<u64>,
    /// How long before the switch away from the sleeper it was called for, in ns: it was asleep by then, and
    /// still on its way out of its CPU; 0 if the call came later.
    pub early: u64,
}

/// Whether the waker says that it is about to sleep (`WF_SYNC`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// It does not, or nothing is known of it.
    #[default]
    No,
    /// It does, as in wakeups of pipes and sockets.
    Yes,
}

/// Whether a thread is the idle task of a CPU.
#[must_use]
pub fn is_idle(thread: &Thread) -> bool {
    thread.pid == 0
}

/// Whether a thread is the stopper of a CPU, which does what the scheduler itself asks of it.
#[must_use]
pub fn is_stopper(thread: &Thread) -> bool {
    thread.comm.starts_with("migration/") || thread.comm.starts_with("stopper/")
}

/// Whether a thread is one of those that run.
fn is_player(threads: &Threads, ix: ThreadIx) -> bool {
    let thread = threads.get(ix);
    thread.pid > 0 && !is_stopper(thread)
}

impl History {
    /// The history that the events of `trace` tell.
    #[must_use]
    pub fn of(trace: &Trace) -> History {
        let mut builder = Builder::new(trace);
        let mut renices = trace.renices.iter().peekable();
        for told in &trace.told {
            builder.event(told);
            while let Some(renice) = renices.next_if(|renice| renice.time <= told.event.time) {
                builder.renice(renice);
            }
        }
        let mut history = builder.finish();
        affinity::tell(trace, &mut history.lives);
        history
    }

    /// The time of a tick, in ns from the first event of `trace`, if threads were preempted at ticks that
    /// come each `period` ns.
    #[must_use]
    pub fn tick(trace: &Trace, period: u64) -> Option<u64> {
        tick::find(trace, period)
    }
}
