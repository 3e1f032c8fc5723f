//! `Recorder`: what the kernel's tracer, its counters and `/proc` would have told of a run.

mod log;
mod observe;
mod record;
mod row;
mod watch;

use simsched_core::{Cause, MarkId, Nanos, Reason, Setup, SimTime, TaskId, TaskState, World};
use simsched_topology::{CpuId, LlcId};
use simsched_workloads::lab::PartIds;

use crate::event::{Comm, Event, PrevState, Task, What};
use crate::probes::Scan;
use log::{Log, Part};
pub use record::{Counters, Passed, Record, TaskRecord};
use row::{Row, Times};

/// The pid of the first task; smaller ones are the idle tasks (0) and the stoppers.
const FIRST_PID: u32 = 2000;

/// The pid of the stopper of CPU 0; the others follow.
const FIRST_STOPPER: u32 = 1;

/// The `prio` of a stopper.
const STOPPER_PRIO: u8 = 0;

/// The `prio` of nice value 0.
const PRIO: i16 = 120;

/// The stopper of `cpu`.
fn stopper(cpu: CpuId) -> Task {
    let comm = Comm::new(&format!("migration/{cpu}"));
    Task { pid: FIRST_STOPPER + u32::from(cpu.0), comm, prio: STOPPER_PRIO }
}

/// How much later than the choice of a task the counters begin to count where its CPU was idle: 2.77 us, less
/// the 0.87 that they go on behind the choice of the idle task. From a task to another one of the same
/// command they go on at once, as the tasks' contexts change places. Counted in the lab's kernel
/// 6.1.176, between the entries of `pick_next_task_fair()`, `task_clock_event_add()` and
/// `task_clock_event_del()`.
const COUNTERS_ON: Nanos = Nanos(1_900);

/// Watches a run as the lab's tracer does.
///
/// It records from the mark `start` on, or everything if the workload has no such mark. A task has its parent's name
/// until it has run.
#[derive(Clone, Debug)]
pub struct Recorder {
    on: bool,
    /// Whether events are kept at all.
    keeps: bool,
    /// The programs, in the order of their runs.
    parts: Vec<Part>,
    /// What was seen of each of them that is over.
    logs: Vec<Log>,
    /// What is seen of the one under way.
    log: Log,
    rows: Vec<Row>,
    /// The task that a CPU executes.
    current: Vec<Option<TaskId>>,
    /// Whether a CPU executes its stopper.
    stopping: Vec<bool>,
}

impl Recorder {
    /// Watches a workload of this setup on `nr_cpus` CPUs.
    #[must_use]
    pub fn new(setup: &Setup, nr_cpus: usize) -> Recorder {
        let part = Part::whole(setup);
        Recorder { on: part.start.is_none(), ..Recorder::of_parts(setup, vec![part], nr_cpus) }
    }

    /// Watches programs that run one behind the other, each with these ids in the workload: of each it records what
    /// is between its marks `start` and `stop`. [`Recorder::finish_all`] has a record for each.
    #[must_use]
    pub fn of_series(setup: &Setup, ids: &[PartIds], nr_cpus: usize) -> Recorder {
        let parts = ids.iter().map(|ids| Part::of(setup, ids)).collect();
        Recorder::of_parts(setup, parts, nr_cpus)
    }

    fn of_parts(setup: &Setup, parts: Vec<Part>, nr_cpus: usize) -> Recorder {
        Recorder {
            on: false,
            keeps: true,
            parts,
            logs: Vec::new(),
            log: Log::default(),
            rows: setup.tasks.iter().map(Row::of).collect(),
            current: vec![None; nr_cpus],
            stopping: vec![false; nr_cpus],
        }
    }

    /// Only counts: no event is kept.
    #[must_use]
    pub fn without_events(self) -> Recorder {
        Recorder { keeps: false, ..self }
    }

    /// What was recorded, in a run that has come to this `world` and whose policy has these names of reasons.
    #[must_use]
    pub fn finish(mut self, world: &World, reasons: &[&str]) -> Record {
        let log = std::mem::take(&mut self.log);
        self.record(&self.parts[0], log, world, reasons)
    }

