//! What a machine of the lab did before a scenario: the scenarios before it, one after the other, as
//! the lab's script ran them on a machine that had just booted.
//!
//! The kernel forgets nothing between two scenarios: each domain of each CPU keeps its balance
//! interval, the jiffy of its last balance and what newly-idle balances brought, a CPU the load of
//! those that ran there, decayed by the time since. A scenario that is run on its own begins as none of
//! the lab's did. So all that come before it in the lab's order are run on the same machine first.
//!
//! Between two of them are 20 to 24 ticks (traces, from the last event to the first of the next one;
//! more where the trace is long). The tracer is off there. What is known: three processes are born
//! (by the pids), all CPUs together compute for a few milliseconds at most (the idle time that the
//! console shows), and the next parent begins at a tick, for it waits for a grace period of RCU. The
//! rest is a sequence of grace periods, as each change of the tracer waits for some.

use simsched_core::{
    FutexId, Nanos, Op, Outcome, ProcId, SchedPolicy, Setup, SimTime, Start, TaskId, TaskSpec,
    Workload,
};
use simsched_topology::CpuId;

use super::ids::Base;

use crate::program::Programs;

/// A tick of the lab's kernels (`CONFIG_HZ=250`).
const TICK: u64 = 4_000_000;

/// Ticks of a grace period of RCU that somebody waits for.
const GRACE: u64 = 3;

/// The processes that the shell has for itself between two scenarios, one at a time, each by how many
/// grace periods the shell waits for before. The first two tell the time, some 4 ticks after the end. How
/// the others are spread is not known; with the parent's own they are seven, or 21 ticks.
const HELPERS: [u32; 3] = [1, 1, 4];

/// The ops of a parent before the first one of its program: it is executed, and asks for a grace period
/// and waits for that, which is the last of seven. It waits for no more: the load that it was
/// born with is there when it forks. With one period the ninth of the children on 8 CPUs, and the 17th
/// and 18th on 16, are born on its CPU and the others elsewhere, as in all traces; with two, one more is.
const PRELUDE: u32 = 4;

/// What each of these computes, with its start.
const HELP: Nanos = Nanos::from_millis(1);

/// What the shell or the parent computes between two waits.
const STEP: Nanos = Nanos::from_micros(200);

/// A scenario behind those that the lab ran before it.
///
/// The tasks, marks and so on of the scenario keep their ids; those of the others follow, and last
/// the shell and its helpers.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The scenario, and those before it in their order.
    parts: Vec<Part>,
    /// Of each task that is no part of the shell, whose it is.
    owner: Vec<u32>,
    shell: Shell,
}

/// A scenario among others.
#[derive(Clone, Debug)]
struct Part {
    program: Programs,
    /// Where its ids begin.
    base: Base,
    /// Where somebody waits for work in grace periods.
    work: FutexId,
    /// How far its parent is before its first look at the clock.
    prelude: u32,
}

/// The shell that runs one scenario after the other.
#[derive(Clone, Debug)]
struct Shell {
    /// Itself; its helpers follow.
    first: u32,
    /// Where somebody waits for work in grace periods.
    work: FutexId,
    cpu: CpuId,
    /// The parents that it is yet to start, the last one first.
    parents: Vec<TaskId>,
    /// What it does next.
    at: At,
    /// How many grace periods it has waited for since the last scenario or helper.
    graces: u32,
    /// How many helpers it has had.
    helper: usize,
    /// By helper: how far it is.
    helpers: Vec<u32>,
}

/// Where the shell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// What it does next is to be found.
    Next,
    /// It asks for a grace period.
    Asks,
    /// It waits for that.
    Waits,
    /// It waits for the end of this task.
    Spawned(TaskId),
}

/// The first instant at least so many ticks on that is a tick.
fn ticks_on(now: SimTime, ticks: u64) -> SimTime {
    SimTime((now.get() / TICK + ticks) * TICK)
}

