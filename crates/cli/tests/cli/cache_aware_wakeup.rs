//! Cache-aware wakeups in whole runs, each mechanism with its control: what
//! "sched: Inhibit cache aware scheduling if the preferred LLC is over aggregated" (RFC of 2025-04-21)
//! and its discussion tell of them. Single decisions are tested beside the policy.

use serde_json::Value;

use crate::common::json;

const BASE: &str = "eevdf@7.0";
const PATCHED: &str = "cache_aware_wakeup";
const FRESH: &str = "cache_aware_wakeup+refresh_at_enqueue";

/// The runs with three seeds.
fn runs(topo: &str, policy: &str, time: &str, workload: &str) -> Vec<Value> {
    runs_of(3, topo, policy, time, workload)
}

fn runs_of(seeds: u32, topo: &str, policy: &str, time: &str, workload: &str) -> Vec<Value> {
    let report = json(&format!(
        "run --quiet --topo {topo} --policy {policy} --seeds {seeds} --duration {time} --llc-interval \
         --json - -- {workload}"
    ));
    report["runs"].as_array().unwrap().clone()
}

fn at<'a>(run: &'a Value, path: &str) -> &'a Value {
    path.split('/').fold(run, |value, key| &value[key])
}

fn number(run: &Value, path: &str) -> f64 {
    at(run, path).as_f64().unwrap_or_else(|| panic!("{path} is {}", at(run, path)))
}

fn mean(runs: &[Value], number: impl Fn(&Value) -> f64) -> f64 {
    runs.iter().map(number).sum::<f64>() / 3.0
}

fn mean_at(runs: &[Value], path: &str) -> f64 {
    mean(runs, |run| number(run, path))
}

/// Moves by these causes.
fn moves(run: &Value, of: &str, causes: &[&str]) -> f64 {
    causes.iter().map(|cause| number(run, &format!("llc/total/{of}/{cause}"))).sum()
}

const BALANCERS: [&str; 4] = ["periodic", "newidle", "nohz", "active"];

/// Moves between LLCs but those of forks.
fn crossings(run: &Value) -> f64 {
    moves(run, "moves", &BALANCERS) + moves(run, "moves", &["wakeup"])
}

/// Invariant 1.
#[test]
fn switched_off_it_leaves_no_trace() {
    let digest = |policy: &str| {
        let run = "--duration 50ms --json - -- schbench -m 1 -t 20";
        json(&format!("run --quiet --topo t16 --policy {policy} {run}"))["digest"].clone()
    };
    let plain = digest(BASE);
    assert_eq!(digest("cache_aware_wakeup+cache_aware_wakeup=off+always_check"), plain);
    assert_ne!(digest(PATCHED), plain);
}

/// Who is not asked for homes is not told of them; what happens is the same, event by event.
#[test]
fn a_run_is_the_same_whether_anybody_asks_for_homes_or_not() {
    for policy in [PATCHED, "cache_aware"] {
        let digest = |more: &str| {
            let run = format!("--duration 50ms {more} --json - -- schbench -m 1 -t 4");
            json(&format!("run --quiet --topo genoa-4n32 --policy {policy} {run}"))
        };
        let (told, untold) = (digest("--llc-interval"), digest(""));
        assert_eq!(told["digest"], untold["digest"], "{policy}");
        assert!(told["llc"]["processes"][0]["by_policy"].as_u64() > Some(0), "{policy}");
    }
}

/// P0.1: 16 workers, of which 66 % of the wakeups are in the LLC that has most of them without it.
#[test]
fn far_below_the_capacity_of_an_llc_wakeups_are_in_the_preferred_one_and_not_slower() {
    let [base, patched] =
        [BASE, PATCHED].map(|policy| runs("spr-2x60", policy, "1s", "schbench -m 1 -t 16"));
    let share = |runs: &[Value]| mean_at(runs, "llc/total/share_of_wakeups_home");
    assert!(share(&base) < 0.75, "{}", share(&base));
    assert!(share(&patched) > 0.9, "{}", share(&patched));
    for point in ["p50", "p90", "p99"] {
        let path = format!("wakeup_latency_ns/{point}");
        let [before, after] = [&base, &patched].map(|runs| mean_at(runs, &path));
        assert!(after <= 1.01 * before, "{point}: {before} to {after}");
    }
}

