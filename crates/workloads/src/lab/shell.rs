//! The shell that starts one program after the other, as the lab's script does.

use simsched_core::{Nanos, Op, ProcId, SchedPolicy, Start, TaskId, TaskSpec};
use simsched_topology::CpuId;

use super::between::{Between, LINE};
use super::costs::LEAD_CPU;

/// What is left when all lines are printed: the trace is closed, and the helper ends.
const PRINTED: Nanos = Nanos(500_000);

/// A step between two scenarios.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Op(Op),
    /// It starts a helper that does this, and waits for that.
    Helper(&'static [Step]),
    /// It starts the next parent and waits for that.
    Parent,
    /// The trace is emptied CPU by CPU.
    Reset,
    /// The lines of the trace are printed.
    Lines,
}

/// The shell that runs one program after the other.
#[derive(Clone, Debug)]
pub(super) struct Shell {
    /// Itself; its helpers follow.
    pub(super) first: u32,
    cpu: CpuId,
    nr_cpus: u64,
    /// The parts that it is yet to start, with their parents, the last one first.
    parts: Vec<(usize, TaskId)>,
    /// Which one it has started last.
    pub(super) part: Option<usize>,
    /// What it does between two scenarios, and how far it is in that.
    pub(super) between: &'static Between,
    step: usize,
    /// The task for whose end it is to wait.
    joins: Option<TaskId>,
    /// How many helpers it has had.
    helper: usize,
    /// By helper: what it is still to do.
    pub(super) helpers: Vec<&'static [Step]>,
}

impl Shell {
    /// A shell with the id `first` on `cpu` of so many, which starts the parents of these parts from the end on.
    pub(super) fn new(
        first: u32,
        cpu: CpuId,
        nr_cpus: usize,
        parts: Vec<(usize, TaskId)>,
        between: &'static Between,
    ) -> Shell {
        let helpers =
            |steps: &[Step]| steps.iter().filter(|step| matches!(step, Step::Helper(_))).count();
        let steps = between.steps;
        let nr_helpers =
            helpers(&steps[between.first..]) + helpers(steps) * parts.len().saturating_sub(1);
        Shell {
            first,
            cpu,
            nr_cpus: nr_cpus as u64,
            parts,
            part: None,
            between,
            step: between.first,
            joins: None,
            helper: 0,
            helpers: vec![&[]; nr_helpers],
        }
    }

    /// What the shell or a helper does next; the last program has left so many lines in its trace.
    pub(super) fn next_op(&mut self, task: TaskId, lines: u64) -> Op {
        match (task.0 - self.first).checked_sub(1) {
            None => self.goes_on(),
            Some(helper) => self.help(helper as usize, lines),
        }
    }

    /// A helper replaces the shell's program, works, and ends.
    fn help(&mut self, helper: usize, lines: u64) -> Op {
        let Some((step, rest)) = self.helpers[helper].split_first() else { return Op::Exit };
        self.helpers[helper] = rest;
        match step {
            Step::Op(op) => *op,
            _ => {
                let [line, of_cpu] = LINE;
                let line = line.get() + of_cpu.get() * self.nr_cpus;
                Op::Run(Nanos(lines * line) + PRINTED)
            }
        }
    }

    fn goes_on(&mut self) -> Op {
        if let Some(task) = self.joins.take() {
            return Op::Join(task);
        }
        let len = self.between.steps.len();
        if self.parts.is_empty() && self.step == len {
            return Op::Exit;
        }
        let step = self.between.steps[self.step % len];
        self.step = self.step % len + 1;
        match step {
            Step::Op(op) => op,
            Step::Reset | Step::Lines => Op::Run(Nanos(LEAD_CPU.get() * self.nr_cpus)),
            Step::Helper(does) => {
                self.helpers[self.helper] = does;
                self.helper += 1;
                self.spawns(TaskId(self.first + u32::try_from(self.helper).expect("few scenarios")))
            }
            Step::Parent => match self.parts.pop() {
                Some((part, parent)) => {
                    self.part = Some(part);
                    self.spawns(parent)
                }
                None => Op::Exit,
            },
        }
    }

    fn spawns(&mut self, task: TaskId) -> Op {
        self.joins = Some(task);
        Op::Spawn(task)
    }

    pub(super) fn spec(&self, nth: u32, proc: ProcId) -> TaskSpec {
        TaskSpec {
            name: "sh".to_owned(),
            proc,
            nice: 0,
            policy: SchedPolicy::Normal,
            allowed: None,
            start: if nth == 0 { Start::AtZero(self.cpu) } else { Start::Spawned },
        }
    }
}
