//! Machines of the lab, and what a scenario on one comes to.

use std::sync::Arc;

use simsched_lab::folder::Recorded;
use simsched_lab::once::Once;
use simsched_lab::reference::Scenario;
use simsched_lab::run::{Bed, config};
use simsched_lab::value::Value;
use simsched_policies::Registry;
use simsched_topology::Topology;
use simsched_workloads::lab::Kernel;

/// The machine of 16 CPUs under kernel 6.1 with this policy.
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

/// A machine of this name under kernel 7.3 with this policy of it.
pub(crate) fn of_7_3(name: &str, policy: &str) -> Bed {
    let topology = |mode| Arc::new(Topology::builtin(name, Some(mode)).unwrap());
    Bed {
        topology: topology("lab-7.3"),
        untraced: topology("untraced-7.3"),
        kernel: Kernel::V7_3,
        ..bed(policy)
    }
}

/// A run of a scenario with this seed.
pub(crate) fn run(bed: &Bed, name: &str, seed: u64) -> Recorded {
    let scenario = Scenario::new(name, Vec::new());
    bed.run(&scenario, seed, &|| false).unwrap().unwrap()
}

/// A metric that is a number.
pub(crate) fn number(recorded: &Recorded, metric: &str) -> f64 {
    match recorded.values.value(metric) {
        Some(Value::Number(number)) => number,
        other => panic!("{metric}: {other:?}"),
    }
}
