//! The JSON: all keys, and numbers that add up.

use serde_json::Value;

use crate::common::{json, prints};

fn number(value: &Value, path: &str) -> u64 {
    let found = path.split('.').fold(value, |value, key| &value[key]);
    found.as_u64().unwrap_or_else(|| panic!("{path} is {found}"))
}

fn sum(value: &Value, path: &str) -> u64 {
    let found = path.split('.').fold(value, |value, key| &value[key]);
    found.as_object().unwrap().values().map(|part| part.as_u64().unwrap()).sum()
}

fn report() -> Value {
    json("run --quiet --topo t16 --json - -- hackbench -g 2 -f 4 -T -p -l 30")
}

#[test]
fn the_json_has_all_keys() {
    let report = report();
    assert_eq!(number(&report, "schema"), 2);
    let text = |path: &str| {
        let found = path.split('.').fold(&report, |value, key| &value[key]);
        found.as_str().unwrap_or_else(|| panic!("{path} is {found}")).to_owned()
    };
    assert_eq!((text("scenario.topology"), text("scenario.mode")), ("t16".into(), "lab".into()));
    assert_eq!((text("scenario.policy"), text("end")), ("cfs".into(), "finished".into()));
    assert_eq!(text("scenario.policy_full"), "cfs@6.1");
    assert_eq!(text("scenario.topology_file"), "built-in");
    let size = ["nr_cpus", "nr_llcs", "nr_nodes"].map(|key| number(&report["scenario"], key));
    assert_eq!(size, [16, 4, 2]);
    assert_eq!(text("scenario.workload"), "hackbench -g 2 -f 4 -l 30 -s 100 -T -p");
    assert_eq!(text("digest").len(), 16);
    assert_eq!(report["scenario"]["settings"], serde_json::json!({}));
    assert_eq!(report["partial"], false);
    let numbers = [
        "scenario.seed",
        "simulated_ns",
        "events",
        "elapsed_ns",
        "context_switches",
        "preemptions",
        "need_resched.wakeup",
        "need_resched.timer_lazy",
        "need_resched.promoted",
        "forks",
        "exits",
        "scanned_cpus",
        "migrations.total",
        "wakeups.total",
        "first_wakeups.total",
        "cpu_time_ns.user",
        "cpu_time_ns.system",
        "cpu_time_ns.idle",
        "idle_while_waiting_ns",
        "workload.messages",
    ];
    for path in numbers {
        number(&report, path);
    }
    for cause in ["wakeup", "fork", "exec", "periodic", "newidle", "nohz", "active"] {
        number(&report, &format!("migrations.by_cause.{cause}"));
    }
    for distance in ["same_core", "same_llc", "same_node", "same_socket", "cross_socket"] {
        number(&report, &format!("migrations.by_distance.{distance}"));
    }
    assert!(report["policy_metrics"].is_object());
}

#[test]
fn the_counts_are_those_of_the_program() {
    let report = report();
    assert_eq!(number(&report, "workload.messages"), 960);
    assert_eq!((number(&report, "forks"), number(&report, "exits")), (0, 17));
    let whole = &report["whole"];
    assert_eq!((number(whole, "forks"), number(whole, "exits")), (16, 17));
    assert_eq!(number(whole, "first_wakeups.total"), 17);
    assert!(number(&report, "elapsed_ns") <= number(&report, "simulated_ns"));
}

#[test]
fn parts_equal_their_sums() {
    let report = report();
    let total = number(&report, "migrations.total");
    for parts in ["by_cause", "by_distance", "by_reason"] {
        assert_eq!(sum(&report, &format!("migrations.{parts}")), total, "{parts}");
    }
    assert_eq!(sum(&report, "wakeups.by_reason"), number(&report, "wakeups.total"));
    let elapsed = number(&report, "simulated_ns");
    assert_eq!(sum(&report, "cpu_time_ns"), 16 * elapsed);
    assert!(number(&report, "idle_while_waiting_ns") <= number(&report, "cpu_time_ns.idle"));
    assert_eq!(sum(&report, "costs"), 16 * elapsed);
    assert!(number(&report, "wakeup_latency_ns.count") <= number(&report, "wakeups.total"));
}

