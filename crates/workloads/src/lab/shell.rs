//! The shell that starts one program after the other, as the lab's script does, and what it does between two.
//!
//! Between two of them are 20 to 24 ticks, more where the trace is long (traces, from the last event to
//! the first of the next one). The tracer is off there. The shell prints the trace, the results and the
//! time, each by a process of its own (three are born, by the pids; the time that the console shows is
//! 4 ticks behind the end, and 13 us for each line of the trace). Then it empties the trace, and so does
//! the next parent once more. To open the trace takes a grace period of RCU, to empty it two. This
//! sequence was run in the lab's kernel 6.1.176 and its parts were counted: 21 to 25 ticks in all. Under 6.12
//! the gaps are some two ticks shorter; why is not known, and here they are not.

use simsched_core::{Nanos, Op, ProcId, SchedPolicy, SimTime, Start, TaskId, TaskSpec};
use simsched_topology::CpuId;

use super::costs::LEAD_CPU;

/// Queue a callback of RCU, and wait until it has run.
pub(super) const GRACE: Op = Op::CallRcu { until: SimTime::ZERO };
/// Queue a callback of RCU: so a closed file is freed (`file_free_rcu()`).
pub(super) const CLOSES: Op = Op::CallRcu { until: SimTime::NEVER };

/// What the shell does between a scenario and the next one.
pub(super) const SHELL: [Step; 13] = [
    Step::Op(run(165)),
    Step::Helper(&PRINTS),
    Step::Op(run(180)),
    Step::Helper(&HELPS),
    Step::Op(run(160)),
    Step::Helper(&HELPS),
    Step::Op(run(170)),
    Step::Op(GRACE),
    Step::Op(GRACE),
    Step::Reset,
    Step::Op(GRACE),
    Step::Op(CLOSES),
    Step::Parent,
];

/// The same where the kernel has probes that it traces beside: there are two traces to print and to empty, and before
/// the second one is emptied a helper sleeps for 20 ms. From the last event of a short trace to the begin of the next
/// scenario are 27 ticks (median of 20 gaps of 7.3.4 on `n2x8`, 23 to 33); so to print and to empty the second trace
/// takes one grace period in all.
pub(super) const SHELL_OF_PROBES: [Step; 14] = [
    Step::Op(run(165)),
    Step::Helper(&HELPS),
    Step::Op(run(180)),
    Step::Helper(&PRINTS),
    Step::Op(run(160)),
    Step::Helper(&HELPS),
    Step::Op(run(170)),
    Step::Op(GRACE),
    Step::Op(GRACE),
    Step::Reset,
    Step::Helper(&SLEEPS),
    Step::Op(GRACE),
    Step::Op(CLOSES),
    Step::Parent,
];

/// Where both begin before the first scenario: there is nothing to print.
pub(super) const FIRST_STEP: usize = 6;

/// What its helper does that prints the trace.
const PRINTS: [Step; 5] =
    [Step::Op(run(200)), Step::Op(Op::Exec), Step::Op(run(600)), Step::Op(GRACE), Step::Lines];

/// What the one does that sleeps.
const SLEEPS: [Step; 4] = [
    Step::Op(run(200)),
    Step::Op(Op::Exec),
    Step::Op(run(480)),
    Step::Op(Op::Sleep(Nanos::from_millis(20))),
];

/// What each of the other helpers does.
const HELPS: [Step; 3] = [Step::Op(run(200)), Step::Op(Op::Exec), Step::Op(run(580))];

/// What a parent does before its first look at the clock, up to the last grace period.
pub(super) const PARENT: [Step; 4] =
    [Step::Op(run(200)), Step::Op(Op::Exec), Step::Op(run(480)), Step::Op(GRACE)];

/// What a line of the trace takes to print (traces: the length of a gap by that of its trace).
const LINE: Nanos = Nanos(13_000);
/// What is left when all are printed: the trace is closed, and the helper ends.
const PRINTED: Nanos = Nanos(500_000);
/// How many lines a wait leaves in a trace: two of a wakeup and two switches.
const LINES: u64 = 4;

/// Computing for so many microseconds.
const fn run(us: u64) -> Op {
    Op::Run(Nanos::from_micros(us))
}

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
    steps: &'static [Step],
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
        steps: &'static [Step],
    ) -> Shell {
        let helpers =
            |steps: &[Step]| steps.iter().filter(|step| matches!(step, Step::Helper(_))).count();
        let nr_helpers =
            helpers(&steps[FIRST_STEP..]) + helpers(steps) * parts.len().saturating_sub(1);
        Shell {
            first,
            cpu,
            nr_cpus: nr_cpus as u64,
            parts,
            part: None,
            steps,
            step: FIRST_STEP,
            joins: None,
            helper: 0,
            helpers: vec![&[]; nr_helpers],
        }
    }

    /// What the shell or a helper does next; `waits` are those of the last program.
    pub(super) fn next_op(&mut self, task: TaskId, waits: u64) -> Op {
        match (task.0 - self.first).checked_sub(1) {
            None => self.goes_on(),
            Some(helper) => self.help(helper as usize, waits),
        }
    }

    /// A helper replaces the shell's program, works, and ends.
    fn help(&mut self, helper: usize, waits: u64) -> Op {
        let Some((step, rest)) = self.helpers[helper].split_first() else { return Op::Exit };
        self.helpers[helper] = rest;
        match step {
            Step::Op(op) => *op,
            _ => Op::Run(Nanos(waits * LINES * LINE.get()) + PRINTED),
        }
    }

    fn goes_on(&mut self) -> Op {
        if let Some(task) = self.joins.take() {
            return Op::Join(task);
        }
        let len = self.steps.len();
        if self.parts.is_empty() && self.step == len {
            return Op::Exit;
        }
        let step = self.steps[self.step % len];
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
