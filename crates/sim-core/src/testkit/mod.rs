//! For tests (feature `testkit`): worlds built by hand, so that a decision can be tested without a
//! simulator.

mod balancer;
mod every_action;
mod host;
mod plans;
mod round_robin;
mod script;

use std::sync::Arc;

use simsched_topology::{CpuId, CpuSet, Topology};

pub use balancer::{Place, Wanted, WantedBalancer, WantedPass};
pub use every_action::EveryAction;
pub use host::PolicyHost;
pub use plans::Plans;
pub use round_robin::RoundRobin;
pub use script::Script;

use crate::ids::{ProcId, TaskId};
use crate::launcher::Launcher;
use crate::rng::Seed;
use crate::time::SimTime;
use crate::workload::{SchedPolicy, Start, TaskSpec};
use crate::world::{BOOT_CLOCK, TaskRow, World};

/// A [`World`] that may be changed at will.
///
/// ```
/// # use simsched_core::testkit::WorldKit;
/// # use simsched_topology::{CpuId, Topology};
/// let mut kit = WorldKit::new(Topology::builtin("t8", None).unwrap(), 250);
/// let task = kit.add_task(0);
/// kit.run_on(CpuId(3), Some(task));
/// assert!(!kit.world().is_idle(CpuId(3)));
/// ```
#[derive(Clone, Debug)]
pub struct WorldKit(World);

impl WorldKit {
    /// An idle machine without tasks and with this many ticks per second.
    #[must_use]
    pub fn new(topology: Topology, hz: u32) -> WorldKit {
        WorldKit(World::new(Arc::new(topology), &[], hz))
    }

    /// The workload is started by this launcher, in the run with this seed.
    pub fn launched_by(&mut self, launcher: Launcher, seed: Seed) {
        self.0.set_inherited(launcher.inherited(seed));
    }

    /// The world as a policy sees it.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.0
    }

    /// Declares a task of this nice value that may run everywhere.
    pub fn add_task(&mut self, nice: i8) -> TaskId {
        self.0.tasks_mut().push(&TaskSpec {
            name: String::new(),
            proc: ProcId(0),
            nice,
            policy: SchedPolicy::Normal,
            allowed: None,
            start: Start::Spawned,
        })
    }

    /// Moves the present to `clock`, as `sched_clock()` shows it, and the clocks of all runqueues
    /// with it.
    ///
    /// # Panics
    /// When `clock` lies before the boot of the machine or before the present.
    pub fn set_clock(&mut self, clock: u64) {
        self.0.set_now(SimTime(clock.checked_sub(BOOT_CLOCK).expect("after boot")));
        for cpu in self.0.topology_arc().cpus().iter() {
            self.0.update_rq_clock(cpu);
        }
    }

    /// Moves the present to `clock`, as `sched_clock()` shows it, and leaves the clocks of all runqueues as they are.
    ///
    /// # Panics
    /// When `clock` lies before the boot of the machine.
    pub fn set_sched_clock(&mut self, clock: u64) {
        self.0.set_now(SimTime(clock.checked_sub(BOOT_CLOCK).expect("after boot")));
    }

    /// Makes `task` (or the idle task) current on `cpu` and raises `nr_running` to at least 1 for
    /// a task.
    pub fn run_on(&mut self, cpu: CpuId, task: Option<TaskId>) {
        self.0.rq_update(cpu, |rq| {
            rq.curr = task;
            rq.nr_running = rq.nr_running.max(u32::from(task.is_some()));
        });
        if let Some(task) = task {
            self.task(task).cpu = cpu;
        }
    }

    /// Sets which CPU executes what comes next.
    pub fn set_this_cpu(&mut self, cpu: CpuId) {
        self.0.set_this_cpu(cpu);
    }

    /// Sets how many tasks are runnable on `cpu`.
    pub fn set_nr_running(&mut self, cpu: CpuId, nr_running: u32) {
        self.0.rq_update(cpu, |rq| rq.nr_running = nr_running);
    }

    /// Sets whether a wakeup is in the hand-off list of `cpu`.
    pub fn set_pending(&mut self, cpu: CpuId, pending: bool) {
        self.0.rq_update(cpu, |rq| rq.pending = pending);
    }

    /// Sets whether the current task of `cpu` is to be rescheduled.
    pub fn set_need_resched(&mut self, cpu: CpuId, need_resched: bool) {
        self.0.rq_update(cpu, |rq| rq.need_resched = need_resched);
    }

    /// Sets whether the current task of `cpu` is to be rescheduled when it returns to user mode.
    pub fn set_need_resched_lazy(&mut self, cpu: CpuId, lazy: bool) {
        self.0.rq_update(cpu, |rq| rq.need_resched_lazy = lazy);
    }

    /// Puts `cpu` into an idle state with this exit latency, or into none.
    pub fn set_exit_latency(&mut self, cpu: CpuId, exit_latency_us: Option<u32>) {
        self.0.set_idle_state(cpu, exit_latency_us);
    }

    /// Adds to the time that interrupts have taken on `cpu`, in ns.
    pub fn add_irq_time(&mut self, cpu: CpuId, ns: u64) {
        self.0.rq_update(cpu, |rq| rq.irq_time += ns);
    }

    /// The row of `task`, to change.
    pub fn task(&mut self, task: TaskId) -> &mut TaskRow {
        self.0.task_mut(task)
    }

    /// Changes where `task` may run.
    pub fn set_allowed(&mut self, task: TaskId, allowed: Option<CpuSet>) {
        self.0.tasks_mut().set_allowed(task, allowed);
    }
}
