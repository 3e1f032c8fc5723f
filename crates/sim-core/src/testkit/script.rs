//! `Script`: a workload that is one list of ops for each task.

use simsched_topology::CpuId;

use crate::ids::{ProcId, TaskId};
use crate::time::SimTime;
use crate::workload::{Op, Outcome, SchedPolicy, Setup, Start, TaskSpec, Workload};

/// Tasks that do one op after the other, then exit.
#[derive(Clone, Debug, Default)]
pub struct Script {
    setup: Setup,
    ops: Vec<Vec<Op>>,
    next: Vec<usize>,
    /// When each op of each task began, and how the one before it ended.
    pub log: Vec<Vec<(SimTime, Outcome)>>,
}

impl Script {
    /// No task, and the kernel objects of `setup`.
    #[must_use]
    pub fn new(setup: Setup) -> Script {
        Script { setup, ..Script::default() }
    }

    /// Adds a task of process 0 that starts on `cpu` and does `ops`.
    pub fn task(&mut self, cpu: CpuId, ops: &[Op]) -> TaskId {
        self.add(Start::AtZero(cpu), ops)
    }

    /// Adds a task of process 0 that waits for its spawn and then does `ops`.
    pub fn spawned(&mut self, ops: &[Op]) -> TaskId {
        self.add(Start::Spawned, ops)
    }

    /// The declaration of `task`, to change before the run.
    pub fn spec(&mut self, task: TaskId) -> &mut TaskSpec {
        &mut self.setup.tasks[task.idx()]
    }

    fn add(&mut self, start: Start, ops: &[Op]) -> TaskId {
        let id = TaskId::new(self.ops.len());
        self.setup.tasks.push(TaskSpec {
            name: format!("t{id}"),
            proc: ProcId(0),
            nice: 0,
            policy: SchedPolicy::Normal,
            allowed: None,
            start,
        });
        self.ops.push(ops.to_vec());
        self.next.push(0);
        self.log.push(Vec::new());
        id
    }
}

impl Workload for Script {
    fn setup(&self) -> Setup {
        self.setup.clone()
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        let idx = task.idx();
        self.log[idx].push((now, last));
        let op = self.ops[idx].get(self.next[idx]).copied().unwrap_or(Op::Exit);
        self.next[idx] += 1;
        op
    }
}
