//! Reports made by hand.

use serde_json::{Value, json};
use simsched_pages::{Document, read};

/// A run on a machine of two sockets with two LLCs of two cores each, where everything is told.
pub(crate) fn run(policy: &str, seed: u64) -> Value {
    let mut run = counted(policy, seed);
    for (key, value) in inside().as_object().unwrap() {
        run[key] = value.clone();
    }
    run
}

/// What pages draw.
fn inside() -> Value {
    json!({
        "machine": { "llcs": [
            { "package": 0, "node": 0, "cores": "0-1 2-3" },
            { "package": 0, "node": 0, "cores": "4-5 6-7" },
            { "package": 1, "node": 1, "cores": "8-9 10-11" },
            { "package": 1, "node": 1, "cores": "12-13 14-15" }
        ] },
        "migrations_by_llc": [[0, 0, 600], [0, 1, 300], [1, 2, 77], [3, 0, 23]],
        "cpu_utilisation": [0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25,
                            0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.0],
        "histograms": {
            "wakeup_latency_ns": { "up_to": [1_023, 3_071, 95_000], "count": [500, 1_000, 500] },
            "runqueue_wait_ns": { "up_to": [2_047, 91_000], "count": [1_050, 1_050] }
        },
        "series": {
            "schema": 2, "interval_ns": 10_000_000, "intervals": 2,
            "cpu_busy_pct": [[100, 0, 50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                             [0, 0, 50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100]],
            "migrations": { "wakeup": [400, 400] }
        }
    })
}

/// What is counted.
fn counted(policy: &str, seed: u64) -> Value {
    json!({
        "schema": 2,
        "scenario": {
            "topology": "small", "mode": "default", "topology_file": "built-in",
            "nr_cpus": 16, "nr_llcs": 4, "nr_nodes": 2,
            "policy": policy, "policy_full": format!("{policy}@6.1"),
            "workload": "hackbench -g 1", "seed": seed, "settings": {}
        },
        "digest": format!("{policy}-{seed}"),
        "partial": false,
        "end": "finished",
        "simulated_ns": 20_000_000,
        "events": 123_456,
        "elapsed_ns": 10_000_000,
        "context_switches": 9_000,
        "task_switches": 4_000,
        "cpu_migrations": 1_000,
        "preemptions": 70,
        "forks": 40,
        "exits": 41,
        "migrations": {
            "total": 1_000,
            "by_cause": { "wakeup": 800, "fork": 40, "newidle": 160, "nohz": 0 },
            "by_distance": { "same_core": 100, "same_llc": 500, "same_node": 300, "cross_socket": 100 },
            "by_reason": { "idle_core": 500, "idle_cpu": 300, "slow_path": 40, "task": 160 },
            "by_cause_and_reason": {
                "wakeup": { "idle_core": 500, "idle_cpu": 300 },
                "fork": { "slow_path": 40 },
                "newidle": { "task": 160 }
            }
        },
        "wakeups": { "total": 2_000, "by_reason": { "idle_core": 500, "idle_cpu": 300, "prev": 1_200 } },
        "first_wakeups": { "total": 41, "by_reason": { "slow_path": 41 } },
        "scanned_cpus": 20_410,
        "wakeup_latency_ns": {
            "count": 2_000, "mean": 5_000, "p50": 3_000, "p90": 9_000, "p99": 40_000,
            "p99_9": 90_000, "max": 95_000
        },
        "runqueue_wait_ns": {
            "count": 2_100, "mean": 4_000, "p50": 2_000, "p90": 8_000, "p99": 30_000,
            "p99_9": 80_000, "max": 91_000
        },
        "cpu_time_ns": { "user": 0, "system": 80_000_000, "idle": 240_000_000 },
        "idle_while_waiting_ns": 1_000_000,
        "costs": {
            "user": 0, "syscall": 50_000_000, "wakeup": 20_000_000, "context_switch": 10_000_000,
            "idle_exit": 5_000_000, "idle": 235_000_000
        },
        "costs_by_node": [],
        "workload": { "messages": 10_000, "messages_per_second": 1_000_000 },
        "policy_metrics": {}
    })
}

/// The place of a dotted key; numbers are places in arrays.
pub(crate) fn at<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    key.split('.').fold(value, |value, part| match part.parse::<usize>() {
        Ok(idx) if value.is_array() => &mut value[idx],
        _ => &mut value[part],
    })
}

/// The same run with other values.
pub(crate) fn with(mut run: Value, values: &[(&str, Value)]) -> Value {
    for (key, value) in values {
        *at(&mut run, key) = value.clone();
    }
    run
}

/// The runs of several seeds, in which each number of `values` is scaled by the seed's factor.
pub(crate) fn seeds(policy: &str, factors: &[f64], values: &[&str]) -> Value {
    let run = |(seed, factor): (usize, &f64)| {
        let mut run = run(policy, seed as u64 + 1);
        for key in values {
            let value = at(&mut run, key);
            *value = json!((value.as_f64().unwrap() * factor).round());
        }
        run
    };
    let runs: Vec<Value> = factors.iter().enumerate().map(run).collect();
    json!({ "schema": 2, "scenario": runs[0]["scenario"], "seeds": runs.len(), "runs": runs })
}

pub(crate) fn document(name: &str, value: &Value) -> Document {
    read(name, &value.to_string()).unwrap()
}
