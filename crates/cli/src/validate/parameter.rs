//! Parameters: numbers that are computed from a machine and a policy, without a run.

use simsched_claims::{Claim, Family};
use simsched_policies::{PolicySpec, Registry};
use simsched_topology::{CpuId, Domains, Kernel, Topology, did_you_mean, nearest};

use crate::settings::refused;
use crate::sides::Given;

/// The number that the metric of `claim` names, for its patched side.
pub(super) fn compute(
    claim: &Claim,
    topology: &Topology,
    settings: &Given,
    registry: &Registry,
) -> Result<f64, String> {
    let policy = registry
        .parse(&claim.patched, settings)
        .map_err(|error| format!("patched: {}", refused(registry, error)))?;
    let name = &claim.metric.part;
    match claim.metric.family {
        Family::ImbNumaNr => imb_numa_nr(name, topology, policy.as_ref()),
        _ => setting(name, policy.as_ref(), registry),
    }
}

/// `imb_numa_nr` of a sched domain of the first CPU. A domain is named as `simsched topo show` does
/// (of two that are called the same the second is `NUMA.2`), or as people count NUMA levels from the
/// outside: `NUMA-A` is the widest, `NUMA-B` the next within.
fn imb_numa_nr(name: &str, topology: &Topology, policy: &dyn PolicySpec) -> Result<f64, String> {
    let rule = policy.numa_imbalance();
    let domains = Domains::build(topology, Kernel::V6_1, rule);
    let mut names: Vec<(String, u32)> = Vec::new();
    for sd in domains.of(CpuId::new(0)) {
        let same = domains.of(CpuId::new(0)).iter().take(names.len());
        let before = same.filter(|other| other.name == sd.name).count();
        let name =
            if before == 0 { sd.name.to_owned() } else { format!("{}.{}", sd.name, before + 1) };
        names.push((name, sd.imb_numa_nr));
    }
    let is_numa = |(name, _): &&(String, u32)| name.split('.').next() == Some("NUMA");
    let letters = ('A'..='Z').zip(names.iter().rev().filter(is_numa));
    let aliases: Vec<(String, u32)> =
        letters.map(|(letter, (_, number))| (format!("NUMA-{letter}"), *number)).collect();
    names.extend(aliases);
    let found = names.iter().find(|(known, _)| known == name).map(|(_, number)| f64::from(*number));
    found.ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        let hint = did_you_mean(&nearest(name, known.iter().copied()));
        format!(
            "metric: found the sched domain `{name}`, expected one of {}{hint}",
            known.join(", ")
        )
    })
}

/// The value of a setting: as the policy changes it, or its default.
fn setting(name: &str, policy: &dyn PolicySpec, registry: &Registry) -> Result<f64, String> {
    let settings = registry.settings(policy.policy());
    let Some(setting) = settings.iter().find(|setting| setting.key == name) else {
        let known: Vec<&str> = settings.iter().map(|setting| setting.key).collect();
        let hint = did_you_mean(&nearest(name, known.iter().copied()));
        let known = known.join(", ");
        return Err(format!("metric: found the setting `{name}`, expected one of {known}{hint}"));
    };
    let value = policy.get(name).unwrap_or_else(|| setting.default.clone());
    value.parse().map_err(|_| format!("metric: `{name}` is no number here: it is {value}"))
}
