//! The runs of hackbench that the lab has counted: one after the other on one machine, as its shell ran
//! them, each behind a process that sleeps for 20 ms, and under a program that opens the counters, starts
//! hackbench and waits for its end.
//!
//! The sleeper is seen in the traces of `hackbench-g2f4l10`, and from outside: between the time stamps of
//! `schedstat.before` and `schedstat.after` are the 33 times of a chain and 29.2 to 30.0 ms for each of its runs
//! (7 recordings of 6.1, 6.12 and 7.3).
//!
//! What the shell and the counting program do between was counted in the lab's kernel 6.1.176 on 8
//! and 16 CPUs (four such chains of 33 runs, medians; they differ by 1 or 2 % but for the first run).

use simsched_core::{
    MarkId, Nanos, Op, Outcome, ProcId, SchedPolicy, Seed, Setup, SimTime, Start, TaskId, TaskSpec,
    Workload,
};
use simsched_topology::CpuId;

use super::ids::Base;
use super::kernel::Kernel;
use super::launch;
use crate::error::WorkloadError;
use crate::hackbench::{Channel, ENDED, Hackbench, Mode, THREADS_OVER_PIPES};
use crate::program::Programs;

/// The runs that the lab has counted on each machine, in its order.
#[must_use]
pub fn counted() -> Vec<Hackbench> {
    let threads = |groups, fds| Hackbench { groups, fds, loops: 500, ..THREADS_OVER_PIPES };
    let shapes = [1, 2, 4].map(|groups| [2, 4, 8].map(|fds| threads(groups, fds)));
    let processes = Hackbench { mode: Mode::Processes, ..threads(2, 4) };
    let sockets = Hackbench { channel: Channel::Socket, ..threads(2, 4) };
    [shapes.concat().repeat(3), [processes, sockets].repeat(3)].concat()
}

/// The counting program: from its birth to the look for a CPU when it is executed, and from there to
/// its own first instruction.
const TO_EXEC: [Nanos; 2] = [Nanos(215_000), Nanos(65_000)];
/// From there to the start of the clock: it opens the counters.
const OPENS: Nanos = Nanos(585_000);
/// What it writes when it has looked at the clock again, and what its end takes beyond the price of an
/// exit: 42 us, and 197 from there to the shell's return from its wait.
const WRITES: Nanos = Nanos(142_000);
/// hackbench itself, as [`TO_EXEC`]: 165 us from its birth to its own first instruction. The fork before
/// takes 124 us, 17 less than the price of one.
const TO_PROGRAM: [Nanos; 2] = [Nanos(88_000), Nanos(55_000)];
/// The process before each run: what it computes from where it is executed to its sleep (it measures how long a loop
/// takes); its sleep; and what it takes from there to its end. From its birth to its sleep are 5.63 to 5.79 ms in the
/// traces of 6.1, 6.12 and 7.3, and from its timer to the shell's wakeup 270 to 350 us, 100 of which an exit has.
const SLEEPER: (Nanos, Nanos, Nanos) = (Nanos(5_430_000), Nanos::from_millis(20), Nanos(170_000));
/// From the shell's return from its wait to the next fork.
const BETWEEN: Nanos = Nanos(11_000);

/// Runs of hackbench, one behind the other.
///
/// First come the tasks of all runs in their order, then the shell, the programs that count, and last those that
/// sleep.
#[derive(Clone, Debug)]
pub struct Counted {
    runs: Vec<Run>,
    /// Of each task of hackbench, to which run it belongs.
    owner: Vec<u32>,
    /// The shell; the counting programs follow, then the sleepers.
    shell: u32,
    /// Where it is run first.
    cpu: CpuId,
    /// How far the shell is, in ops.
    shell_at: u32,
}

/// One of them.
#[derive(Clone, Debug)]
struct Run {
    program: Programs,
    nr_tasks: u32,
    base: Base,
    /// How far its main task is before its own program, in ops.
    prelude: u32,
    /// How far the counting program is, in ops.
    counting: u32,
    /// How far the process is that sleeps before it, in ops.
    sleeping: u32,
}

/// Where one of the runs is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedRun {
    /// Its main task; its workers follow.
    pub main: TaskId,
    /// How many tasks it has.
    pub nr_tasks: u32,
    /// Passed by the counting program when it starts its clock.
    pub start: MarkId,
    /// Passed by the main task when the counters begin to count.
    pub executed: MarkId,
    /// Passed by each task when it ends and its counters with it: a kernel folds them into those of the
    /// parent before it takes the address space down (`perf_event_exit_task()`, 4.3 us behind `do_exit()`
    /// and 5.2 before `mmput()` in the lab's kernel 6.1.176).
    pub ended: MarkId,
    /// Passed by the counting program when it stops its clock.
    pub stop: MarkId,
}

