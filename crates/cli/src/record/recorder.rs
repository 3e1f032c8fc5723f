//! `Recorder`: what happens in a run, as the tracepoints of a kernel would tell it.

use simsched_core::{Cause, Observer, Setup, Start, TaskId, TaskState, Tracepoint, Wants, World};
use simsched_topology::{CpuId, Topology};
use simsched_trace::{Event, PrevState, ThreadIx, Threads, What};

use super::order::{Item, Order};
use super::outputs::Outputs;
use super::threads::Table;
use super::utils::Utils;
use crate::failure::Failure;

/// Watches a run and tells its schedule.
///
/// The clock is the kernel's `sched_clock()`, which shows a second ([`BOOT_CLOCK`](simsched_core::BOOT_CLOCK)) as a
/// run begins.
pub(crate) struct Recorder {
    table: Table,
    outputs: Outputs,
    order: Order,
    /// By CPU: whom it executes.
    current: Vec<ThreadIx>,
    /// By CPU: whether the switch that comes is one from its stopper.
    stopper_ends: Vec<bool>,
    /// By task: whether its first wakeup is over.
    woken: Vec<bool>,
    /// A switch to the idle task; if it is one to the stopper, the next tracepoint says so.
    held: Option<(u64, Event)>,
    /// What is counted, if somebody wants to know.
    counters: Option<Counters>,
}

/// The counters, as they were told last.
struct Counters {
    /// By CPU: runnable tasks.
    nr_running: Vec<u32>,
    /// By CPU: whether it executes a task.
    busy: Vec<bool>,
    /// By LLC: how many of its CPUs do.
    llc_busy: Vec<u32>,
    utils: Utils,
}

/// Runnable tasks of a CPU, the running one included.
const NR_RUNNING: &str = "nr_running";

/// CPUs behind an LLC that execute tasks; told of the first of them.
const LLC_BUSY: &str = "llc_busy_cpus";

/// The utilization of a CPU in its policy's books.
const UTIL_AVG: &str = "util_avg";

/// The sum of those behind an LLC in percent of its capacity; told of the first of its CPUs.
const LLC_UTIL: &str = "llc_util_pct";

impl Recorder {
    /// Watches a workload of this setup on this machine.
    pub(crate) fn new(setup: &Setup, topology: &Topology, outputs: Outputs) -> Recorder {
        let nr_cpus = topology.nr_cpus();
        let table = Table::new(setup, nr_cpus);
        let counters = outputs.want_counters().then(|| Counters {
            nr_running: vec![0; nr_cpus],
            busy: vec![false; nr_cpus],
            llc_busy: vec![0; topology.nr_llcs()],
            utils: Utils::new(topology),
        });
        Recorder {
            current: (0..nr_cpus).map(|cpu| table.idle(CpuId::new(cpu))).collect(),
            stopper_ends: vec![false; nr_cpus],
            woken: setup.tasks.iter().map(|task| is_old(task.start)).collect(),
            order: Order::new(u64::from(topology.costs().turn)),
            held: None,
            counters,
            table,
            outputs,
        }
    }

