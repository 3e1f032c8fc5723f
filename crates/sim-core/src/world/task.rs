//! `Tasks`: one hot row per task, cold columns aside.

use simsched_topology::{CpuId, CpuSet};

use crate::ids::{MaskId, ProcId, TaskId};
use crate::workload::{SchedPolicy, Start, TaskSpec};

/// The state of a task (`p->__state`, and where it stands in its life).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Not started yet.
    New,
    /// Runnable or running.
    Running,
    /// Asleep, or about to be: it may still be queued and even current.
    Sleeping,
    /// A wakeup is choosing a CPU for it (`TASK_WAKING`).
    Waking,
    /// Ended.
    Dead,
}

/// What is true of one task.
#[derive(Clone, Copy, Debug)]
pub struct TaskRow {
    /// Its state.
    pub state: TaskState,
    /// On a runqueue, running or waiting (`p->on_rq`).
    pub on_rq: bool,
    /// It sleeps on its runqueue (`p->se.sched_delayed`, [`crate::Dequeued::Delayed`]); `on_rq` is true.
    pub delayed: bool,
    /// It is on its way from one runqueue to another (`TASK_ON_RQ_MIGRATING`); `on_rq` is true.
    pub migrating: bool,
    /// It is throttled ([`crate::Cx::throttle`]): on its runqueue, and not counted in its `nr_running`.
    pub throttled: bool,
    /// A CPU executes it or is still switching away from it (`p->on_cpu`).
    pub on_cpu: bool,
    /// It is on its way out (`PF_EXITING`): its wakeups are not synchronous.
    pub exiting: bool,
    /// Its last sleep was for a lock of the kernel, so signals did not wake it (`TASK_UNINTERRUPTIBLE`).
    pub uninterruptible: bool,
    /// -20..=19.
    pub nice: i8,
    /// Its policy within the fair class.
    pub policy: SchedPolicy,
    /// The CPU it runs on or ran on last.
    pub cpu: CpuId,
    /// The process whose address space it uses.
    pub proc: ProcId,
    /// Index of its affinity mask; [`ALL_CPUS`] is none.
    mask: u32,
}

/// The index that stands for "may run everywhere".
const ALL_CPUS: u32 = u32::MAX;

/// All tasks of a run.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    rows: Vec<TaskRow>,
    masks: Vec<CpuSet>,
    /// Rows of `masks` by [`MaskId`].
    declared: Vec<u32>,
    names: Vec<String>,
    starts: Vec<Start>,
    /// How often an affinity has changed.
    changed: u64,
}

impl Tasks {
    /// The tasks that `specs` declare, none of them started.
    #[must_use]
    pub fn new(specs: &[TaskSpec]) -> Tasks {
        let mut tasks = Tasks::default();
        for spec in specs {
            tasks.push(spec);
        }
        tasks
    }

    /// Appends a task and returns its id.
    pub fn push(&mut self, spec: &TaskSpec) -> TaskId {
        let id = TaskId::new(self.rows.len());
        let mask = spec.allowed.map_or(ALL_CPUS, |set| self.intern(set));
        self.rows.push(TaskRow {
            state: TaskState::New,
            on_rq: false,
            delayed: false,
            migrating: false,
            throttled: false,
            on_cpu: false,
            exiting: false,
            uninterruptible: false,
            nice: spec.nice,
            policy: spec.policy,
            cpu: CpuId(0),
            proc: spec.proc,
            mask,
        });
        self.names.push(spec.name.clone());
        self.starts.push(spec.start);
        id
    }

    /// How many tasks were declared.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none was declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row of `task`.
    ///
    /// # Panics
    /// When there is no such task.
    #[inline]
    #[must_use]
    pub fn row(&self, task: TaskId) -> &TaskRow {
        &self.rows[task.idx()]
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, task: TaskId) -> &mut TaskRow {
        &mut self.rows[task.idx()]
    }

    /// The CPUs on which `task` may run; `None` is all.
    #[inline]
    #[must_use]
    pub fn allowed(&self, task: TaskId) -> Option<&CpuSet> {
        match self.rows[task.idx()].mask {
            ALL_CPUS => None,
            mask => Some(&self.masks[mask as usize]),
        }
    }

    /// The name of `task`.
    #[must_use]
    pub fn name(&self, task: TaskId) -> &str {
        &self.names[task.idx()]
    }

    /// Whether `task` belongs to the machine, so that the run does not wait for it.
    #[must_use]
    pub fn is_background(&self, task: TaskId) -> bool {
        matches!(self.starts[task.idx()], Start::Background { .. })
    }

    /// Whether `task` is asleep when the run begins.
    #[must_use]
    pub fn begins_asleep(&self, task: TaskId) -> bool {
        matches!(self.starts[task.idx()], Start::Asleep(_) | Start::Background { .. })
    }

    /// Whether the timers of `task` do not wake an idle CPU.
    #[must_use]
    pub fn is_deferrable(&self, task: TaskId) -> bool {
        matches!(self.starts[task.idx()], Start::Background { deferrable: true, .. })
    }

    /// How many masks were declared for tasks to be confined to.
    pub(crate) fn nr_masks(&self) -> usize {
        self.declared.len()
    }

    /// Declares the next [`MaskId`].
    pub(crate) fn declare_mask(&mut self, set: CpuSet) {
        let row = self.intern(set);
        self.declared.push(row);
    }

    /// How often the affinity of a task has changed since the tasks were declared: whoever keeps a copy of them knows
    /// by this whether it is out of date.
    #[inline]
    #[must_use]
    pub fn affinity_changes(&self) -> u64 {
        self.changed
    }

    /// Confines `task` to a declared mask.
    pub(crate) fn set_mask(&mut self, task: TaskId, mask: MaskId) {
        self.rows[task.idx()].mask = self.declared[mask.idx()];
        self.changed += 1;
    }

    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn set_allowed(&mut self, task: TaskId, allowed: Option<CpuSet>) {
        self.rows[task.idx()].mask = allowed.map_or(ALL_CPUS, |set| self.intern(set));
        self.changed += 1;
    }

    /// Few masks serve many tasks: equal ones are kept once.
    fn intern(&mut self, set: CpuSet) -> u32 {
        let known = self.masks.iter().position(|mask| *mask == set);
        let idx = known.unwrap_or_else(|| {
            self.masks.push(set);
            self.masks.len() - 1
        });
        u32::try_from(idx).expect("fewer masks than tasks")
    }
}
