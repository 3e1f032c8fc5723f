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
//! | `timed` | the parent of `schbench` | when it looks at its clock for the last time |
//! | `run` | each `wrkNNN` | behind its wait |
//!
//! [`Lab::latency`] says which marks bound the latency that the lab's tasks measure themselves.

mod between;
mod cache_set;
mod ciphers;
mod costs;
mod counted;
mod damon;
mod draws;
mod exec;
mod grace;
mod hogs;
mod ids;
mod kernel;
mod kthread;
mod kthread_set;
mod kthreads;
mod launch;
mod life;
mod machine;
mod memory;
mod messages;
mod name;
mod pairs;
mod pairs_until;
mod places;
mod procs;
mod psi;
mod replay;
mod rouses;
mod script;
mod shell;
mod since_boot;
mod stacks;
mod star;
mod storm;
mod text;
mod timers;
mod vmstat;

use simsched_core::{MarkId, Nanos, Seed, TaskId};
use simsched_topology::Topology;

pub use counted::{Counted, CountedRun, counted};
pub use kernel::Kernel;
pub use kthreads::WithKthreads;
pub use launch::timed;
pub use machine::replay_counted;
pub use replay::{PartIds, Program, Replay};
pub(crate) use text::Run;
pub use text::{NAME, PREFIX, SCENARIOS, parse};

use crate::error::WorkloadError;
use crate::program::Programs;
use hogs::Hogs;
use launch::Launch;
use machine::Machine;
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
    machine: Machine,
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
        Ok(Lab { name: name.to_owned(), scenario, machine: Machine::of_one_llc(nr_cpus) })
    }

    /// The same scenario on this machine, whose threads restrict themselves to its LLCs; it must have as
    /// many CPUs as were given to [`Lab::new`].
    #[must_use]
    pub fn on(self, topology: &Topology) -> Lab {
        Lab { machine: Machine::new(topology, self.machine.kernel), ..self }
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
        Lab { machine: Machine { kernel, ..self.machine }, ..self }
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
        self.build_within(seed, self.is_behind_probes().then_some(Script::behind_probes))
    }

    /// The programs of all tasks ([`Lab::build`]) where the lab's shell has started the parent behind other programs.
    fn behind_others(&self, seed: Seed) -> Result<Programs, WorkloadError> {
        let of_shell = match self.machine.kernel {
            _ if self.is_behind_probes() => Some(Script::of_shell as fn(Script) -> Script),
            Kernel::V6_1 | Kernel::V6_12 => None,
            Kernel::V7_3 => Some(Script::of_sleeper as fn(Script) -> Script),
        };
        self.build_within(seed, of_shell)
    }

    fn is_behind_probes(&self) -> bool {
        cache_set::has(&self.name)
    }

    fn build_within(
        &self,
        seed: Seed,
        change: Option<impl Fn(Script) -> Script>,
    ) -> Result<Programs, WorkloadError> {
        let script = || {
            let script = Script::new(self.machine.nr_cpus, self.machine.kernel, seed);
            match &change {
                Some(change) => change(script),
                None => script,
            }
        };
        match &self.scenario {
            Scenario::Pairs(pairs) => pairs.build(script()),
            Scenario::Storm(storm) => storm.build(script()),
            Scenario::Timers(timers) => timers.build(script()),
            Scenario::Messages(messages) => messages.build(script()),
            Scenario::Hogs(hogs) => hogs.build(script()),
            Scenario::Procs(procs) => procs.build(script(), &self.machine.llcs),
            Scenario::Star(star) => star.build(script()),
            Scenario::PairsUntil(pairs) => pairs.build(script()),
            Scenario::Life(life) => life.build(script()),
            Scenario::Launch(launch) => launch.build(self.machine.kernel, seed),
        }
    }

    /// Its programs behind those of all that the lab ran before it. Counted runs of hackbench among them run at the prices
    /// of this machine, although nothing traced them.
    ///
    /// # Errors
    /// When a run cannot hold it.
    pub fn replay(&self, seed: Seed) -> Result<Replay, WorkloadError> {
        self.machine.replay(
            &self.name,
            Program::Scenario(Box::new(self.behind_others(seed)?)),
            seed,
        )
    }

    /// The programs of these scenarios of the lab's cache set on one machine, one behind the other as the lab's script
    /// ran them since the boot. All must have been made for the same machine and kernel.
    ///
    /// # Errors
    /// When a run cannot hold them.
    pub fn series(labs: &[Lab], seed: Seed) -> Result<Replay, WorkloadError> {
        let program = |lab: &Lab| Ok(Program::Scenario(Box::new(lab.behind_others(seed)?)));
        let programs = labs.iter().map(program).collect::<Result<Vec<_>, WorkloadError>>()?;
        let machine =
            labs.first().map_or_else(|| Machine::of_one_llc(1), |lab| lab.machine.clone());
        Ok(machine.series(programs, seed))
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

    /// The mark at which the parent looks at its clock for the last time: [`STOP`], but that of `schbench` does so before
    /// it waits for the threads.
    #[must_use]
    pub fn timed(&self) -> MarkId {
        match self.scenario {
            Scenario::Messages(_) => messages::TIMED,
            _ => STOP,
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