    /// What was recorded of each program of a series, in their order, as far as they have come to their marks `stop`.
    #[must_use]
    pub fn finish_all(mut self, world: &World, reasons: &[&str]) -> Vec<Record> {
        let logs = std::mem::take(&mut self.logs);
        let both = self.parts.iter().zip(logs);
        both.map(|(part, log)| self.record(part, log, world, reasons)).collect()
    }

    fn record(&self, part: &Part, mut log: Log, world: &World, reasons: &[&str]) -> Record {
        let rows = || part.tasks.clone().map(|task| (task, &self.rows[task as usize]));
        let own = || rows().filter(|(_, row)| !row.background);
        let sum = |of: fn(&Times) -> u64| own().map(|(_, row)| of(&row.times)).sum();
        let task = |(task, row): (u32, &Row)| TaskRecord {
            pid: FIRST_PID + task,
            nice: world.task(TaskId(task)).nice,
            exec_ns: row.times.exec_at_exit.unwrap_or(row.times.exec),
        };
        let stopped = if part.stop.is_some() { log.stopped } else { world.now() };
        let (started, passed) = (log.started, std::mem::take(&mut log.passed));
        let (events, probes) = log.seen(reasons);
        Record {
            started,
            elapsed_ns: stopped.since(started).0,
            tasks: rows().map(task).collect(),
            context_switches: sum(|times| times.counters.switches),
            cpu_migrations: sum(|times| times.counters.migrations),
            task_clock_ns: sum(|times| times.counters.clock),
            events,
            probes,
            passed,
        }
    }

    fn add(&mut self, world: &World, cpu: CpuId, what: What) {
        let by = self.name(world, self.current[cpu.idx()], cpu);
        self.add_by(world, cpu, by, what);
    }

    fn add_by(&mut self, world: &World, cpu: CpuId, by: Task, what: What) {
        if self.on && self.keeps {
            let us = micros(world.now());
            self.log.events.push((world.now(), Event { us, cpu: cpu.0.into(), by, what }));
        }
    }

    /// A task, or the idle task of `cpu`, as the tracer names it now.
    fn name(&self, world: &World, task: Option<TaskId>, cpu: CpuId) -> Task {
        let Some(task) = task else {
            if self.stopping[cpu.idx()] {
                return stopper(cpu);
            }
            return Task { pid: 0, comm: Comm::new(&format!("swapper/{cpu}")), prio: 120 };
        };
        let mut named = task;
        while let Some(parent) =
            self.rows[named.idx()].parent.filter(|_| !self.rows[named.idx()].named)
        {
            named = parent;
        }
        let prio = PRIO + i16::from(world.task(task).nice);
        let comm = Comm::new(world.tasks().name(named));
        Task { pid: FIRST_PID + task.0, comm, prio: u8::try_from(prio).unwrap_or(0) }
    }

    fn task(&self, world: &World, task: TaskId) -> Task {
        self.name(world, Some(task), CpuId(0))
    }

    /// Brings the CPU time of the task on `cpu` up to date.
    fn update_curr(&mut self, cpu: CpuId, now: SimTime) {
        if let Some(task) = self.current[cpu.idx()] {
            let times = &mut self.rows[task.idx()].times;
            times.exec += now.since(times.updated).0;
            times.updated = times.updated.max(now);
        }
    }

    fn switch(&mut self, world: &World, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        let now = world.now();
        self.update_curr(cpu, now);
        if let Some(prev) = prev {
            let times = &mut self.rows[prev.idx()].times;
            times.counters.clock += now.since(times.on_since).0;
            times.counters.switches += u64::from(world.task(prev).state != TaskState::Dead);
        }
        if let Some(next) = next {
            let row = &mut self.rows[next.idx()];
            let late = if prev.is_none() { COUNTERS_ON } else { Nanos::ZERO };
            (row.times.on_since, row.times.updated) = (now + late, now);
            row.times.counters.migrations += u64::from(std::mem::take(&mut row.moved));
        }
        self.current[cpu.idx()] = next;
    }

