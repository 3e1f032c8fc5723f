//! Placement: the virtual time of an entity that joins a queue.

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::timeline::before;
use crate::fair::weight::NICE_0_LOAD;

impl Hierarchy {
    /// A new entity starts one slice behind. Source: `place_entity()`, initial.
    pub(in crate::fair) fn place_initial(&mut self, queue: QueueId, se: EntityId, now: u64) {
        let mut vruntime = self.cfs(queue).min_vruntime;
        if self.features.start_debit {
            vruntime = vruntime.wrapping_add(self.sched_vslice(queue, se));
        }
        self.place_at(se, vruntime, now);
    }

    /// A sleeper gets half a latency of credit, but keeps what it has used of its last share.
    /// Source: `place_entity()`, not initial.
    #[inline]
    pub(in crate::fair) fn place_wakeup(&mut self, queue: QueueId, se: EntityId, now: u64) {
        let credit = match self.entity(se).is_idle() {
            true => self.tunables.min_granularity_ns,
            false => self.tunables.latency_ns,
        };
        let credit = credit >> u32::from(self.features.gentle_fair_sleepers);
        let vruntime = self.cfs(queue).min_vruntime.wrapping_sub(credit);
        self.place_at(se, vruntime, now);
    }

    /// Virtual time never goes back, except after a sleep so long that the comparison of two
    /// wrapping times could fail.
    #[inline]
    fn place_at(&mut self, se: EntityId, vruntime: u64, now: u64) {
        let entity = self.entity_mut(se);
        let long_sleeper = is_long_sleeper(entity.exec_start, now);
        if long_sleeper || before(entity.vruntime, vruntime) {
            entity.vruntime = vruntime;
        }
    }
}

/// Whether more than `2^63 / NICE_0_LOAD` ns, scaled down, have passed since an entity was last
/// accounted (104 days). Source: `entity_is_long_sleeper()`.
#[inline]
fn is_long_sleeper(exec_start: u64, now: u64) -> bool {
    const LONG: u64 = (1 << 63) / (NICE_0_LOAD >> 10);
    exec_start != 0 && now > exec_start && now - exec_start > LONG
}
