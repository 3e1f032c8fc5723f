//! Placement: virtual time and deadline of an entity that joins a queue; and what it is owed when it
//! leaves.

use super::request::{div_s64, entity_lag, lag_limit};
use super::virtual_time::QueuedCurr;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::order::Order;
use crate::fair::order::rules::{Arith, DelayedLag, LagLimit};
use crate::fair::weight::{calc_delta_fair, calc_delta_fair_exact};

impl Hierarchy {
    /// The current entity of the tree of `queue`.
    #[inline]
    pub(in crate::fair) fn tree_curr(&self, queue: QueueId) -> Option<EntityId> {
        match self.order {
            Order::Flat => self.eevdf_rq(queue).curr,
            Order::Cfs | Order::Eevdf => self.queue(queue).curr,
        }
    }

    /// How many entities compete in the tree of `queue`.
    #[inline]
    pub(in crate::fair) fn tree_nr(&self, queue: QueueId) -> u32 {
        let cfs_rq = self.queue(queue);
        if self.order == Order::Flat { cfs_rq.h_nr_running } else { cfs_rq.nr_running }
    }

    /// The weight of `se` in the sums of its tree.
    #[inline]
    pub(in crate::fair) fn tree_weight(&self, se: EntityId) -> u64 {
        match (self.order, self.rules.arith) {
            (Order::Flat, _) => self.eevdf.requests[se.idx()].weight,
            (_, Arith::Exact) => self.entity(se).load.weight,
            (_, Arith::Scaled) => self.entity(se).weight(),
        }
    }

    /// Real time as virtual time of `se`. Source: `calc_delta_fair()`.
    #[inline]
    pub(in crate::fair) fn virtual_time(&self, delta: u64, se: EntityId) -> u64 {
        match self.rules.arith {
            Arith::Exact => calc_delta_fair_exact(delta, self.tree_weight(se)),
            Arith::Scaled => calc_delta_fair(delta, self.entity(se).load),
        }
    }

    /// The running entity of `queue`, if it is still queued.
    #[inline]
    pub(in crate::fair) fn queued_curr(&self, queue: QueueId) -> Option<QueuedCurr> {
        let curr = self.tree_curr(queue).filter(|&curr| self.entity(curr).on_rq)?;
        Some(QueuedCurr { vruntime: self.entity(curr).vruntime, weight: self.tree_weight(curr) })
    }

    /// Whether an entity at `vruntime` has had no more than its part of `queue`. Source: `vruntime_eligible()`.
    #[inline]
    pub(super) fn is_eligible_at(
        &self,
        queue: QueueId,
        curr: Option<QueuedCurr>,
        vruntime: u64,
    ) -> bool {
        let eevdf = self.eevdf_rq(queue);
        match self.rules.arith {
            Arith::Exact => eevdf.is_eligible_exact(curr, vruntime),
            Arith::Scaled => eevdf.is_eligible(curr, vruntime),
        }
    }

    /// The virtual time of `queue`. Source: `avg_vruntime()`.
    #[inline]
    pub(in crate::fair) fn avg_vruntime(&mut self, queue: QueueId) -> u64 {
        let curr = self.queued_curr(queue);
        self.eevdf_rq_mut(queue).avg_vruntime(curr)
    }

    /// Whether `se` has had no more than its part of `queue`. Source: `entity_eligible()`.
    #[inline]
    pub(in crate::fair) fn is_eligible(&self, queue: QueueId, se: EntityId) -> bool {
        self.is_eligible_at(queue, self.queued_curr(queue), self.entity(se).vruntime)
    }

    /// How far `se` may be behind or ahead of `queue`. Since 7.0 the longest slice that is queued counts.
    /// Source: `entity_lag()`.
    #[inline]
    pub(super) fn lag_limit(&self, queue: QueueId, se: EntityId) -> i64 {
        let (slice, load) = (self.eevdf.requests[se.idx()].slice, self.entity(se).load);
        let alone = match self.rules.lag_limit {
            LagLimit::Own => return lag_limit(slice, self.tick_ns, load),
            LagLimit::LongestOrOwn => slice,
            LagLimit::Longest => 0,
        };
        let longest = self.slices(queue).map_or(alone, |(_, longest)| longest);
        self.virtual_time(longest + self.tick_ns, se).cast_signed()
    }

