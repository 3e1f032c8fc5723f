//! `CfsOrder`: what CFS keeps of one fair queue.

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::order::MIN_VRUNTIME;
use crate::fair::timeline::{Timeline, before};

/// What CFS keeps of a fair queue (fields of `struct cfs_rq` of 6.1).
#[derive(Clone, Debug)]
pub struct CfsOrder {
    /// The floor of virtual time: it never goes back.
    pub min_vruntime: u64,
    /// The entity that was preempted by a wakeup and would find its cache warm.
    pub last: Option<EntityId>,
    /// The entity that has yielded.
    pub skip: Option<EntityId>,
    /// The waiting entities.
    pub timeline: Timeline,
}

impl CfsOrder {
    /// An empty queue, with room for so many waiting entities; more make it grow.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> CfsOrder {
        let timeline = Timeline::with_capacity(capacity);
        CfsOrder { min_vruntime: MIN_VRUNTIME, last: None, skip: None, timeline }
    }

    /// Raises the floor of virtual time to the earliest of those who run or wait. `curr` is the
    /// virtual time of the running entity if it is still queued. Source: `update_min_vruntime()`.
    #[inline]
    pub fn update_min_vruntime(&mut self, curr: Option<u64>) {
        let earliest = match (curr, self.timeline.first_vruntime()) {
            (Some(curr), Some(left)) if before(left, curr) => left,
            (Some(curr), _) => curr,
            (None, Some(left)) => left,
            (None, None) => return,
        };
        if before(self.min_vruntime, earliest) {
            self.min_vruntime = earliest;
        }
    }
}

impl Hierarchy {
    /// What CFS keeps of `queue`.
    #[inline]
    pub(in crate::fair) fn cfs(&self, queue: QueueId) -> &CfsOrder {
        &self.cfs[queue.idx()]
    }

    #[inline]
    pub(in crate::fair) fn cfs_mut(&mut self, queue: QueueId) -> &mut CfsOrder {
        &mut self.cfs[queue.idx()]
    }
}
