//! For tests (feature `testkit`): the state of a [`Fair`] that may be changed at will, and steps of
//! its decisions that can be asked one by one.

use simsched_core::{Nanos, Preempt, TaskId};
use simsched_topology::{CpuId, LlcId};

use super::cfs_rq::CfsRq;
use super::entity::{Entity, EntityId, QueueId};
use super::hierarchy::Hierarchy;
use super::idle::{IdleStats, LlcShared};
use super::wakee::Wakee;
use super::{CacheAware, CfsOrder, EevdfRq, Fair, GroupId, LlcAvg, Request, TaskGroup, Tunables};

impl Fair {
    /// The entity of `task`, to change.
    pub fn entity_mut(&mut self, task: TaskId) -> &mut Entity {
        self.all.entity_mut(EntityId::of(task))
    }

    /// The root queue of `cpu`, to change.
    pub fn cfs_rq_mut(&mut self, cpu: CpuId) -> &mut CfsRq {
        self.all.queue_mut(Hierarchy::root_of(cpu))
    }

    /// What CFS keeps of the root queue of `cpu`, to change.
    ///
    /// # Panics
    /// Under EEVDF.
    pub fn cfs_order_mut(&mut self, cpu: CpuId) -> &mut CfsOrder {
        self.all.cfs_mut(Hierarchy::root_of(cpu))
    }

    /// The queue `queue`, to change.
    pub fn queue_mut(&mut self, queue: QueueId) -> &mut CfsRq {
        self.all.queue_mut(queue)
    }

    /// The entity `se`, to change.
    pub fn se_mut(&mut self, se: EntityId) -> &mut Entity {
        self.all.entity_mut(se)
    }

    /// The tunables, to change.
    pub fn tunables_mut(&mut self) -> &mut Tunables {
        &mut self.all.tunables
    }

    /// What is remembered of the idleness of `cpu`, to change.
    pub fn idle_stats_mut(&mut self, cpu: CpuId) -> &mut IdleStats {
        &mut self.stats[cpu.idx()]
    }

    /// What the CPUs of an LLC share, to change.
    pub fn llc_shared_mut(&mut self, llc: LlcId) -> &mut LlcShared {
        &mut self.llcs[llc.idx()]
    }

    /// What `cache_aware_wakeup` knows of the LLC of `cpu`, to change.
    ///
    /// # Panics
    /// Where that is off.
    pub fn llc_avg_mut(&mut self, cpu: CpuId) -> &mut LlcAvg {
        self.all.cas.as_mut().expect("cache_aware_wakeup is on").shared_mut(cpu)
    }

    /// What is remembered of the wakeups by `task`, to change.
    pub fn wakee_mut(&mut self, task: TaskId) -> &mut Wakee {
        &mut self.wakees[task.idx()]
    }

    /// What is remembered of the wakeups by the idle task of `cpu`, to change.
    pub fn idle_wakee_mut(&mut self, cpu: CpuId) -> &mut Wakee {
        let row = self.idle_task_row(cpu);
        &mut self.wakees[row]
    }

    /// Takes it that only `SCHED_IDLE` tasks are runnable on `cpu`, or not.
    pub fn set_sched_idle(&mut self, cpu: CpuId, only_idle: bool) {
        if only_idle {
            self.sched_idle.insert(cpu);
        } else {
            self.sched_idle.remove(cpu);
        }
    }

    /// `sched_slice()` and `sched_vslice()` of `se` on its queue.
    #[must_use]
    pub fn slices(&self, se: EntityId) -> [u64; 2] {
        let queue = self.all.cfs_rq_of(se);
        [self.all.sched_slice(queue, se), self.all.sched_vslice(queue, se)]
    }

    /// `place_entity()` of a new task.
    pub fn place_initial(&mut self, task: TaskId, now: u64) {
        let se = EntityId::of(task);
        self.all.place_initial(self.all.cfs_rq_of(se), se, now);
    }

    /// `place_entity()` of a wakee.
    pub fn place_wakeup(&mut self, task: TaskId, now: u64) {
        let se = EntityId::of(task);
        self.all.place_wakeup(self.all.cfs_rq_of(se), se, now);
    }

    /// `check_preempt_tick()` of the running task.
    pub fn check_preempt_tick(&mut self, curr: TaskId) -> Preempt {
        let se = EntityId::of(curr);
        self.all.check_preempt_tick(self.all.cfs_rq_of(se), se)
    }

    /// `pick_next_entity()` of the root queue of `cpu`.
    #[must_use]
    pub fn pick_next_entity(&self, cpu: CpuId, curr: Option<TaskId>) -> Option<TaskId> {
        let picked = self.all.pick_next_entity(Hierarchy::root_of(cpu), curr.map(EntityId::of));
        picked.map(EntityId::task)
    }

    /// A task group, to change.
    pub fn group_mut(&mut self, group: GroupId) -> &mut TaskGroup {
        &mut self.all.groups[group.idx()]
    }

    /// `task_h_load()`.
    pub fn task_h_load(&mut self, task: TaskId, jiffies: u64) -> u64 {
        self.all.task_h_load(task, jiffies)
    }
}

/// EEVDF.
impl Fair {
    /// What EEVDF keeps of the root queue of `cpu`, to change.
    ///
    /// # Panics
    /// Under CFS.
    pub fn eevdf_rq_mut(&mut self, cpu: CpuId) -> &mut EevdfRq {
        self.all.eevdf_rq_mut(Hierarchy::root_of(cpu))
    }

