//! `Change`: what a specification changes against the default, and what of that has no effect.

use super::FairSpec;
use crate::fair::features::{CHOICES, FLAGS, WakeupLevel};
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
        let FairSpec { features, overrides } = self;
        let plain = Features::of(features.version.plain());
        let word = |on| if on { "on" } else { "off" }.to_owned();
        let flags =
            FLAGS.iter().map(|flag| (flag.key, word(flag.get(features)), word(flag.get(&plain))));
        let choices = CHOICES.iter().map(|choice| {
            (choice.key, choice.get(features).to_owned(), choice.get(&plain).to_owned())
        });
        let numbers = overrides.iter().map(|(key, value)| {
            let setting = SETTINGS.iter().find(|setting| setting.key == key);
            let default = setting.filter(|setting| !setting.scaled);
            let default = default.map_or_else(String::new, |setting| setting.default.to_string());
            (key, value.to_string(), default)
        });
        flags
            .chain(choices)
            .chain(numbers)
            .filter(|(_, value, default)| value != default)
            .map(|(key, value, default)| Change { key, value, default })
            .collect()
    }

    /// The settings that were given and cannot matter, each with what it needs.
    ///
    /// `SIS_UTIL` replaces the limit that `SIS_PROP` computes (`select_idle_cpu()`), and only that
    /// limit reads the price of a look.
    pub(super) fn idle_keys(&self) -> Vec<(&'static str, &'static str)> {
        let FairSpec { features, overrides } = self;
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
            (
                "wakeup_bias_prev_threshold",
                is_given("wakeup_bias_prev_threshold") && !features.wakeup_bias_prev,
                "wakeup_bias_prev",
            ),
            (
                "bias_pays_search",
                features.bias_pays_search
                    && !(features.wakeup_bias_prev || features.select_bias_prev),
                "wakeup_bias_prev or select_bias_prev",
            ),
            (
                "fits_capacity",
                features.fits_capacity != plain.fits_capacity
                    && !(features.util_fits_capacity || features.select_bias_prev),
                "util_fits_capacity or select_bias_prev",
            ),
            ("tg_node", features.tg_node != plain.tg_node && !features.tg_per_node, "tg_per_node"),
            ("tg_per_node", features.tg_per_node && !is_grouped, "group=container or deeper"),
            (
                "tg_ratelimit",
                features.tg_ratelimit && !plain.tg_ratelimit && !is_grouped,
                "group=container or deeper",
            ),
            ("tg_nomig", features.tg_nomig && !is_grouped, "group=container or deeper"),
            ("HRTICK", features.hrtick && !is_7_2, "eevdf@7.2 or later"),
            ("NI_RATE", features.ni_rate && !is_7_2, "eevdf@7.2 or later"),
            (
                "cgroup_mode",
                features.cgroup_mode != plain.cgroup_mode && !(is_7_3 && is_grouped),
                "eevdf@7.3 and group=container or deeper",
            ),
            (
                "cache_aware_version",
                features.cache_aware_version != plain.cache_aware_version && !features.cache_aware,
                "cache_aware",
            ),
            (
                "llc_footprint",
                features.llc_footprint.is_some() && !features.cache_aware,
                "cache_aware",
            ),
            (
                "ATTACH_AGE_LOAD",
                features.attach_age_load != plain.attach_age_load,
                "tasks that change their class or group, and there are none",
            ),
        ];
        let llc =
            overrides.iter().map(|(key, _)| key).filter(|key| key.starts_with("llc_balancing."));
        let llc = llc.map(|key| (key, !features.cache_aware, "cache_aware"));
        let cas = wakeup_without_effect(features, &plain);
        let idle = rules.into_iter().chain(llc).chain(cas).filter(|(_, is_idle, _)| *is_idle);
        idle.map(|(key, _, needs)| (key, needs)).collect()
    }
}

/// What needs `cache_aware_wakeup`, which decides with its fourth patch only where there is room.
fn wakeup_without_effect(
    features: &Features,
    plain: &Features,
) -> [(&'static str, bool, &'static str); 3] {
    let (is_on, level) = (features.cache_aware_wakeup, features.cache_aware_wakeup_level);
    let has_guard = is_on && level == WakeupLevel::L3;
    let needs = "cache_aware_wakeup@L3";
    [
        (
            "cache_aware_wakeup_level",
            level != plain.cache_aware_wakeup_level && !is_on,
            "cache_aware_wakeup",
        ),
        ("always_check", features.always_check && !has_guard, needs),
        ("refresh_at_enqueue", features.refresh_at_enqueue && !has_guard, needs),
    ]
}
