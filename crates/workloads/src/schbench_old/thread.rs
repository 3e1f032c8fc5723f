//! `Thread`: where a thread of the old schbench is, and what it has at hand.

use simsched_core::SimTime;

/// Where a thread is; a number is that of another thread of its own kind, or of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// It creates this one.
    Create(u32),
    /// It wakes and then joins this one, at the end.
    Post(u32),
    Join(u32),
    Sleep,
    Over,
    Block,
    Take,
    Wake,
    Fill(u32),
    Wait,
    Delay,
    Batch,
    Hand(u32),
    Kick(u32),
    Top,
    Report,
    Call,
    Called,
    Waiting,
    Woken,
    Begin,
    Spin,
    Spun,
}

/// A thread of the program.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) at: At,
    /// The task that created it.
    pub(super) parent: u32,
    /// Its stack: that of its message thread, or its own.
    pub(super) stack: u32,
    pub(super) next: Option<u32>,
    /// When it took the stack or began to spin, when it began, and until when it spins.
    pub(super) since: SimTime,
    pub(super) begun: SimTime,
    pub(super) spins_us: u64,
    pub(super) is_last: bool,
    pub(super) turn: u32,
    /// Requests that it works on, the first last.
    pub(super) mine: Vec<SimTime>,
    pub(super) loops: u64,
}

impl Thread {
    pub(super) fn new(at: At, parent: u32, stack: u32) -> Thread {
        Thread {
            at,
            parent,
            stack,
            next: None,
            since: SimTime::ZERO,
            begun: SimTime::ZERO,
            spins_us: 0,
            is_last: false,
            turn: 0,
            mine: Vec::new(),
            loops: 0,
        }
    }
}
