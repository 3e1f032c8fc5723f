//! `Change`: what a specification changes against the default, and what of that has no effect.

use super::FairSpec;
use super::selection::word;
use crate::fair::features::{CHOICES, FLAGS};
use crate::fair::tunables::SETTINGS;
use crate::fair::{Features, Version};

/// A feature or setting that differs from that of the policy without version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// Its value in the default; empty if that depends on the machine.
    pub default: String,
}

impl FairSpec {
    /// All features and settings that differ from the policy without version, features and
    /// settings.
    pub(super) fn changed(&self) -> Vec<Change> {
        let FairSpec { features, patches, overrides } = self;
        let version = features.version.plain();
        let (plain, unpatched) = (Features::of(version), patches.clone().at(version));
        let switch = |key, is, was| (key, word(is).to_owned(), word(was).to_owned());
        let flags = FLAGS.iter().map(|it| switch(it.key, it.get(features), it.get(&plain)));
        let patched = patches.known().iter().map(|it| it.key);
        let patched = patched.map(|key| switch(key, patches.is_on(key), unpatched.is_on(key)));
        let choices = CHOICES.iter().map(|choice| {
            (choice.key, choice.get(features).to_owned(), choice.get(&plain).to_owned())
        });
        let numbers = overrides.iter().map(|(key, value)| {
            let setting = SETTINGS.iter().find(|setting| setting.key == key);
            let default = setting.filter(|setting| !setting.scaled);
            let default = default.map_or_else(String::new, |setting| setting.default.to_string());
            (key, value.to_string(), default)
        });
        let of_patches = patches.changed().map(|(setting, value)| {
            (setting.key(), setting.written(value), setting.written(setting.default()))
        });
        flags
            .chain(patched)
            .chain(choices)
            .chain(numbers)
            .chain(of_patches)
            .filter(|(_, value, default)| value != default)
            .map(|(key, value, default)| Change { key, value, default })
            .collect()
    }

    /// The settings that were given and cannot matter, each with what it needs.
    ///
    /// `SIS_UTIL` replaces the limit that `SIS_PROP` computes (`select_idle_cpu()`), and only that
    /// limit reads the price of a look.
    pub(super) fn idle_keys(&self) -> Vec<(&'static str, String)> {
        let FairSpec { features, patches, overrides } = self;
        let is_on = |key| patches.is_on(key);
        let is_given = |key| overrides.iter().any(|(given, _)| given == key);
        let plain = Features::of(features.version);
        let is_grouped = features.grouping != plain.grouping;
        let (is_7_2, is_7_3) =
            (features.version >= Version::V7_2, features.version >= Version::V7_3);
        let is_proportional = features.sis_prop && !features.sis_util;
        let rules = [
            ("SIS_PROP", features.sis_prop && !plain.sis_prop && features.sis_util, "SIS_UTIL=off"),
            (
                "sis_prop_cpu_ns",
                is_given("sis_prop_cpu_ns") && !is_proportional,
                "SIS_PROP=on and SIS_UTIL=off",
            ),
            ("HRTICK", features.hrtick && !is_7_2, "eevdf@7.2 or later"),
            ("NI_RATE", features.ni_rate && !is_7_2, "eevdf@7.2 or later"),
            (
                "cgroup_mode",
                features.cgroup_mode != plain.cgroup_mode && !(is_7_3 && is_grouped),
                "eevdf@7.3 and group=container or deeper",
            ),
            (
                "ATTACH_AGE_LOAD",
                features.attach_age_load != plain.attach_age_load,
                "tasks that change their class or group, and there are none",
            ),
        ];
        // What a kernel has without being asked for is not given.
        let given =
            patches.known().iter().filter(|it| is_on(it.key) && !it.is_of(features.version));
        let lacking = given.filter_map(|patch| {
            let need = patch.needs.filter(|need| !(need.is_met)(features, patches))?;
            Some((patch.key, true, need.what))
        });
        let rules = rules.into_iter().map(|(key, is_idle, needs)| (key, is_idle, needs.to_owned()));
        let lacking = lacking.map(|(key, is_idle, needs)| (key, is_idle, needs.to_owned()));
        let of_patches = patches.changed().map(|(setting, _)| {
            let of = || patches.known().iter().filter(|it| it.has(setting.key()));
            let needs = of().map(|it| it.key).collect::<Vec<_>>().join(" or ");
            (setting.key(), !of().any(|it| is_on(it.key)), needs)
        });
        let idle = rules.chain(of_patches).chain(lacking).filter(|(_, is_idle, _)| *is_idle);
        idle.map(|(key, _, needs)| (key, needs)).collect()
    }
}
