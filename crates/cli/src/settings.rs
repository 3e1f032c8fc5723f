//! `Settings`: what `--set` changes, sorted by whose it is.

use std::collections::BTreeSet;

use simsched_core::{Config, SETTINGS, SettingInfo};
use simsched_policies::{PolicyError, PolicySpec, Registry, catalog};
use simsched_topology::{NumaImbalance, did_you_mean, nearest};

use crate::failure::Failure;

/// What `--set` changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The settings of kernel and machine, changed.
    pub(crate) config: Config,
    /// Those of the policy.
    pub(crate) policy: Vec<(String, String)>,
}

impl Settings {
    /// Finds out whose each setting is.
    ///
    /// # Errors
    /// When neither the simulator nor the policy `expression` has it, or it does not take the value,
    /// or the expression itself says what it is: one of the two would be run under a name that tells
    /// the other.
    pub(crate) fn sort(
        registry: &Registry,
        expression: &str,
        given: &[(String, String)],
    ) -> Result<Settings, Failure> {
        let named = registry.named(expression);
        for (key, value) in given {
            if named.contains(&catalog::plain(key)) {
                return Err(Failure::Input(format!(
                    "policy `{expression}` says itself what {key} is, and so does --set \
                     {key}={value}: give it in one place"
                )));
            }
        }
        Settings::sort_onto(registry, Config::default(), expression, given)
    }

    /// Sorts the settings of a run under a policy that is no entry of a registry: its own are set in `spec`.
    ///
    /// # Errors
    /// When neither the simulator nor the policy has such a setting, or it does not take the value.
    pub(crate) fn of_spec(
        spec: &mut dyn PolicySpec,
        given: &[(String, String)],
    ) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        for (key, value) in given {
            if !settings.config.set(key, value)? {
                spec.set(key, value).map_err(|error| unknown(spec, error))?;
            }
        }
        Ok(settings)
    }

    /// The same, where kernel and machine are set like this before.
    ///
    /// # Errors
    /// As [`Settings::sort`].
    pub(crate) fn sort_onto(
        registry: &Registry,
        config: Config,
        expression: &str,
        given: &[(String, String)],
    ) -> Result<Settings, Failure> {
        let mut settings = Settings { config, ..Settings::default() };
        for (key, value) in given {
            if !settings.config.set(key, value)? {
                settings.policy.push((key.clone(), value.clone()));
            }
        }
        let parsed = registry.parse(expression, &settings.policy);
        parsed.map_err(|error| refused(registry, error))?;
        Ok(settings)
    }
}

/// What is wrong with a setting of a policy that is no entry of a registry, in a sentence.
fn unknown(spec: &dyn PolicySpec, error: PolicyError) -> Failure {
    let PolicyError::UnknownKey { key, nearest: mut names, .. } = error else {
        return Failure::Input(format!("failed to {error}"));
    };
    names.extend(nearest(&key, SETTINGS.iter().map(|SettingInfo { name, .. }| *name)));
    Failure::Input(format!(
        "neither policy `{}` nor the simulator has a feature or setting `{key}`{}",
        spec.policy(),
        did_you_mean(&names)
    ))
}

/// The one setting that sched domains have without a policy: the rule behind `imb_numa_nr`.
///
/// # Errors
/// When another setting is given, or the rule is not known.
pub(crate) fn numa_imbalance(given: &[(String, String)]) -> Result<NumaImbalance, Failure> {
    const KEY: &str = "numa_imbalance";
    let mut rule = NumaImbalance::default();
    for (key, value) in given {
        if key != KEY {
            return Err(Failure::Input(format!(
                "sched domains have no setting `{key}`, only {KEY}{}",
                did_you_mean(&nearest(key, [KEY]))
            )));
        }
        let registry = Registry::builtin();
        let parsed = registry.parse("cfs", &[(key.clone(), value.clone())]);
        parsed.map_err(|error| refused(&registry, error))?;
        rule = NumaImbalance::from_name(value).expect("policies take the same names");
    }
    Ok(rule)
}

/// What is wrong with a policy, in a sentence. A key that the policy does not have may be meant for
/// the simulator.
pub(crate) fn refused(registry: &Registry, error: PolicyError) -> Failure {
    let (policy, key, its_own, is_feature) = match error {
        PolicyError::UnknownKey { policy, key, nearest } => (policy, key, nearest, false),
        PolicyError::UnknownFeature { policy, key, nearest } => (policy, key, nearest, true),
        _ => return Failure::Input(format!("failed to {error}")),
    };
    if SETTINGS.iter().any(|setting| setting.name == key) {
        return Failure::Input(format!(
            "`{key}` is a setting of the simulator and not of a policy: give it with --set {key}=VALUE"
        ));
    }
    // A policy that is made from a file knows its keys alone.
    let near = match nearest(&key, keys(registry, [policy.as_str()])) {
        near if near.is_empty() => its_own,
        near => near,
    };
    let hint = did_you_mean(&near);
    Failure::Input(match is_feature {
        true => format!("policy `{policy}` has no feature `{key}`{hint}"),
        false => format!(
            "neither policy `{policy}` nor the simulator has a feature or setting `{key}`{hint}"
        ),
    })
}

/// What is wrong with a setting that neither the simulator nor any of several policies has, in a sentence.
pub(crate) fn unknown_to_all(registry: &Registry, policies: &[String], key: &str) -> Failure {
    let names = keys(registry, policies.iter().map(String::as_str));
    let listed: Vec<String> = policies.iter().map(|policy| format!("`{policy}`")).collect();
    Failure::Input(format!(
        "neither the simulator nor a policy of this comparison ({}) has a feature or setting `{key}`{}",
        listed.join(", "),
        did_you_mean(&nearest(key, names))
    ))
}

/// The features and settings of these policies, each once, then those of the simulator.
fn keys<'a>(registry: &Registry, policies: impl IntoIterator<Item = &'a str>) -> Vec<&'static str> {
    let mut keys = Vec::new();
    for policy in policies {
        keys.extend(registry.features(policy).iter().map(|feature| feature.key));
        keys.extend(registry.settings(policy).iter().map(|setting| setting.key));
    }
    keys.extend(SETTINGS.iter().map(|SettingInfo { name, .. }| *name));
    let mut seen = BTreeSet::new();
    keys.retain(|key| seen.insert(*key));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(key: &str, value: &str) -> Result<Settings, Failure> {
        Settings::sort(&Registry::builtin(), "cfs", &[(key.to_owned(), value.to_owned())])
    }

    #[test]
    fn a_setting_goes_to_whom_it_belongs() {
        assert_eq!(sorted("hz", "1000").unwrap().config.hz, 1000);
        assert_eq!(sorted("SIS_UTIL", "off").unwrap().policy.len(), 1);
    }

    #[test]
    fn the_nearest_names_of_both_are_told() {
        let text = |key| sorted(key, "on").unwrap_err().to_string();
        assert!(text("skew_tic").ends_with("did you mean `skew_tick`?"), "{}", text("skew_tic"));
        assert!(text("SIS_UTLI").contains("`SIS_UTIL`"), "{}", text("SIS_UTLI"));
    }
}
