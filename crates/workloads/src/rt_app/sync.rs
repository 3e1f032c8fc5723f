//! What threads share in user space: conditions, semaphores, barriers, timers.
//!
//! Source: `pthread_cond_t` of glibc as far as its calls of the kernel go (`nptl/pthread_cond_wait.c`,
//! `pthread_cond_signal.c`): who signals nobody makes no system call; a signal is for those who wait
//! when it comes; whoever wakes up to none left sleeps again. `sem_t` in the same way.

use simsched_core::SimTime;

/// A condition: the word of its futex, and who is owed a signal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Condition {
    /// Changed by each signal.
    pub(super) word: u32,
    /// Who wait and were not signalled.
    waiting: u32,
    /// Signals that nobody has taken.
    signals: u32,
}

impl Condition {
    /// A thread begins to wait: on this value of the word.
    pub(super) fn enter(&mut self) -> u32 {
        self.waiting += 1;
        self.word
    }

    /// Signals `most` of those who wait; whether there is one.
    pub(super) fn signal(&mut self, most: u32) -> bool {
        let signalled = most.min(self.waiting);
        self.waiting -= signalled;
        self.signals += signalled;
        self.word = self.word.wrapping_add(u32::from(signalled > 0));
        signalled > 0
    }

    /// Whether a thread that woke up may go on.
    pub(super) fn leave(&mut self) -> bool {
        let may = self.signals > 0;
        self.signals -= u32::from(may);
        may
    }
}

/// A semaphore.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Semaphore {
    pub(super) word: u32,
    count: u32,
    pub(super) sleepers: u32,
}

impl Semaphore {
    /// Takes one, if there is one.
    pub(super) fn take(&mut self) -> bool {
        let may = self.count > 0;
        self.count -= u32::from(may);
        may
    }

    /// Adds one; whether somebody is to be woken.
    pub(super) fn post(&mut self) -> bool {
        self.count += 1;
        let wakes = self.sleepers > 0;
        self.word = self.word.wrapping_add(u32::from(wakes));
        wakes
    }
}

/// A timer: when it expires next, once it was used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timer {
    pub(super) next: Option<SimTime>,
    pub(super) is_absolute: bool,
}
