//! `PolicySpec`: a policy as an expression asks for it, before it is built.

use std::fmt::Debug;

use simsched_core::Policy;
use simsched_topology::NumaImbalance;

use crate::catalog::{Change, FairSpec};
use crate::error::PolicyError;

/// A feature or setting of a policy that is made from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSetting {
    /// Its name.
    pub key: &'static str,
    /// Its value, in words where that depends on the machine.
    pub value: String,
    /// What it takes.
    pub takes: String,
    /// Whether it is a feature, which `+NAME` switches on.
    pub is_feature: bool,
}

/// A policy that was asked for, before it is built: its name, its features and its settings.
pub trait PolicySpec: Debug + Send + Sync {
    /// Its name: the version, and all that is not the default of that version. It names the same policy.
    fn name(&self) -> String;

    /// The name of its entry, without version, features and settings.
    fn policy(&self) -> &str;

    /// Builds the policy, for one run.
    fn build(&self) -> Box<dyn Policy + Send>;

    /// Sets a feature (`on`, `off`) or a setting by name.
    ///
    /// # Errors
    /// When there is no such key, or it does not take the value.
    fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError>;

    /// Switches a feature on, or off if it is written as the kernel does, `NO_NEXT_BUDDY`.
    ///
    /// # Errors
    /// When there is no such feature.
    fn enable(&mut self, text: &str) -> Result<(), PolicyError>;

    /// The value of a feature or setting, a formula where it depends on the number of CPUs; none if there is
    /// no such key.
    fn get(&self, key: &str) -> Option<String>;

    /// A copy that can be changed by itself.
    fn boxed(&self) -> Box<dyn PolicySpec>;

    /// All features and settings that differ from the policy without version, features and settings.
    fn changes(&self) -> Vec<Change> {
        Vec::new()
    }

    /// The features and settings of a policy that is made from a file, in its order: they are in no catalog.
    fn own_settings(&self) -> Vec<OwnSetting> {
        Vec::new()
    }

    /// The settings that were given and cannot matter, each with what it needs.
    fn without_effect(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The names of the reasons that its entry lists, which must be those of the policy; none if it has no
    /// such entry.
    fn reasons(&self) -> Option<Vec<&'static str>> {
        None
    }

    /// The version of the kernel that it stands for, such as `6.1`; none if it stands for none.
    fn kernel(&self) -> Option<&str> {
        None
    }

    /// What it was built of, by name, where its name does not say that, such as the release and the hashes of a library;
    /// a report carries it.
    fn built_of(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The fair class that it asks for; none if it asks for another policy.
    fn fair(&self) -> Option<FairSpec> {
        None
    }

    /// The rule behind `imb_numa_nr` of its sched domains.
    fn numa_imbalance(&self) -> NumaImbalance {
        NumaImbalance::default()
    }
}
