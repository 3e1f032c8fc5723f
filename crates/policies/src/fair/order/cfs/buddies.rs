//! Buddies: hints about who should run next, last or not at all.

use crate::fair::cfs_rq::CfsRq;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;

impl Hierarchy {
    /// `se` and all above it shall run next. Source: `set_next_buddy()`.
    pub(in crate::fair) fn set_next_buddy(&mut self, se: EntityId) {
        self.set_buddy(se, |cfs_rq, se| cfs_rq.next = Some(se));
    }

    /// `se` and all above it were preempted. Source: `set_last_buddy()`.
    pub(in crate::fair) fn set_last_buddy(&mut self, se: EntityId) {
        self.set_buddy(se, |cfs_rq, se| cfs_rq.last = Some(se));
    }

    #[inline]
    fn set_buddy(&mut self, se: EntityId, set: impl Fn(&mut CfsRq, EntityId)) {
        let mut above = Some(se);
        while let Some(se) = above {
            let entity = self.entity(se);
            if !entity.on_rq || entity.is_idle() {
                return;
            }
            let cfs_rq = self.queue_mut(self.cfs_rq_of(se));
            set(cfs_rq, se);
            above = cfs_rq.se;
        }
    }

    /// `se` and all above it shall be passed over once. Source: `set_skip_buddy()`.
    pub(in crate::fair) fn set_skip_buddy(&mut self, se: EntityId) {
        let mut above = Some(se);
        while let Some(se) = above {
            let cfs_rq = self.queue_mut(self.cfs_rq_of(se));
            cfs_rq.skip = Some(se);
            above = cfs_rq.se;
        }
    }

    /// No hint names `se` any more. Source: `clear_buddies()`.
    #[inline]
    pub(in crate::fair) fn clear_buddies(&mut self, queue: QueueId, se: EntityId) {
        let cfs_rq = self.queue(queue);
        if [cfs_rq.last, cfs_rq.next, cfs_rq.skip].contains(&Some(se)) {
            self.clear_hints(queue, Some(se));
        }
    }

    fn clear_hints(&mut self, queue: QueueId, se: Option<EntityId>) {
        if self.queue(queue).last == se {
            self.clear_up(queue, se, |cfs_rq| &mut cfs_rq.last);
        }
        if self.queue(queue).next == se {
            self.clear_up(queue, se, |cfs_rq| &mut cfs_rq.next);
        }
        if self.queue(queue).skip == se {
            self.clear_up(queue, se, |cfs_rq| &mut cfs_rq.skip);
        }
    }

    /// Clears a hint as far up as it names `se` and those above it.
    fn clear_up(
        &mut self,
        queue: QueueId,
        se: Option<EntityId>,
        hint: impl Fn(&mut CfsRq) -> &mut Option<EntityId>,
    ) {
        let (mut queue, mut se) = (queue, se);
        while se.is_some() {
            let cfs_rq = self.queue_mut(queue);
            if *hint(cfs_rq) != se {
                break;
            }
            *hint(cfs_rq) = None;
            se = cfs_rq.se;
            queue = se.map_or(queue, |se| self.cfs_rq_of(se));
        }
    }
}
