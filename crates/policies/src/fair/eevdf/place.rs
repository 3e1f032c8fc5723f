//! Placement: virtual time and deadline of an entity that joins a queue; and what it is owed when it
//! leaves.

use super::request::{div_s64, entity_lag, lag_limit};
use super::virtual_time::QueuedCurr;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::features::Version;
use crate::fair::hierarchy::Hierarchy;
use crate::fair::weight::calc_delta_fair;

impl Hierarchy {
    /// The running entity of `queue`, if it is still queued.
    #[inline]
    pub(super) fn queued_curr(&self, queue: QueueId) -> Option<QueuedCurr> {
        let curr = self.queue(queue).curr.map(|curr| self.entity(curr));
        curr.filter(|curr| curr.on_rq).map(QueuedCurr::from)
    }

    /// The virtual time of `queue`. Source: `avg_vruntime()`.
    #[inline]
    pub(in crate::fair) fn avg_vruntime(&mut self, queue: QueueId) -> u64 {
        let curr = self.queued_curr(queue);
        self.queue_mut(queue).eevdf.avg_vruntime(curr)
    }

    /// Whether `se` has had no more than its part of `queue`. Source: `entity_eligible()`.
    #[inline]
    pub(in crate::fair) fn is_eligible(&self, queue: QueueId, se: EntityId) -> bool {
        let curr = self.queued_curr(queue);
        self.queue(queue).eevdf.is_eligible(curr, self.entity(se).vruntime)
    }

    /// How far `se` may be behind or ahead of `queue`. Since 7.0 the longest slice that is queued counts.
    /// Source: `entity_lag()`.
    #[inline]
    pub(super) fn lag_limit(&self, queue: QueueId, se: EntityId) -> i64 {
        let (slice, load) = (self.requests[se.idx()].slice, self.entity(se).load);
        if self.features.version < Version::V7_0 {
            return lag_limit(slice, self.tick_ns, load);
        }
        let longest = self.slices(queue).map_or(slice, |(_, longest)| longest);
        calc_delta_fair(longest + self.tick_ns, load).cast_signed()
    }

    /// Notes what `se` is owed. Source: `update_entity_lag()`.
    #[inline]
    pub(super) fn update_entity_lag(&mut self, queue: QueueId, se: EntityId) {
        let limit = self.lag_limit(queue, se);
        let avruntime = self.avg_vruntime(queue);
        self.requests[se.idx()].vlag = entity_lag(avruntime, self.entity(se).vruntime, limit);
    }

    /// The shortest and the longest slice of those who compete on `queue`.
    /// Source: `cfs_rq_min_slice()`, `cfs_rq_max_slice()`.
    #[inline]
    pub(super) fn slices(&self, queue: QueueId) -> Option<(u64, u64)> {
        let cfs_rq = self.queue(queue);
        let waiting = self.nodes.slices(cfs_rq.eevdf.timeline);
        let curr = cfs_rq.curr.filter(|&curr| self.entity(curr).on_rq);
        let Some(own) = curr.map(|curr| self.requests[curr.idx()].slice) else { return waiting };
        Some(waiting.map_or((own, own), |(min, max)| (min.min(own), max.max(own))))
    }

    /// The slice of `se` for its next request: its own, or the common one.
    #[inline]
    pub(super) fn common_slice(&self, se: EntityId) -> Option<u64> {
        (!self.entity(se).custom_slice).then_some(self.tunables.base_slice_ns)
    }

    /// Puts `se` where it is owed as much as when it left: since its own weight moves the virtual time of
    /// the queue, it is placed by more than that.
    ///
    /// ```text
    /// vruntime = V - lag * (W + weight) / W        deadline = vruntime + slice
    /// ```
    ///
    /// A new task asks for half a slice, and who was moved keeps what is left of its request.
    /// Source: `place_entity()`.
    pub(in crate::fair) fn place_entity(&mut self, queue: QueueId, se: EntityId, initial: bool) {
        let avruntime = self.avg_vruntime(queue);
        let (cfs_rq, entity) = (self.queue(queue), self.entity(se));
        let mut request = self.requests[se.idx()];
        request.slice = self.common_slice(se).unwrap_or(request.slice);
        let mut vslice = calc_delta_fair(request.slice, entity.load);
        let mut lag = 0;
        if self.features.place_lag && cfs_rq.nr_running > 0 {
            let load = cfs_rq.eevdf.load(self.queued_curr(queue));
            let inflated = request.vlag.wrapping_mul(load + entity.weight().cast_signed());
            lag = div_s64(inflated, load.max(1));
        }
        let vruntime = avruntime.wrapping_sub(lag.cast_unsigned());
        let is_relative = self.features.place_rel_deadline && entity.rel_deadline;
        if is_relative {
            request.deadline = request.deadline.wrapping_add(vruntime);
        } else {
            if self.features.place_deadline_initial && initial {
                vslice /= 2;
            }
            request.deadline = vruntime.wrapping_add(vslice);
        }
        self.requests[se.idx()] = request;
        let entity = self.entity_mut(se);
        entity.vruntime = vruntime;
        entity.rel_deadline &= !is_relative;
    }
}
