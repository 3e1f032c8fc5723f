//! `Library`: a machine of the kernel's functions beside that of the simulation, and the state of the simulation that
//! it is told before a question.

use std::path::Path;

use simsched_core::{ProcId, TaskId, World};
use simsched_topology::{CpuId, CpuSet};

use super::inside::Inside;
use super::machine::{check_domains, create};
use crate::sys::ClassLevel;

/// Who runs where no task does: numbers of `simsched_kernel.h`.
pub(super) const IDLE: i32 = -1;
/// What all functions return behind a BUG.
const DEAD: i32 = -1000;

/// A failure, as a sentence.
pub(super) type Answer<T = ()> = Result<T, String>;

/// What the library has been told of a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// Tasks that count beside those that are queued.
    extra: i32,
    pending: bool,
    /// The exit latency of its idle state, in us.
    latency: Option<u32>,
}

/// Where a pass of the load balancer is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pass {
    /// It is that of a CPU that is about to become idle.
    pub(super) newidle: bool,
    /// It has brought a task.
    pub(super) pulled: bool,
    /// The runqueue that it has locked last.
    pub(super) locked: Option<CpuId>,
}

/// The kernel's functions, and how the simulation's tasks and CPUs are called there.
pub(super) struct Library {
    pub(super) class: ClassLevel,
    /// By task: its id there.
    ids: Vec<Option<i32>>,
    /// By id: its task; ids are used again.
    tasks: Vec<TaskId>,
    /// By task: the CPU that it belongs to there.
    pub(super) at: Vec<CpuId>,
    /// By task: whether its end has been told, and its affinity.
    exiting: Vec<bool>,
    masks: Vec<Option<CpuSet>>,
    /// By process.
    procs: Vec<Option<i32>>,
    /// By CPU.
    told: Vec<Told>,
    pub(super) passes: Vec<Pass>,
    /// By LLC: the limit of a search there that was set last.
    scans: Vec<Option<u32>>,
    /// The group of all tasks but the machine's own.
    group: i32,
}

/// A CPU as the library numbers it.
pub(super) fn number(cpu: CpuId) -> i32 {
    i32::from(cpu.0)
}

impl Library {
    /// Loads the library, and makes the machine of `world` there, idle as it is.
    pub(super) fn new<P: Inside>(path: &Path, world: &World, inner: &P) -> Answer<Library> {
        let mut class = ClassLevel::open(path).map_err(|error| error.to_string())?;
        create(&mut class, world)?;
        if u64::try_from(class.hz()) != Ok(world.hz()) {
            return Err(format!("found {} ticks per second, expected {}", class.hz(), world.hz()));
        }
        for feature in inner.kernel_features()? {
            if class.feature(&feature) != 0 {
                return Err(format!("the kernel has no feature {feature}"));
            }
        }
        let (cpus, tasks) = (world.topology().nr_cpus(), world.tasks().len());
        let mut library = Library {
            class,
            ids: vec![None; tasks],
            tasks: Vec::new(),
            at: vec![CpuId(0); tasks],
            exiting: vec![false; tasks],
            masks: vec![None; tasks],
            procs: Vec::new(),
            told: vec![Told::default(); cpus],
            passes: vec![Pass::default(); cpus],
            scans: vec![None; world.topology().nr_llcs()],
            group: 0,
        };
        check_domains(&mut library.class, world, inner)?;
        for cpu in world.topology().cpus().iter() {
            library.clock(world, cpu)?;
            let entered = library.class.idle(number(cpu));
            done("idle", entered)?;
            done("flips", library.class.flips(number(cpu), IDLE, 0, 0))?;
            // A machine that is up has been idle before.
            library.class.idle_since(number(cpu), world.rq(cpu).clock);
        }
        library.present(world)?;
        // On clocks that run: what was attached at 0 counts as new, and is attached again.
        for _ in 0..inner.group_levels() {
            library.group = library.class.group_new(library.group);
            done("group_new", library.group)?;
        }
        library.fault()?;
        Ok(library)
    }

    /// What the kernel's code has said went wrong.
    pub(super) fn fault(&mut self) -> Answer {
        let said = self.class.take_error();
        if said.is_empty() { Ok(()) } else { Err(format!("the kernel's code said: {said}")) }
    }

    /// The clocks of the runqueue of `cpu`, as the simulation has them, and the present.
    pub(super) fn clock(&mut self, world: &World, cpu: CpuId) -> Answer {
        let rq = world.rq(cpu);
        done("clock", self.class.clock(number(cpu), rq.clock, rq.clock_task, world.jiffies()))?;
        // For the limit of writes to a group's load, which reads no clock of a runqueue.
        self.present(world)
    }

    /// The present, for those who read a clock and not that of a runqueue.
    pub(super) fn present(&mut self, world: &World) -> Answer {
        done("time", self.class.time(world.sched_clock(), world.jiffies()))
    }

    /// Whether the current task of `cpu` is to be rescheduled.
    pub(super) fn flag(&mut self, world: &World, cpu: CpuId) -> Answer {
        let rq = world.rq(cpu);
        let level = if rq.need_resched { 2 } else { i32::from(rq.need_resched_lazy) };
        done("flag", self.class.flag(number(cpu), level))
    }

