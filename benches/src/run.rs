//! One whole run as it is measured: statistics on, prices as told.

use std::sync::Arc;

use simsched_core::observe::Stats;
use simsched_core::{Config, HardwareModel, Policy, SimTime, Simulator, Workload};
use simsched_policies::catalog as policies;
use simsched_topology::Topology;
use simsched_workloads::catalog as workloads;

/// The machine of which the others are parts and multiples.
const GENOA: &str = include_str!("../../topologies/genoa.toml");

/// Far beyond the end of any run here.
const HORIZON: SimTime = SimTime(1 << 50);

/// The machine with this name: built in, or `genoa-N`, a Genoa with N CPUs in as many sockets and LLCs as
/// that takes (16: one LLC; 128: 2 sockets of 4; 384: the real one; 1024: 4 sockets of 16, which nobody
/// ships). All that has a price is the same on them.
///
/// # Panics
/// When there is no such machine.
#[must_use]
pub fn machine(name: &str) -> Topology {
    let (sockets, llcs) = match name {
        "genoa-16" => (1, 1),
        "genoa-128" => (2, 4),
        "genoa-384" => (2, 12),
        "genoa-1024" => (4, 16),
        _ => return Topology::builtin(name, None).expect("a shipped machine"),
    };
    let text = GENOA
        .replace("\nsockets = 2\n", &format!("\nsockets = {sockets}\n"))
        .replace("\nllcs_per_socket = 12\n", &format!("\nllcs_per_socket = {llcs}\n"));
    Topology::parse(&text, name, None).expect("a good machine")
}

/// What a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Context switches.
    pub switches: u64,
    /// Events taken from the agenda.
    pub events: u64,
}

/// A run as it is measured: any policy, any workload, statistics on.
pub type Run = Simulator<dyn Policy + Send, Box<dyn Workload + Send>, Stats>;

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
    simulator_of(topology, hardware, policy, benchmark.workload())
}

/// Any program, before its start.
pub(crate) fn simulator_of(
    topology: &Arc<Topology>,
    hardware: HardwareModel,
    policy: &str,
    workload: Box<dyn Workload + Send>,
) -> Run {
    // The simulator asks for a setup of its own, and a million tasks are not to be held twice.
    let stats = {
        let setup = workload.setup();
        Stats::new(topology, setup.tasks.len(), setup.marks.len())
    };
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
    to_the_end(&mut run)
}

/// Runs what has been built to its end: this is what is measured, and nothing before or after it. It
/// is found by its name in the callgrind runs of `benches/count.sh`.
///
/// # Panics
/// When the run fails.
#[inline(never)]
pub fn to_the_end(run: &mut Run) -> Counts {
    run.run_until(HORIZON).expect("the run ends well");
    Counts { switches: run.observer().context_switches(), events: run.events() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_machine_has_as_many_cpus_as_its_name_says() {
        for (name, cpus, llcs) in
            [("genoa-16", 16, 1), ("genoa-128", 128, 8), ("genoa-1024", 1024, 64)]
        {
            let machine = machine(name);
            assert_eq!((machine.nr_cpus(), machine.nr_llcs()), (cpus, llcs), "{name}");
        }
        assert_eq!(machine("genoa-384").nr_cpus(), machine("genoa").nr_cpus());
    }
}
