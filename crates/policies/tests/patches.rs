//! Patches of the fair class: those of the crate, and one of a caller's, which is a static and a line.

use std::collections::BTreeSet;
use std::sync::Arc;

use simsched_core::observe::{Digest, Stats};
use simsched_core::testkit::Script;
use simsched_core::{
    Config, Nanos, Op, Placement, Reason, Setup, SimTime, Simulator, Status, TaskId, WakeKind,
    Wakeup,
};
use simsched_policies::fair::patches::PATCHES;
use simsched_policies::fair::reason::ReasonRow;
use simsched_policies::fair::{
    Form, Hook, Patch, PatchSetting, Patches, Points, Version, WakeupCx, reason,
};
use simsched_policies::{Registry, RegistryError, Tunable};
use simsched_topology::{CpuId, Topology};

use crate::common::driver::Driver;
use crate::common::machine;

/// A wakee goes back to its previous CPU while that is free, wherever the target is.
static GO_BACK: Patch = Patch {
    more: &["Asked before the target is looked at."],
    source: "this test",
    reasons: &[ReasonRow {
        reason: BACK,
        name: "back",
        doc: "`go_back`: the previous CPU was free.",
    }],
    settings: &[
        PatchSetting::number("go_back_first", ("from which CPU on", "CPUs"), (0..=9, 0), "a test"),
        PatchSetting::word("go_back_when", "when", (&["free", "never"], "free"), "a test"),
    ],
    hook: Some(|cx| {
        let first = CpuId(u16::try_from(cx.patches.number("go_back_first")).unwrap());
        Box::new(GoBack { first, never: cx.patches.word("go_back_when") == "never" })
    }),
    ..Patch::new("go_back", "a wakee goes back to its previous CPU while that is free")
};

/// It without settings, reasons and forms.
const PLAIN: Patch =
    Patch::new("go_back", "a wakee goes back to its previous CPU while that is free");

const BACK: Reason = Reason(20);

#[derive(Debug)]
struct GoBack {
    first: CpuId,
    never: bool,
}

impl Hook for GoBack {
    fn points(&self) -> Points {
        Points::BEFORE_TARGET
    }

    fn before_target(&self, cx: &WakeupCx<'_>) -> Option<Placement> {
        let is_asked = cx.prev() >= self.first && !self.never;
        (is_asked && cx.is_free(cx.prev())).then(|| Placement::at(cx.prev(), BACK))
    }
}

fn registry() -> Registry {
    Registry::builtin().with_patch(&GO_BACK).unwrap()
}

#[test]
fn a_patch_of_a_callers_has_what_those_of_the_crate_have() {
    let registry = registry();
    let name = |expr: &str| registry.parse(expr, &[]).unwrap().name();
    assert_eq!(name("go_back"), "cfs@6.1+go_back");
    assert_eq!(name("eevdf+go_back+wakeup_bias_prev"), "eevdf@7.3+wakeup_bias_prev+go_back");
    assert_eq!(name("go_back@5.16+NO_go_back"), "cfs@5.16");
    assert_eq!(registry.named("go_back+NO_SIS_UTIL"), ["go_back", "SIS_UTIL"]);
    let spec = registry.parse("cfs", &[("go_back".to_owned(), "on".to_owned())]).unwrap();
    assert_eq!(spec.get("go_back").as_deref(), Some("on"));
    assert_eq!(spec.changes()[0].key, "go_back");
    for policy in ["cfs", "eevdf"] {
        let feature = registry.features(policy).pop().unwrap();
        assert!(feature.key == GO_BACK.key && feature.is_patch && !feature.default);
        let reasons = registry.reasons(policy);
        assert_eq!((reasons.len(), reasons[20].name), (21, "back"));
    }
    assert_eq!(registry.more("go_back"), GO_BACK.more);
    let near = registry.parse("cfs+go_bakc", &[]).unwrap_err().to_string();
    assert!(near.contains("did you mean `go_back`?"), "{near}");
    // Other registries do not know it.
    assert!(Registry::builtin().parse("cfs+go_back", &[]).is_err());
}

/// CPUs 0 to 3 and 4 to 7 share an LLC each.
fn two_llcs() -> Topology {
    machine([1, 2, 4, 1], "", "nodes_per_socket = 1")
}

