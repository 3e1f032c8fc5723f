//! A futex word and its sleepers; it answers whom to wake.
//!
//! Source: `futex_wait()` and `futex_wake()` in `kernel/futex/waitwake.c`, Linux 6.1. The waker
//! collects the sleepers in the order in which they came and then wakes them one after another,
//! not synchronously (`wake_up_q`).

use super::waitq::{Queue, Sleepers, Sync, WaitFor};
use super::{Verdict, Wakes};
use crate::ids::{FutexId, TaskId};
use crate::workload::Outcome;

/// The state of one futex word.
#[derive(Clone, Debug, Default)]
pub(super) struct Futex {
    value: u32,
    queue: Queue,
}

impl Futex {
    /// Sleeps until a wakeup if the word holds `value`.
    pub(super) fn wait(
        &mut self,
        id: FutexId,
        value: u32,
        task: TaskId,
        sleepers: &mut Sleepers,
    ) -> Verdict {
        if self.value != value {
            return Verdict::Done(Outcome::Done);
        }
        sleepers.push_back(&mut self.queue, task, WaitFor::Futex, id.0);
        Verdict::Block
    }

    /// Stores `value` and wakes nobody.
    pub(super) fn set(&mut self, value: u32) -> Verdict {
        self.value = value;
        Verdict::Done(Outcome::Done)
    }

    /// Whether anybody sleeps on it.
    pub(super) fn has_sleepers(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Wakes at most `count` sleepers.
    pub(super) fn wake(
        &mut self,
        count: u32,
        sync: Sync,
        sleepers: &mut Sleepers,
        wakes: &mut Wakes,
    ) -> Verdict {
        for _ in 0..count {
            if !sleepers.wake_first(&mut self.queue, sync, wakes) {
                break;
            }
        }
        Verdict::Done(Outcome::Done)
    }
}
