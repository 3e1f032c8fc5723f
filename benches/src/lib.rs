//! Benchmarks of simsched, and what they share: machines by size, and one whole run.

use std::sync::Arc;

use simsched_core::observe::Stats;
use simsched_core::{Config, HardwareModel, Policy, SimTime, Simulator, Workload};
use simsched_policies::catalog as policies;
use simsched_topology::Topology;
use simsched_workloads::catalog as workloads;

/// A machine of 1,024 CPUs, which nobody ships yet: 4 sockets of 16 LLCs of 8 cores.
const LARGE: &str = r#"
name = "large"
title = "4 sockets, 512 cores, 1,024 CPUs"
default_mode = "nps1"
costs = "x86"

[cores]
sockets = 4
llcs_per_socket = 16
cores_per_llc = 8
threads_per_core = 2
numbering = "smt_split"

[mode.nps1]
nodes_per_socket = 1
cross_socket = 32

[c2c_ns]
smt = 10
same_llc = 27
same_socket = 100
cross_socket = 192

[[idle]]
name = "C1"
exit_us = 1
residency_us = 2
polling = true
"#;

/// A machine with this many CPUs: 16, 128, 384 or 1,024.
///
/// # Panics
/// With another number of CPUs.
#[must_use]
pub fn machine(cpus: usize) -> Topology {
    let builtin = |name| Topology::builtin(name, None).expect("a shipped machine");
    match cpus {
        16 => builtin("t16"),
        128 => builtin("milan-7543"),
        384 => builtin("genoa"),
        1024 => Topology::parse(LARGE, "large.toml", None).expect("a good machine"),
        _ => panic!("no machine with {cpus} CPUs here"),
    }
}

/// What a run did.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Context switches.
    pub switches: u64,
    /// Events taken from the agenda.
    pub events: u64,
}

/// A run as it is measured: any policy, any workload, statistics on.
pub type Run = Simulator<Box<dyn Policy + Send>, Box<dyn Workload + Send>, Stats>;

/// `command` on `topology` under `policy`, before its start, with all hardware prices.
///
/// # Panics
/// When a name is wrong.
#[must_use]
pub fn simulator(topology: &Arc<Topology>, policy: &str, command: &str) -> Run {
    simulator_on(topology, HardwareModel::Priced, policy, command)
}

/// The same with prices as told.
///
/// # Panics
/// When a name is wrong.
#[must_use]
pub fn simulator_on(
    topology: &Arc<Topology>,
    hardware: HardwareModel,
    policy: &str,
    command: &str,
) -> Run {
    let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let benchmark = workloads::parse(&argv, 1, topology.nr_cpus()).expect("a good command line");
    let workload = benchmark.workload();
    let setup = workload.setup();
    let stats = Stats::new(topology, setup.tasks.len(), setup.marks.len());
    let policy = policies::build(policy, &[]).expect("a known policy");
    let config = Config { hardware, ..Config::default() };
    Simulator::new(Arc::clone(topology), policy, workload, stats, config).expect("a good workload")
}

/// Runs `command` on `topology` under `policy` to its end.
///
/// # Panics
/// When a name is wrong or the run fails.
#[must_use]
pub fn run_once(
    topology: &Arc<Topology>,
    hardware: HardwareModel,
    policy: &str,
    command: &str,
) -> Counts {
    let mut run = simulator_on(topology, hardware, policy, command);
    run.run_until(SimTime(1 << 50)).expect("the run ends well");
    Counts { switches: run.observer().context_switches(), events: run.events() }
}
