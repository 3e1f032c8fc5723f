//! The runs of hackbench that the lab has counted: one after the other on one machine, as its shell ran
//! them, each behind a process that sleeps for 20 ms, and under a program that opens the counters, starts
//! hackbench and waits for its end.
//!
//! The sleeper is seen in the traces of `hackbench-g2f4l10`, and from outside: between the time stamps of
//! `schedstat.before` and `schedstat.after` are the 33 times of a chain and 29.2 to 30.0 ms for each of its runs
//! (7 recordings of 6.1, 6.12 and 7.3).
//!
//! The counting program forks the task that is to be hackbench, which waits at a pipe; opens four counters of it;
//! starts its clock and closes the pipe. What happens then was recorded in the lab's kernels 6.1.176, 6.12.107 and
//! 7.3.4 with `lab.c` as it is (8 CPUs, 18 runs of each behind a first one, with the events of waking, switch, fork,
//! exec and exit); what is before the program's first fork and behind its end was counted in 6.1.176.

use simsched_core::{
    FutexId, MarkId, Nanos, Op, Outcome, ProcId, SchedPolicy, Seed, Setup, SimTime, Start, TaskId,
    TaskSpec, Workload,
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

/// The counting program: from its birth to the look for a CPU when it is executed.
const TO_EXEC: Nanos = Nanos(215_000);
/// What it writes when it has looked at the clock again, and what its end takes beyond the price of an
/// exit: 42 us, and 197 from there to the shell's return from its wait.
const WRITES: Nanos = Nanos(142_000);

/// From the fork of the task that is to be hackbench to its first fork, as one of the kernels takes it.
#[derive(Clone, Copy, Debug)]
struct Begin {
    /// From where the counting program is executed to that fork: it measures how long a loop takes. Beside the price
    /// of the fork.
    to_fork: Nanos,
    /// From the fork to the start of the clock: it opens the counters.
    opens: Nanos,
    /// From the birth of the task to its wait, and from its first switch behind that to its own program, in two
    /// parts, before and behind the look for a CPU when it is executed.
    task: [Nanos; 3],
}

impl Begin {
    /// Medians, in us: from `sched_process_exec` of the counting program to its fork 1,308 (6.1), 1,317 (6.12) and 1,397
    /// (7.3), of which 141 are the price of that; from there to the wakeup of the task 114, 82 and 85; from the birth of
    /// the task to its wait 54, 58 and 60. From its switch to its `sched_process_exec` 326, 298 and 300, and from that
    /// to its first fork 1,213, 964 and 1,031: what `launch` has between the program and the fork is not in these parts.
    fn under(kernel: Kernel) -> Begin {
        let us = |us: u64| Nanos(1_000 * us);
        let [to_fork, opens, to_wait, behind] = match kernel {
            Kernel::V6_1 => [1_232, 114, 54, 72],
            Kernel::V6_12 => [1_241, 82, 58, 56],
            Kernel::V7_3 => [1_321, 85, 60, 125],
        };
        Begin { to_fork: us(to_fork), opens: us(opens), task: [us(to_wait), us(30), us(behind)] }
    }
}
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
    begin: Begin,
    /// The first of the words at which the tasks wait that are to be hackbench, one for each run.
    words: u32,
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
        let (begin, words) = (Begin::under(kernel), base.futexes);
        Ok(Counted { runs: all, owner, shell: base.tasks, cpu, shell_at: 0, begin, words })
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
    /// The program that counts this run, the `nth`, whose task waits at `word`.
    fn counting_op(&mut self, nth: u32, begin: Begin, word: FutexId) -> Op {
        self.counting += 1;
        let main = TaskId(self.base.tasks);
        match self.counting {
            1 => Op::Run(TO_EXEC),
            2 => Op::Exec,
            3 => Op::Run(begin.to_fork),
            4 => Op::Spawn(main),
            5 => Op::Run(begin.opens),
            6 => Op::Mark(MarkId(2 * nth)),
            7 => Op::FutexSet { futex: word, value: 1 },
            8 => Op::FutexWake { futex: word, count: 1, sync: false },
            9 => Op::Join(main),
            10 => Op::Mark(MarkId(2 * nth + 1)),
            11 => Op::Run(WRITES),
            _ => Op::Exit,
        }
    }

    /// The process that sleeps before this run.
    fn sleeper_op(&mut self) -> Op {
        self.sleeping += 1;
        let (begins, sleeps, ends) = SLEEPER;
        match self.sleeping {
            1 => Op::Run(TO_EXEC),
            2 => Op::Exec,
            3 => Op::Run(begins),
            4 => Op::Sleep(sleeps),
            5 => Op::Run(ends),
            _ => Op::Exit,
        }
    }

    /// The task that waits at `word` and is hackbench then.
    fn prelude_op(&mut self, now: SimTime, begin: Begin, word: FutexId) -> Op {
        let [to_wait, to_exec, to_program] = begin.task;
        self.prelude += 1;
        match self.prelude {
            1 => Op::Run(to_wait),
            2 => Op::FutexWait { futex: word, value: 0 },
            3 => Op::Run(to_exec),
            4 => Op::Exec,
            5 => Op::Run(to_program),
            _ => self.base.shift(self.program.next_op(TaskId(0), now, Outcome::Started)),
        }
    }

    fn next_op(&mut self, task: TaskId, now: SimTime, last: Outcome) -> Op {
        let own = TaskId(task.0 - self.base.tasks);
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
        all.futexes += u32::try_from(self.runs.len()).expect("a run has a limit");
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
            let (begin, word) = (self.begin, FutexId(self.words + run));
            let run = &mut self.runs[run as usize];
            if task.0 == run.base.tasks && run.prelude < 6 {
                return run.prelude_op(now, begin, word);
            }
            return run.next_op(task, now, last);
        }
        match (task.0 - self.shell).checked_sub(1) {
            None => self.shell_op(),
            Some(nth) => match (nth as usize).checked_sub(self.runs.len()) {
                None => {
                    let word = FutexId(self.words + nth);
                    self.runs[nth as usize].counting_op(nth, self.begin, word)
                }
                Some(nth) => self.runs[nth].sleeper_op(),
            },
        }
    }
}
