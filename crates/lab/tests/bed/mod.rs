//! The lab's machine of 16 CPUs, and what a scenario on it comes to.

use std::sync::Arc;

use simsched_lab::folder::Recorded;
use simsched_lab::once::Once;
use simsched_lab::reference::Scenario;
use simsched_lab::run::{Bed, config};
use simsched_lab::value::Value;
use simsched_policies::Registry;
use simsched_topology::Topology;
use simsched_workloads::lab::Kernel;

pub(crate) fn bed(policy: &str) -> Bed {
    Bed {
        topology: Arc::new(Topology::builtin("t16", Some("lab")).unwrap()),
        untraced: Arc::new(Topology::builtin("t16", Some("untraced")).unwrap()),
        kernel: Kernel::V6_1,
        registry: Registry::builtin(),
        policy: policy.to_owned(),
        settings: Vec::new(),
        config: config(),
        chains: Once::default(),
        series: Once::default(),
    }
}

pub(crate) fn run(bed: &Bed, name: &str, seed: u64) -> Recorded {
    let scenario = Scenario::new(name, Vec::new());
    bed.run(&scenario, seed, &|| false).unwrap().unwrap()
}

pub(crate) fn number(recorded: &Recorded, metric: &str) -> f64 {
    match recorded.values.value(metric) {
        Some(Value::Number(number)) => number,
        other => panic!("{metric}: {other:?}"),
    }
}