    fn switched(
        &mut self,
        world: &World,
        cpu: CpuId,
        tasks: [Option<TaskId>; 2],
        state: PrevState,
    ) {
        let by = self.name(world, tasks[0], cpu);
        let state = if by.prio == STOPPER_PRIO { PrevState::Asleep('S') } else { state };
        self.stopping[cpu.idx()] = false;
        let next = self.name(world, tasks[1], cpu);
        self.add_by(world, cpu, by, What::Switch { prev: by, state, next });
    }

    /// The last switch of `cpu` was one to its stopper; the next one will be from it.
    fn stopper(&mut self, cpu: CpuId, begins: bool) {
        if !begins {
            return;
        }
        self.stopping[cpu.idx()] = true;
        let last = self.log.events.last_mut().filter(|(_, last)| last.cpu == u32::from(cpu.0));
        if let Some((_, Event { what: What::Switch { next, .. }, .. })) = last {
            *next = stopper(cpu);
        }
    }

    fn mark(&mut self, world: &World, task: TaskId, mark: MarkId) {
        let times = &self.rows[task.idx()].times;
        let clock = times.counters.clock + world.now().since(times.on_since).0;
        let counters = Counters { clock, ..times.counters };
        self.log.pass(self.parts.get(self.logs.len()), task, mark, (world.now(), counters));
        let Some(part) = self.parts.get(self.logs.len()) else { return };
        if Some(mark) == part.timed {
            self.log.stopped = world.now();
        }
        if Some(mark) == part.start {
            (self.on, self.log.started) = (true, world.now());
        } else if Some(mark) == part.stop && part.is_cut {
            self.on = false;
            self.logs.push(std::mem::take(&mut self.log));
        } else if Some(mark) == part.release {
            self.add(world, world.task(task).cpu, What::Release);
        }
    }

    fn migrate(
        &mut self,
        world: &World,
        task: TaskId,
        [from, to]: [CpuId; 2],
        cause: Cause,
        reason: Reason,
    ) {
        if cause == Cause::Fork {
            // The first CPU of a new task is no migration to the tracer.
            return;
        }
        let row = &mut self.rows[task.idx()];
        row.moved = true;
        // A wakeup moves on the waker's CPU, a stopper on its own, and of a task whose affinity changes this is taken to
        // run; of a balancer it is only known for whom it works.
        let acts = match cause {
            Cause::Wakeup => row.waker,
            Cause::Active | Cause::Exec | Cause::Affinity => from,
            _ => to,
        };
        let what =
            What::Migrate { task: self.task(world, task), from: from.0.into(), to: to.0.into() };
        if self.on && self.keeps {
            let is_idle = self.current[to.idx()].is_none();
            self.log.watch.moved(world.now(), cause, is_idle, reason);
        }
        self.add(world, acts, what);
    }

    fn cache_work(&mut self, world: &World, task: TaskId, home: Option<LlcId>, avg: u64) {
        if self.on && self.keeps {
            let first = |llc| world.topology().llc_span(llc).first().map(|cpu| u32::from(cpu.0));
            self.log.watch.scanned(Scan {
                us: micros(world.now()),
                pid: FIRST_PID + task.0,
                preferred: home.and_then(first),
                nr_running_avg: avg.cast_signed(),
            });
        }
    }

    /// Nobody calls for a new task: that it is runnable is all that is traced of it.
    fn waking(&mut self, world: &World, wakee: TaskId, waker: CpuId) {
        self.rows[wakee.idx()].waker = waker;
        if self.rows[wakee.idx()].woken {
            let target = world.task(wakee).cpu.0.into();
            let wakee = self.task(world, wakee);
            self.add(world, waker, What::Waking { wakee, target });
        }
    }

    fn wakeup(&mut self, world: &World, wakee: TaskId, cpu: CpuId) {
        self.update_curr(cpu, world.now());
        let (task, target) = (self.task(world, wakee), cpu.0.into());
        let row = &mut self.rows[wakee.idx()];
        if std::mem::replace(&mut row.woken, true) {
            self.add(world, cpu, What::Wakeup { wakee: task, target });
        } else {
            // The parent itself puts a new task on a runqueue.
            let parent = row.waker;
            self.add(world, parent, What::WakeupNew { wakee: task, target });
        }
    }
}

/// An instant as the tracer shows it: the nearest microsecond.
fn micros(at: SimTime) -> u64 {
    (at.get() + 500) / 1000
}
