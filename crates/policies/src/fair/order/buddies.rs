//! The entity that is to run next on a queue: a hint of wakeups and yields that all orders take.

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;

impl Hierarchy {
    /// `se` and all above it shall run next. Source: `set_next_buddy()`.
    pub(super) fn set_next_buddy(&mut self, se: EntityId) {
        self.set_buddy(se, |h, queue, se| h.queue_mut(queue).next = Some(se));
    }

    /// Sets a hint on all levels from `se` up, to the first entity that is not queued or of policy `SCHED_IDLE`.
    #[inline]
    pub(super) fn set_buddy(
        &mut self,
        se: EntityId,
        set: impl Fn(&mut Hierarchy, QueueId, EntityId),
    ) {
        let mut above = Some(se);
        while let Some(se) = above {
            let entity = self.entity(se);
            if !entity.on_rq || entity.is_idle() {
                return;
            }
            let queue = self.cfs_rq_of(se);
            set(self, queue, se);
            above = self.queue(queue).se;
        }
    }

    /// `se` is no longer the one that is to run next. Source: `__clear_buddies_next()`, Linux 6.1.
    #[inline]
    pub(in crate::fair) fn clear_next_buddy(&mut self, queue: QueueId, se: EntityId) {
        if self.queue(queue).next == Some(se) {
            self.clear_buddy(queue, se, |h, queue| &mut h.queue_mut(queue).next);
        }
    }

    /// Clears a hint as far up as it names `se` and those above it.
    pub(super) fn clear_buddy(
        &mut self,
        queue: QueueId,
        se: EntityId,
        hint: impl Fn(&mut Hierarchy, QueueId) -> &mut Option<EntityId>,
    ) {
        let (mut queue, mut above) = (queue, Some(se));
        while above.is_some() {
            let named = hint(self, queue);
            if *named != above {
                break;
            }
            *named = None;
            above = self.queue(queue).se;
            queue = above.map_or(queue, |se| self.cfs_rq_of(se));
        }
    }
}