    /// Why the run has to end: something could not be written.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.outputs.failure()
    }

    /// The run has come to this `world`: the files are whole.
    ///
    /// # Errors
    /// What could not be written.
    pub(crate) fn finish(mut self, world: &World) -> Result<(), Failure> {
        self.let_go();
        let Recorder { mut outputs, mut order, table, .. } = self;
        order.rest(|item| outputs.tell(&table.threads, item));
        outputs.finish(&table.threads, world.sched_clock())
    }

    fn put(&mut self, now: u64, item: Item) {
        let (outputs, threads): (&mut Outputs, &Threads) = (&mut self.outputs, &self.table.threads);
        self.order.put(now, item, |item| outputs.tell(threads, item));
    }

    /// The switch that was held back was one to the idle task.
    fn let_go(&mut self) {
        if let Some((now, event)) = self.held.take() {
            self.put(now, Item::Event(event));
        }
    }

    /// Something happens, told by the code that `cpu` executes.
    fn tell(&mut self, world: &World, cpu: CpuId, what: What) {
        let event = self.event(world, cpu, what);
        self.put(world.now().get(), Item::Event(event));
    }

    fn event(&self, world: &World, cpu: CpuId, what: What) -> Event {
        let current = self.current[cpu.idx()];
        Event { time: world.sched_clock(), cpu: cpu.0.into(), current, what }
    }

    fn switch(&mut self, world: &World, cpu: CpuId, to: Option<TaskId>, prev_state: PrevState) {
        let prev = self.current[cpu.idx()];
        let next = to.map_or_else(|| self.table.idle(cpu), |task| self.table.task(task));
        let what = What::Switch { prev, prev_state, next };
        let event = self.event(world, cpu, what);
        self.current[cpu.idx()] = next;
        if to.is_none() {
            self.held = Some((world.now().get(), event));
        } else {
            self.put(world.now().get(), Item::Event(event));
        }
        self.count_busy(world, cpu, to.is_some());
        self.count(world, cpu);
    }

    /// In which state `prev` leaves its CPU. Kernels of servers preempt on the way back to user mode only,
    /// and that is `R`; `R+` is for preemption inside the kernel.
    fn state(&self, world: &World, prev: Option<TaskId>) -> PrevState {
        let Some(task) = prev else { return PrevState::Running { preempted: false } };
        let row = world.task(task);
        match row.state {
            TaskState::Dead if self.table.leads(task) => PrevState::Zombie,
            TaskState::Dead => PrevState::Dead,
            // A wakeup may have begun while the sleeper is still on its CPU.
            TaskState::Sleeping | TaskState::Waking if row.uninterruptible => {
                PrevState::Uninterruptible
            }
            TaskState::Sleeping | TaskState::Waking => PrevState::Interruptible,
            TaskState::New | TaskState::Running => PrevState::Running { preempted: false },
        }
    }

    /// The switch that was just told is one to the stopper; or the next one is from it.
    fn stopper(&mut self, cpu: CpuId, begins: bool) {
        if !begins {
            self.stopper_ends[cpu.idx()] = true;
            return;
        }
        let stopper = self.table.stopper(cpu);
        self.current[cpu.idx()] = stopper;
        if let Some((now, mut event)) = self.held.take() {
            if let What::Switch { prev, next, .. } = &mut event.what {
                *next = stopper;
                // It has got more to do before it could leave.
                if *prev == stopper {
                    return;
                }
            }
            self.put(now, Item::Event(event));
        }
    }

    fn wakeup(&mut self, world: &World, task: TaskId, cpu: CpuId) {
        let (wakee, target_cpu) = (self.table.task(task), u32::from(cpu.0));
        let what = if std::mem::replace(&mut self.woken[task.idx()], true) {
            What::Wakeup { wakee, target_cpu }
        } else {
            What::WakeupNew { wakee, target_cpu }
        };
        self.tell(world, world.this_cpu(), what);
        self.count(world, cpu);
    }

    /// The number of runnable tasks of `cpu` may have changed.
    fn count(&mut self, world: &World, cpu: CpuId) {
        let Some(counters) = &mut self.counters else { return };
        let value = world.rq(cpu).nr_running;
        if std::mem::replace(&mut counters.nr_running[cpu.idx()], value) != value {
            self.counter(world, cpu, NR_RUNNING, value.into());
        }
    }

    /// `cpu` executes a task from now on, or none.
    fn count_busy(&mut self, world: &World, cpu: CpuId, busy: bool) {
        let Some(counters) = &mut self.counters else { return };
        if std::mem::replace(&mut counters.busy[cpu.idx()], busy) == busy {
            return;
        }
        let topology = world.topology();
        let llc = topology.llc_of(cpu);
        let value = &mut counters.llc_busy[llc.idx()];
        *value = if busy { *value + 1 } else { *value - 1 };
        let value = *value;
        let first = topology.llc_span(llc).first().unwrap_or(cpu);
        self.counter(world, first, LLC_BUSY, value.into());
    }

    /// The policy holds `cpu` to be utilized so much.
    fn count_util(&mut self, world: &World, cpu: CpuId, util_avg: u64) {
        let Some(counters) = &mut self.counters else { return };
        let llc = world.topology().llc_of(cpu);
        let pct = counters.utils.change(cpu, llc, util_avg);
        self.counter(world, cpu, UTIL_AVG, util_avg);
        if let Some(pct) = pct {
            let first = world.topology().llc_span(llc).first().unwrap_or(cpu);
            self.counter(world, first, LLC_UTIL, pct);
        }
    }

    fn counter(&mut self, world: &World, cpu: CpuId, name: &'static str, value: u64) {
        let (time, cpu) = (world.sched_clock(), cpu.0.into());
        self.put(world.now().get(), Item::Counter { time, cpu, name, value });
    }
}

/// Whether a task has been woken before the run began.
fn is_old(start: Start) -> bool {
    matches!(start, Start::Asleep(_) | Start::Background { .. })
}

impl Observer for Recorder {
    fn wants(&self) -> Wants {
        if self.counters.is_some() { Wants::UTIL_AVG } else { Wants::NOTHING }
    }

    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if matches!(tracepoint, Tracepoint::Charge { .. }) {
            return;
        }
        if let Tracepoint::Stopper { cpu, begins } = tracepoint {
            return self.stopper(cpu, begins);
        }
        self.let_go();
        match tracepoint {
            Tracepoint::Switch { cpu, prev, next, .. } => {
                let is_stopper = std::mem::take(&mut self.stopper_ends[cpu.idx()]);
                let state =
                    if is_stopper { PrevState::Interruptible } else { self.state(world, prev) };
                self.switch(world, cpu, next, state);
            }
            // Nobody calls for a new task: that it is runnable is all that is traced of it.
            Tracepoint::Waking { wakee, waker, sync } if self.woken[wakee.idx()] => {
                let target_cpu = world.task(wakee).cpu.0.into();
                let wakee = self.table.task(wakee);
                self.tell(world, waker, What::Waking { wakee, target_cpu, sync });
            }
            Tracepoint::Wakeup { wakee, cpu, .. } => self.wakeup(world, wakee, cpu),
            // The first CPU of a new task is no migration to a tracer.
            Tracepoint::Migrate { task, from, to, cause, .. } if cause != Cause::Fork => {
                let task = self.table.task(task);
                let (orig_cpu, dest_cpu) = (from.0.into(), to.0.into());
                self.tell(world, world.this_cpu(), What::Migrate { task, orig_cpu, dest_cpu });
                self.count(world, from);
                self.count(world, to);
            }
            Tracepoint::Fork { parent: Some(parent), child } => {
                let (parent, child) = (self.table.task(parent), self.table.task(child));
                self.tell(world, world.this_cpu(), What::Fork { parent, child });
            }
            Tracepoint::Exit { task } => {
                let task = self.table.task(task);
                self.tell(world, world.this_cpu(), What::Exit { task });
            }
            Tracepoint::UtilAvg { cpu, util_avg } => self.count_util(world, cpu, util_avg),
            _ => {}
        }
    }
}