#[test]
fn a_patch_is_asked_before_the_target_is_looked_at() {
    let place = |expr: &str| {
        let class = registry().parse(expr, &[]).unwrap().fair().unwrap();
        let mut driver = Driver::new(two_llcs(), class, &[0, 0]);
        driver.start(TaskId(1), CpuId(0));
        driver.pass(50_000_000, |_| {});
        let found = |driver: &mut Driver, prev, kind| {
            let wakeup = Wakeup { wakee: TaskId(0), prev: CpuId(prev), waker: CpuId(0), kind };
            let placement = driver.host.select_task_rq(&wakeup);
            (placement.cpu, placement.reason)
        };
        // The waker will sleep, so its CPU is the target; or it is the previous one, and busy.
        [found(&mut driver, 5, WakeKind::WakeSync), found(&mut driver, 0, WakeKind::Wake)]
    };
    let [across, busy] = place("cfs+go_back");
    assert_eq!(across, (CpuId(5), BACK));
    // Its settings reach it.
    assert_eq!(place("cfs+go_back+go_back_first=5")[0], across);
    for expr in ["cfs+go_back+go_back_first=6", "cfs+go_back+go_back_when=never"] {
        assert_ne!(place(expr)[0].1, BACK, "{expr}");
    }
    let [plain_across, plain_busy] = place("cfs");
    assert_ne!(plain_across.1, BACK);
    assert_eq!(busy, plain_busy);
}

/// Pairs of sleepers on both LLCs, by how often a wakee went back and what the run was.
fn run(expr: &str) -> (u64, u64) {
    let mut script = Script::new(Setup { procs: vec!["p".to_owned()], ..Setup::default() });
    for cpu in [0, 1, 4, 4, 5] {
        let turn = [Op::Run(Nanos::from_micros(300)), Op::Sleep(Nanos::from_micros(200))];
        script.task(CpuId(cpu), &turn.repeat(40));
    }
    let (topology, policy) = (two_llcs(), registry().parse(expr, &[]).unwrap().build());
    let observer = (Stats::new(&topology, 5, 0), Digest::default());
    let mut sim =
        Simulator::new(Arc::new(topology), policy, script, observer, Config::default()).unwrap();
    sim.set_paranoid();
    assert_eq!(sim.run_until(SimTime(10_000_000_000)), Ok(Status::Finished));
    let (stats, digest) = sim.observer();
    (stats.wakeups_by_reason()[usize::from(BACK.0)], digest.value())
}

#[test]
fn a_run_under_a_patch_counts_its_reason_and_one_without_it_is_as_before() {
    for base in ["cfs", "eevdf"] {
        let ((on, patched), (off, plain)) = (run(&format!("{base}+go_back")), run(base));
        assert!(on > 0 && off == 0, "{base}: {on} and {off}");
        assert_ne!(patched, plain, "{base}");
        assert_eq!(run(&format!("{base}+go_back+NO_go_back")), (0, plain), "{base}");
    }
}

#[test]
fn a_setting_of_a_callers_patch_is_named_listed_and_refused_as_one_of_the_kernels() {
    let registry = registry();
    let parse = |expr: &str| registry.parse(expr, &[]);
    let name = |expr: &str| parse(expr).unwrap().name();
    assert_eq!(
        name("eevdf+go_back_when=never+go_back+go_back_first=3"),
        "eevdf@7.3+go_back+go_back_first=3+go_back_when=never"
    );
    assert_eq!(name("go_back+go_back_first=0+go_back_when=free"), "cfs@6.1+go_back");
    let spec = parse("cfs+go_back_first=3").unwrap();
    assert_eq!(spec.get("go_back_first").as_deref(), Some("3"));
    assert_eq!(spec.get("go_back_when").as_deref(), Some("free"));
    let change = &spec.changes()[0];
    assert_eq!((change.key, &*change.value, &*change.default), ("go_back_first", "3", "0"));
    assert_eq!(spec.without_effect(), [("go_back_first", "go_back".to_owned())]);
    assert!(parse("go_back+go_back_first=3").unwrap().without_effect().is_empty());
    for policy in ["cfs", "eevdf"] {
        let settings = registry.settings(policy);
        let [first, when] = &settings[settings.len() - 2..] else { panic!("two settings") };
        assert_eq!((first.key, &*first.range, first.unit), ("go_back_first", "0..=9", "CPUs"));
        assert_eq!(
            (when.key, &*when.range, &*when.default),
            ("go_back_when", "free, never", "free")
        );
    }
    for (expr, part) in [
        ("cfs+go_back_first=10", "set `go_back_first` to 10: it takes 0..=9 CPUs"),
        ("cfs+go_back_first=few", "a whole number of CPUs from 0 to 9"),
        ("cfs+go_back_when=often", "one of free, never"),
        ("cfs+go_back_first", "0..=9 CPUs"),
        ("cfs+go_back_frist=1", "did you mean `go_back_first`?"),
    ] {
        let said = parse(expr).unwrap_err().to_string();
        assert!(said.contains(part), "{expr}: {said}");
    }
    // A form is a word of a setting.
    let asleep: &'static Patch = Box::leak(Box::new(Patch {
        forms: &[Form { name: "never", setting: "go_back_when", version: Some("6.5") }],
        ..GO_BACK
    }));
    let registry = Registry::builtin().with_patch(asleep).unwrap();
    let spec = registry.parse("go_back@never", &[]).unwrap();
    assert_eq!(spec.name(), "cfs@6.5+go_back@never");
    assert_eq!(registry.parse(&spec.name(), &[]).unwrap().name(), spec.name());
}

