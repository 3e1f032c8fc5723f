//! The lab's scenarios as they are named on a command line, and what a run of one says.

use simsched_core::{Launcher, Seed, Workload};
use simsched_topology::Topology;

use super::{Lab, START, WithKthreads};
use crate::benchmark::{BenchResult, Benchmark, MarkTimes, SpanTimes};
use crate::error::WorkloadError;
use crate::hackbench;
use crate::program::Programs;

/// How the scenarios are listed.
pub const NAME: &str = "lab:NAME";
/// What stands before the name of a scenario.
pub const PREFIX: &str = "lab:";

/// Every kind of scenario, by what its names look like, and what it is.
pub const SCENARIOS: &[(&str, &str)] = &[
    ("pingpong-P", "P pairs of processes ask and answer over pipes; -wW: W us of work before each"),
    ("forkstorm-K", "K children are forked and work for 5 ms each; -gapG: G us between two forks"),
    ("periodic-K", "K tasks run for 2 ms every 10; -stag: staggered and more often"),
    ("schbench-MxW", "M threads wake W workers each over futexes"),
    ("hogs-free-K", "K tasks compute for 1 s; hogs-long-free-K: for 6 s"),
    ("hogs-herd-K", "the same, born on CPU 0 and let go after 100 ms; hogs-long-herd-K: for 6 s"),
    (
        "share-A-B",
        "tasks with the nice values A, B and so on compute on CPU 0 (m5: -5; 0x4: four of 0)",
    ),
    ("hogper-H-P", "H of nice A compute and P of nice B run on timers on CPU 0; -long, -nA-B"),
    ("th-free-T", "a process of T threads computes for 1.5 s; pr-PxT: P of them for 1.2 s"),
    (
        "th-spread-T",
        "T threads compute for 1 s, spread over the LLCs until they are let go at 100 ms",
    ),
    (
        "th-load-H",
        "4 threads in LLC 0, let go at 100 ms, beside H that stay there; th-sload-H: 4 spread",
    ),
    ("pr-PxT-same", "P processes of T threads compute for 1.2 s, in LLC 0 for the first 100 ms"),
    ("mix-T-K", "a process of T threads and K of one thread each compute for 1.2 s"),
    ("sl-T-R-S", "T threads of a process run for R ms and sleep for S ms on timers, for 1 s"),
    ("sl-spread-T-R-S", "the same, spread over the LLCs until they are let go at 100 ms"),
    ("pc-1xN", "a thread asks N others of its process over pipes and waits for all, for 600 ms"),
    ("tpp-P", "P pairs of threads of a process ask and answer over pipes for 600 ms"),
    ("sb-MxW", "as schbench-MxW, with 1 ms of work after each wakeup, for 800 ms"),
    ("life-exit", "threads that compute end one after another; life-grow: more are born"),
    ("life-fork", "a process of 4 threads that compute forks another one of 4"),
    ("hackbench-gGfFlL", "hackbench -T -p -g G -f F -l L, timed with its start and its end"),
    ("hackbench OPTIONS", "the same with any options"),
];

/// The scenario that the command line `lab:NAME ARGS` means on a machine of so many CPUs; only
/// `hackbench` has arguments.
///
/// # Errors
/// One sentence that names what was not understood, and the nearest names.
pub fn parse(word: &str, args: &[String], nr_cpus: usize) -> Result<Lab, WorkloadError> {
    let name = word.strip_prefix(PREFIX).unwrap_or(word);
    match args.first() {
        Some(arg) if name != hackbench::NAME => Err(WorkloadError::Usage {
            program: NAME,
            what: format!("unexpected argument '{arg}'"),
        }),
        Some(_) => Lab::new(&format!("{name} {}", args.join(" ")), nr_cpus),
        None => Lab::new(name, nr_cpus),
    }
}

/// A scenario, to be run with a seed.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) lab: Lab,
    pub(crate) seed: u64,
}

impl Run {
    fn programs(&self) -> Programs {
        let programs = self.lab.build(Seed(self.seed));
        programs.expect("the numbers were checked when the name was read")
    }
}

impl Benchmark for Run {
    /// Some scenarios start tasks all the time.
    fn begins_with_births(&self) -> bool {
        false
    }

    fn command(&self) -> String {
        format!("{PREFIX}{}", self.lab.name)
    }

    fn banner(&self) -> String {
        let Lab { name, scenario, machine } = &self.lab;
        let nr_cpus = machine.nr_cpus;
        format!("{name} on {nr_cpus} CPUs, {} tasks: {scenario}", self.lab.nr_tasks())
    }

    /// What its tasks do was recorded, and by whom they were started not.
    fn launcher(&self) -> Launcher {
        Launcher::None
    }

    fn has_kthreads(&self) -> bool {
        true
    }

    fn workload(&self) -> Box<dyn Workload + Send> {
        Box::new(self.programs())
    }

    fn workload_on(&self, topology: &Topology) -> Box<dyn Workload + Send> {
        let lab = self.lab.clone().on(topology);
        let programs = Run { lab, seed: self.seed }.programs();
        Box::new(WithKthreads::new(programs, topology, Seed(self.seed)))
    }

    fn result(&self, marks: &[MarkTimes], _: &[SpanTimes]) -> BenchResult {
        let mark = |id: simsched_core::MarkId| marks.get(id.idx()).filter(|mark| mark.count > 0);
        let values = vec![("tasks", u64::from(self.lab.nr_tasks()))];
        let (Some(start), Some(stop)) = (mark(START), mark(self.lab.timed())) else {
            return BenchResult {
                text: "elapsed: not finished".to_owned(),
                elapsed_ns: 0,
                throughput_milli: None,
                values,
            };
        };
        let elapsed_ns = stop.last_ns.saturating_sub(start.first_ns);
        let us = elapsed_ns / 1_000;
        let text = format!("elapsed_ms: {}.{:03}", us / 1_000, us % 1_000);
        BenchResult { text, elapsed_ns, throughput_milli: None, values }
    }
}
