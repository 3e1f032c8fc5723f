//! What a machine of the lab did before a program: the scenarios and the counted runs of hackbench before it, one after
//! the other, as the lab's script ran them on a machine that had just booted.
//!
//! The kernel forgets nothing between two scenarios: each domain of each CPU keeps its balance
//! interval, the jiffy of its last balance and what newly-idle balances brought, a CPU the load of
//! those that ran there, decayed by the time since. A program that is run on its own begins as none of
//! the lab's did. So all that come before it in the lab's order are run on the same machine first.

use std::ops::Range;

use simsched_core::{Op, Outcome, ProcId, Setup, SimTime, Start, TaskId, Workload};
use simsched_topology::CpuId;

use super::between::{Between, OF_PROBES, OF_TRACES, OF_TRACES_7_3};
use super::ciphers::CipherTest;
use super::counted::Counted;
use super::ids::Base;
use super::kernel::Kernel;
use super::shell::{Shell, Step};
use super::{START, STOP};
use crate::program::Programs;

/// A program behind those that the lab ran before it.
///
/// The tasks, marks and so on of the program keep their ids; those of the others follow, and last
/// the shell and its helpers.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The program, and those before it in their order.
    parts: Vec<Part>,
    /// Of each task that is no part of the shell, whose it is.
    owner: Vec<u32>,
    shell: Shell,
    kernel: Kernel,
    /// The kernel's threads that test ciphers meanwhile.
    tests: Vec<CipherTest>,
}

/// The ids of a scenario among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartIds {
    /// Its tasks, the parent first.
    pub tasks: Range<u32>,
    /// Its marks, [`START`](super::START) first.
    pub marks: Range<u32>,
}

/// What the shell starts.
#[derive(Clone, Debug)]
pub enum Program {
    /// A scenario: its first task is the parent of all others.
    Scenario(Box<Programs>),
    /// Runs of hackbench under counters.
    Counted(Counted),
}

impl Program {
    fn setup(&self) -> Setup {
        match self {
            Program::Scenario(programs) => programs.setup(),
            Program::Counted(counted) => counted.setup(),
        }
    }

    /// The task that the shell starts and waits for.
    fn parent(&self) -> TaskId {
        match self {
            Program::Scenario(_) => TaskId(0),
            Program::Counted(counted) => counted.shell(),
        }
    }

    /// The CPU on which that task begins where nothing was run before.
    pub(super) fn cpu(&self) -> CpuId {
        match self.setup().tasks.get(self.parent().idx()).map(|parent| parent.start) {
            Some(Start::AtZero(cpu)) => cpu,
            _ => CpuId(0),
        }
    }

    #[inline]
    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        match self {
            Program::Scenario(programs) => programs.next_op(task, now, last),
            Program::Counted(counted) => counted.next_op(task, now, last),
        }
    }
}

/// A program among others.
#[derive(Clone, Debug)]
struct Part {
    program: Program,
    /// Where its ids begin.
    base: Base,
    /// It is run only because the lab ran it before another one.
    is_before: bool,
    /// How far its parent is before its first look at the clock.
    prelude: usize,
    /// How often one of its tasks has waited, or been born.
    waits: u64,
    /// How many lines had been traced when it began, and then how many it has left in the trace; 0 where nothing traces.
    lines: u32,
    /// A mark of its parent's, at which the tracer is asked first.
    mark: Option<Op>,
}

impl Replay {
    /// `program` behind the programs `before`, started by a shell on `cpu` of so many under this kernel.
    #[must_use]
    pub fn new(
        program: Program,
        before: Vec<Program>,
        kernel: Kernel,
        cpu: CpuId,
        nr_cpus: usize,
    ) -> Replay {
        let between = match kernel {
            Kernel::V6_1 | Kernel::V6_12 => &OF_TRACES,
            Kernel::V7_3 => &OF_TRACES_7_3,
        };
        let order = std::iter::once(0).chain((1..=before.len()).rev()).collect();
        let programs = std::iter::once(program).chain(before);
        let mut replay = Replay::of(programs, order, (between, kernel), cpu, nr_cpus);
        replay.parts.iter_mut().skip(1).for_each(|part| part.is_before = true);
        replay
    }

    /// Programs one behind the other on a kernel with probes, started by a shell on `cpu` of so many: none of them is
    /// there only for another one. [`Replay::parts`] says which ids each has.
    #[must_use]
    pub fn series(programs: Vec<Program>, cpu: CpuId, nr_cpus: usize) -> Replay {
        let order = (0..programs.len()).rev().collect();
        Replay::of(programs.into_iter(), order, (&OF_PROBES, Kernel::V7_3), cpu, nr_cpus)
    }