    /// What idleness of `cpu` depends on, where it is not as it was told last.
    pub(super) fn idleness(&mut self, world: &World, cpu: CpuId) -> Answer {
        let (rq, told) = (world.rq(cpu), &mut self.told[cpu.idx()]);
        let extra = i32::try_from(rq.nr_running - rq.nr_tasks()).expect("two at most");
        if told.extra != extra {
            done("count", self.class.count(number(cpu), extra - told.extra))?;
            told.extra = extra;
        }
        if told.pending != rq.pending {
            done("pending", self.class.pending(number(cpu), i32::from(rq.pending)))?;
            told.pending = rq.pending;
        }
        if told.latency != rq.exit_latency_us {
            told.latency = rq.exit_latency_us;
            let latency = told.latency.map_or(-1, |us| i32::try_from(us).unwrap_or(i32::MAX));
            done("idle_state", self.class.idle_state(number(cpu), latency))?;
        }
        Ok(())
    }

    /// What the idleness of all CPUs depends on, as [`Library::idleness`] has it of one.
    pub(super) fn all_idleness(&mut self, world: &World) -> Answer {
        world.topology().cpus().iter().try_for_each(|cpu| self.idleness(world, cpu))
    }

    /// The limit of a search for an idle CPU behind the LLC of `cpu`.
    pub(super) fn idle_scan<P: Inside>(&mut self, world: &World, inner: &P, cpu: CpuId) -> Answer {
        let limit = inner.idle_scan(world, cpu);
        let last = &mut self.scans[world.topology().llc_of(cpu).idx()];
        if let (Some(nr), true) = (limit, *last != limit) {
            let nr = i32::try_from(nr).expect("not more than CPUs");
            done("idle_scan", self.class.idle_scan(number(cpu), nr))?;
            *last = limit;
        }
        Ok(())
    }

    /// How many tasks are queued on `cpu`, without those that were told to count.
    pub(super) fn nr_tasks(&mut self, cpu: CpuId) -> i64 {
        let nr = self.class.cpu(number(cpu)).nr_running - self.told[cpu.idx()].extra;
        i64::from(nr)
    }

    /// Where `task` may run, and whether it dies, where that was not told.
    pub(super) fn task_state(&mut self, world: &World, task: TaskId) -> Answer {
        let id = self.id(task)?;
        if world.task(task).exiting && !std::mem::replace(&mut self.exiting[task.idx()], true) {
            done("exiting", self.class.exiting(id))?;
        }
        let mask = *world.allowed(task).unwrap_or(world.topology().cpus());
        if self.masks[task.idx()] != Some(mask) {
            let mut words = vec![0; world.topology().nr_cpus().div_ceil(64)];
            for cpu in mask.iter() {
                words[cpu.idx() / 64] |= 1 << (cpu.idx() % 64);
            }
            done("affinity", self.class.affinity(id, &words))?;
            self.masks[task.idx()] = Some(mask);
        }
        Ok(())
    }

    /// The id of a task that has begun.
    pub(super) fn id(&self, task: TaskId) -> Answer<i32> {
        self.ids[task.idx()].ok_or_else(|| format!("task {task} has not begun there"))
    }

    /// The task of an id.
    pub(super) fn task_of(&self, id: i32) -> Option<TaskId> {
        let task = usize::try_from(id).ok().and_then(|id| self.tasks.get(id));
        task.copied().filter(|task| self.ids[task.idx()] == Some(id))
    }

    /// A task begins as a child of who runs on `cpu`.
    pub(super) fn fork(&mut self, world: &World, cpu: CpuId, task: TaskId) -> Answer<i32> {
        let row = world.task(task);
        let process = self.process(row.proc)?;
        let group = if world.tasks().is_background(task) { 0 } else { self.group };
        let id = self.class.fork(number(cpu), process, i32::from(row.nice), group);
        done("fork", id)?;
        let row = usize::try_from(id).expect("not negative");
        if self.tasks.len() <= row {
            self.tasks.resize(row + 1, task);
        }
        self.tasks[row] = task;
        self.ids[task.idx()] = Some(id);
        self.at[task.idx()] = cpu;
        self.masks[task.idx()] = None;
        self.task_state(world, task)?;
        Ok(id)
    }

    /// A task is gone.
    pub(super) fn forget(&mut self, task: TaskId) {
        self.ids[task.idx()] = None;
    }

    fn process(&mut self, proc: ProcId) -> Answer<i32> {
        if self.procs.len() <= proc.idx() {
            self.procs.resize(proc.idx() + 1, None);
        }
        if let Some(process) = self.procs[proc.idx()] {
            return Ok(process);
        }
        let process = self.class.proc_new();
        done("proc_new", process)?;
        self.procs[proc.idx()] = Some(process);
        Ok(process)
    }
}

/// Fails if a function has returned an error.
pub(super) fn done(what: &str, answer: i32) -> Answer {
    match answer {
        DEAD => Err(format!("{what}: the kernel's code is dead")),
        ..0 => Err(format!("{what}: error {answer}")),
        _ => Ok(()),
    }
}
