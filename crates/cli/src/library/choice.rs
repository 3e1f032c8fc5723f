//! `PolicyChoice`, `WorkloadChoice`: a policy or workload by name, or one of the caller's.

use std::sync::Arc;

use crate::chosen::{ChosenPolicy, ChosenWorkload};

/// A policy by its expression, such as `cfs+SIS_UTIL=off`, or one of the caller's ([`policy::own`]).
#[derive(Clone, Debug)]
pub struct PolicyChoice(pub(super) ChosenPolicy);

/// A workload by its command line, such as `hackbench -g 8`, or one of the caller's ([`workload::own`]).
#[derive(Clone, Debug)]
pub struct WorkloadChoice(pub(super) ChosenWorkload);

impl From<&str> for PolicyChoice {
    fn from(expression: &str) -> PolicyChoice {
        PolicyChoice(ChosenPolicy::Named(expression.to_owned()))
    }
}

impl From<String> for PolicyChoice {
    fn from(expression: String) -> PolicyChoice {
        PolicyChoice(ChosenPolicy::Named(expression))
    }
}

/// The words of a command line, separated by blanks; an argument that has blanks in it is given by a list
/// of words.
impl From<&str> for WorkloadChoice {
    fn from(line: &str) -> WorkloadChoice {
        let words = line.split_whitespace().map(str::to_owned);
        WorkloadChoice(ChosenWorkload::Words(words.collect()))
    }
}

impl From<String> for WorkloadChoice {
    fn from(line: String) -> WorkloadChoice {
        line.as_str().into()
    }
}

impl From<Vec<String>> for WorkloadChoice {
    fn from(words: Vec<String>) -> WorkloadChoice {
        WorkloadChoice(ChosenWorkload::Words(words))
    }
}

impl From<&[&str]> for WorkloadChoice {
    fn from(words: &[&str]) -> WorkloadChoice {
        words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>().into()
    }
}

/// Policies of the caller's.
pub mod policy {
    use simsched_core::Policy;

    use super::{Arc, ChosenPolicy, PolicyChoice};

    /// The policy that `new` makes before each run, under this name in all results. It has no settings.
    #[must_use]
    pub fn own<P: Policy + Send + 'static>(
        name: &str,
        new: impl Fn() -> P + Send + Sync + 'static,
    ) -> PolicyChoice {
        let spec = simsched_policies::own(name, move || Box::new(new()));
        PolicyChoice(ChosenPolicy::Own(Arc::from(spec)))
    }
}

/// Workloads of the caller's.
pub mod workload {
    use simsched_core::{Seed, Workload};
    use simsched_topology::Topology;
    use simsched_workloads::WorkloadError;

    use super::{Arc, ChosenWorkload, WorkloadChoice};

    /// The workload that `new` makes before each run for a machine and a seed, under this name in all
    /// results. It is called again with the same seed and must not fail then.
    ///
    /// It prints nothing and has no `time`; the first of its spans counts as `request_latency`.
    #[must_use]
    pub fn own<W: Workload + Send + 'static>(
        name: &str,
        new: impl Fn(&Topology, Seed) -> Result<W, WorkloadError> + Send + Sync + 'static,
    ) -> WorkloadChoice {
        let new = Arc::new(move |topology: &Topology, seed| {
            new(topology, seed).map(|made| Box::new(made) as Box<dyn Workload + Send>)
        });
        WorkloadChoice(ChosenWorkload::Own { name: name.to_owned(), new })
    }
}
