//! Policies by name.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Attached, TtwuQueue};
use simsched_policies::PolicyError;
use simsched_policies::catalog::{
    build, canonical_name, features, named, parse, policies, reasons, settings, versions,
};
use simsched_policies::fair::patches::PATCHES;
use simsched_topology::Topology;

/// What a policy says of itself on a small machine.
fn attached(expr: &str) -> Attached {
    let kit = WorldKit::new(Topology::builtin("t8", None).unwrap(), 250);
    PolicyHost::boxed(kit, build(expr, &[]).unwrap()).attached
}

fn pairs(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

#[track_caller]
fn check_name(expr: &str, settings: &[(&str, &str)], name: &str) {
    assert_eq!(canonical_name(expr, &pairs(settings)).unwrap(), name);
    // A full name names the same policy.
    assert_eq!(canonical_name(name, &[]).unwrap(), name);
    build(expr, &pairs(settings)).unwrap();
}

#[test]
fn a_full_name_says_the_version_and_what_differs_from_it() {
    check_name("cfs", &[], "cfs@6.1");
    check_name("cfs@5.16", &[], "cfs@5.16");
    check_name("fifo", &[], "fifo");
    check_name("wakeup_bias_prev", &[], "cfs@6.1+wakeup_bias_prev");
    check_name("wakeup_bias_prev@5.16", &[], "cfs@5.16+wakeup_bias_prev");
    check_name("cfs@5.16+SIS_PROP=off+SIS_UTIL=on", &[], "cfs@5.16+SIS_UTIL=on+SIS_PROP=off");
    check_name("cfs+SIS_UTIL=off+SIS_UTIL=on", &[], "cfs@6.1");
    check_name("cfs+NO_LAST_BUDDY+NEXT_BUDDY", &[], "cfs@6.1+NEXT_BUDDY=on+LAST_BUDDY=off");
    check_name(
        "cfs+wakeup_bias_prev+migration_cost_ns=250000",
        &[("sched_latency_ns", "12000000")],
        "cfs@6.1+wakeup_bias_prev+latency_ns=12000000+migration_cost_ns=250000",
    );
    check_name(
        "cfs+numa_imbalance=v4.1+fork_imbalance=v5.18",
        &[],
        "cfs@6.1+numa_imbalance=v4.1+fork_imbalance=5.18",
    );
    check_name(
        "wakeup_bias_prev+tg_per_node+group=nested:1",
        &[("tg_node", "runqueue")],
        "cfs@6.1+wakeup_bias_prev+tg_per_node+group=container+tg_node=runqueue",
    );
}

#[test]
fn a_series_of_patches_is_named_with_its_form_and_stands_on_the_kernel_that_it_is_for() {
    check_name("cache_aware", &[], "eevdf@7.3+cache_aware");
    check_name("cache_aware@merged", &[], "eevdf@7.3+cache_aware");
    check_name("cache_aware@7.2", &[], "eevdf@7.2+cache_aware");
    check_name("eevdf@7.0+cache_aware@merged", &[], "eevdf@7.0+cache_aware");
    check_name("cache_aware@v4", &[], "eevdf@7.0+cache_aware@v4");
    check_name("cache_aware@6.12", &[], "eevdf@6.12+cache_aware");
    check_name("cfs+cache_aware@v4", &[], "cfs@6.1+cache_aware@v4");
    check_name("cache_aware+cache_aware_version=v4", &[], "eevdf@7.3+cache_aware@v4");
    check_name(
        "cache_aware@v4+llc_footprint=zero",
        &[("llc_balancing.aggr_tolerance", "100"), ("llc_balancing.epoch_period", "3")],
        "eevdf@7.0+cache_aware@v4+llc_footprint=zero+llc_balancing.aggr_tolerance=100\
         +llc_balancing.epoch_period=3",
    );
    check_error(
        "eevdf+cache_aware@v5",
        "find version `v5` of `cache_aware` (known: v4, merged; a version belongs to the base, as in \
         eevdf@7.3+cache_aware)",
    );
}

#[track_caller]
fn check_error(expr: &str, message: &str) {
    let error = build(expr, &[]).err().unwrap();
    assert_eq!(error.to_string(), message);
}

#[test]
fn an_unknown_name_brings_the_nearest_ones() {
    let patches: Vec<_> = PATCHES.iter().map(|patch| patch.key).collect();
    let known = format!("known: cfs, eevdf, fifo, {}", patches.join(", "));
    check_error("csf", &format!("find policy `csf` ({known}); did you mean `cfs`?"));
    check_error(
        "wakeup_bias",
        &format!("find policy `wakeup_bias` ({known}); did you mean `wakeup_bias_prev`?"),
    );
    check_error(
        "cfs+SIS_UTLI",
        "find feature `SIS_UTLI` of policy `cfs`; did you mean `SIS_UTIL`?",
    );
    check_error(
        "cfs+wakeup_bias",
        "find feature `wakeup_bias` of policy `cfs`; did you mean `wakeup_bias_prev`?",
    );
    check_error(
        "cfs+group=nest",
        "set `group` to `nest`: expected one of root, container, nested:2, nested:3, nested:4, \
         nested:5, nested:6, nested:7, nested:8",
    );
    check_error(
        "cfs@6.12",
        "find version `6.12` of `cfs` (known: 5.16, 6.1, 6.5; that of Linux 6.12 is `eevdf@6.12`)",
    );
    check_error(
        "cfs+SIS_UTL=on",
        "find feature or setting `SIS_UTL` of policy `cfs`; did you mean `SIS_UTIL`?",
    );
    check_error(
        "cfs+latency_ms=6",
        "find feature or setting `latency_ms` of policy `cfs`; did you mean `latency_ns`?",
    );
    check_error("fifo+SIS_UTIL=on", "find feature or setting `SIS_UTIL` of policy `fifo`");
}

#[test]
fn a_plus_needs_something_behind_it() {
    let said = |expr: &str| build(expr, &[]).err().unwrap().to_string();
    for expr in ["cfs+", "cfs++SIS_UTIL", "cfs@6.1+SIS_UTIL+"] {
        let want = format!(
            "read policy `{expr}`: found nothing behind a `+`, expected FEATURE or KEY=VALUE"
        );
        assert_eq!(said(expr), want);
    }
}

#[test]
fn a_discipline_has_its_own_versions_features_and_settings() {
    check_name("eevdf", &[], "eevdf@7.3");
    check_name("eevdf@6.6", &[], "eevdf@6.6");
    check_name("eevdf@7.0+NO_RUN_TO_PARITY", &[], "eevdf@7.0+RUN_TO_PARITY=off");
    check_name(
        "eevdf+wakeup_bias_prev+group=container",
        &[("base_slice_ns", "3000000")],
        "eevdf@7.3+wakeup_bias_prev+group=container+base_slice_ns=3000000",
    );
    check_error(
        "eevdf@6.1",
        "find version `6.1` of `eevdf` (known: 6.6, 6.12, 7.0, 7.2, 7.3; that of Linux 6.1 is `cfs@6.1`)",
    );
    let said = |expr: &str| build(expr, &[]).err().unwrap().to_string();
    for expr in ["eevdf+LAST_BUDDY=off", "eevdf+latency_ns=6000000", "cfs+base_slice_ns=3000000"] {
        assert!(said(expr).starts_with("find feature or setting"), "{}", said(expr));
    }
    for (policy, has, lacks) in
        [("eevdf", "DELAY_DEQUEUE", "LAST_BUDDY"), ("cfs", "LAST_BUDDY", "DELAY_DEQUEUE")]
    {
        let keys: Vec<&str> = features(policy).iter().map(|feature| feature.key).collect();
        assert!(keys.contains(&has) && !keys.contains(&lacks), "{policy}");
    }
    let slice = settings("eevdf").into_iter().find(|setting| setting.key == "base_slice_ns");
    assert_eq!(slice.unwrap().default, "700000 * (1 + log2(CPUs, at most 8))");
    assert!(!settings("eevdf").iter().any(|setting| setting.key == "latency_ns"));
}

#[test]
fn an_expression_tells_which_features_and_settings_it_names() {
    let check = |expr: &str, keys: &[&str]| assert_eq!(named(expr), keys, "{expr}");
    check("eevdf@7.0+cache_aware@v4+NO_NI_RANDOM", &["cache_aware", "NI_RANDOM"]);
    check("cfs@6.1", &[]);
    check("cfs+NO_NEXT_BUDDY+SIS_UTIL=off", &["NEXT_BUDDY", "SIS_UTIL"]);
    check("wakeup_bias_prev@6.1+sched_latency_ns=7", &["wakeup_bias_prev", "latency_ns"]);
}

#[test]
fn a_version_belongs_to_the_base_and_a_setting_has_a_value() {
    check_error(
        "wakeup_bias_prev@9.9",
        "find version `9.9` of `wakeup_bias_prev` (known: 5.16, 6.1, 6.5)",
    );
    check_error(
        "cache_aware_wakeup@L4",
        "find version `L4` of `cache_aware_wakeup` (known: 6.6, 6.12, 7.0, 7.2, 7.3, L1, L2, L3)",
    );
    check_error(
        "cfs+wakeup_bias_prev@6.1",
        "find version `6.1` of `wakeup_bias_prev` (known: none; a version belongs to the base, as \
         in cfs@6.1+wakeup_bias_prev)",
    );
    check_error(
        "cfs+latency_ns",
        "take `latency_ns` as a feature: it is a setting and needs a value, latency_ns=VALUE with \
         100000..=1000000000 ns",
    );
    check_error(
        "cfs+fork_imbalance",
        "take `fork_imbalance` as a feature: it is a setting and needs a value, fork_imbalance=VALUE with \
         5.16, v4, 5.18, 6.0",
    );
}

#[test]
fn a_version_says_what_it_changes() {
    let changes = parse("cfs@5.16+latency_ns=9000000+migration_cost_ns=7", &[]).unwrap().changes();
    let found: Vec<(&str, &str, &str)> =
        changes.iter().map(|c| (c.key, c.value.as_str(), c.default.as_str())).collect();
    let want = [
        ("SIS_UTIL", "off", "on"),
        ("SIS_PROP", "on", "off"),
        ("NI_RANDOM", "off", "on"),
        ("numa_imbalance", "5.16", "merged"),
        ("fork_imbalance", "5.16", "6.0"),
        ("latency_ns", "9000000", ""),
        ("migration_cost_ns", "7", "500000"),
    ];
    assert_eq!(found, want);
    assert_eq!(parse("cfs@6.1", &[]).unwrap().changes(), []);
}

#[test]
fn each_version_tells_in_what_it_differs_and_where_that_comes_from() {
    check_versions("cfs", &["5.16", "6.1", "6.5"]);
    check_versions("eevdf", &["6.6", "6.12", "7.0", "7.2", "7.3"]);
    // EEVDF is that of the newest kernel.
    assert!(versions("eevdf").last().is_some_and(|version| version.default));
}

fn check_versions(policy: &str, want: &[&str]) {
    let versions = versions(policy);
    let names: Vec<&str> = versions.iter().map(|version| version.name).collect();
    assert_eq!(names, want);
    let mut before = None;
    for version in &versions {
        let selection = parse(&format!("{policy}@{}", version.name), &[]).unwrap();
        assert_eq!(version.default, selection.name() == canonical_name(policy, &[]).unwrap());
        // Each feature that changes is named.
        let named = |key: &str| version.differences.iter().any(|one| one.what.contains(key));
        let all = features(policy);
        let values: Vec<_> = all.iter().map(|feature| selection.get(feature.key)).collect();
        for (nth, feature) in all.iter().enumerate() {
            let changes = before.as_ref().is_some_and(|was: &Vec<_>| was[nth] != values[nth]);
            assert!(!changes || named(feature.key), "{} of {}", feature.key, version.name);
        }
        assert_eq!(before.is_none(), version.differences.is_empty());
        before = Some(values);
        for one in version.differences {
            assert!(!one.what.is_empty() && one.source.contains('.'), "{one:?}");
        }
    }
}

#[track_caller]
fn check_idle(expr: &str, want: &[&str]) {
    let found = parse(expr, &[]).unwrap().without_effect();
    assert_eq!(found.iter().map(|(key, _)| *key).collect::<Vec<_>>(), want, "{expr}");
}

#[test]
fn a_setting_that_cannot_matter_is_known() {
    check_idle("cfs", &[]);
    check_idle("cfs@5.16+migration_cost_ns=1+sis_prop_cpu_ns=2", &[]);
    check_idle("cfs@5.16+SIS_PROP=off+SIS_UTIL=on", &[]);
    check_idle("cfs+SIS_PROP", &["SIS_PROP"]);
    check_idle("cfs+SIS_PROP+SIS_UTIL=off+migration_cost_ns=1", &[]);
    check_idle("cfs+sis_prop_cpu_ns=2", &["sis_prop_cpu_ns"]);
    check_idle("cfs@5.16+NO_SIS_PROP+sis_prop_cpu_ns=1", &["sis_prop_cpu_ns"]);
    check_idle("cfs@5.16+NO_SIS_PROP+migration_cost_ns=1", &[]);
    check_idle("cfs@6.5+ATTACH_AGE_LOAD=off", &["ATTACH_AGE_LOAD"]);
    check_idle("cfs+wakeup_bias_prev_threshold=1", &["wakeup_bias_prev_threshold"]);
    check_idle("wakeup_bias_prev+wakeup_bias_prev_threshold=1", &[]);
    check_idle("cfs+tg_per_node", &["tg_per_node"]);
    check_idle("cfs+tg_node=runqueue+group=container", &["tg_node"]);
    check_idle("cfs+tg_per_node+tg_ratelimit+tg_nomig+tg_node=runqueue+group=nested:2", &[]);
    check_idle("cfs+fits_capacity=v1", &["fits_capacity"]);
    check_idle("select_bias_prev+fits_capacity=v1", &[]);
    check_idle("eevdf+llc_balancing.imb_pct=30", &["llc_balancing.imb_pct"]);
    check_idle("eevdf+cache_aware_version=v4", &["cache_aware_version"]);
    check_idle("cache_aware@v4+llc_balancing.imb_pct=30+llc_footprint=rss", &[]);
    check_idle("always_check", &["always_check"]);
    check_idle("cache_aware_wakeup+always_check+refresh_at_enqueue", &[]);
    check_idle("eevdf", &[]);
    check_idle("eevdf@6.6+tg_ratelimit", &["tg_ratelimit"]);
    check_idle("fifo", &[]);
}

#[test]
fn every_reason_is_explained() {
    for policy in policies() {
        let found = reasons(policy.name);
        let names: Vec<&str> = found.iter().map(|reason| reason.name).collect();
        assert_eq!(names, attached(policy.name).reasons);
        assert!(found.iter().all(|reason| reason.doc.ends_with('.') && reason.doc.len() > 10));
    }
    assert_eq!(reasons("cfs")[1].doc, "The previous CPU was free.");
    assert_eq!(reasons("nobody"), []);
}

#[test]
fn a_value_that_a_key_does_not_take_is_refused() {
    check_error("cfs+SIS_UTIL=maybe", "set `SIS_UTIL` to `maybe`: expected on or off");
    check_error(
        "cfs+latency_ns=soon",
        "set `latency_ns` to `soon`: expected a whole number of ns from 100000 to 1000000000",
    );
    check_error("cfs+latency_ns=1", "set `latency_ns` to 1: it takes 100000..=1000000000 ns");
    let error = build("cfs+wakeup_bias_prev_threshold=1025", &[]).err().unwrap();
    assert!(matches!(error, PolicyError::OutOfRange { value: 1025, .. }), "{error}");
    check_error(
        "cfs+fork_imbalance=v7",
        "set `fork_imbalance` to `v7`: expected one of 5.16, v4, 5.18, 6.0",
    );
}

#[test]
fn every_listed_key_can_be_set_to_its_default_and_to_something_else() {
    for policy in policies() {
        for feature in features(policy.name) {
            for value in ["on", "off"] {
                build(&format!("{}+{}={value}", policy.name, feature.key), &[]).unwrap();
            }
        }
        for setting in settings(policy.name) {
            let ends: Vec<&str> = match setting.range.split_once("..=") {
                Some((low, high)) => vec![low, high],
                None => setting.range.split(", ").collect(),
            };
            for value in ends {
                build(policy.name, &pairs(&[(setting.key, value)])).unwrap();
            }
        }
        for version in policy.versions {
            build(&format!("{}@{version}", policy.name), &[]).unwrap();
        }
    }
}

#[test]
fn a_version_decides_how_wakees_are_handed_over() {
    let rule = |expr: &str| attached(expr).rules.ttwu_queue;
    assert_eq!(rule("cfs@5.16"), TtwuQueue::CrossLlc);
    assert_eq!(rule("cfs"), TtwuQueue::CrossLlcOrIdle);
    assert_eq!(rule("cfs@6.5"), TtwuQueue::CrossLlcOrIdle);
    assert_eq!(rule("cfs+TTWU_QUEUE=off"), TtwuQueue::Off);
    let stays = |expr: &str| attached(expr).rules.ttwu_pending_stays;
    assert_eq!(["cfs@5.16", "cfs@6.1", "cfs@6.5"].map(stays), [false, false, true]);
    assert_eq!((rule("eevdf"), stays("eevdf")), (TtwuQueue::CrossLlcOrIdle, true));
    let sm_idle = |expr: &str| attached(expr).rules.sm_idle;
    assert_eq!(
        ["cfs@6.5", "eevdf@6.6", "eevdf@6.12", "eevdf@7.3"].map(sm_idle),
        [false, false, true, true]
    );
}
