//! The library gives what the command gives: the same JSON, byte for byte.

use simsched_cli::library::{
    Collect, Comparison, Document, ErrorKind, Machine, Metric, Precision, Seeds, Simulation, Span,
    Window, pages, policy, workload,
};
use simsched_core::testkit::RoundRobin;
use simsched_core::{Nanos, Seed};
use simsched_workloads::{Hackbench, hackbench::THREADS_OVER_PIPES};

use crate::common::prints;

const SMALL: &str = "hackbench -g 1 -f 2 -T -p -l 20";

fn on(machine: &str, policy: &str, workload: &str) -> Simulation {
    Simulation::on(machine).unwrap().policy(policy).unwrap().workload(workload).unwrap()
}

fn check(simulation: &Simulation, args: &str) {
    assert_eq!(simulation.run().unwrap().to_json(), prints(args), "{args}");
}

#[test]
fn a_run_writes_the_json_of_the_command() {
    check(&Simulation::on("t8").unwrap(), "run -q --topo t8 --json -");
    let llc = Collect {
        llc_interval: Some(Nanos::from_millis(10)),
        series: Some(Nanos::from_millis(1)),
        ..Collect::default()
    };
    check(
        &on("genoa@nps4", "cache_aware", SMALL).collect(llc),
        &format!(
            "run -q --topo genoa@nps4 --policy cache_aware --llc-interval --series=1ms --json - -- {SMALL}"
        ),
    );
    check(
        &on("t8", "cfs", SMALL)
            .set("hz", 1000)
            .set("SIS_UTIL", "off")
            .duration(Nanos::from_millis(1)),
        &format!(
            "run -q --topo t8 --set hz=1000 --set SIS_UTIL=off --duration 1ms --json - -- {SMALL}"
        ),
    );
    let schbench = "schbench -m 1 -t 4 -r 1";
    let paranoid = Collect { paranoid: true, ..Collect::default() };
    check(
        &on("spr@snc4", "cfs@5.16+SIS_PROP=off", schbench).seeds(7).collect(paranoid),
        &format!(
            "run -q --topo spr@snc4 --policy cfs@5.16+SIS_PROP=off --seed 7 --paranoid --json - -- {schbench}"
        ),
    );
}

#[test]
fn several_seeds_and_a_precision_write_the_json_of_the_command() {
    check(
        &on("t16", "eevdf", SMALL).seeds(2..=4),
        &format!("run -q --topo t16 --policy eevdf --seed 2 --seeds 3 --json - -- {SMALL}"),
    );
    let long = "hackbench -g 1 -f 4 -T -p -l 20000";
    check(
        &on("t8", "cfs", long).precision(Precision { percent: 25.0, max_events: None }),
        &format!("run -q --topo t8 --precision 25% --json - -- {long}"),
    );
}

#[test]
fn a_comparison_writes_the_json_of_the_command() {
    let long = "hackbench -g 1 -f 4 -T -p -l 100000";
    let span = Window::Span(Span::new(Nanos::from_millis(20), Nanos::from_millis(40)));
    let base = on("t8", "cfs", long).seeds(1..=2).window(span);
    let sides = [base.clone(), base.policy("wakeup_bias_prev").unwrap()];
    let compared = Comparison::of(sides).unwrap().run().unwrap();
    let args = format!(
        "compare -q --topo t8 --policy cfs --policy wakeup_bias_prev --seeds 2 --span 20ms --warmup 40ms --json - -- {long}"
    );
    assert_eq!(compared.to_json(), prints(&args));
    assert_eq!(compared.sides()[1].name, "wakeup_bias_prev");
    let rows = compared.rows();
    let time = rows.iter().find(|row| row.name == "time").unwrap();
    assert_eq!((time.values.len(), time.values[0].len()), (2, 2));
    assert!(!compared.differences(1).is_empty() && compared.differences(0).is_empty());
}

/// A policy, a workload and a machine that no list of the command has.
fn mine() -> Simulation {
    let text = include_str!("../data/machine.toml");
    let machine = Machine::from_toml("mine.toml", text).unwrap();
    let small = Hackbench { groups: 1, loops: 20, ..THREADS_OVER_PIPES };
    Simulation::on(machine)
        .unwrap()
        .policy(policy::own("mine", RoundRobin::default))
        .unwrap()
        .workload(workload::own("small", move |_, seed: Seed| small.build(seed)))
        .unwrap()
}

#[test]
fn what_the_caller_has_is_reported_under_its_name() {
    let runs = mine().seeds(1..=2).run().unwrap();
    let json: serde_json::Value = serde_json::from_str(&runs.to_json()).unwrap();
    for (key, name) in [("policy", "mine"), ("policy_full", "mine"), ("workload", "small")] {
        assert_eq!(json["scenario"][key], name);
    }
    assert_eq!(json["scenario"]["topology_file"], "mine.toml");
    assert!(runs.metric(&Metric::CONTEXT_SWITCHES).unwrap().mean > 0.0);
    let missing = runs.metric(&"rps:p50".parse().unwrap()).unwrap_err().to_string();
    assert!(missing.starts_with("metric not available: rps:p50: "), "{missing}");
    let again = mine().seeds(2).run().unwrap();
    assert_eq!(again.runs()[0].digest(), runs.runs()[1].digest());
}

#[test]
fn what_the_caller_has_is_compared_and_drawn() {
    let own = mine();
    let base = own.clone().policy("cfs").unwrap();
    let compared = Comparison::of([base, own]).unwrap().run().unwrap();
    let page = pages::page(&[Document::of(&compared)]);
    assert!(page.starts_with("<!") && page.contains("mine"), "{page:.200}");
}

#[test]
fn what_cannot_be_is_refused_in_one_sentence() {
    let said = |found: Result<Simulation, simsched_cli::library::Error>, part: &str| {
        let error = found.and_then(|simulation| simulation.run().map(|_| simulation)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    };
    let t8 = || Simulation::on("t8").unwrap();
    said(Simulation::on("genoaa"), "`genoa`");
    said(t8().policy("cfq"), "cfq");
    said(t8().workload("hackbnch"), "hackbench");
    said(Ok(t8().set("SIS_UTLI", "on")), "SIS_UTIL");
    said(Ok(mine().set("hzz", 1000)), "`hz`");
    said(Ok(t8().seeds(0..=10_000)), "found 10001, expected 1..=10000");
    said(Ok(t8().seeds(0..=u64::MAX)), "expected 1..=10000");
    said(Ok(t8().precision(Precision { percent: 99.0, max_events: None })), "0.1 to 50");
    assert!(Seeds::new(u64::MAX, 2).unwrap_err().to_string().contains("expected 0..="));
    let one = Comparison::of([t8()]).unwrap_err();
    assert!(one.to_string().contains("at least two"), "{one}");
    let seeds = Comparison::of([t8(), t8().seeds(2)]).unwrap_err();
    assert!(seeds.to_string().contains("seeds of the first side"), "{seeds}");
}
