//! `EevdfRq`: the virtual time of one queue, as the weighted mean of its entities'.

use crate::fair::entity::EntityId;

use super::tree::DeadlineTree;

/// The running entity of a queue, which is still queued and not in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedCurr {
    /// Its virtual time.
    pub vruntime: u64,
    /// Its weight, scaled down (to 7.0), or at full resolution.
    pub weight: u64,
}

/// What a queue knows of its virtual time (fields of `struct cfs_rq` since 6.6).
///
/// ```text
/// V = reference + floor(sum of weight * (vruntime - reference) / sum of weight)
/// ```
///
/// over the waiting entities and the running one, with weights scaled down (to 7.0), or at full resolution. The sum is
/// exact, so `V` does not depend on the reference, which follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EevdfRq {
    /// The reference, near `V`.
    pub zero_vruntime: u64,
    /// The sum of weight times distance from the reference, over the waiting entities.
    pub avg_vruntime: i64,
    /// The sum of their weights.
    pub avg_load: i64,
    /// The waiting entities.
    pub timeline: DeadlineTree,
    /// The current task, where all tasks of a CPU are in one tree (7.3): the queues of its groups have it, or the
    /// group above it, as [`CfsRq::curr`](crate::fair::CfsRq::curr).
    pub curr: Option<EntityId>,
}

impl EevdfRq {
    /// An empty queue whose virtual time is `zero_vruntime`.
    #[must_use]
    pub fn new(zero_vruntime: u64) -> EevdfRq {
        let timeline = DeadlineTree::default();
        EevdfRq { zero_vruntime, avg_vruntime: 0, avg_load: 0, timeline, curr: None }
    }

    /// The distance of a virtual time from the reference. Source: `entity_key()`.
    #[inline]
    fn key(&self, vruntime: u64) -> i64 {
        vruntime.wrapping_sub(self.zero_vruntime).cast_signed()
    }

    /// An entity of this weight waits. Source: `avg_vruntime_add()`.
    #[inline]
    pub fn add(&mut self, vruntime: u64, weight: u64) {
        let weight = weight.cast_signed();
        let amount = self.key(vruntime).wrapping_mul(weight);
        self.avg_vruntime = self.avg_vruntime.wrapping_add(amount);
        self.avg_load += weight;
    }

    /// It waits no more. Source: `avg_vruntime_sub()`.
    #[inline]
    pub fn sub(&mut self, vruntime: u64, weight: u64) {
        let weight = weight.cast_signed();
        let amount = self.key(vruntime).wrapping_mul(weight);
        self.avg_vruntime = self.avg_vruntime.wrapping_sub(amount);
        self.avg_load -= weight;
    }

    /// Sum and weight with the running entity.
    #[inline]
    fn with(&self, curr: Option<QueuedCurr>) -> (i64, i64) {
        let Some(curr) = curr else { return (self.avg_vruntime, self.avg_load) };
        let weight = curr.weight.cast_signed();
        let amount = self.key(curr.vruntime).wrapping_mul(weight);
        (self.avg_vruntime.wrapping_add(amount), self.avg_load + weight)
    }

    /// The virtual time of the queue, which becomes its reference. Source: `avg_vruntime()` of
    /// 6.12.117.
    #[inline]
    pub fn avg_vruntime(&mut self, curr: Option<QueuedCurr>) -> u64 {
        let delta = if self.avg_load != 0 {
            let (sum, load) = self.with(curr);
            sum.div_euclid(load)
        } else {
            // The only one is the mean; an empty queue stays where it is.
            curr.map_or(0, |curr| self.key(curr.vruntime))
        };
        self.move_zero(delta);
        self.zero_vruntime
    }

    /// The reference moves. Source: `update_zero_vruntime()`.
    #[inline]
    pub(super) fn move_zero(&mut self, delta: i64) {
        self.avg_vruntime = self.avg_vruntime.wrapping_sub(self.avg_load.wrapping_mul(delta));
        self.zero_vruntime = self.zero_vruntime.wrapping_add_signed(delta);
    }

    /// The virtual time at which the current entity is not owed anything any more: just behind that of all others.
    /// Source: `ineligible_vruntime()`, Linux 7.3.
    #[inline]
    #[must_use]
    pub fn ineligible_vruntime(&self) -> u64 {
        let delta = self.avg_vruntime.checked_div_euclid(self.avg_load).unwrap_or(0);
        self.zero_vruntime.wrapping_add_signed(delta).wrapping_add(1)
    }

    /// Whether an entity at `vruntime` has had no more than its part: `vruntime <= V`, without the
    /// loss of a division. Source: `vruntime_eligible()`.
    #[inline]
    #[must_use]
    pub fn is_eligible(&self, curr: Option<QueuedCurr>, vruntime: u64) -> bool {
        let (sum, load) = self.with(curr);
        sum >= self.key(vruntime).wrapping_mul(load)
    }

    /// [`EevdfRq::is_eligible`] with a product of 128 bits. Source: `vruntime_eligible()`, Linux 7.2.
    #[inline]
    #[must_use]
    pub fn is_eligible_exact(&self, curr: Option<QueuedCurr>, vruntime: u64) -> bool {
        let (sum, load) = self.with(curr);
        i128::from(sum) >= i128::from(self.key(vruntime)) * i128::from(load)
    }

    /// The weight of all who compete.
    #[inline]
    #[must_use]
    pub fn load(&self, curr: Option<QueuedCurr>) -> i64 {
        self.with(curr).1
    }
}
