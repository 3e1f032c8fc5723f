//! `ScenarioReport`: what was run, as a report names it.

use std::collections::BTreeMap;

use serde::Serialize;

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ScenarioReport {
    /// The machine's name.
    pub(crate) topology: String,
    /// Its mode.
    pub(crate) mode: String,
    /// `built-in`, or the path of its file as given.
    pub(crate) topology_file: String,
    /// The FNV-1a hash of that file's text; absent of built-in machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) topology_hash: Option<String>,
    /// Its size.
    pub(crate) nr_cpus: usize,
    pub(crate) nr_llcs: usize,
    pub(crate) nr_nodes: usize,
    /// The policy expression.
    pub(crate) policy: String,
    /// The same with its version and all settings that are not the default.
    pub(crate) policy_full: String,
    /// What the policy was built of, by name, where its name does not say that.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) policy_built_of: BTreeMap<String, String>,
    /// The workload's command line.
    pub(crate) workload: String,
    /// Its words as given.
    pub(crate) workload_args: Vec<String>,
    /// The seed.
    pub(crate) seed: u64,
    /// What `--set` has changed.
    pub(crate) settings: BTreeMap<String, String>,
    /// The limit of `--duration` in ns, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ns: Option<u64>,
    /// What `--precision` asks for, in percent, and its limit in events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) precision_pct: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) precision_limit: Option<u64>,
    /// The interval of `--llc-interval` in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) llc_interval_ns: Option<u64>,
    /// Whether the whole machine was checked at every step.
    #[serde(skip_serializing_if = "is_off")]
    pub(crate) paranoid: bool,
    /// Whether the whole run was asked for, with the start of its program.
    #[serde(skip_serializing_if = "is_off")]
    pub(crate) whole: bool,
}

impl ScenarioReport {
    /// What the policy was built of, hashes by their first twelve digits; none if its name says all.
    pub(crate) fn built_of(&self) -> Option<String> {
        let short = |text: &str| match text.len() {
            64 => text.chars().take(12).collect(),
            _ => text.to_owned(),
        };
        let part = |(name, text): (&String, &String)| format!("{name} {}", short(text));
        let parts: Vec<String> = self.policy_built_of.iter().map(part).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

fn is_off(on: &bool) -> bool {
    !on
}
