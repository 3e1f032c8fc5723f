//! The library gives what the command gives: the same JSON, byte for byte.

use simsched_cli::library::{
    Basis, Collect, Comparison, Document, ErrorKind, Machine, Metric, Precision, Seeds, Simulation,
    Span, Window, pages, policy, workload,
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
    let time = rows.iter().find(|row| row.metric == Metric::TIME).unwrap();
    assert_eq!((time.values.len(), time.values[0].len()), (2, 2));
    assert!(!compared.differences(1).is_empty() && compared.differences(0).is_empty());
}

/// Of a machine file, too, which has a hash in the reports of a run and none in those of a comparison.
#[test]
fn a_machine_file_is_compared_as_the_command_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/machine.toml");
    let base = on(path, "cfs", SMALL).seeds(1..=3);
    let same = Simulation::on(std::path::Path::new(path)).unwrap().workload(SMALL).unwrap();
    assert_eq!(same.run().unwrap().to_json(), base.clone().seeds(1).run().unwrap().to_json());
    let compared = Comparison::of([base.clone(), base.policy("eevdf").unwrap()]).unwrap();
    let args = format!("compare -q --topo {path} --policy cfs --policy eevdf --json - -- {SMALL}");
    assert_eq!(compared.run().unwrap().to_json(), prints(&args));
}

/// Rows have the metrics' own names, whatever the command calls them.
#[test]
fn a_row_is_what_its_metric_is_in_each_run() {
    let base = on("t8", "cfs", "schbench -m 1 -t 4 -r 1").seeds(1..=2);
    let changed = base.clone().set("hz", 1000);
    let compared = Comparison::of([base, changed]).unwrap().run().unwrap();
    assert_eq!(compared.sides()[1].name, "cfs+hz=1000");
    let rows = compared.rows();
    assert!(rows.iter().any(|row| row.metric.to_string() == "reported_wakeup_latency:p99"));
    assert!(compared.row(&Metric::MIGRATIONS).unwrap().paired[1].is_some());
    assert!(compared.row(&"bandwidth:triad".parse().unwrap()).is_err(), "schbench has none");
    for row in rows {
        let again = compared.row(&row.metric).unwrap();
        assert_eq!((&again.values, &again.paired), (&row.values, &row.paired), "{}", row.metric);
        for (side, values) in compared.sides().iter().zip(&row.values) {
            let of = |run: &simsched_cli::library::Run| run.metric(&row.metric).unwrap().value;
            assert_eq!(
                &side.runs.runs().iter().map(of).collect::<Vec<_>>(),
                values,
                "{}",
                row.metric
            );
        }
        let spreads = compared.sides().iter().map(|side| side.runs.metric(&row.metric).unwrap());
        assert_eq!(spreads.collect::<Vec<_>>(), row.spreads, "{}", row.metric);
    }
}

/// What was not simulated is extrapolated in all counts alike.
#[test]
fn a_count_of_a_part_of_a_job_is_that_of_its_report() {
    let long = on("t8", "cfs", "netperf -t TCP_RR -n 2 -l 2");
    let runs = long.precision(Precision { percent: 25.0, max_events: None }).run().unwrap();
    let report: serde_json::Value = serde_json::from_str(&runs.to_json()).unwrap();
    assert_eq!(report["precision"]["exact"], false);
    let counts = [
        (Metric::TASK_SWITCHES, "task_switches"),
        (Metric::CPU_MIGRATIONS, "cpu_migrations"),
        (Metric::CONTEXT_SWITCHES, "context_switches"),
    ];
    for (metric, key) in counts {
        let number = runs.runs()[0].metric(&metric).unwrap();
        assert_eq!((number.value, number.basis), (report[key].as_f64().unwrap(), Basis::WholeWork));
    }
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
    let window = Window::Span(Span::new(Nanos::from_millis(1), Nanos::from_millis(1)));
    let others = [
        (t8().seeds(2), "seeds"),
        (t8().window(window), "window"),
        (t8().workload(SMALL).unwrap(), "workload"),
        (Simulation::on("t16").unwrap(), "machine"),
    ];
    for (other, what) in others {
        let said = Comparison::of([t8(), other]).unwrap_err().to_string();
        assert_eq!(said, format!("side 1 of the comparison: expected the {what} of side 0"));
    }
    let zero = Collect { llc_interval: Some(Nanos::ZERO), ..Collect::default() };
    said(Ok(t8().collect(zero)), "llc_interval: found 0 ns");
    let series = Collect { series: Some(Nanos(5)), ..Collect::default() };
    let precise = Precision { percent: 10.0, max_events: None };
    said(Ok(t8().collect(series).precision(precise)), "precision: found a series");
    for name in ["cfs", "wakeup_bias_prev", "a b", ""] {
        said(t8().policy(policy::own(name, RoundRobin::default)), "policy");
    }
    let small = Hackbench { groups: 1, loops: 20, ..THREADS_OVER_PIPES };
    let own = workload::own("hackbench -g 8", move |_, seed: Seed| small.build(seed));
    said(t8().workload(own), "expected a name that no program has");
}
