//! `World`: all that is true at `now`; readable by all, writable in this crate only.

mod changes;
mod runqueue;
mod task;

use std::sync::Arc;

use simsched_topology::{CpuId, CpuSet, Topology};

use self::changes::Changes;
pub use runqueue::RqRow;
pub use task::{TaskRow, TaskState, Tasks};

use crate::ids::{ProcId, TaskId};
use crate::launcher::{Inherited, Launcher};
use crate::rng::Seed;
use crate::time::{Nanos, SimTime};
use crate::workload::TaskSpec;

/// What the kernel's clocks show when a run starts, in ns: the machine has been up for a second,
/// so that no time stamp of a booted machine is zero (zero means "never" to PELT and to the idle
/// stamps).
pub const BOOT_CLOCK: u64 = 1_000_000_000;

/// All that is true at one instant of a run.
#[derive(Clone, Debug)]
pub struct World {
    now: SimTime,
    tick: Nanos,
    topology: Arc<Topology>,
    rqs: Vec<RqRow>,
    changes: Changes,
    tasks: Tasks,
    idle: CpuSet,
    idle_cores: CpuSet,
    seed: Seed,
    inherited: Inherited,
    this_cpu: CpuId,
    /// By process, in bytes.
    resident: Vec<u64>,
}

impl World {
    /// A machine on which nothing has started: all CPUs idle, all tasks new.
    ///
    /// `hz` is the rate of the tick, 100..=1000.
    #[must_use]
    pub fn new(topology: Arc<Topology>, specs: &[TaskSpec], hz: u32) -> World {
        let nr_cpus = topology.nr_cpus();
        let idle = *topology.cpus();
        World {
            now: SimTime::ZERO,
            tick: Nanos(1_000_000_000 / u64::from(hz)),
            rqs: (0..nr_cpus).map(|cpu| RqRow::new(CpuId::new(cpu), BOOT_CLOCK)).collect(),
            changes: Changes::new(nr_cpus),
            tasks: Tasks::new(specs),
            idle,
            idle_cores: idle,
            topology,
            seed: Seed(0),
            inherited: Launcher::None.inherited(Seed(0)),
            this_cpu: CpuId(0),
            resident: Vec::new(),
        }
    }

