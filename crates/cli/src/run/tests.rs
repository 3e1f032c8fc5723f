//! Runs of a script: how they end, what is refused, and what their reports say.

use super::*;
use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{Op, PipeId, Setup};
use simsched_topology::CpuId;

fn plan(ops: &[Op]) -> Plan<RoundRobin, Script> {
    let procs = vec!["proc".to_owned()];
    let mut script = Script::new(Setup { procs, pipes: 1, ..Setup::default() });
    script.task(CpuId(2), ops);
    Plan {
        topology: Arc::new(Topology::builtin("t16", None).unwrap()),
        policy: Box::default(),
        reasons: None,
        workload: script,
        config: Config::default(),
        duration: Some(Nanos::from_millis(20)),
        span: None,
        start: Some(Begins::WithClock),
        precision: None,
        round: None,
        llc_interval: None,
        schedstat: false,
        series: None,
        paranoid: true,
        outputs: Outputs::default(),
    }
}

fn scenario() -> ScenarioReport {
    ScenarioReport {
        topology: "t16".to_owned(),
        mode: "default".to_owned(),
        topology_file: "built-in".to_owned(),
        nr_cpus: 16,
        nr_llcs: 1,
        nr_nodes: 1,
        policy: "round_robin".to_owned(),
        policy_full: "round_robin".to_owned(),
        workload: "script".to_owned(),
        seed: 1,
        ..ScenarioReport::default()
    }
}

#[test]
fn a_deadlock_ends_with_code_3_and_says_who_waits_for_what() {
    let stuck = plan(&[Op::Run(Nanos(500)), Op::Read { pipe: PipeId(0), bytes: 1 }]);
    let failure = stuck.measure(None).err().unwrap();
    assert_eq!(failure.code(), 3);
    let text = failure.to_string();
    assert!(text.starts_with("deadlock at "), "{text}");
    assert!(text.contains("task 0 (t0) waits for"), "{text}");
    assert!(text.contains("pipe 0"), "{text}");
}

#[test]
fn a_run_is_partial_when_its_time_is_over() {
    let long = plan(&[Op::Run(Nanos::from_millis(50))]).measure(None).unwrap();
    assert_eq!((long.end, long.totals.span_ns), (End::Duration, 20_000_000));
    let report = long.report(scenario(), Told::default());
    assert!(report.partial);
    assert_eq!((report.elapsed_ns, report.exits), (None, 0));
    let time = report.cpu_time_ns;
    assert_eq!(time.user + time.system + time.idle, 16 * 20_000_000);
}

/// Counts by reason would stand under a wrong name.
#[test]
fn reasons_that_are_not_those_of_the_entry_are_refused() {
    let named = |name| Plan { reasons: Some(vec![name]), ..plan(&[Op::Run(Nanos(500))]) };
    assert!(named("prev").measure(None).is_ok());
    let failure = named("previous").measure(None).err().unwrap();
    assert_eq!(failure.code(), 3);
    let text = failure.to_string();
    assert!(text.contains("[\"prev\"]") && text.contains("[\"previous\"]"), "{text}");
}

#[test]
fn a_reason_without_a_name_is_refused() {
    let ops = [Op::Sleep(Nanos::from_millis(1)), Op::Run(Nanos(500))];
    let run = plan(&ops).measure(None).unwrap();
    assert!(check_given(&run.stats, &["prev"]).is_ok());
    let text = check_given(&run.stats, &[]).unwrap_err().to_string();
    assert!(text.contains("Reason(0)"), "{text}");
}

#[test]
fn a_run_that_ends_is_whole() {
    let short = plan(&[Op::Run(Nanos(500))]).measure(None).unwrap();
    let report = short.report(scenario(), Told::default());
    assert_eq!((report.partial, report.end, report.exits), (false, End::Finished, 1));
    assert_eq!((report.wakeups.total, report.first_wakeups.total), (0, 1));
    assert_eq!(report.cpu_time_ns.user, 500);
}