    /// What `task` asks for, to change.
    pub fn request_mut(&mut self, task: TaskId) -> &mut Request {
        &mut self.all.eevdf.requests[task.idx()]
    }

    /// What `se` asks for.
    #[must_use]
    pub fn request(&self, se: EntityId) -> &Request {
        &self.all.eevdf.requests[se.idx()]
    }

    /// `__enqueue_entity()` on the root queue of `cpu`.
    pub fn wait(&mut self, cpu: CpuId, task: TaskId) {
        self.all.wait_by_deadline(Hierarchy::root_of(cpu), EntityId::of(task));
    }

    /// `__dequeue_entity()` on the root queue of `cpu`.
    pub fn wait_no_more(&mut self, cpu: CpuId, task: TaskId) {
        self.all.wait_no_more(Hierarchy::root_of(cpu), EntityId::of(task));
    }

    /// `set_protect_slice()`.
    pub fn protect(&mut self, cpu: CpuId, task: TaskId) {
        self.all.set_protect_slice(Hierarchy::root_of(cpu), EntityId::of(task));
    }

    /// `pick_eevdf()` of the root queue of `cpu`.
    #[must_use]
    pub fn pick_eevdf(&self, cpu: CpuId) -> Option<TaskId> {
        self.all.pick_eevdf(Hierarchy::root_of(cpu), true).map(EntityId::task)
    }

    /// `avg_vruntime()` of the root queue of `cpu`.
    pub fn avg_vruntime(&mut self, cpu: CpuId) -> u64 {
        self.all.avg_vruntime(Hierarchy::root_of(cpu))
    }

    /// `entity_eligible()`.
    #[must_use]
    pub fn is_eligible(&self, task: TaskId) -> bool {
        let se = EntityId::of(task);
        self.all.is_eligible(self.all.cfs_rq_of(se), se)
    }

    /// `place_entity()`.
    pub fn place_entity(&mut self, task: TaskId, initial: bool) {
        let se = EntityId::of(task);
        self.all.place_entity(self.all.cfs_rq_of(se), se, initial);
    }

    /// `pick_eevdf()` of the root queue of `cpu`, where nobody is protected.
    #[must_use]
    pub fn pick_unprotected(&self, cpu: CpuId) -> Option<TaskId> {
        self.all.pick_eevdf(Hierarchy::root_of(cpu), false).map(EntityId::task)
    }

    /// `cfs_rq_min_slice()` and `cfs_rq_max_slice()` of the root queue of `cpu`.
    #[must_use]
    pub fn slices_of_tree(&self, cpu: CpuId) -> Option<(u64, u64)> {
        self.all.slices(Hierarchy::root_of(cpu))
    }

    /// `entity_lag()` in the root queue of `cpu` at `avruntime`; it is noted, too.
    pub fn note_lag(&mut self, cpu: CpuId, task: TaskId, avruntime: u64) -> i64 {
        self.all.note_lag(Hierarchy::root_of(cpu), EntityId::of(task), avruntime)
    }

    /// `update_entity_lag()` in the root queue of `cpu`.
    pub fn update_entity_lag(&mut self, cpu: CpuId, task: TaskId) -> bool {
        self.all.update_entity_lag(Hierarchy::root_of(cpu), EntityId::of(task))
    }

    /// `update_deadline()` in the root queue of `cpu`.
    pub fn update_deadline(&mut self, cpu: CpuId, task: TaskId) -> bool {
        self.all.update_deadline(Hierarchy::root_of(cpu), EntityId::of(task))
    }

    /// `update_protect_slice()`.
    pub fn update_protection(&mut self, cpu: CpuId, task: TaskId) {
        self.all.update_protect_slice(Hierarchy::root_of(cpu), EntityId::of(task));
    }

    /// `reweight_eevdf()` of 7.3: what `task` weighs among all of `cpu`.
    pub fn reweight_in_tree(&mut self, cpu: CpuId, task: TaskId, weight: u64) {
        let (root, se) = (Hierarchy::root_of(cpu), EntityId::of(task));
        let on_rq = self.entity(task).on_rq;
        self.all.reweight_task_flat(root, se, weight, on_rq);
    }

    /// Interrupts take so much of the time of `cpu`, of 1024 (`cpu_util_irq()`).
    pub fn set_irq_util(&mut self, cpu: CpuId, util: u64) {
        self.all.asked.slices.set_irq_util(cpu, util);
    }

    /// The delay of `hrtick_start_fair()` for `task` on `cpu`; `None` if it is beyond its deadline.
    #[must_use]
    pub fn slice_left(&self, cpu: CpuId, task: TaskId) -> Option<Nanos> {
        self.all.slice_left(cpu, EntityId::of(task))
    }

    /// `reweight_entity()` of 7.3: what `task` weighs in its queue.
    pub fn reweight_entity(&mut self, task: TaskId, weight: u64) {
        self.all.reweight_entity(EntityId::of(task), weight, 0);
    }
}

/// Cache-aware load balancing.
impl Fair {
    /// Its state, to change, where it is on and the machine has something to gain.
    pub fn cache_aware_mut(&mut self) -> Option<&mut CacheAware> {
        self.all.llc.as_deref_mut()
    }

    /// `account_mm_sched()` of `task`, which has run on `cpu` for so many ns.
    pub fn account_mm_sched(&mut self, cpu: CpuId, task: TaskId, ns: u64) {
        self.all.account_llc(Hierarchy::root_of(cpu), EntityId::of(task), ns);
    }
}
