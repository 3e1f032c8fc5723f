//! `WakeupCx`: what `select_idle_sibling()` knows of a wakeup, for the patches that are asked there.

use simsched_core::{TaskId, World};
use simsched_topology::CpuId;

use super::idle_sibling::Sibling;
use crate::fair::Fair;
use crate::fair::entity::EntityId;

/// A wakeup in `select_idle_sibling()`. Utilizations and capacities are in 1024ths of a CPU.
#[derive(Clone, Copy, Debug)]
pub struct WakeupCx<'a> {
    pub(super) fair: &'a Fair,
    /// The machine and its tasks.
    pub world: &'a World,
    pub(super) ask: Sibling,
    pub(super) task_util_est: Option<u64>,
}

impl WakeupCx<'_> {
    /// The task that wakes up.
    #[must_use]
    pub fn wakee(&self) -> TaskId {
        self.ask.task
    }

    /// The CPU that wakes it.
    #[must_use]
    pub fn waker(&self) -> CpuId {
        self.ask.waker
    }

    /// Its previous CPU; with `cache_aware_wakeup` the CPU that is taken for it.
    #[must_use]
    pub fn prev(&self) -> CpuId {
        self.ask.prev
    }

    /// The target of the affine stage; the previous CPU without one.
    #[must_use]
    pub fn target(&self) -> CpuId {
        self.ask.target
    }

    /// Whether the wakee would run at once on `cpu`. Source: `available_idle_cpu()` or `sched_idle_cpu()`.
    #[must_use]
    pub fn is_free(&self, cpu: CpuId) -> bool {
        self.fair.is_free(self.world, cpu, self.ask.task)
    }

    /// Whether two CPUs share their LLC. Source: `cpus_share_cache()`.
    #[must_use]
    pub fn shares_cache(&self, a: CpuId, b: CpuId) -> bool {
        self.fair.shares_cache(self.world, a, b)
    }

    /// The estimated utilization of the runnable tasks of `cpu`; sleeping tasks and other classes do not count.
    /// Source: `cfs_rq->avg.util_est`.
    #[must_use]
    pub fn util_est(&self, cpu: CpuId) -> u64 {
        u64::from(self.fair.all.root(cpu).util_est_enqueued)
    }

    /// What the wakee is expected to need; none without the feature `UTIL_EST`, or where no patch has the point
    /// [`Points::TASK_UTIL_EST`](super::Points::TASK_UTIL_EST). Source: `task_util_est()`.
    #[must_use]
    pub fn task_util_est(&self) -> Option<u64> {
        self.task_util_est
    }

    /// The whole capacity of `cpu`. Source: `arch_scale_cpu_capacity()`.
    #[must_use]
    pub fn capacity(&self, cpu: CpuId) -> u64 {
        u64::from(self.fair.all.capacity(cpu))
    }

    /// What interrupts leave of the capacity of `cpu`. Source: `capacity_of()`.
    #[must_use]
    pub fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.fair.capacity_of(cpu)
    }
}

impl Fair {
    /// The estimated utilization of `task`, whose average is brought to the time of its previous queue first; none
    /// without the feature `UTIL_EST`. Source: `task_util_est()` behind `sync_entity_load_avg()`.
    #[cold]
    pub(super) fn synced_task_util_est(&mut self, task: TaskId) -> Option<u64> {
        if !self.all.features.util_est {
            return None;
        }
        let se = EntityId::of(task);
        self.sync_entity_load_avg(se);
        let entity = self.all.entity(se);
        Some(entity.avg.util_avg.max(u64::from(entity.util_est.value())))
    }
}
