//! The kernel's own functions as a policy, held against the fair class of the same release: two simulations of one
//! program, event by event.
//!
//! The libraries are built of Debian's sources (`common`); where there are none, the tests say so and pass.
//! `--nocapture` prints where the two part.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test, which prints where two runs part and is told where the libraries are"
)]

mod common;

use std::path::Path;
use std::sync::Arc;

use simsched_core::observe::{Divergence, Recorder, Step, lockstep};
use simsched_core::{
    Config, Policy, Reason, Seed, SimTime, Simulator, Status, Tracepoint, Workload,
};
use simsched_kernel::KernelPolicy;
use simsched_policies::fair::features::Version;
use simsched_policies::fair::{Fair, Features, Overrides};
use simsched_topology::Topology;
use simsched_workloads::hackbench::{Hackbench, THREADS_OVER_PIPES};
use simsched_workloads::lab;

/// A run that can be taken on a little.
struct Run<W: Workload> {
    sim: Simulator<dyn Policy, W, Recorder>,
    until: u64,
    end: u64,
    /// How many there were.
    steps: u64,
}

impl<W: Workload> Run<W> {
    fn new(machine: &str, policy: Box<dyn Policy>, work: W, ms: u64) -> Run<W> {
        let topology = Arc::new(Topology::builtin(machine, None).unwrap());
        // All tasks are looked at for each CPU and event.
        let is_small = topology.nr_cpus() <= 16;
        let config = Config { irq_accounting: false, ..Config::default() };
        let mut sim = Simulator::new(topology, policy, work, Recorder::default(), config).unwrap();
        if is_small {
            sim.set_paranoid();
        }
        Run { sim, until: 0, end: ms * 1_000_000, steps: 0 }
    }

    /// Goes on until there are steps, or to the end.
    fn advance(&mut self, steps: &mut Vec<Step>) {
        while steps.is_empty() && self.until < self.end {
            self.until += 100_000;
            let status = self.sim.run_until(SimTime(self.until)).unwrap();
            self.sim.observer_mut().drain_into(steps);
            if matches!(status, Status::Finished) {
                self.until = self.end;
            }
        }
        self.steps += steps.len() as u64;
        steps.iter_mut().for_each(plain);
    }
}

/// Both name the reasons of a placement in ways of their own.
fn plain(step: &mut Step) {
    if let Tracepoint::Migrate { reason, .. } | Tracepoint::Wakeup { reason, .. } = &mut step.what {
        *reason = Reason(0);
    }
}

/// How many steps of both runs are the same, or the first that is not.
fn compared<W: Workload>(
    machine: &str,
    version: Version,
    library: &Path,
    make: impl Fn() -> W,
    ms: u64,
) -> Result<u64, Divergence> {
    let fair = Fair::new(Features::of(version), Overrides::default());
    let mut ours = Run::new(machine, Box::new(fair), make(), ms);
    let mut kernel = Run::new(machine, Box::new(KernelPolicy::new(library, &[])), make(), ms);
    match lockstep(&mut |steps| ours.advance(steps), &mut |steps| kernel.advance(steps)) {
        Some(divergence) => Err(divergence),
        None => Ok(ours.steps),
    }
}

fn the_lab(version: Version) {
    let Some(library) = common::library(version.name()) else { return };
    let (mut runs, mut steps, mut differ) = (0, 0, Vec::new());
    for (machine, cpus) in [("t8", 8), ("t16", 16)] {
        for name in lab::names(cpus) {
            let make = || lab::build(&name, cpus, Seed(1)).unwrap();
            runs += 1;
            match compared(machine, version, &library, make, 1_000) {
                Ok(equal) => steps += equal,
                Err(parts) => differ.push(format!("{machine} {name}: {parts}")),
            }
        }
    }
    println!("{}: {runs} runs, {steps} steps, {} differ", version.name(), differ.len());
    assert_eq!(differ, [""; 0], "{}", version.name());
    assert!(steps > 1_000 * runs, "{steps} steps of {runs} programs");
}

/// The programs of the lab: their first second is that of the fair class to the nanosecond.
#[test]
fn the_lab_runs_as_it_does_under_cfs() {
    the_lab(Version::V6_1);
}

#[test]
fn the_lab_runs_as_it_does_under_eevdf() {
    the_lab(Version::V6_12);
}

/// Messages on servers of 192 and 384 CPUs.
#[test]
fn messages_on_servers_run_as_they_do_under_the_fair_class() {
    for version in [Version::V6_1, Version::V6_12] {
        let Some(library) = common::library(version.name()) else { return };
        for (machine, groups) in [("spr", 8), ("genoa", 16)] {
            let bench = Hackbench { groups, fds: 20, loops: 100, ..THREADS_OVER_PIPES };
            let make = || bench.build(Seed(1)).unwrap();
            match compared(machine, version, &library, make, 200) {
                Ok(equal) => assert!(equal > 40_000, "{equal} steps of {}", version.name()),
                Err(parts) => panic!("{} on {machine}: {parts}", version.name()),
            }
        }
    }
}

/// The comparison sees which release it looks at: hogs that share CPUs are preempted at other times.
#[test]
fn another_release_runs_otherwise() {
    let Some(library) = common::library("6.1") else { return };
    let make = || lab::build("hogs-free-9", 8, Seed(1)).unwrap();
    let parts = compared("t8", Version::V6_12, &library, make, 1_000).unwrap_err();
    assert!(parts.first.is_some() && parts.second.is_some(), "{parts}");
}