#[test]
fn a_patch_that_cannot_be_is_refused() {
    #[track_caller]
    fn check(patch: Patch, part: &str) {
        let patch = Box::leak(Box::new(patch));
        let said = Registry::builtin().with_patch(patch).unwrap_err().to_string();
        assert!(said.contains(part) && said.contains(patch.key), "{said}");
    }
    const OTHER: &[ReasonRow] = &[ReasonRow { reason: Reason(21), name: "back", doc: "" }];
    const TAKEN: &[ReasonRow] = &[ReasonRow { reason: Reason(20), name: "target", doc: "" }];
    const CORE: &[ReasonRow] = &[ReasonRow { reason: Reason(20), name: "pinned", doc: "" }];
    for key in ["cfs", "cache_aware", "HRTICK", "group", "migration_cost_ns", "hz"] {
        check(Patch { key, ..GO_BACK }, "there is one of that name");
    }
    check(Patch { key: "a+b", ..GO_BACK }, "expected a letter or digit");
    check(Patch { policy: "cfq", ..GO_BACK }, "expected cfs or eevdf");
    check(Patch { version: Some("7.3"), ..GO_BACK }, "expected one that its policy has");
    check(Patch { key: "NO_HRTICK", ..GO_BACK }, "neither NO_ nor sched_");
    check(Patch { key: "sched_latency_ns", ..GO_BACK }, "neither NO_ nor sched_");
    check(Patch { reasons: OTHER, ..GO_BACK }, "its reason back: expected the number 20");
    check(Patch { reasons: CORE, ..GO_BACK }, "a new name");
    check(Patch { reasons: TAKEN, ..GO_BACK }, "a new name");
    const fn number(key: &'static str, default: u64) -> PatchSetting {
        PatchSetting::number(key, ("a number", ""), (1..=9, default), "")
    }
    fn kept<const N: usize>(settings: [PatchSetting; N]) -> &'static [PatchSetting] {
        Box::leak(Box::new(settings))
    }
    const SWITCH: PatchSetting = PatchSetting {
        tunable: Tunable::Feature { key: "fast", doc: "", default: false },
        source: "",
    };
    const NO_WORD: PatchSetting = PatchSetting::word("a", "a word", (&["x"], "y"), "");
    const FORM: &[Form] = &[Form { name: "never", setting: "tg_node", version: None }];
    for key in
        ["cfs", "tg_per_node", "HRTICK", "group", "migration_cost_ns", "hz", "a+b", "go_back"]
    {
        let settings = kept([number(key, 1)]);
        check(Patch { settings, ..PLAIN }, "expected a word that is no other name");
    }
    check(Patch { settings: kept([number("tg_node", 1)]), ..PLAIN }, "expected a name of its own");
    check(Patch { settings: kept([number("a", 1), number("a", 2)]), ..PLAIN }, "a name of its own");
    check(Patch { settings: kept([number("sched_a", 1)]), ..PLAIN }, "neither NO_ nor sched_");
    check(
        Patch { settings: kept([number("a", 10)]), ..PLAIN },
        "expected a default among its values",
    );
    check(Patch { settings: &[NO_WORD], ..PLAIN }, "expected a default among its values");
    check(Patch { settings: &[SWITCH], ..PLAIN }, "a switch is a patch");
    check(Patch { forms: FORM, ..PLAIN }, "expected a word of one of its settings");
    let of_setting =
        Registry::builtin().with_patch(Box::leak(Box::new(Patch { key: "tg_node", ..PLAIN })));
    assert!(matches!(of_setting, Err(RegistryError::Taken { .. })), "{of_setting:?}");
    let twice = registry().with_patch(&GO_BACK);
    assert!(matches!(twice, Err(RegistryError::Taken { .. })), "{twice:?}");
}

/// Numbers are in digests, so each has one name for good.
#[test]
fn the_patches_of_the_crate_have_reasons_of_their_own() {
    let names = Patches::of(Version::default()).reasons();
    let unique: BTreeSet<_> = names.iter().collect();
    assert!(unique.len() == names.len() && !names.contains(&""), "{names:?}");
    for row in reason::ALL.iter().chain(PATCHES.iter().flat_map(|patch| patch.reasons)) {
        assert_eq!(names[usize::from(row.reason.0)], row.name);
    }
    let keys: BTreeSet<_> = PATCHES.iter().map(|patch| patch.key).collect();
    assert_eq!(keys.len(), PATCHES.len());
}