/// P0.2 and P0.4: one worker less than CPUs. While nobody has told the guard that the preferred LLC is
/// over its limits it lets pass more wakees in a row than that limit has CPUs, 40; told at each enqueue,
/// next to none. Medians do not tell: of ten seeds eight have that of the baseline within 4 %, and two are up to 29 %
/// above it.
#[test]
fn at_saturation_stale_numbers_admit_bursts_and_the_damage_is_in_the_tail() {
    let [base, patched, fresh] = [BASE, PATCHED, FRESH]
        .map(|policy| runs_of(10, "spr-2x60", policy, "1s", "schbench -m 1 -t 239"));
    let latency = |runs: &[Value], point| mean_at(runs, &format!("wakeup_latency_ns/{point}"));
    let ratio = |point| latency(&patched, point) / latency(&base, point);
    assert!((0.9..1.1).contains(&ratio("p50")), "{}", ratio("p50"));
    assert!(ratio("p99_9") > 1.2, "{}", ratio("p99_9"));
    let burst = |runs: &[Value]| mean_at(runs, "policy_metrics/cas_stale_burst_max");
    assert!(burst(&patched) > 240.0 / 2.0 / 3.0, "{}", burst(&patched));
    assert!(burst(&fresh) < 0.1 * burst(&patched), "{}", burst(&fresh));
}

/// P0.3 and invariant 7: 13 threads, of which at most 8 compute, and LLCs of 8 CPUs: wakeups go into the
/// preferred one, and balancers take tasks out of it, in turns as the guard opens and closes. Without the
/// redirect there is none of it.
#[test]
fn wakeups_pull_into_the_preferred_llc_and_balancers_push_out_in_turns() {
    let [base, patched] = [BASE, PATCHED]
        .map(|policy| runs("milan-7543", policy, "2s", "schbench-old -m 4 -t 2 -r 100"));
    let before = mean(&base, crossings);
    for run in &patched {
        let [into, out] = [["into"], ["out_of"]]
            .map(|[of]| [moves(run, of, &["wakeup"]), moves(run, of, &BALANCERS)]);
        assert!(crossings(run) > 5.0 * (before + 1.0), "{} of {before}", crossings(run));
        assert!(into[0] > 10.0 && into[0] > 4.0 * into[1], "into: {into:?}");
        assert!(out[1] > 10.0 && out[1] > 4.0 * out[0], "out of: {out:?}");
        assert!(number(run, "policy_metrics/cas_opened") > 5.0);
        assert!((into[0] - out[1]).abs() < 0.5 * into[0], "{into:?} and {out:?} are one stream");
    }
}

/// P0.5: one worker more than an LLC has CPUs.
#[test]
fn the_preferred_llc_is_busier_than_the_other_one() {
    for run in runs("spr-2x60", PATCHED, "500ms", "schbench -m 1 -t 128") {
        let process = &at(&run, "llc/series/processes").as_array().unwrap()[0];
        let home = process["home"].as_array().unwrap().last().unwrap().as_u64().unwrap();
        let used = at(&run, "llc/utilisation").as_array().unwrap();
        let used: Vec<f64> = used.iter().map(|part| part.as_f64().unwrap()).collect();
        let home = usize::try_from(home).unwrap();
        assert!(used[home] > 2.0 * used[1 - home], "home {home}: {used:?}");
    }
}

/// P0.6: 64 workers and LLCs of 120 CPUs. The guard would say no, and is not asked.
#[test]
fn a_process_with_fewer_threads_than_cpus_is_never_inhibited() {
    let workload = "schbench -m 1 -t 64";
    let mandatory = "cache_aware_wakeup+always_check";
    let [small, checked] =
        [PATCHED, mandatory].map(|policy| runs("spr-2x60", policy, "2s", workload));
    let inhibited = |run: &Value| number(run, "policy_metrics/cas_inhibited");
    assert!(small.iter().all(|run| number(run, "policy_metrics/cas_closed") > 0.0));
    assert!(small.iter().all(|run| inhibited(run) == 0.0));
    assert!(checked.iter().all(|run| inhibited(run) > 0.0));
}

/// P0.7: a third of an LLC of 4 CPUs is one task, and a task more is too many.
#[test]
fn with_an_llc_of_four_cpus_nearly_all_are_inhibited() {
    for run in runs("power10", PATCHED, "300ms", "schbench -m 1 -t 16") {
        let [inhibited, sent] = ["cas_inhibited", "cas_redirected"]
            .map(|name| number(&run, &format!("policy_metrics/{name}")));
        let wakeups = number(&run, "wakeups/total");
        assert!(inhibited > 0.6 * wakeups && sent < 0.1 * wakeups, "{inhibited} {sent} {wakeups}");
    }
}

/// P0.8: of 4 + 4 * 2 threads most find room behind 8 CPUs; of 4 + 4 * 31 they do not.
#[test]
fn where_the_threads_do_not_fit_an_llc_there_is_nothing_to_gather() {
    let share = |workers: u32| {
        let workload = format!("schbench-old -m 4 -t {workers} -r 100");
        mean_at(&runs("milan-7543", PATCHED, "1s", &workload), "llc/total/share_of_wakeups_home")
    };
    let [few, many] = [2, 31].map(share);
    assert!(few > 0.5 && many < 0.2, "{few} and {many}");
}
