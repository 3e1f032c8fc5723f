//! A mutex of user space over a futex; it answers whom to wake.
//!
//! Source: glibc's normal `pthread_mutex_t` (`nptl/lowlevellock.c`): the word is 0 when free, 1
//! when held and 2 when held with waiters. An unlock frees the mutex before it wakes the first
//! waiter, so that one competes anew with whoever comes by; nothing is handed over.

use super::waitq::{Queue, Sleepers, Sync, WaitFor};
use super::{Verdict, Wakes};
use crate::ids::{LockId, TaskId};
use crate::workload::Outcome;

/// The state of one mutex.
#[derive(Clone, Debug, Default)]
pub(super) struct Lock {
    holder: Option<TaskId>,
    queue: Queue,
}

impl Lock {
    /// Takes the mutex, or sleeps behind all others until an unlock.
    pub(super) fn lock(&mut self, id: LockId, task: TaskId, sleepers: &mut Sleepers) -> Verdict {
        if self.holder.is_some() {
            sleepers.push_back(&mut self.queue, task, WaitFor::Lock, id.0);
            return Verdict::Block;
        }
        self.holder = Some(task);
        Verdict::Done(Outcome::Done)
    }

    /// Frees the mutex and wakes the first who sleeps on it, not synchronously. As with a normal
    /// mutex nobody checks who frees it; to free a free one does nothing.
    pub(super) fn unlock(&mut self, sleepers: &mut Sleepers, wakes: &mut Wakes) -> Verdict {
        if self.holder.take().is_some() {
            sleepers.wake_first(&mut self.queue, Sync::No, wakes);
        }
        Verdict::Done(Outcome::Done)
    }

    /// Who holds it.
    pub(super) fn holder(&self) -> Option<TaskId> {
        self.holder
    }
}
