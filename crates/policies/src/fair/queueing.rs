//! What is the same for a task that joins or leaves the queues of its CPU in whatever order: how it comes and goes,
//! what is counted, and the estimate of its utilization.

use simsched_core::{Dequeue, Enqueue};
use simsched_topology::CpuId;

use super::entity::{EntityId, QueueId};
use super::features::Version;
use super::hierarchy::{Hierarchy, Update};

/// How an entity is put on a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnqueueFlags {
    /// It was asleep (`ENQUEUE_WAKEUP`).
    pub(super) wakeup: bool,
    /// It comes from another CPU (`ENQUEUE_MIGRATED`).
    pub(super) migrated: bool,
    /// It is new (`ENQUEUE_INITIAL`; EEVDF).
    pub(super) initial: bool,
    /// It was asleep and queued all the same (`ENQUEUE_DELAYED`; EEVDF).
    pub(super) delayed: bool,
}

impl EnqueueFlags {
    /// Back to where it was taken from for a moment (`ENQUEUE_RESTORE`).
    pub(super) const RESTORE: EnqueueFlags =
        EnqueueFlags { wakeup: false, migrated: false, initial: false, delayed: false };
    /// All levels above the first that was joined.
    pub(super) const ABOVE: EnqueueFlags = EnqueueFlags { wakeup: true, ..EnqueueFlags::RESTORE };
}

impl From<Enqueue> for EnqueueFlags {
    fn from(why: Enqueue) -> EnqueueFlags {
        let plain = EnqueueFlags::RESTORE;
        match why {
            Enqueue::Wakeup { migrated } => EnqueueFlags { wakeup: true, migrated, ..plain },
            Enqueue::New => EnqueueFlags { initial: true, ..plain },
            Enqueue::Moved => EnqueueFlags { migrated: true, ..plain },
            Enqueue::Delayed => EnqueueFlags { delayed: true, ..plain },
        }
    }
}

/// How an entity is taken from a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct DequeueFlags {
    /// It, or all below it, goes to sleep (`DEQUEUE_SLEEP`).
    pub(super) sleep: bool,
    /// It comes back at once (`DEQUEUE_SAVE`).
    pub(super) save: bool,
    /// The task is being moved (`TASK_ON_RQ_MIGRATING`).
    pub(super) migrating: bool,
    /// It has ended, and must not stay (`DEQUEUE_SPECIAL`; EEVDF).
    pub(super) special: bool,
    /// It sleeps already, and leaves now (`DEQUEUE_DELAYED`; EEVDF).
    pub(super) delayed: bool,
}

impl DequeueFlags {
    /// For a moment, while a task is changed.
    pub(super) const SAVE: DequeueFlags = DequeueFlags { save: true, ..DequeueFlags::NONE };
    /// A sleeper that was queued still.
    pub(super) const DELAYED: DequeueFlags =
        DequeueFlags { sleep: true, delayed: true, ..DequeueFlags::NONE };
    const NONE: DequeueFlags = DequeueFlags {
        sleep: false,
        save: false,
        migrating: false,
        special: false,
        delayed: false,
    };

    /// The same, of a task that has ended.
    pub(super) fn of(why: Dequeue, has_ended: bool) -> DequeueFlags {
        DequeueFlags { special: has_ended, ..why.into() }
    }
}

impl From<Dequeue> for DequeueFlags {
    fn from(why: Dequeue) -> DequeueFlags {
        let sleep = why == Dequeue::Sleep;
        DequeueFlags { sleep, migrating: !sleep, ..DequeueFlags::NONE }
    }
}

impl Hierarchy {
    /// A level that stays queued while a task below it comes or goes.
    pub(super) fn refresh_level(&mut self, queue: QueueId, se: EntityId, now: u64) {
        self.update_load_avg(queue, se, now, Update::Tg);
        self.se_update_runnable(se);
        self.update_cfs_group(se, now);
    }

    /// Source: `account_entity_enqueue()`.
    #[inline]
    pub(super) fn account_entity_enqueue(&mut self, queue: QueueId, se: EntityId) {
        let (entity, cfs_rq) = (&self.entities[se.idx()], &mut self.queues[queue.idx()]);
        cfs_rq.load.add(entity.load.weight);
        cfs_rq.nr_running += 1;
        cfs_rq.idle_nr_running += u32::from(entity.is_idle());
        if entity.my_q.is_none() {
            self.mru.push_front(cfs_rq.cpu, se.task());
            if let Some(llc) = &mut self.llc {
                llc.enqueue(se.task(), cfs_rq.cpu, entity.sched_delayed);
            }
        }
    }

    /// Source: `account_entity_dequeue()`.
    #[inline]
    pub(super) fn account_entity_dequeue(&mut self, queue: QueueId, se: EntityId) {
        let (entity, cfs_rq) = (&self.entities[se.idx()], &mut self.queues[queue.idx()]);
        cfs_rq.load.sub(entity.load.weight);
        cfs_rq.nr_running -= 1;
        cfs_rq.idle_nr_running -= u32::from(entity.is_idle());
        if entity.my_q.is_none() {
            self.mru.remove(se.task());
            if let Some(llc) = &mut self.llc {
                llc.dequeue(se.task(), cfs_rq.cpu, entity.sched_delayed);
            }
        }
    }

    /// Source: `util_est_enqueue()`.
    #[inline]
    pub(super) fn util_est_enqueue(&mut self, se: EntityId) {
        if self.features.util_est {
            let value = self.entity(se).util_est.value();
            self.root_mut_of(se).util_est_enqueued += value;
        }
    }

    /// Source: `util_est_dequeue()`.
    #[inline]
    pub(super) fn util_est_dequeue(&mut self, se: EntityId) {
        if self.features.util_est {
            let value = self.entity(se).util_est.value();
            let root = self.root_mut_of(se);
            root.util_est_enqueued = root.util_est_enqueued.saturating_sub(value);
        }
    }

    /// Source: `util_est_update()`.
    #[inline]
    pub(super) fn util_est_update(&mut self, se: EntityId) {
        if self.features.util_est {
            let cpu = self.queue(self.cfs_rq_of(se)).cpu;
            let (capacity, fastup) = (self.capacity(cpu), self.features.util_est_fastup);
            let is_single = self.features.version >= Version::V6_12;
            let entity = self.entity_mut(se);
            let util = u32::try_from(entity.avg.util_avg).unwrap_or(u32::MAX);
            if is_single {
                entity.util_est.update_single(util, entity.avg.runnable_avg, capacity);
            } else {
                entity.util_est.update(util, capacity, fastup);
            }
        }
    }

    /// The root queue of the CPU of `se`.
    #[inline]
    fn root_mut_of(&mut self, se: EntityId) -> &mut super::CfsRq {
        let cpu = self.queue(self.cfs_rq_of(se)).cpu;
        self.queue_mut(Hierarchy::root_of(cpu))
    }

    /// The capacity of `cpu`: 1024 is one big core. Source: `capacity_orig_of()`.
    #[inline]
    pub(super) fn capacity(&self, cpu: CpuId) -> u32 {
        self.capacities[cpu.idx()]
    }
}