impl Counted {
    /// These runs on a machine of so many CPUs under this kernel.
    ///
    /// # Errors
    /// When a run cannot hold them.
    pub fn new(
        runs: &[Hackbench],
        nr_cpus: usize,
        kernel: Kernel,
        seed: Seed,
    ) -> Result<Counted, WorkloadError> {
        let marks = 2 * u32::try_from(runs.len()).expect("a run has a limit");
        let mut base = Base::behind_marks(marks);
        let (mut all, mut owner) = (Vec::new(), Vec::new());
        for (nth, hackbench) in (0..).zip(runs) {
            // The seeds of neighbouring chains shall not meet.
            let seed = Seed(seed.0.wrapping_add(u64::from(nth) << 32));
            let program = launch::counted(hackbench, kernel, seed)?;
            let setup = program.setup();
            let nr_tasks = u32::try_from(setup.tasks.len()).expect("a run has a limit");
            owner.extend((0..nr_tasks).map(|_| nth));
            let next = base.behind(&setup);
            all.push(Run { program, nr_tasks, base, prelude: 0, counting: 0, sleeping: 0 });
            base = next;
        }
        let cpu = seed.0 % u64::try_from(nr_cpus.max(1)).unwrap_or(1);
        let cpu = CpuId::new(usize::try_from(cpu).unwrap_or(0));
        Ok(Counted { runs: all, owner, shell: base.tasks, cpu, shell_at: 0 })
    }

    /// Where the runs are found, in their order.
    pub fn runs(&self) -> impl Iterator<Item = CountedRun> + '_ {
        (0..).zip(&self.runs).map(|(nth, run)| CountedRun {
            main: TaskId(run.base.tasks),
            nr_tasks: run.nr_tasks,
            start: MarkId(2 * nth),
            executed: MarkId(run.base.marks + super::START.0),
            ended: MarkId(run.base.marks + ENDED.0),
            stop: MarkId(2 * nth + 1),
        })
    }

    /// The task that starts all others.
    pub(super) fn shell(&self) -> TaskId {
        TaskId(self.shell)
    }

    fn counting(&self, nth: u32) -> TaskId {
        TaskId(self.shell + 1 + nth)
    }

    fn sleeper(&self, nth: u32) -> TaskId {
        TaskId(self.counting(nth).0 + u32::try_from(self.runs.len()).expect("a run has a limit"))
    }

    /// The shell: for each run it starts the sleeper and waits for it, then the counting program.
    fn shell_op(&mut self) -> Op {
        let (nth, step) = (self.shell_at / 6, self.shell_at % 6);
        if self.runs.len() <= nth as usize {
            return Op::Exit;
        }
        self.shell_at += 1;
        match step {
            1 => Op::Spawn(self.sleeper(nth)),
            2 => Op::Join(self.sleeper(nth)),
            4 => Op::Spawn(self.counting(nth)),
            5 => Op::Join(self.counting(nth)),
            _ => Op::Run(BETWEEN),
        }
    }

    fn spec(&self, name: &str, proc: ProcId) -> TaskSpec {
        let start = if name == SHELL { Start::AtZero(self.cpu) } else { Start::Spawned };
        TaskSpec {
            name: name.to_owned(),
            proc,
            nice: 0,
            policy: SchedPolicy::Normal,
            allowed: None,
            start,
        }
    }
}

const SHELL: &str = "sh";

impl Run {
    /// The program that counts this run, the `nth`.
    fn counting_op(&mut self, nth: u32) -> Op {
        self.counting += 1;
        let main = TaskId(self.base.tasks);
        match self.counting {
            1 => Op::Run(TO_EXEC[0]),
            2 => Op::Exec,
            3 => Op::Run(TO_EXEC[1] + OPENS),
            4 => Op::Mark(MarkId(2 * nth)),
            5 => Op::Spawn(main),
            6 => Op::Join(main),
            7 => Op::Mark(MarkId(2 * nth + 1)),
            8 => Op::Run(WRITES),
            _ => Op::Exit,
        }
    }

    /// The process that sleeps before this run.
    fn sleeper_op(&mut self) -> Op {
        self.sleeping += 1;
        let (begins, sleeps, ends) = SLEEPER;
        match self.sleeping {
            1 => Op::Run(TO_EXEC[0]),
            2 => Op::Exec,
            3 => Op::Run(begins),
            4 => Op::Sleep(sleeps),
            5 => Op::Run(ends),
            _ => Op::Exit,
        }
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        let own = TaskId(task.0 - self.base.tasks);
        if own.0 == 0 && self.prelude < 4 {
            self.prelude += 1;
            return match self.prelude {
                1 => Op::Run(TO_PROGRAM[0]),
                2 => Op::Exec,
                3 => Op::Run(TO_PROGRAM[1]),
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

impl Workload for Counted {
    fn setup(&self) -> Setup {
        let name = |nth| [format!("start {nth}"), format!("stop {nth}")];
        let marks = (0..self.runs.len()).flat_map(name).collect();
        let mut all = Setup { marks, ..Setup::default() };
        for run in &self.runs {
            run.base.append(run.program.setup(), |mark| format!("within: {mark}"), &mut all);
        }
        for nth in 0..=2 * self.runs.len() {
            let name = match nth {
                0 => SHELL,
                nth if nth <= self.runs.len() => "count",
                _ => "usleep",
            };
            let proc = ProcId::new(all.procs.len());
            all.procs.push(name.to_owned());
            all.tasks.push(self.spec(name, proc));
        }
        all
    }

    #[inline]
    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        if let Some(&run) = self.owner.get(task.idx()) {
            return self.runs[run as usize].next_op(task, now, last);
        }
        match (task.0 - self.shell).checked_sub(1) {
            None => self.shell_op(),
            Some(nth) => match (nth as usize).checked_sub(self.runs.len()) {
                None => self.runs[nth as usize].counting_op(nth),
                Some(nth) => self.runs[nth].sleeper_op(),
            },
        }
    }
}