/// perf counts a task that a wakeup and then a balancer moved once, and births not at all.
#[test]
fn migrations_as_perf_counts_them_are_switches_after_one_or_more_moves() {
    let report = report();
    let counted = number(&report, "cpu_migrations");
    let moves = number(&report, "migrations.total") - number(&report, "migrations.by_cause.fork");
    assert!(counted > 0 && counted <= moves, "{counted} of {moves}");
    assert!(counted <= number(&report, "context_switches"));
}

/// Linux runs the way out of an idle state in the idle task.
#[test]
fn the_way_out_of_an_idle_state_is_idle_time() {
    // The machines of the lab leave their idle states at once.
    let report = json("run --quiet --topo genoa --json - -- hackbench -g 1 -f 4 -T -p -l 30");
    let exit = number(&report, "costs.idle_exit");
    assert!(exit > 0);
    assert_eq!(number(&report, "cpu_time_ns.idle"), exit + number(&report, "costs.idle"));
    let work = ["syscall", "wakeup", "context_switch", "ipi", "tick", "timer", "balance"];
    let stalls = ["rq_lock", "update_cfs_group", "update_load_avg", "refill", "message"];
    let system: u64 =
        work.iter().chain(&stalls).map(|cost| number(&report, &format!("costs.{cost}"))).sum();
    assert_eq!(number(&report, "cpu_time_ns.system"), system);
}

#[test]
fn what_has_no_sample_is_null() {
    let report = json("run --quiet --topo t16 --duration 1us --json -");
    let latency = &report["wakeup_latency_ns"];
    assert_eq!(latency["count"], 0);
    for key in ["mean", "p50", "p90", "p99", "p99_9", "max"] {
        assert_eq!(latency.get(key), Some(&Value::Null), "{key}");
    }
    let all = json("run --quiet --topo t8 --seeds 1 --json - -- hackbench -g 1 -l 5");
    let spread = &all["summary"]["context_switches"];
    assert!(spread["mean"].as_f64().unwrap() > 0.0);
    assert_eq!((spread.get("std"), spread.get("ci95")), (Some(&Value::Null), Some(&Value::Null)));
}

#[test]
fn percentiles_are_ordered() {
    let report = report();
    for histogram in ["wakeup_latency_ns", "runqueue_wait_ns"] {
        let keys = ["p50", "p90", "p99", "p99_9", "max"];
        let points = keys.map(|key| number(&report, &format!("{histogram}.{key}")));
        assert!(points.is_sorted(), "{histogram}: {points:?}");
        assert!(number(&report, &format!("{histogram}.count")) > 0);
        assert!(number(&report, &format!("{histogram}.mean")) <= points[4]);
    }
}

#[test]
fn settings_reach_policy_and_simulator_and_are_reported() {
    let args = "--quiet --topo t8 --json - --set SIS_UTIL=off --set hz=1000";
    let report = json(&format!("run {args} -- hackbench -g 1 -f 2 -T -p -l 5"));
    let settings = serde_json::json!({ "SIS_UTIL": "off", "hz": "1000" });
    assert_eq!(report["scenario"]["settings"], settings);
    assert_eq!(report["scenario"]["policy_full"], "cfs@6.1+SIS_UTIL=off");
}