impl Replay {
    /// `program` behind the programs `before`, started by a shell on `cpu`.
    #[must_use]
    pub fn new(program: Programs, before: Vec<Programs>, cpu: CpuId) -> Replay {
        let mut base = Base::default();
        let (mut parts, mut owner) = (Vec::new(), Vec::new());
        for (nth, program) in (0..).zip(std::iter::once(program).chain(before)) {
            let setup = program.setup();
            owner.extend(setup.tasks.iter().map(|_| nth));
            let next = base.behind(&setup);
            parts.push(Part { program, base, work: FutexId(0), prelude: 0 });
            base = next;
        }
        let (first, work) = (base.tasks, FutexId(base.futexes));
        parts.iter_mut().for_each(|part| part.work = work);
        let mut parents: Vec<TaskId> =
            parts.iter().skip(1).map(|part| TaskId(part.base.tasks)).collect();
        parents.push(TaskId(0));
        parents.reverse();
        let nr_helpers = HELPERS.len() * parents.len();
        let shell = Shell {
            first,
            work,
            cpu,
            parents,
            at: At::Next,
            graces: 0,
            helper: 0,
            helpers: vec![0; nr_helpers],
        };
        Replay { parts, owner, shell }
    }

    /// Who waits for a grace period wakes up the sleepers of this.
    pub(super) fn grace_periods(&self) -> FutexId {
        self.shell.work
    }
}

impl Part {
    /// The next op of a task of this scenario.
    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        let own = TaskId(task.0 - self.base.tasks);
        if own.0 == 0 && self.prelude <= PRELUDE {
            self.prelude += 1;
            return match self.prelude {
                1 => Op::Exec,
                2 => Op::Run(STEP),
                3 => Op::FutexWake { futex: self.work, count: 1 },
                PRELUDE => Op::SleepUntil(ticks_on(now, GRACE)),
                _ => self.base.shift(self.program.next_op(own, now, Outcome::Started)),
            };
        }
        let last = match last {
            Outcome::Child(child) => Outcome::Child(TaskId(child.0 - self.base.tasks)),
            other => other,
        };
        self.base.shift(self.program.next_op(own, now, last))
    }
}

impl Shell {
    fn next_op(&mut self, task: TaskId, now: SimTime) -> Op {
        match (task.0 - self.first).checked_sub(1) {
            None => self.goes_on(now),
            Some(helper) => self.help(helper as usize),
        }
    }

    /// A helper replaces the shell's program, works, and ends.
    fn help(&mut self, helper: usize) -> Op {
        self.helpers[helper] += 1;
        match self.helpers[helper] {
            1 => Op::Exec,
            2 => Op::Run(HELP),
            _ => Op::Exit,
        }
    }

    fn goes_on(&mut self, now: SimTime) -> Op {
        let (at, op) = match self.at {
            At::Next => return self.next_step(),
            At::Asks => (At::Waits, Op::FutexWake { futex: self.work, count: 1 }),
            At::Waits => {
                self.graces += 1;
                (At::Next, Op::SleepUntil(ticks_on(now, GRACE)))
            }
            At::Spawned(task) => (At::Next, Op::Join(task)),
        };
        self.at = at;
        op
    }

    /// It waits for one more grace period, or starts the next helper or scenario, or ends.
    fn next_step(&mut self) -> Op {
        let Some(&parent) = self.parents.last() else { return Op::Exit };
        let gap = self.helper / HELPERS.len();
        let is_for_helper = gap + self.parents.len() == self.helpers.len() / HELPERS.len();
        let nth = self.helper % HELPERS.len();
        if is_for_helper && self.graces < HELPERS[nth] {
            self.at = At::Asks;
            return Op::Run(STEP);
        }
        self.graces = 0;
        let task = if is_for_helper {
            self.helper += 1;
            TaskId(self.first + u32::try_from(self.helper).expect("few scenarios"))
        } else {
            self.parents.pop();
            parent
        };
        self.at = At::Spawned(task);
        Op::Spawn(task)
    }

    fn spec(&self, nth: u32, proc: ProcId) -> TaskSpec {
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

impl Workload for Replay {
    fn setup(&self) -> Setup {
        let mut all = Setup::default();
        for (nth, part) in self.parts.iter().enumerate() {
            let before = |mark: String| if nth == 0 { mark } else { format!("before: {mark}") };
            part.base.append(part.program.setup(), before, &mut all);
        }
        all.futexes += 1;
        let nr_helpers = u32::try_from(self.shell.helpers.len()).expect("few scenarios");
        for nth in 0..=nr_helpers {
            let proc = ProcId::new(all.procs.len());
            all.procs.push("sh".to_owned());
            all.tasks.push(self.shell.spec(nth, proc));
        }
        all
    }

    #[inline]
    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        match self.owner.get(task.idx()) {
            Some(&part) => self.parts[part as usize].next_op(task, now, last),
            None => self.shell.next_op(task, now),
        }
    }
}