    /// Notes what `se` is owed. A sleeper that is queued still owes no more than before (7.2), and is owed nothing
    /// (`DELAY_ZERO`). True if it is to be placed anew, for that is not what its virtual time tells.
    /// Source: `update_entity_lag()`.
    #[inline]
    pub(in crate::fair) fn update_entity_lag(&mut self, queue: QueueId, se: EntityId) -> bool {
        let avruntime = self.avg_vruntime(queue);
        let before = self.eevdf.requests[se.idx()].vlag;
        let mut vlag = self.note_lag(queue, se, avruntime);
        let entity = self.entity(se);
        let vruntime = entity.vruntime;
        if entity.sched_delayed && self.rules.delayed_lag == DelayedLag::NoLess {
            vlag = vlag.max(before);
            if self.features.delay_zero {
                vlag = vlag.min(0);
            }
            self.eevdf.requests[se.idx()].vlag = vlag;
        }
        avruntime.wrapping_sub(vlag.cast_unsigned()) != vruntime
    }

    /// Notes and returns by how much `se` is behind `queue`, which is at `avruntime`. Source: `entity_lag()`.
    #[inline]
    pub(in crate::fair) fn note_lag(
        &mut self,
        queue: QueueId,
        se: EntityId,
        avruntime: u64,
    ) -> i64 {
        let limit = self.lag_limit(queue, se);
        let vlag = entity_lag(avruntime, self.entity(se).vruntime, limit);
        self.eevdf.requests[se.idx()].vlag = vlag;
        vlag
    }

    /// The shortest and the longest slice of those who compete on `queue`.
    /// Source: `cfs_rq_min_slice()`, `cfs_rq_max_slice()`.
    #[inline]
    pub(in crate::fair) fn slices(&self, queue: QueueId) -> Option<(u64, u64)> {
        let waiting = self.eevdf.nodes.slices(self.eevdf_rq(queue).timeline);
        let curr = self.tree_curr(queue).filter(|&curr| self.entity(curr).on_rq);
        let Some(own) = curr.map(|curr| self.eevdf.requests[curr.idx()].slice) else {
            return waiting;
        };
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
        let nr_others = self.tree_nr(queue);
        self.place_entity_among(queue, nr_others, se, initial);
    }

    /// [`Hierarchy::place_entity`] among `nr_others` that are queued.
    pub(in crate::fair) fn place_entity_among(
        &mut self,
        queue: QueueId,
        nr_others: u32,
        se: EntityId,
        initial: bool,
    ) {
        let avruntime = self.avg_vruntime(queue);
        let mut request = self.eevdf.requests[se.idx()];
        request.slice = self.common_slice(se).unwrap_or(request.slice);
        let mut vslice = self.virtual_time(request.slice, se);
        let mut lag = 0;
        if self.features.place_lag && nr_others > 0 {
            lag = self.inflated_lag(queue, se, request.vlag);
        }
        let entity = self.entity(se);
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
        self.eevdf.requests[se.idx()] = request;
        let entity = self.entity_mut(se);
        entity.vruntime = vruntime;
        entity.rel_deadline &= !is_relative;
    }

    /// By how much `se`, which is owed `vlag`, is placed behind the queue. A heavy one brings the reference along (7.2).
    /// Source: `place_entity()`.
    #[inline]
    fn inflated_lag(&mut self, queue: QueueId, se: EntityId, vlag: i64) -> i64 {
        let load = self.eevdf_rq(queue).load(self.queued_curr(queue));
        let weight = self.tree_weight(se).cast_signed();
        if self.rules.arith == Arith::Scaled {
            return div_s64(vlag.wrapping_mul(load + weight), load.max(1));
        }
        if vlag == 0 {
            return 0;
        }
        let load = load.max(1);
        let lag = match self.order == Order::Flat {
            true => vlag.wrapping_add(vlag.wrapping_mul(weight) / load),
            false => vlag.wrapping_mul(load + weight) / load,
        };
        if weight > load {
            self.eevdf_rq_mut(queue).move_zero(lag.wrapping_neg());
        }
        lag
    }
}
