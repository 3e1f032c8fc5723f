//! `CfsRq`: the fair queue of one group on one CPU.

use simsched_core::pelt::SchedAvg;
use simsched_topology::CpuId;

use super::entity::EntityId;
use super::group::GroupId;
use super::weight::{LoadWeight, scale_load_down};

/// What tasks left behind that woke up elsewhere, until somebody updates the queue
/// (`cfs_rq->removed`; the counter stands in the queue's second line).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Their load.
    pub load_avg: u64,
    /// Their utilization.
    pub util_avg: u64,
    /// Their runnable average.
    pub runnable_avg: u64,
}

/// A fair queue (`struct cfs_rq`) without the fields of one order: virtual time and the waiting entities are in
/// [`CfsOrder`](super::CfsOrder) or [`EevdfRq`](super::EevdfRq), by the same row. First stands what load tracking and
/// queueing touch, then what only groups and migrations touch.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct CfsRq {
    /// Load, runnable and utilization of all that is or was here.
    pub avg: SchedAvg,
    /// The sum of the estimated utilization of the tasks below (root queues only).
    pub util_est_enqueued: u32,
    /// The running entity; it is not among the waiting ones. It may have been dequeued already.
    pub curr: Option<EntityId>,

    /// The sum of the weights of the queued entities.
    pub load: LoadWeight,
    /// Queued entities.
    pub nr_running: u32,
    /// Queued tasks here and below.
    pub h_nr_running: u32,
    /// Those of them that sleep and are queued still (EEVDF).
    pub h_nr_delayed: u32,
    /// Queued entities of policy `SCHED_IDLE`.
    pub idle_nr_running: u32,
    /// Queued tasks of policy `SCHED_IDLE` here and below.
    pub idle_h_nr_running: u32,
    /// The entity that is to run next, if that is not too unfair.
    pub next: Option<EntityId>,
    /// The entity that stands for this queue one level up; `None` at the root.
    pub se: Option<EntityId>,
    /// How many tasks are in `removed`.
    pub removed_nr: u32,
    /// `prop_runnable_sum` waits to be taken one level up.
    pub propagate: bool,
    /// It has entities, or averages that decay: `update_blocked_averages()` visits it. Of no
    /// consequence at the root.
    pub on_list: bool,
    /// The CPU of the queue.
    pub cpu: CpuId,

    /// Load that came (or went, negative), to be told one level up.
    pub prop_runnable_sum: i64,
    /// The part of the group's `load_avg` that is from here.
    pub tg_load_avg_contrib: u64,
    /// When that was last written, in ns of `sched_clock()` (with the rate limit).
    pub last_update_tg_load_avg: u64,
    /// The part of `removed` that goes from this queue's contribution to that of another queue, and
    /// what could not be taken from it (with `tg_nomig`).
    pub tg_moved: u64,
    /// The load that the whole queue stands for at the root, as of `last_h_load_update`.
    pub h_load: u64,
    /// The jiffy of `h_load`.
    pub last_h_load_update: u64,
    /// The runnable tasks that the entity above tells of (`se->runnable_weight`).
    pub se_runnable: u64,

    /// What waits to be subtracted.
    pub removed: Removed,
    /// Whose queue it is.
    pub group: GroupId,
    /// The part of the group's `runnable_avg` that is from here (7.3).
    pub tg_runnable_avg_contrib: u64,
    /// Sums are raised to what their averages need at least in their full width, and `load_sum` also where an entity
    /// joins (7.2 and later); before, in 32 bits.
    pub wide: bool,
}

impl CfsRq {
    /// The empty queue of `group` on `cpu`, for which `se` stands one level up.
    #[must_use]
    pub fn new(cpu: CpuId, group: GroupId, se: Option<EntityId>) -> CfsRq {
        CfsRq {
            avg: SchedAvg::default(),
            util_est_enqueued: 0,
            curr: None,
            load: LoadWeight::default(),
            nr_running: 0,
            h_nr_running: 0,
            h_nr_delayed: 0,
            idle_nr_running: 0,
            idle_h_nr_running: 0,
            next: None,
            se,
            removed_nr: 0,
            propagate: false,
            on_list: false,
            cpu,
            prop_runnable_sum: 0,
            tg_load_avg_contrib: 0,
            last_update_tg_load_avg: 0,
            tg_moved: 0,
            h_load: 0,
            last_h_load_update: 0,
            se_runnable: 0,
            removed: Removed::default(),
            group,
            tg_runnable_avg_contrib: 0,
            wide: false,
        }
    }

    /// The weight of the queued entities, scaled down.
    #[inline]
    #[must_use]
    pub fn weight(&self) -> u64 {
        scale_load_down(self.load.weight)
    }

    /// Whether nothing is left of all that was here, so that nothing decays.
    /// Source: `cfs_rq_is_decayed()`, without the child queues.
    #[must_use]
    pub fn is_decayed(&self) -> bool {
        let avg = &self.avg;
        self.load.weight == 0 && avg.load_sum == 0 && avg.util_sum == 0 && avg.runnable_sum == 0
    }

    /// Whether all queued entities are of policy `SCHED_IDLE`. Source: `sched_idle_cfs_rq()`.
    #[inline]
    #[must_use]
    pub fn is_sched_idle(&self) -> bool {
        self.nr_running > 0 && self.nr_running == self.idle_nr_running
    }

    /// Whether all tasks here and below are of policy `SCHED_IDLE`. Source: `sched_idle_rq()`.
    #[inline]
    #[must_use]
    pub fn has_only_sched_idle(&self) -> bool {
        self.idle_h_nr_running > 0 && self.idle_h_nr_running == self.h_nr_running
    }

    /// Runnable tasks here and below: queued, and not asleep (`h_nr_runnable`). In 7.3 it is one less than that for a
    /// moment, while a sleeper leaves; then it wraps as in the kernel.
    #[inline]
    #[must_use]
    pub fn h_nr_runnable(&self) -> u32 {
        self.h_nr_running.wrapping_sub(self.h_nr_delayed)
    }

    /// The estimated utilization of the CPU: what runs now or what is known of those who wait.
    /// Source: `cpu_util_cfs()`, before the capacity.
    #[inline]
    #[must_use]
    pub fn util(&self) -> u64 {
        self.avg.util_avg.max(u64::from(self.util_est_enqueued))
    }
}
