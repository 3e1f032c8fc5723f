//! A semaphore of the kernel for readers and one writer, such as the lock of an address space; it answers
//! whom to wake.
//!
//! Source: `kernel/locking/rwsem.c`, Linux 6.1. Whoever comes by takes a free one, sleepers or not; a
//! reader joins readers only while nobody sleeps. A release wakes the first sleeper: a writer competes
//! anew, in its old place if it loses; a reader and all readers in the queue are given the semaphore.
//! Not here: the hand-off to who has waited for four milliseconds, and that `down_read_trylock()` also fails from a
//! writer's wakeup until that writer has the semaphore or sleeps again. That writers spin before they sleep
//! is for the simulator, which knows who is on a CPU.

use super::waitq::{Queue, Sleepers, Sync, WaitFor};
use super::{Verdict, Wakes};
use crate::ids::{SemId, TaskId};
use crate::workload::Outcome;

/// Who holds a semaphore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody.
    #[default]
    Nobody,
    /// So many readers, at least one.
    Readers(u32),
    /// This task, to write.
    Writer(TaskId),
}

/// The state of one semaphore.
#[derive(Clone, Debug, Default)]
pub(super) struct RwSem {
    holder: Holder,
    queue: Queue,
}

/// The call of one task on one semaphore.
pub(super) struct Call<'a> {
    pub(super) id: SemId,
    pub(super) task: TaskId,
    pub(super) retry: bool,
    pub(super) sleepers: &'a mut Sleepers,
}

impl RwSem {
    /// `down_read()`: a reader who was woken has been given it.
    pub(super) fn down_read(&mut self, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers } = call;
        match self.holder {
            _ if retry => {}
            Holder::Nobody => self.holder = Holder::Readers(1),
            Holder::Readers(readers) if self.queue.is_empty() => {
                self.holder = Holder::Readers(readers + 1);
            }
            Holder::Readers(_) | Holder::Writer(_) => {
                sleepers.push_back(&mut self.queue, task, WaitFor::SemRead, id.0);
                return Verdict::Block;
            }
        }
        Verdict::Done(Outcome::Done)
    }

    /// `down_read_trylock()`: readers get it together, if nobody sleeps at it.
    pub(super) fn down_read_trylock(&mut self) -> Verdict {
        let readers = match self.holder {
            Holder::Nobody if self.queue.is_empty() => 0,
            Holder::Readers(readers) if self.queue.is_empty() => readers,
            Holder::Nobody | Holder::Readers(_) | Holder::Writer(_) => {
                return Verdict::Done(Outcome::Busy);
            }
        };
        self.holder = Holder::Readers(readers + 1);
        Verdict::Done(Outcome::Done)
    }

    /// `down_write()`.
    pub(super) fn down_write(&mut self, call: Call<'_>) -> Verdict {
        let Call { id, task, retry, sleepers } = call;
        if self.holder == Holder::Nobody {
            self.holder = Holder::Writer(task);
            return Verdict::Done(Outcome::Done);
        }
        if retry {
            sleepers.push_front(&mut self.queue, task, WaitFor::SemWrite, id.0);
        } else {
            sleepers.push_back(&mut self.queue, task, WaitFor::SemWrite, id.0);
        }
        Verdict::Block
    }

    /// `up_read()`: the last reader wakes.
    pub(super) fn up_read(&mut self, sleepers: &mut Sleepers, wakes: &mut Wakes) -> Verdict {
        match self.holder {
            Holder::Readers(readers) if readers > 1 => self.holder = Holder::Readers(readers - 1),
            Holder::Readers(_) => self.release(sleepers, wakes),
            Holder::Nobody | Holder::Writer(_) => {}
        }
        Verdict::Done(Outcome::Done)
    }

    /// `up_write()`.
    pub(super) fn up_write(&mut self, sleepers: &mut Sleepers, wakes: &mut Wakes) -> Verdict {
        if let Holder::Writer(_) = self.holder {
            self.release(sleepers, wakes);
        }
        Verdict::Done(Outcome::Done)
    }

    /// Who holds it.
    pub(super) fn holder(&self) -> Holder {
        self.holder
    }

    /// `rwsem_wake()`.
    fn release(&mut self, sleepers: &mut Sleepers, wakes: &mut Wakes) {
        self.holder = Holder::Nobody;
        let Some(first) = self.queue.first() else { return };
        if sleepers.waits_for(first, WaitFor::SemWrite) {
            sleepers.wake_first(&mut self.queue, Sync::No, wakes);
            return;
        }
        let before = wakes.len();
        sleepers.wake_all_waiting_for(&mut self.queue, WaitFor::SemRead, wakes);
        let readers = u32::try_from(wakes.len() - before).expect("as many as there are tasks");
        self.holder = Holder::Readers(readers);
    }
}