    /// The seed of the run: where a policy gets its random streams from.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    pub(crate) fn set_seed(&mut self, seed: Seed) {
        self.seed = seed;
    }

    /// What the tasks of the workload inherit of who starts it; threads of the kernel inherit nothing.
    #[must_use]
    pub fn inherited(&self) -> Inherited {
        self.inherited
    }

    pub(crate) fn set_inherited(&mut self, inherited: Inherited) {
        self.inherited = inherited;
    }

    /// The memory of `proc` that is in use once all of it is, in bytes: anonymous and shared
    /// (`MM_ANONPAGES`, `MM_SHMEMPAGES`), as far as the workload declares it.
    #[must_use]
    pub fn resident_bytes(&self, proc: ProcId) -> u64 {
        self.resident.get(proc.idx()).copied().unwrap_or(0)
    }

    pub(crate) fn set_resident(&mut self, resident: Vec<u64>) {
        self.resident = resident;
    }

    /// The CPU that executes what happens now (`smp_processor_id()`): often another one than that
    /// whose runqueue changes.
    #[inline]
    #[must_use]
    pub fn this_cpu(&self) -> CpuId {
        self.this_cpu
    }

    #[inline]
    pub(crate) fn set_this_cpu(&mut self, cpu: CpuId) {
        self.this_cpu = cpu;
    }

    /// The present.
    #[inline]
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// The present as the kernel's `sched_clock()` shows it, in ns.
    #[inline]
    #[must_use]
    pub fn sched_clock(&self) -> u64 {
        self.now.0 + BOOT_CLOCK
    }

    /// The length of a tick (`TICK_NSEC`).
    #[must_use]
    pub fn tick(&self) -> Nanos {
        self.tick
    }

    /// Ticks per second (`HZ`).
    #[must_use]
    pub fn hz(&self) -> u64 {
        1_000_000_000 / self.tick.0
    }

    /// Ticks since boot (`jiffies`).
    #[inline]
    #[must_use]
    pub fn jiffies(&self) -> u64 {
        self.sched_clock() / self.tick.0
    }

    /// The machine.
    #[inline]
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The machine, to keep.
    #[must_use]
    pub fn topology_arc(&self) -> Arc<Topology> {
        Arc::clone(&self.topology)
    }

    /// The runqueue of `cpu`.
    #[inline]
    #[must_use]
    pub fn rq(&self, cpu: CpuId) -> &RqRow {
        &self.rqs[cpu.idx()]
    }

    /// The current task of `cpu`; `None` is the idle task.
    #[inline]
    #[must_use]
    pub fn curr(&self, cpu: CpuId) -> Option<TaskId> {
        self.rqs[cpu.idx()].curr
    }

    /// All tasks.
    #[inline]
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The row of `task`.
    #[inline]
    #[must_use]
    pub fn task(&self, task: TaskId) -> &TaskRow {
        self.tasks.row(task)
    }

    /// The CPUs on which `task` may run; `None` is all.
    #[inline]
    #[must_use]
    pub fn allowed(&self, task: TaskId) -> Option<&CpuSet> {
        self.tasks.allowed(task)
    }

    /// Whether `task` may run on `cpu`.
    #[inline]
    #[must_use]
    pub fn is_allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        self.tasks.allowed(task).is_none_or(|set| set.contains(cpu))
    }

    /// `available_idle_cpu()` of `cpu`.
    #[inline]
    #[must_use]
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        self.idle.contains(cpu)
    }

    /// The CPUs of which [`World::is_idle`] holds.
    #[inline]
    #[must_use]
    pub fn idle(&self) -> &CpuSet {
        &self.idle
    }

    /// The CPUs of cores all of whose threads are idle.
    #[inline]
    #[must_use]
    pub fn idle_cores(&self) -> &CpuSet {
        &self.idle_cores
    }

    /// How often a CPU has changed in what a copy of the world has beside the queues of its tasks: whether the
    /// stopper is runnable ([`RqRow::stopper`]), whether who was current is leaving ([`RqRow::leaving`]), whether a
    /// wakeup is handed over ([`RqRow::pending`]), and its idle state ([`RqRow::exit_latency_us`]).
    #[must_use]
    pub fn rq_changes(&self) -> u64 {
        self.changes.count()
    }

    /// The CPUs that have changed so since [`World::rq_changes`] was `seen`, a CPU once for each change; `None` if
    /// those are more than the machine has CPUs, and each of them may have.
    #[must_use]
    pub fn rq_changed_since(&self, seen: u64) -> Option<impl Iterator<Item = CpuId> + '_> {
        self.changes.since(seen)
    }

    pub(crate) fn tasks_mut(&mut self) -> &mut Tasks {
        &mut self.tasks
    }

    #[inline]
    pub(crate) fn set_now(&mut self, now: SimTime) {
        self.now = now;
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut TaskRow {
        self.tasks.row_mut(task)
    }

    /// `update_rq_clock()` of `cpu`.
    #[inline]
    pub(crate) fn update_rq_clock(&mut self, cpu: CpuId) {
        let (now, this_cpu) = (self.sched_clock(), self.this_cpu);
        let rq = &mut self.rqs[cpu.idx()];
        rq.update_clock(now);
        rq.writer = this_cpu;
    }

    /// `update_rq_clock()` of `cpu`, unless somebody has just done it and asked that it count as the
    /// time of the next `schedule()` (`rq_clock_skip_update()`).
    pub(crate) fn update_rq_clock_unless_skipped(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.idx()];
        rq.writer = cpu;
        if !std::mem::take(&mut rq.skip_update) {
            self.update_rq_clock(cpu);
        }
    }

    /// The runqueue of `cpu`, to change what [`RqRow::is_idle`] does not depend on: counters and requests.
    #[inline]
    pub(crate) fn rq_mut(&mut self, cpu: CpuId) -> &mut RqRow {
        &mut self.rqs[cpu.idx()]
    }

    /// `cpu` enters an idle state with this exit latency, or leaves it (`sched_idle_set_state()`).
    pub(crate) fn set_idle_state(&mut self, cpu: CpuId, exit_latency_us: Option<u32>) {
        self.rqs[cpu.idx()].exit_latency_us = exit_latency_us;
        self.changes.note(cpu);
    }

    /// `rq_clock_skip_update()` of `cpu`.
    pub(crate) fn skip_clock_update(&mut self, cpu: CpuId) {
        self.rqs[cpu.idx()].skip_update = true;
    }

    /// Changes what idleness depends on, and keeps the idle masks in step.
    #[inline]
    pub(crate) fn rq_update(&mut self, cpu: CpuId, change: impl FnOnce(&mut RqRow)) {
        let rq = &mut self.rqs[cpu.idx()];
        let was = rq.is_idle();
        let beside = rq.beside();
        change(rq);
        let is = rq.is_idle();
        if beside != rq.beside() {
            self.changes.note(cpu);
        }
        if was != is {
            self.flip_idle(cpu, is);
        }
    }

    fn flip_idle(&mut self, cpu: CpuId, idle: bool) {
        let siblings = self.topology.smt_mask(cpu);
        if idle {
            self.idle.insert(cpu);
            if siblings.is_subset(&self.idle) {
                self.idle_cores.union_with(siblings);
            }
        } else {
            self.idle.remove(cpu);
            // A core is among them with all of its CPUs, or with none.
            if self.idle_cores.contains(cpu) {
                self.idle_cores.subtract(siblings);
            }
        }
    }
}
