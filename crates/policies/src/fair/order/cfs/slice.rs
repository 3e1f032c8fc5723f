//! Slices: how long an entity may run before others must have had their turn.

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::tunables::Tunables;
use crate::fair::weight::{calc_delta, calc_delta_fair};

const NR_LATENCY: u64 = 8;

impl Tunables {
    /// The time in which `nr_running` tasks each run once, in ns. Source: `__sched_period()`.
    #[inline]
    #[must_use]
    pub fn sched_period(&self, nr_running: u32) -> u64 {
        if u64::from(nr_running) > self.nr_latency() {
            u64::from(nr_running) * self.min_granularity_ns
        } else {
            self.latency_ns
        }
    }

    /// How many tasks fit in one latency period by default. It stays so where `latency_ns` or `min_granularity_ns`
    /// are set: the kernel reckons it anew only when `tunable_scaling` is written. Source: `sched_nr_latency`.
    #[inline]
    #[must_use]
    pub fn nr_latency(&self) -> u64 {
        NR_LATENCY
    }
}

impl Hierarchy {
    /// The part of the period that falls to `se`, in ns of real time, as if it were queued.
    ///
    /// ```text
    /// slice = period * (weight / weight of its queue) * (the same of its parent) * ...
    /// ```
    ///
    /// Source: `sched_slice()`.
    #[must_use]
    pub(in crate::fair) fn sched_slice(&self, queue: QueueId, se: EntityId) -> u64 {
        let cfs_rq = self.queue(queue);
        let nr_running = match self.features.alt_period {
            true => self.root(cfs_rq.cpu).h_nr_running,
            false => cfs_rq.nr_running,
        };
        let slice = self.tunables.sched_period(nr_running + u32::from(!self.entity(se).on_rq));
        let slice = self.share_of(slice, queue, se);
        if self.features.base_slice { slice.max(self.base_slice(queue, se)) } else { slice }
    }

    fn share_of(&self, period: u64, queue: QueueId, se: EntityId) -> u64 {
        let (mut slice, mut level) = (period, Some((queue, se)));
        while let Some((queue, se)) = level {
            let entity = self.entity(se);
            let mut load = self.queue(queue).load;
            if !entity.on_rq {
                load.add(entity.load.weight);
            }
            slice = calc_delta(slice, entity.load.weight, load);
            level = self.queue(queue).se.map(|above| (self.cfs_rq_of(above), above));
        }
        slice
    }

    /// The shortest slice, in ns.
    fn base_slice(&self, queue: QueueId, se: EntityId) -> u64 {
        if self.entity(se).is_idle() && !self.queue(queue).is_sched_idle() {
            self.tunables.idle_min_granularity_ns
        } else {
            self.tunables.min_granularity_ns
        }
    }

    /// The slice of a newcomer in virtual time. Source: `sched_vslice()`.
    #[must_use]
    pub(in crate::fair) fn sched_vslice(&self, queue: QueueId, se: EntityId) -> u64 {
        calc_delta_fair(self.sched_slice(queue, se), self.entity(se).load)
    }
}
