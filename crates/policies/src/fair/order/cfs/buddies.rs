//! Buddies of CFS: hints about who should run last or not at all, beside who should run next.

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;

impl Hierarchy {
    /// `se` and all above it were preempted. Source: `set_last_buddy()`.
    pub(super) fn set_last_buddy(&mut self, se: EntityId) {
        self.set_buddy(se, |h, queue, se| h.cfs_mut(queue).last = Some(se));
    }

    /// `se` and all above it shall be passed over once. Source: `set_skip_buddy()`.
    pub(super) fn set_skip_buddy(&mut self, se: EntityId) {
        let mut above = Some(se);
        while let Some(se) = above {
            let queue = self.cfs_rq_of(se);
            self.cfs_mut(queue).skip = Some(se);
            above = self.queue(queue).se;
        }
    }

    /// No hint names `se` any more. Source: `clear_buddies()` of 6.1.
    #[inline]
    pub(super) fn clear_buddies(&mut self, queue: QueueId, se: EntityId) {
        self.clear_next_buddy(queue, se);
        let (last, skip) = (self.cfs(queue).last, self.cfs(queue).skip);
        if [last, skip].contains(&Some(se)) {
            self.clear_buddy(queue, se, |h, queue| &mut h.cfs_mut(queue).last);
            self.clear_buddy(queue, se, |h, queue| &mut h.cfs_mut(queue).skip);
        }
    }
}
