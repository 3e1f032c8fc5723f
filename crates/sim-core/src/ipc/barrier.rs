//! A barrier of user space over a futex; it answers whom to wake.
//!
//! Source: glibc's `pthread_barrier_wait`: the last who arrives opens the barrier and wakes all
//! others in the order in which they came.

use super::waitq::{Queue, Sleepers, Sync, WaitFor};
use super::{Verdict, Wakes};
use crate::ids::{BarrierId, TaskId};
use crate::workload::Outcome;

/// The state of one barrier.
#[derive(Clone, Debug)]
pub(super) struct Barrier {
    /// How many tasks meet.
    parties: u32,
    /// How many of them have arrived.
    arrived: u32,
    queue: Queue,
}

impl Barrier {
    /// A barrier where this many tasks meet.
    pub(super) fn new(parties: u32) -> Barrier {
        Barrier { parties, arrived: 0, queue: Queue::default() }
    }

    /// Arrives, and sleeps unless it is the last.
    pub(super) fn arrive(
        &mut self,
        id: BarrierId,
        task: TaskId,
        sleepers: &mut Sleepers,
        wakes: &mut Wakes,
    ) -> Verdict {
        self.arrived += 1;
        if self.arrived < self.parties {
            sleepers.push_back(&mut self.queue, task, WaitFor::Barrier, id.0);
            return Verdict::Block;
        }
        self.arrived = 0;
        sleepers.wake_all(&mut self.queue, Sync::No, wakes);
        Verdict::Done(Outcome::Done)
    }
}
