//! Policies of a caller's beside those of the crate.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use simsched_core::Policy;
use simsched_policies::{Chosen, Fifo, PolicyEntry, Registry, RegistryError, Tunable};

const TUNABLES: &[Tunable] = &[
    Tunable::Feature { key: "EAGER", doc: "begins at once", default: true },
    Tunable::Number {
        key: "slice_us",
        doc: "its slice",
        unit: "us",
        range: 1..=9_000,
        default: 700,
    },
];

/// The values reach the policy: with these it is not made.
fn new(chosen: &Chosen<'_>) -> Box<dyn Policy + Send> {
    assert!((1..=9_000).contains(&chosen.number("slice_us")));
    assert!(chosen.is_on("EAGER") || chosen.number("slice_us") == 5);
    Box::<Fifo>::default()
}

fn mine() -> Registry {
    let plain = PolicyEntry::plain("plain", "as it is", &[], || Box::<Fifo>::default());
    let tuned = PolicyEntry::tuned("tuned", "with settings", &[], TUNABLES, new);
    Registry::builtin().with(plain).unwrap().with(tuned).unwrap()
}

#[track_caller]
fn check_name(expr: &str, name: &str) {
    let spec = mine().parse(expr, &[]).unwrap();
    assert_eq!(spec.name(), name);
    spec.build();
    assert_eq!(mine().parse(name, &[]).unwrap().name(), name, "a full name names the same policy");
}

#[track_caller]
fn check_refused(expr: &str, part: &str) {
    let said = mine().parse(expr, &[]).unwrap_err().to_string();
    assert!(said.contains(part), "{said}");
}

#[test]
fn a_full_name_has_the_settings_that_differ() {
    check_name("plain", "plain");
    check_name("tuned", "tuned");
    check_name("tuned+EAGER+slice_us=700", "tuned");
    check_name("tuned+slice_us=5+NO_EAGER", "tuned+EAGER=off+slice_us=5");
    check_name("fifo", "fifo");
    check_name("cfs+wakeup_bias_prev", "cfs@6.1+wakeup_bias_prev");
}

#[test]
fn settings_beside_the_expression_win() {
    let beside = [("slice_us".to_owned(), "20".to_owned())];
    let spec = mine().parse("tuned+slice_us=5", &beside).unwrap();
    assert_eq!(spec.get("slice_us").as_deref(), Some("20"));
    assert_eq!((spec.get("EAGER").as_deref(), spec.get("eager")), (Some("on"), None));
    assert_eq!(spec.changes()[0].default, "700");
}

#[test]
fn what_a_policy_does_not_have_is_refused_with_the_nearest() {
    check_refused("tuned+slice_ms=5", "`slice_us`");
    check_refused("tuned+slice_us=0", "a whole number of us from 1 to 9000");
    check_refused("tuned+slice_us=-1", "a whole number of us from 1 to 9000");
    check_refused("tuned+EAGER=maybe", "on or off");
    check_refused("tuned+slice_us", "needs a value");
    check_refused("tuned@2", "find version `2` of `tuned` (known: none)");
    check_refused("plain+SIS_UTIL", "find feature `SIS_UTIL` of policy `plain`");
    check_refused("tunde", "`tuned`");
    check_refused("fifo+SIS_UTIL=off", "of policy `fifo`");
}

#[test]
fn a_name_that_is_taken_or_cannot_be_written_is_no_entry() {
    let with = |name| {
        let entry = PolicyEntry::plain(name, "another", &[], || Box::<Fifo>::default());
        mine().with(entry).unwrap_err()
    };
    for name in ["cfs", "fifo", "wakeup_bias_prev", "plain"] {
        assert_eq!(with(name), RegistryError::Taken { name: name.to_owned() });
    }
    for name in ["", "a b", "a+b", "a@1", "a=b"] {
        assert_eq!(with(name), RegistryError::BadName { name: name.to_owned() });
    }
}

#[test]
fn what_is_listed_of_a_policy_is_what_it_takes() {
    let (registry, key) = (mine(), |keys: Vec<&str>| keys.join(" "));
    let names = registry.policies().map(|info| info.name).collect();
    assert_eq!(key(names), "cfs eevdf fifo plain tuned");
    let features = registry.features("tuned").iter().map(|it| it.key).collect();
    let settings = registry.settings("tuned").iter().map(|it| it.key).collect();
    assert_eq!((key(features), key(settings)), ("EAGER".to_owned(), "slice_us".to_owned()));
    assert_eq!(registry.settings("tuned")[0].range, "1..=9000");
    assert!(registry.features("plain").is_empty() && registry.versions("tuned").is_empty());
}
