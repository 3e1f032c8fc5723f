//! Policies of a caller's beside those of the crate.

use std::cell::Cell;

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
    Tunable::Word {
        key: "order",
        doc: "who is first",
        words: &["first_in", "last_in", "longest"],
        default: "last_in",
    },
];

thread_local! {
    /// The values with which the last policy was made.
    static MADE: Cell<Option<(bool, u64, &'static str)>> = const { Cell::new(None) };
}

fn new(chosen: &Chosen<'_>) -> Box<dyn Policy + Send> {
    MADE.set(Some((chosen.is_on("EAGER"), chosen.number("slice_us"), chosen.word("order"))));
    Box::<Fifo>::default()
}

#[test]
fn the_values_reach_the_policy() {
    for (expr, values) in [
        ("tuned", (true, 700, "last_in")),
        ("tuned+NO_EAGER", (false, 700, "last_in")),
        ("tuned+slice_us=5+order=longest", (true, 5, "longest")),
    ] {
        mine().parse(expr, &[]).unwrap().build();
        assert_eq!(MADE.take(), Some(values), "{expr}");
    }
}

#[test]
fn a_table_that_cannot_be_read_back_is_no_entry() {
    const fn number(key: &'static str, default: u64) -> Tunable {
        Tunable::Number { key, doc: "a number", unit: "", range: 1..=9, default }
    }
    static TWICE: [Tunable; 2] = [number("a", 1), number("a", 2)];
    static OUTSIDE: [Tunable; 1] = [number("a", 10)];
    static TAKEN: [Tunable; 1] = [number("hz", 1)];
    static SIGN: [Tunable; 1] = [number("a+b", 1)];
    static NO_WORD: [Tunable; 1] =
        [Tunable::Word { key: "a", doc: "a word", words: &["x", "y"], default: "z" }];
    let tables: [(&'static [Tunable], &str); 5] = [
        (&NO_WORD, "a default within its range"),
        (&TWICE, "once in the table"),
        (&OUTSIDE, "a default within its range"),
        (&TAKEN, "no setting of the simulator"),
        (&SIGN, "letters, digits"),
    ];
    for (tunables, part) in tables {
        let entry = PolicyEntry::tuned("odd", "odd", &[], tunables, new);
        let said = Registry::builtin().with(entry).unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    }
}

/// Every key that is listed has a value, which is the default unless it was changed.
#[test]
fn each_listed_key_of_the_fair_class_has_its_default() {
    let registry = Registry::builtin();
    for policy in ["cfs", "eevdf"] {
        let spec = registry.parse(policy, &[]).unwrap();
        for feature in registry.features(policy) {
            let default = if feature.default { "on" } else { "off" };
            assert_eq!(spec.get(feature.key).as_deref(), Some(default), "{}", feature.key);
        }
        for setting in registry.settings(policy) {
            assert_eq!(spec.get(setting.key), Some(setting.default), "{}", setting.key);
        }
        assert_eq!(spec.get("nothing"), None);
    }
    let spec = registry.parse("cfs+SIS_UTIL=off+sched_latency_ns=9000000", &[]).unwrap();
    assert_eq!(spec.get("SIS_UTIL").as_deref(), Some("off"));
    assert_eq!(spec.get("latency_ns").as_deref(), Some("9000000"));
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
    check_name("tuned+order=first_in+slice_us=700", "tuned+order=first_in");
    check_name("tuned+order=last_in", "tuned");
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
    check_refused("tuned+slice_us=0", "set `slice_us` to 0: it takes 1..=9000 us");
    check_refused("tuned+order=last", "one of first_in, last_in, longest");
    check_refused("tuned+order", "needs a value");
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
    for name in ["", "-a", "a b", "a+b", "a@1", "a=b"] {
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
    assert_eq!((key(features), key(settings)), ("EAGER".to_owned(), "slice_us order".to_owned()));
    assert_eq!(registry.settings("tuned")[0].range, "1..=9000");
    assert_eq!(registry.settings("tuned")[1].range, "first_in, last_in, longest");
    assert!(registry.features("plain").is_empty() && registry.versions("tuned").is_empty());
}
