//! A thread at work: the steps that its events are made of.

use std::collections::VecDeque;

use simsched_core::{LockId, Op, SimTime};

use super::config::{Cond, TimerRef};
use super::log::Log;
use super::sync::Timer;

/// Something that a thread does next. All but [`Step::Call`] are decided when it is their turn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A system call.
    Call(Op),
    /// The first thread says from when on delays and timers count.
    Zero,
    /// Sleeps until the delay is over.
    Delay,
    /// Begins a phase under its priority and on its CPUs,
    Begin,
    /// notes when,
    Begun,
    /// does the next event, or ends the phase: what is done when no step is left.
    Next,
    /// Notes the time for `run` and `runtime`,
    Start,
    /// computes on until the time of `runtime` is over,
    Until(u32),
    /// counts what they took.
    Ran,
    /// Waits for a timer,
    Timer(TimerRef, u32),
    /// and was woken up by it.
    Rang,
    /// Begins to wait for a condition,
    Enter(usize),
    /// sleeps there,
    Sleep(usize),
    /// and wakes up.
    Woken(usize),
    /// Signals so many who wait for a condition.
    Signal(usize, u32),
    /// Has the mutex of a barrier,
    Meet(usize),
    /// and goes on from there.
    Met(usize),
    /// Takes a semaphore or sleeps,
    Down(usize),
    /// and wakes up.
    Again(usize),
    /// Adds to a semaphore.
    Up(usize),
    /// Starts a thread of another task.
    Fork(usize),
    /// Waits for the end of all threads.
    Join,
    /// Ends the run for all threads:
    Stop,
    /// wakes up whoever sleeps on a futex, from this one on,
    Shake(usize),
    /// and by the clock, from this thread on.
    Rouse(usize),
    /// Ends; first frees what it holds.
    Leave,
}

/// A thread.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    /// Its row among the tasks of the file; the main thread has none.
    pub(super) def: usize,
    /// Its number among all threads, and its name in the log.
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) steps: VecDeque<Step>,
    pub(super) phase: usize,
    pub(super) phase_loop: i32,
    pub(super) thread_loop: i32,
    pub(super) event: usize,
    /// When the phase began, and the last `run`.
    pub(super) begun: SimTime,
    pub(super) started: SimTime,
    /// From when on its timers count.
    pub(super) first: SimTime,
    /// When its timer was to expire.
    pub(super) due: SimTime,
    /// On which value of a futex word it sleeps.
    pub(super) value: u32,
    pub(super) timers: Vec<Timer>,
    /// The mask and the nice value that it has.
    pub(super) mask: usize,
    pub(super) nice: i8,
    /// Mutexes that it holds.
    pub(super) held: Vec<u32>,
    /// Whether somebody has started it, whether it has ended, and whether somebody waited for that.
    pub(super) is_started: bool,
    pub(super) has_ended: bool,
    pub(super) is_joined: bool,
    /// Whether it is past the end of the run.
    pub(super) is_leaving: bool,
    pub(super) log: Log,
}

impl Thread {
    pub(super) fn new(def: usize, timers: Vec<Timer>, nice: i8) -> Thread {
        Thread {
            def,
            index: 0,
            name: String::new(),
            steps: VecDeque::new(),
            phase: 0,
            phase_loop: 0,
            thread_loop: 0,
            event: 0,
            begun: SimTime::ZERO,
            started: SimTime::ZERO,
            first: SimTime::ZERO,
            due: SimTime::ZERO,
            value: 0,
            timers,
            mask: 0,
            nice,
            held: Vec::new(),
            is_started: false,
            has_ended: false,
            is_joined: false,
            is_leaving: false,
            log: Log::default(),
        }
    }

    /// Adds steps behind those that are left.
    pub(super) fn then(&mut self, steps: impl IntoIterator<Item = Step>) {
        self.steps.extend(steps);
    }

    /// Waits for a condition whose mutex it holds.
    pub(super) fn wait(&mut self, Cond { cond, mutex }: Cond) {
        self.then([Step::Enter(cond), unlock(mutex), Step::Sleep(cond), lock(mutex)]);
    }
}

pub(super) fn lock(mutex: usize) -> Step {
    Step::Call(Op::Lock(LockId::new(mutex)))
}

pub(super) fn unlock(mutex: usize) -> Step {
    Step::Call(Op::Unlock(LockId::new(mutex)))
}