    /// The ids of these programs follow each other; they are run from the end of `order` on.
    fn of(
        programs: impl Iterator<Item = Program>,
        order: Vec<usize>,
        (between, kernel): (&'static Between, Kernel),
        cpu: CpuId,
        nr_cpus: usize,
    ) -> Replay {
        let mut base = Base::default();
        let (mut parts, mut owner) = (Vec::new(), Vec::new());
        for (nth, program) in (0..).zip(programs) {
            let setup = program.setup();
            owner.extend(setup.tasks.iter().map(|_| nth));
            let next = base.behind(&setup);
            parts.push(Part {
                program,
                base,
                is_before: false,
                prelude: 0,
                waits: 0,
                lines: 0,
                mark: None,
            });
            base = next;
        }
        let parent = |part: usize| {
            let Part { program, base, .. }: &Part = &parts[part];
            (part, TaskId(base.tasks + program.parent().0))
        };
        let order = order.into_iter().map(parent).collect();
        let shell = Shell::new(base.tasks, cpu, nr_cpus, order, between);
        Replay { parts, owner, shell, kernel, tests: Vec::new() }
    }

    /// Which ids each of its programs has, in the order of the ids.
    #[must_use]
    pub fn parts(&self) -> Vec<PartIds> {
        let ids = |part: &Part| {
            let setup = part.program.setup();
            let tasks = part.base.tasks;
            let nr_tasks = u32::try_from(setup.tasks.len()).expect("a run has a limit");
            let marks = part.base.marks;
            let nr_marks = u32::try_from(setup.marks.len()).expect("a run has a limit");
            PartIds { tasks: tasks..tasks + nr_tasks, marks: marks..marks + nr_marks }
        };
        self.parts.iter().map(ids).collect()
    }

    /// The kernel under which they were run.
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// These programs on a machine where these threads of the kernel test ciphers.
    #[must_use]
    pub(super) fn testing(self, tests: Vec<CipherTest>) -> Replay {
        Replay { tests, ..self }
    }

    /// The id of the first of those threads: behind the shell and its helpers.
    fn first_test(&self) -> u32 {
        self.shell.first + 1 + u32::try_from(self.shell.helpers.len()).expect("few scenarios")
    }
}

impl Part {
    /// The next op of a task of this program, whose parent does `prelude` before all that is in it.
    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome, prelude: &[Step]) -> Op {
        let own = TaskId(task.0 - self.base.tasks);
        let is_scenario = matches!(self.program, Program::Scenario(_));
        // The shell of counted runs is a copy of the shell that starts it, and executes nothing.
        if is_scenario
            && own == self.program.parent()
            && let Some(&Step::Op(op)) = prelude.get(self.prelude)
        {
            self.prelude += 1;
            return op;
        }
        if let Some(mark) = self.mark.take() {
            let lines = if let Outcome::Lines(lines) = last { lines } else { 0 };
            self.lines = lines - self.lines;
            return self.base.shift(mark);
        }
        let last = match last {
            Outcome::Child(child) => Outcome::Child(TaskId(child.0 - self.base.tasks)),
            other => other,
        };
        let op = self.program.next_op(own, now, last);
        // Nothing traces counted runs.
        self.waits += u64::from(is_scenario && leaves_lines(op));
        if is_scenario && matches!(op, Op::Mark(START | STOP)) {
            self.mark = Some(op);
            return Op::GetTraced;
        }
        self.base.shift(op)
    }

    /// How many lines the scenario has left in its trace: by the waits of its tasks where nothing traces, with two lines of a
    /// wakeup and two switches for each, and `others`.
    fn lines(&self, others: u64) -> u64 {
        if self.lines > 0 { HEADER + u64::from(self.lines) } else { LINES * self.waits + others }
    }
}

/// The lines with which the text of a trace begins.
const HEADER: u64 = 11;
/// How many lines a wait leaves in a trace.
const LINES: u64 = 4;

/// Whether such an op most often makes a task wait, or is a birth.
fn leaves_lines(op: Op) -> bool {
    waits(op) || matches!(op, Op::Spawn(_))
}

/// Whether a task most often waits in such an op.
pub(super) fn waits(op: Op) -> bool {
    matches!(
        op,
        Op::Read { .. }
            | Op::FutexWait { .. }
            | Op::Sleep(_)
            | Op::SleepUntil(_)
            | Op::Join(_)
            | Op::WaitAny
    )
}

impl Workload for Replay {
    fn setup(&self) -> Setup {
        let mut all = Setup::default();
        for part in &self.parts {
            let before =
                |mark: String| if part.is_before { format!("before: {mark}") } else { mark };
            part.base.append(part.program.setup(), before, &mut all);
        }
        let nr_helpers = u32::try_from(self.shell.helpers.len()).expect("few scenarios");
        for nth in 0..=nr_helpers {
            let proc = ProcId::new(all.procs.len());
            all.procs.push("sh".to_owned());
            all.tasks.push(self.shell.spec(nth, proc));
        }
        if !self.tests.is_empty() {
            let proc = ProcId::new(all.procs.len());
            all.procs.push("kthreadd".to_owned());
            debug_assert!(all.tasks.len() == self.first_test() as usize, "they come last");
            let spec = |test: &CipherTest| test.spec(proc, self.shell.spec(0, proc));
            all.tasks.extend(self.tests.iter().map(spec));
        }
        all
    }

    #[inline]
    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        match self.owner.get(task.idx()) {
            Some(&part) => {
                let prelude = self.shell.between.parent;
                self.parts[part as usize].next_op(task, now, last, prelude)
            }
            None if task.0 >= self.first_test() => {
                let nth = (task.0 - self.first_test()) as usize;
                self.tests[nth].next_op()
            }
            None => {
                let others = self.shell.between.other_lines;
                let lines = self.shell.part.map_or(0, |part| self.parts[part].lines(others));
                self.shell.next_op(task, lines)
            }
        }
    }
}
