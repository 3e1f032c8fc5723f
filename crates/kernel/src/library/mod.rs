//! `Library`: a machine of the kernel's functions beside that of a simulation, asked at the level of the scheduling
//! class.
//!
//! How the state of the simulation gets there before a question is in `mirror`, the questions are in `calls`.

mod calls;
mod machine;
mod mirror;

use std::path::Path;

use simsched_core::{ProcId, SchedPolicy, TaskId, World};
use simsched_policies::fair::features::Grouping;
use simsched_topology::{CpuId, CpuSet};

pub(crate) use self::calls::answer_of;
pub(crate) use self::machine::domain_sizes;
use self::mirror::Mirrored;
use crate::sys::ClassLevel;

/// The idle task of a CPU, as the library numbers tasks: `SIMSCHED_K_IDLE` of `simsched_kernel.h`.
pub(crate) const IDLE: i32 = -1;
/// Numbers of `<linux/sched.h>`: how a task is scheduled.
const NORMAL: i32 = 0;
const BATCH: i32 = 3;
const SCHED_IDLE: i32 = 5;
/// What all functions return behind a BUG.
const DEAD: i32 = -1000;

/// How a kernel is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSettings {
    /// Features that are switched, each as the file `sched/features` takes it: `NAME` or `NO_NAME`.
    pub features: Vec<String>,
    /// Numbers of `/sys/kernel/debug/sched` that are set, such as `base_slice_ns`.
    pub knobs: Vec<(String, u32)>,
    /// The task groups that all tasks but the machine's own are in.
    pub grouping: Grouping,
}

/// A failure, as a sentence.
pub(crate) type Answer<T = ()> = Result<T, String>;

/// The kernel's functions, and how the simulation's tasks and CPUs are called there.
pub(crate) struct Library {
    pub(crate) class: ClassLevel,
    /// By task: its id there.
    ids: Vec<Option<i32>>,
    /// By id: its task; ids are used again.
    tasks: Vec<TaskId>,
    /// By task: the CPU that it belongs to there.
    at: Vec<CpuId>,
    /// By task: whether its end is known there, and its affinity.
    exiting: Vec<bool>,
    masks: Vec<Option<CpuSet>>,
    /// How often an affinity had changed when all were mirrored last.
    affinity_changes: u64,
    /// How often a CPU had changed in what its idleness depends on, when all were mirrored last.
    rq_changes: u64,
    /// Tasks that their CPUs are still switching away from.
    leaving: Vec<TaskId>,
    /// By process.
    procs: Vec<Option<i32>>,
    /// By CPU.
    mirrored: Vec<Mirrored>,
    /// The groups of all tasks but the machine's own, and the innermost of them.
    pub(crate) grouping: Grouping,
    group: i32,
}

/// A CPU as the library numbers it.
pub(crate) fn number(cpu: CpuId) -> i32 {
    i32::from(cpu.0)
}

impl Library {
    /// Loads the library, and makes the machine of `world` there, idle as it is, with these settings.
    pub(crate) fn new(path: &Path, world: &World, settings: &KernelSettings) -> Answer<Library> {
        let mut class = ClassLevel::open(path).map_err(|error| error.to_string())?;
        // A CPU that has been idle for long has an average that follows from them; others are scaled at boot.
        set_knobs(&mut class, settings)?;
        machine::create(&mut class, world)?;
        set_knobs(&mut class, settings)?;
        if u64::try_from(class.hz()) != Ok(world.hz()) {
            return Err(format!(
                "found hz={}, expected hz={}, with which libraries are built",
                world.hz(),
                class.hz()
            ));
        }
        for feature in &settings.features {
            if class.feature(feature) != 0 {
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
            affinity_changes: 0,
            rq_changes: 0,
            leaving: Vec::new(),
            procs: Vec::new(),
            mirrored: vec![Mirrored::default(); cpus],
            grouping: settings.grouping,
            group: 0,
        };
        for cpu in world.topology().cpus().iter() {
            library.clock(world, cpu)?;
            let entered = library.class.idle(number(cpu));
            done("idle", entered)?;
            done("flips", library.class.flips(number(cpu), IDLE, 0, 0))?;
            // A machine that is up has been idle before.
            library.class.idle_since(number(cpu), world.rq(cpu).clock);
        }
        library.present(world)?;
        done("up", library.class.up())?;
        // On clocks that run: what was attached at 0 counts as new, and is attached again.
        for _ in 0..settings.grouping.levels() {
            library.group = library.class.group_new(library.group);
            done("group_new", library.group)?;
        }
        library.fault()?;
        Ok(library)
    }

    /// What the kernel's code has said went wrong.
    pub(crate) fn fault(&mut self) -> Answer {
        let said = self.class.take_error();
        if said.is_empty() { Ok(()) } else { Err(format!("the kernel's code said: {said}")) }
    }

    /// The id of a task that has begun.
    pub(crate) fn id(&self, task: TaskId) -> Answer<i32> {
        self.ids
            .get(task.idx())
            .copied()
            .flatten()
            .ok_or_else(|| format!("task {task} has not begun there"))
    }

    /// The task of an id.
    pub(crate) fn task_of(&self, id: i32) -> Option<TaskId> {
        let task = usize::try_from(id).ok().and_then(|id| self.tasks.get(id));
        task.copied().filter(|task| self.ids[task.idx()] == Some(id))
    }

    /// The kernel itself has moved a task to another CPU.
    pub(crate) fn moved(&mut self, task: TaskId, to: CpuId) {
        self.at[task.idx()] = to;
    }

    /// A task begins as a child of who runs on `cpu`.
    fn fork(&mut self, world: &World, cpu: CpuId, task: TaskId) -> Answer<i32> {
        let row = world.task(task);
        // The machine's own tasks are kernel threads.
        let (process, group) = match world.tasks().is_background(task) {
            true => (0, 0),
            false => (self.process(row.proc)?, self.group),
        };
        let policy = match row.policy {
            SchedPolicy::Normal => NORMAL,
            SchedPolicy::Batch => BATCH,
            SchedPolicy::Idle => SCHED_IDLE,
        };
        let id = self.class.fork(number(cpu), process, i32::from(row.nice), group, policy);
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

    /// The CPU whose LLC a process prefers; negative if it prefers none.
    pub(crate) fn prefers(&mut self, proc: ProcId) -> i32 {
        let process = self.procs.get(proc.idx()).copied().flatten();
        process.map_or(-1, |process| self.class.prefers(process))
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

fn set_knobs(class: &mut ClassLevel, settings: &KernelSettings) -> Answer {
    for (name, value) in &settings.knobs {
        if !class.knob(name, *value) {
            return Err(format!("the kernel has no setting {name}"));
        }
    }
    Ok(())
}

/// Fails if a function has returned an error.
pub(crate) fn done(what: &str, answer: i32) -> Answer {
    match answer {
        DEAD => Err(format!("{what}: the kernel's code is dead")),
        ..0 => Err(format!("{what}: error {answer}")),
        _ => Ok(()),
    }
}
