//! `Timeline`: the waiting entities of one fair queue in the order of their virtual time.

use super::entity::EntityId;

/// One waiting entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    vruntime: u64,
    se: EntityId,
}

/// Entities by virtual time, as a signed difference that may wrap; of equals the one that came
/// first is the first (`cfs_rq->tasks_timeline`, a red-black tree in the kernel).
///
/// A sorted array with the leftmost entity at its end: picking is a pop, a wakeup with sleeper
/// credit moves little, and the worst case is one `memmove`.
#[derive(Clone, Debug, Default)]
pub struct Timeline(Vec<Waiting>);

/// Up to this length a walk from the left is faster than halving.
const WALK: usize = 8;

/// Whether `a` comes before `b` on a clock that wraps. Source: `entity_before()`.
#[inline]
#[must_use]
pub(super) const fn before(a: u64, b: u64) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

impl Timeline {
    /// An empty one with room for `capacity` entities.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Timeline {
        Timeline(Vec::with_capacity(capacity))
    }

    /// How many entities wait.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The leftmost entity. Source: `__pick_first_entity()`.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<EntityId> {
        self.0.last().map(|waiting| waiting.se)
    }

    /// The virtual time of the leftmost entity.
    #[inline]
    #[must_use]
    pub fn first_vruntime(&self) -> Option<u64> {
        self.0.last().map(|waiting| waiting.vruntime)
    }

    /// The entity next to the leftmost one. Source: `__pick_next_entity()` of the leftmost.
    #[must_use]
    pub fn second(&self) -> Option<EntityId> {
        self.0.len().checked_sub(2).map(|idx| self.0[idx].se)
    }

    /// All waiting entities from left to right.
    pub fn iter(&self) -> impl Iterator<Item = EntityId> {
        self.0.iter().rev().map(|waiting| waiting.se)
    }

    /// Puts `se` to the right of all entities whose virtual time is not later.
    /// Source: `__enqueue_entity()`.
    #[inline]
    pub fn insert(&mut self, vruntime: u64, se: EntityId) {
        let at = self.nr_right_of(vruntime);
        self.0.insert(at, Waiting { vruntime, se });
    }

    /// Takes `se` out, which was inserted with `vruntime`. Source: `__dequeue_entity()`.
    ///
    /// # Panics
    /// When it is not there.
    #[inline]
    pub fn remove(&mut self, vruntime: u64, se: EntityId) {
        if self.first() == Some(se) {
            self.0.pop();
            return;
        }
        let start = self.nr_right_of(vruntime);
        let found = self.0[start..].iter().position(|waiting| waiting.se == se);
        self.0.remove(start + found.expect("an entity that waits is in the timeline"));
    }

    /// How many entities have a later virtual time; they come first in the array.
    #[inline]
    fn nr_right_of(&self, vruntime: u64) -> usize {
        if self.0.len() > WALK {
            return self.0.partition_point(|waiting| before(vruntime, waiting.vruntime));
        }
        let mut at = self.0.len();
        while at > 0 && !before(vruntime, self.0[at - 1].vruntime) {
            at -= 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(idx: usize) -> EntityId {
        EntityId::new(idx)
    }

    #[test]
    fn of_equals_the_one_that_came_first_is_first() {
        let mut timeline = Timeline::default();
        for se in 0..3 {
            timeline.insert(7, id(se));
        }
        assert_eq!(timeline.first(), Some(id(0)));
        assert_eq!(timeline.second(), Some(id(1)));
        timeline.remove(7, id(1));
        assert_eq!(timeline.iter().collect::<Vec<_>>(), [id(0), id(2)]);
    }

    #[test]
    fn order_survives_the_wrap_of_virtual_time() {
        let mut timeline = Timeline::default();
        timeline.insert(5, id(0));
        timeline.insert(u64::MAX - 5, id(1));
        assert_eq!(timeline.first(), Some(id(1)));
    }

    proptest! {
        /// The twin: a list kept by stable sorting.
        #[test]
        fn a_timeline_is_a_stably_sorted_list(
            base: u64,
            steps in prop::collection::vec((0u64..12, 0usize..40, any::<bool>()), 1..200),
        ) {
            let mut timeline = Timeline::with_capacity(4);
            let mut twin: Vec<(u64, EntityId)> = Vec::new();
            for (offset, pick, insert) in steps {
                let known = twin.iter().position(|&(_, se)| se == id(pick));
                match known {
                    None if insert => {
                        timeline.insert(base.wrapping_add(offset), id(pick));
                        twin.push((base.wrapping_add(offset), id(pick)));
                        twin.sort_by_key(|&(vruntime, _)| vruntime.wrapping_sub(base));
                    }
                    Some(at) if !insert => {
                        let (vruntime, se) = twin.remove(at);
                        timeline.remove(vruntime, se);
                    }
                    _ => {}
                }
                let expected: Vec<EntityId> = twin.iter().map(|&(_, se)| se).collect();
                prop_assert_eq!(timeline.iter().collect::<Vec<_>>(), expected);
                prop_assert_eq!(timeline.first(), twin.first().map(|&(_, se)| se));
                prop_assert_eq!(timeline.first_vruntime(), twin.first().map(|&(v, _)| v));
                prop_assert_eq!(timeline.second(), twin.get(1).map(|&(_, se)| se));
                prop_assert_eq!(timeline.len(), twin.len());
            }
        }
    }
}