#[test]
fn hz_changes_the_tick() {
    let ticks = |hz: u32| {
        let args = format!("run --quiet --topo t8 --json - --set hz={hz} -- hackbench -g 4 -l 200");
        let report = json(&args);
        number(&report, "costs.tick") as f64 / number(&report, "simulated_ns") as f64
    };
    let ratio = ticks(1000) / ticks(250);
    assert!((3.0..5.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_run_that_its_limit_stops_is_partial() {
    let report = json("run --quiet --topo t16 --duration 3ms --json -");
    assert_eq!((&report["partial"], &report["end"]), (&true.into(), &"duration".into()));
    assert_eq!(number(&report, "simulated_ns"), 3_000_000);
    assert_eq!(number(&report, "scenario.duration_ns"), 3_000_000);
    assert_eq!(report["elapsed_ns"], Value::Null);
    assert_eq!(sum(&report, "cpu_time_ns"), 16 * 3_000_000);
    let text = prints("run --quiet --topo t16 --duration 3ms");
    assert!(text.contains("partial") && !text.contains("Time:"), "{text}");
}

#[test]
fn several_seeds_are_summed_up() {
    let all = json("run --quiet --topo t8 --seed 7 --seeds 3 --json - -- hackbench -g 1 -l 10");
    let runs = all["runs"].as_array().unwrap();
    let seeds: Vec<u64> = runs.iter().map(|run| number(run, "scenario.seed")).collect();
    assert_eq!((seeds, number(&all, "seeds")), (vec![7, 8, 9], 3));
    let switches: Vec<u64> = runs.iter().map(|run| number(run, "context_switches")).collect();
    let mean = switches.iter().sum::<u64>() as f64 / 3.0;
    let spread = &all["summary"]["context_switches"];
    assert!((spread["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    assert!(spread["ci95"].as_f64().unwrap() >= spread["std"].as_f64().unwrap());
    let latency = &all["summary"]["wakeup_latency_ns"]["p99"]["mean"];
    assert!(latency.as_f64().unwrap() > 0.0);
    let text = prints("run --quiet --topo t8 --seed 7 --seeds 3 -- hackbench -g 1 -l 10");
    assert!(text.contains("seeds       7 to 9") && text.contains("+- (95 %)"), "{text}");
}

#[test]
fn a_run_does_not_depend_on_its_neighbours() {
    let rest = "--quiet --topo t8 --json - -- hackbench -g 1 -l 10";
    let many = json(&format!("run --seed 7 --seeds 2 {rest}"));
    assert_eq!(many["runs"][1], json(&format!("run --seed 8 {rest}")));
}

#[test]
fn a_machine_is_shown_as_text_and_as_json() {
    let machine = json("topo show genoa@nps4 --cpu 100 --json");
    assert_eq!((number(&machine, "nr_cpus"), number(&machine, "nr_nodes")), (384, 8));
    assert_eq!((number(&machine, "cpu.cpu"), number(&machine, "cpu.package")), (100, 1));
    let domains = machine["sched_domains"].as_array().unwrap();
    let names: Vec<(&str, u64)> =
        domains.iter().map(|sd| (sd["name"].as_str().unwrap(), number(sd, "weight"))).collect();
    assert_eq!(names, [("SMT", 2), ("MC", 16), ("NODE", 48), ("NUMA", 192), ("NUMA", 384)]);
    let text = prints("topo show genoa@nps4 --cpu 100");
    for name in ["SMT", "MC", "NODE", "NUMA", "imb_numa_nr"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(prints("topo show genoa --kernel 6.1").contains("Linux 6.1"));
    assert!(prints("topo show genoa --kernel 6.12").contains("Linux 6.12"));
}

/// The requests to reschedule by cause, and the preemptions, of ten hogs on eight CPUs.
fn need_resched(policy: &str) -> (Value, u64) {
    let args = format!("run -q --topo t8 --policy {policy} --json - -- lab:hogs-free-10");
    let report = json(&args);
    (report["need_resched"].clone(), report["preemptions"].as_u64().unwrap())
}

/// Up to 6.12 slices end at ticks and no request is lazy; since 7.2 a timer ends them, and most requests are answered
/// when the task returns to user mode. No task is preempted without a request.
#[test]
fn requests_to_reschedule_are_counted_by_cause() {
    let of = |counts: &Value, key: &str| counts[key].as_u64().unwrap();
    let lazy = ["wakeup_lazy", "tick_lazy", "timer_lazy", "other_lazy"];
    let hard = ["wakeup", "tick", "timer", "other"];
    for policy in ["cfs@6.1", "eevdf@6.12", "eevdf@7.3", "eevdf@7.3+HRTICK=off"] {
        let (counts, preemptions) = need_resched(policy);
        let requests: u64 = hard.iter().chain(&lazy).map(|key| of(&counts, key)).sum();
        assert!(requests >= preemptions && preemptions > 10, "{policy}: {counts}");
        let is_new = policy.starts_with("eevdf@7.3");
        let has_lazy = lazy.iter().any(|key| of(&counts, key) > 0);
        assert_eq!(has_lazy, is_new, "{policy}: {counts}");
        let by_timer = of(&counts, "timer") + of(&counts, "timer_lazy");
        assert_eq!(by_timer > 0, policy == "eevdf@7.3", "{policy}: {counts}");
        assert!(is_new || of(&counts, "tick") > 0, "{policy}: {counts}");
        assert!(of(&counts, "promoted") <= requests, "{policy}: {counts}");
    }
}
