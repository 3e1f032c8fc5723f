//! The scenarios of the kernel lab: small programs that were run on a real kernel in virtual time.
//!
//! A scenario is one process, `lab`, that forks (or creates) all others and waits for their ends.
//! A name carries the numbers: `hogs-herd-16`, `pingpong-H-w20`. Numbers of tasks may be those of
//! the machine: `N` is its CPUs, `H` half of them, `Q` a quarter, `2N` and `3N` multiples. What each
//! program does, and how long its parts of user space take, was read from the lab's traces; what the
//! kernel takes is the business of the machine.
//!
//! # Tasks
//!
//! Task 0 is `lab`; the others follow in the order in which they are forked, under the names that
//! the lab gives them: `hog00`, `per00`, `ping00` and `pong00`, `fk000`, `msg000`, `wrk001`; threads of
//! process `p` are `p0t00`, `p0t01` and so on, process by process, and a first thread that only waits is
//! `p0main`; a waker is `w000`, its wakees `c000` and so on, the threads of a pair `a000` and `b000`. Behind
//! them come, in [`WithKthreads`], the threads of the machine's kernel, which disturb a run as they
//! did in the lab, and for whose end it does not wait.
//!
//! # Marks
//!
//! | mark | passed by | when |
//! | --- | --- | --- |
//! | [`START`] `start` | `lab` | before its first fork: what it measures, and all its timers, count from here |
//! | [`STOP`] `stop` | `lab` | behind the last wait |
//! | [`RELEASE`] `release` | `lab` of a herd, or of restricted threads | before it widens the first affinity |
//! | `ping`, `pong` | each `pingNN`, `aNNN` and `w000` | before a write, and behind the read of the last answer |
//! | `run` | each `perNN`, and each `pPtNN` with turns | behind a timer; the instant for which that was set is [`Lab::due`] |
//! | `wake wrkNNN` | the message thread | before it wakes this worker |
//! | `run` | each `wrkNNN` | behind its wait |
//!
//! [`Lab::latency`] says which marks bound the latency that the lab's tasks measure themselves.

mod cache_set;
mod costs;
mod counted;
mod damon;
mod exec;
mod grace;
mod hogs;
mod ids;
mod kernel;
mod kthreads;
mod launch;
mod life;
mod memory;
mod messages;
mod name;
mod pairs;
mod pairs_until;
mod places;
mod procs;
mod replay;
mod script;
mod star;
mod storm;
mod text;
mod timers;

use rand::distr::{Distribution, Uniform};
use simsched_core::{MarkId, Nanos, Seed, Start, TaskId, Workload};
use simsched_topology::{CpuId, CpuSet, LlcId, Topology};

pub use counted::{Counted, CountedRun, counted};
pub use kernel::Kernel;
pub use kthreads::WithKthreads;
pub use launch::timed;
pub use replay::{PartIds, Replay};
pub(crate) use text::Run;
pub use text::{NAME, PREFIX, SCENARIOS, parse};

use crate::error::WorkloadError;
use crate::program::Programs;
use hogs::Hogs;
use launch::Launch;
use messages::Messages;
use name::Scenario;
use pairs_until::PairsUntil;
use procs::Procs;
use script::Script;
use star::Star;
use timers::Timers;

/// Before the first fork.
pub const START: MarkId = MarkId(0);
/// Behind the last wait.
pub const STOP: MarkId = MarkId(1);
/// Before the first hog of a herd may leave its CPU, or the first restricted thread its LLC.
pub const RELEASE: MarkId = MarkId(2);

/// A scenario on a machine.
#[derive(Clone, Debug)]
pub struct Lab {
    name: String,
    scenario: Scenario,
    nr_cpus: usize,
    /// By LLC: its CPUs.
    llcs: Vec<CpuSet>,
    kernel: Kernel,
}

/// What bounds the latency that the tasks of a scenario measure themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Latency {
    /// From `from` to the next `to` of the same task.
    RoundTrip {
        /// The question.
        from: MarkId,
        /// The answer.
        to: MarkId,
    },
    /// From the instant [`Lab::due`] of a turn of a task to its `run` of that turn, from 0 on.
    Timer {
        /// The task runs.
        run: MarkId,
    },
    /// From the mark of a task to its next `run`.
    Wake {
        /// By task: it is about to be woken.
        wakes: Vec<(MarkId, TaskId)>,
        /// The task runs.
        run: MarkId,
    },
}

impl Lab {
    /// The scenario of this name on a machine of so many CPUs behind one LLC: [`Lab::on`] says which LLCs
    /// a machine really has.
    ///
    /// # Errors
    /// One sentence that names what was not understood, and the nearest names.
    pub fn new(name: &str, nr_cpus: usize) -> Result<Lab, WorkloadError> {
        let scenario = name::parse(name, nr_cpus)?;
        let llcs = vec![CpuSet::first_n(nr_cpus.max(1))];
        Ok(Lab { name: name.to_owned(), scenario, nr_cpus, llcs, kernel: Kernel::default() })
    }

