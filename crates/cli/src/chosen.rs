//! What a run is made of where the caller of the library has a policy or a workload of its own in place of
//! a name.

use std::fmt;
use std::sync::Arc;

use simsched_core::{Seed, Workload};
use simsched_policies::PolicySpec;
use simsched_topology::Topology;
use simsched_workloads::WorkloadError;

/// Makes a workload for a machine and a seed, before a run.
pub(crate) type NewWorkload =
    dyn Fn(&Topology, Seed) -> Result<Box<dyn Workload + Send>, WorkloadError> + Send + Sync;

/// A policy by its expression, or one of the caller's.
#[derive(Clone, Debug)]
pub(crate) enum ChosenPolicy {
    Named(String),
    Own(Arc<dyn PolicySpec>),
}

/// A workload by the words of its command line, or one of the caller's.
#[derive(Clone)]
pub(crate) enum ChosenWorkload {
    Words(Vec<String>),
    Own { name: String, new: Arc<NewWorkload> },
}

impl ChosenPolicy {
    /// The expression, or the name of the caller's own.
    pub(crate) fn name(&self) -> &str {
        match self {
            ChosenPolicy::Named(name) => name,
            ChosenPolicy::Own(spec) => spec.policy(),
        }
    }
}

impl ChosenWorkload {
    /// The words, or the name of the caller's own as the only one.
    pub(crate) fn words(&self) -> Vec<String> {
        match self {
            ChosenWorkload::Words(words) => words.clone(),
            ChosenWorkload::Own { name, .. } => vec![name.clone()],
        }
    }
}

impl fmt::Debug for ChosenWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChosenWorkload").field(&self.words()).finish()
    }
}
