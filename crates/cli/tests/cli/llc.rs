//! Where processes are at home among the LLCs.

use serde_json::Value;

use crate::common::{json, prints};

const RUN: &str =
    "run --quiet --whole --topo t16 --json - --llc-interval=1ms -- hackbench -g 3 -f 4 -l 200";

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

fn sum(counts: &Value) -> u64 {
    counts.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
}

#[test]
fn who_is_watched_runs_as_if_nobody_watched() {
    let watched = json(RUN);
    let mut plain = json(&RUN.replace("--llc-interval=1ms ", ""));
    assert!(plain.get("llc").is_none());
    plain["llc"] = watched["llc"].clone();
    plain["scenario"]["llc_interval_ns"] = 1_000_000.into();
    assert_eq!(plain, watched);
}

#[test]
fn the_parts_of_the_llc_report_equal_the_sums_of_the_run() {
    let run = json(RUN);
    let llc = &run["llc"];
    let total = &llc["total"];
    assert_eq!(total["wakeups"], run["wakeups"]["total"]);
    let inside = ["same_core", "same_llc"].map(|far| &run["migrations"]["by_distance"][far]);
    let inside: u64 = inside.iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum(&total["moves"]), run["migrations"]["total"].as_u64().unwrap() - inside);
    for key in ["runtime_ns", "at_home_ns", "wakeups", "wakeups_home"] {
        let by_process = llc["processes"].as_array().unwrap().iter();
        let by_process: u64 = by_process.map(|process| process[key].as_u64().unwrap()).sum();
        let series = llc["series"]["processes"].as_array().unwrap().iter();
        let series: u64 = series.map(|process| numbers(&process[key]).iter().sum::<u64>()).sum();
        let whole = total[key].as_u64().unwrap();
        assert_eq!((by_process, series), (whole, whole), "{key}");
    }
}

/// All time in which a CPU had a task is runtime of some process, and in some LLC.
#[test]
fn utilisation_and_runtime_are_the_same_time() {
    let run = json(RUN);
    let llc = &run["llc"];
    let span = run["simulated_ns"].as_f64().unwrap();
    let cpus = numbers(&llc["nr_cpus"]);
    assert_eq!(cpus, [4, 4, 4, 4]);
    let used = llc["utilisation"].as_array().unwrap().iter();
    let busy: f64 = used.map(|part| part.as_f64().unwrap() * 4.0 * span).sum();
    let runtime = llc["total"]["runtime_ns"].as_f64().unwrap();
    assert!((busy - runtime).abs() < 0.0005 * 16.0 * span, "{busy} is not {runtime}");
    assert_eq!(numbers(&llc["series"]["processes"][0]["interval"])[0], 0);
}

#[test]
fn without_a_preference_of_the_policy_the_home_is_never_the_policys() {
    let run = json(RUN);
    let processes = run["llc"]["processes"].as_array().unwrap();
    assert!(processes.len() > 1, "hackbench runs processes");
    assert!(processes.iter().all(|process| process["by_policy"] == 0));
}

#[test]
fn the_text_has_a_block_if_it_is_asked_for() {
    let run = "run --quiet --topo t16 --llc-interval -- hackbench -g 1 -f 2 -T -l 50";
    let text = prints(run);
    assert!(text.contains("\nLLCs, the whole run in 1 intervals of 10"), "{text}");
    assert!(text.contains("\n  hackbench (0)"), "{text}");
    assert!(!prints(&run.replace("--llc-interval ", "")).contains("LLCs, in"));
}