    /// The same scenario on this machine, whose threads restrict themselves to its LLCs; it must have as
    /// many CPUs as were given to [`Lab::new`].
    #[must_use]
    pub fn on(self, topology: &Topology) -> Lab {
        let llcs = (0..topology.nr_llcs()).map(|llc| *topology.llc_span(LlcId::new(llc)));
        Lab { llcs: llcs.collect(), ..self }
    }

    /// The same scenario with another length: from the start to the deadline of its tasks, or to when the
    /// parent ends them. Those whose length is no number of their own stay as they are:
    /// `pingpong`, `forkstorm`, `hackbench` and `life`.
    #[must_use]
    pub fn lasting(mut self, length: Nanos) -> Lab {
        let own = match &mut self.scenario {
            Scenario::Timers(Timers { length, .. })
            | Scenario::Messages(Messages { length, .. })
            | Scenario::Hogs(Hogs { length, .. })
            | Scenario::Procs(Procs { length, .. })
            | Scenario::Star(Star { length, .. })
            | Scenario::PairsUntil(PairsUntil { length, .. }) => length,
            Scenario::Pairs(_) | Scenario::Storm(_) | Scenario::Life(_) | Scenario::Launch(_) => {
                return self;
            }
        };
        *own = length;
        self
    }

    /// The same scenario as the lab ran it under this kernel.
    #[must_use]
    pub fn under(self, kernel: Kernel) -> Lab {
        Lab { kernel, ..self }
    }

    /// Its name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The programs of all tasks. The seed chooses the CPU of the parent, and the time between a
    /// tick and its first fork.
    ///
    /// # Errors
    /// When a run cannot hold it.
    pub fn build(&self, seed: Seed) -> Result<Programs, WorkloadError> {
        let script = || {
            let script = Script::new(self.nr_cpus, self.kernel, seed);
            if cache_set::has(&self.name) { script.behind_probes() } else { script }
        };
        match &self.scenario {
            Scenario::Pairs(pairs) => pairs.build(script()),
            Scenario::Storm(storm) => storm.build(script()),
            Scenario::Timers(timers) => timers.build(script()),
            Scenario::Messages(messages) => messages.build(script()),
            Scenario::Hogs(hogs) => hogs.build(script()),
            Scenario::Procs(procs) => procs.build(script(), &self.llcs),
            Scenario::Star(star) => star.build(script()),
            Scenario::PairsUntil(pairs) => pairs.build(script()),
            Scenario::Life(life) => life.build(script()),
            Scenario::Launch(launch) => launch.build(self.kernel, seed),
        }
    }

    /// Its programs behind those of all scenarios that the lab ran before it; `None` for `hackbench`,
    /// which the lab did not start by its own program.
    ///
    /// # Errors
    /// When a run cannot hold it.
    pub fn replay(&self, seed: Seed) -> Result<Option<Replay>, WorkloadError> {
        if matches!(self.scenario, Scenario::Launch(_)) {
            return Ok(None);
        }
        let names = name::before(&self.name, self.nr_cpus);
        let lab = |name: &String| -> Result<Lab, WorkloadError> {
            let llcs = self.llcs.clone();
            Ok(Lab { llcs, ..Lab::new(name, self.nr_cpus)?.under(self.kernel) })
        };
        let before = names.iter().map(|name| lab(name)?.build(seed));
        let before = before.collect::<Result<Vec<_>, _>>()?;
        let program = self.build(seed)?;
        let cpu = parent_cpu(&program);
        let replay = Replay::new(program, before, cpu, self.nr_cpus);
        Ok(Some(self.tested(replay, cpu, seed)))
    }

    /// The programs of these scenarios of the lab's cache set on one machine, one behind the other as the lab's script
    /// ran them since the boot. All must have been made for the same machine and kernel.
    ///
    /// # Errors
    /// When a run cannot hold them.
    pub fn series(labs: &[Lab], seed: Seed) -> Result<Replay, WorkloadError> {
        let programs = labs.iter().map(|lab| lab.build(seed)).collect::<Result<Vec<_>, _>>()?;
        let cpu = programs.first().map_or(CpuId(0), parent_cpu);
        let nr_cpus = labs.first().map_or(1, |lab| lab.nr_cpus);
        let replay = Replay::series(programs, cpu, nr_cpus);
        Ok(match labs.first() {
            Some(lab) => lab.tested(replay, cpu, seed),
            None => replay,
        })
    }

