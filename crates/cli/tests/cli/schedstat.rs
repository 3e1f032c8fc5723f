//! `/proc/schedstat` of a simulated kernel.

use serde_json::Value;

use crate::common::{file, json, prints, simsched};

const WORKLOAD: &str = "-- hackbench -g 1 -f 4 -l 50";

/// The columns behind the masks of all domains of a text of version 15 or 16, and those of all CPUs.
fn rows(text: &str) -> (Vec<Vec<u64>>, Vec<Vec<u64>>) {
    let numbers = |line: &str, skip: usize| -> Vec<u64> {
        line.split(' ').skip(skip).map(|column| column.parse().unwrap()).collect()
    };
    let all = |start: &str, skip| {
        text.lines()
            .filter(|line| line.starts_with(start))
            .map(|line| numbers(line, skip))
            .collect()
    };
    (all("domain", 2), all("cpu", 1))
}

fn column(rows: &[Vec<u64>], at: usize) -> u64 {
    rows.iter().map(|row| row[at]).sum()
}

/// In the order of `show_schedstat()` of 6.1.
const LB: [&str; 8] = [
    "lb_count",
    "lb_balanced",
    "lb_failed",
    "lb_imbalance",
    "lb_gained",
    "lb_hot_gained",
    "lb_nobusyq",
    "lb_nobusyg",
];

#[test]
fn the_columns_sum_up_to_the_domains_of_the_report() {
    let path = file("schedstat-16.txt", "");
    let run = json(&format!(
        "run --quiet --whole --topo t16 --json - --schedstat v16={} {WORKLOAD}",
        path.display()
    ));
    let (domains, cpus) = rows(&std::fs::read_to_string(path).unwrap());
    assert_eq!(cpus.len(), 16);
    let told = run["domains"].as_object().unwrap();
    let sum = |of: &dyn Fn(&Value) -> &Value| -> u64 {
        told.values().map(|domain| of(domain).as_u64().unwrap()).sum()
    };
    for (first, kind) in [(0, "busy"), (8, "idle"), (16, "newly_idle")] {
        for (at, counter) in LB.iter().enumerate() {
            let expected = sum(&|domain| &domain[counter][kind]);
            assert_eq!(column(&domains, first + at), expected, "{counter} {kind}");
        }
    }
    assert_eq!(column(&domains, 33), sum(&|domain| &domain["ttwu_wake_remote"]));
    assert_eq!(column(&cpus, 4), run["wakeups"]["total"].as_u64().unwrap());
    // Who is woken on another CPU is not local; some of those no domain counts.
    assert!(column(&cpus, 4) - column(&cpus, 5) >= column(&domains, 33));
    // Each switch is a call of schedule(), and each switch to a task is told to it.
    let switches = run["context_switches"].as_u64().unwrap();
    assert!(column(&cpus, 2) >= switches);
    assert!(column(&cpus, 3) + column(&cpus, 8) >= switches);
    // Tasks ran for as long as the machine did not idle, less what interrupts found idle CPUs do.
    let busy = run["cpu_time_ns"]["user"].as_u64().unwrap()
        + run["cpu_time_ns"]["system"].as_u64().unwrap();
    let ran = column(&cpus, 6);
    assert!(ran > busy / 2 && ran < busy * 11 / 10, "{ran} of {busy}");
}

#[test]
fn who_counts_for_schedstat_changes_nothing() {
    let counted = json(&format!(
        "run --quiet --whole --topo t16 --json - --schedstat v17={} {WORKLOAD}",
        file("schedstat-17.txt", "").display()
    ));
    assert_eq!(counted, json(&format!("run --quiet --whole --topo t16 --json - {WORKLOAD}")));
}

#[test]
fn without_a_file_schedstat_takes_the_place_of_the_text() {
    let text = prints(&format!("run --quiet --whole --topo t8 --schedstat v15 {WORKLOAD}"));
    assert!(text.starts_with("version 15\ntimestamp 42948"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("cpu")).count(), 8);
}

#[test]
fn what_schedstat_cannot_tell_is_refused() {
    for (options, said) in [
        ("--schedstat v14", "found 'v14', expected v15, v16 or v17"),
        ("--schedstat v15=", "expected a file behind ="),
        ("--schedstat v15 --seeds 2", "expected no --seeds"),
        ("--schedstat v15 --json -", "found '-' for both"),
        ("--schedstat v15=missing/file", "missing/file"),
    ] {
        let output = simsched(&format!("run --quiet --whole --topo t8 {options} {WORKLOAD}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options}");
        assert!(errors.contains(said), "{options}: {errors}");
        assert!(output.stdout.is_empty());
    }
}
