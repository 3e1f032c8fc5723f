//! A short run of what was accepted.

use std::sync::Arc;

use simsched_core::{Config, HardwareModel, SimTime, Simulator, Workload};
use simsched_policies::catalog;
use simsched_topology::Topology;

/// The machine of the runs.
pub fn machine() -> Topology {
    let text = include_str!("../../crates/workloads/tests/data/vm2.toml");
    Topology::parse(text, "vm2.toml", None).expect("a machine of the tests")
}

/// Runs the begin of a workload under all checks; what it comes to is for nobody to judge.
pub fn a_little(
    workload: Box<dyn Workload + Send>,
    machine: &Arc<Topology>,
    hardware: HardwareModel,
) {
    let policy = catalog::build("cfs", &[]).expect("a policy that is built in");
    let config = Config { hardware, ..Config::default() };
    let Ok(mut run) = Simulator::new(Arc::clone(machine), policy, workload, (), config) else {
        return;
    };
    run.set_paranoid();
    if let Err(error) = run.run_events(SimTime(10_000_000_000), 100) {
        crate::support::one_line(&error.to_string());
    }
}