    /// The same where the kernel tests its ciphers behind its boot, if it has such a test.
    fn tested(&self, replay: Replay, cpu: CpuId, seed: Seed) -> Replay {
        match self.kernel {
            Kernel::V6_1 => replay,
            Kernel::V6_12 | Kernel::V7_3 => replay.testing(self.testing_cpu(cpu, seed)),
        }
    }

    /// Any CPU but that of the shell.
    fn testing_cpu(&self, shell: CpuId, seed: Seed) -> CpuId {
        let others = Uniform::new(0, self.nr_cpus.saturating_sub(1).max(1)).expect("one or more");
        let nth = others.sample(&mut seed.stream("cryptomgr", 0));
        CpuId::new(nth + usize::from(nth >= shell.idx() && self.nr_cpus > 1))
    }

    /// What bounds the latency that its tasks measure, if they measure one.
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        match &self.scenario {
            Scenario::Pairs(_) | Scenario::Star(_) | Scenario::PairsUntil(_) => {
                Some(Latency::RoundTrip { from: pairs::PING, to: pairs::PONG })
            }
            Scenario::Timers(_) => Some(Latency::Timer { run: timers::RUN }),
            Scenario::Procs(procs) => procs.turns.map(|_| Latency::Timer { run: procs.run_mark() }),
            Scenario::Messages(messages) => {
                Some(Latency::Wake { wakes: messages.wakes(), run: messages::RUN })
            }
            Scenario::Storm(_) | Scenario::Hogs(_) | Scenario::Life(_) | Scenario::Launch(_) => {
                None
            }
        }
    }

    /// How long behind [`START`] the timer of this turn of a task expires, turns from 0 on; `None`
    /// for a task that sets no timers, or fewer.
    #[must_use]
    pub fn due(&self, task: TaskId, turn: u64) -> Option<Nanos> {
        match &self.scenario {
            Scenario::Timers(timers) => timers.due(task, turn),
            Scenario::Procs(procs) => procs.due(task, turn),
            _ => None,
        }
    }

    /// Whether a task writes results of its own at its end (an entry of `NAME.json`): the parent does not, nor does a first
    /// thread of a process that only creates the others and waits for them (`tpp`, `life`).
    #[must_use]
    pub fn reports(&self, task: TaskId) -> bool {
        task != script::SELF
            && match &self.scenario {
                Scenario::PairsUntil(_) => PairsUntil::reports(task),
                Scenario::Life(life) => life.reports(task),
                _ => true,
            }
    }

    /// How many tasks it has, with the parent.
    #[must_use]
    pub fn nr_tasks(&self) -> u32 {
        1 + match &self.scenario {
            Scenario::Pairs(pairs) => 2 * pairs.pairs,
            Scenario::Storm(storm) => storm.children,
            Scenario::Timers(Timers { hogs, tasks, .. }) => hogs + tasks,
            Scenario::Messages(Messages { messengers, workers, .. }) => messengers * (1 + workers),
            Scenario::Hogs(hogs) => hogs.count(),
            Scenario::Procs(procs) => procs.count(),
            Scenario::Star(star) => star.count(),
            Scenario::PairsUntil(pairs) => pairs.count(),
            Scenario::Life(life) => life.count(),
            // The main task stands for the parent here.
            Scenario::Launch(Launch(hackbench)) => {
                u32::try_from(hackbench.workers()).expect("a name has set a limit")
            }
        }
    }
}

/// The CPU on which the parent of these programs begins.
fn parent_cpu(program: &Programs) -> CpuId {
    match program.setup().tasks.first().map(|parent| parent.start) {
        Some(Start::AtZero(cpu)) => cpu,
        _ => CpuId(0),
    }
}

/// Whether a scenario of this name belongs to [`cache_set`]: the lab ran these one behind the other since the boot, with
/// probes of the kernel.
#[must_use]
pub fn is_of_cache_set(name: &str) -> bool {
    cache_set::has(name)
}

/// The programs of the scenario of this name on a machine of so many CPUs.
///
/// # Errors
/// One sentence that names what was not understood, and the nearest names.
pub fn build(name: &str, nr_cpus: usize, seed: Seed) -> Result<Programs, WorkloadError> {
    Lab::new(name, nr_cpus)?.build(seed)
}

/// The names of the scenarios with which the lab asked where the threads of a process are under cache-aware
/// scheduling, in its order; they are the same on all machines.
pub fn cache_set() -> impl Iterator<Item = &'static str> {
    cache_set::NAMES.split_whitespace()
}

/// The names of the scenarios that the lab has run on machines of so many CPUs, in its order.
#[must_use]
pub fn names(nr_cpus: usize) -> Vec<String> {
    name::all(nr_cpus)
}
