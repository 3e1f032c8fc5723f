//! docs/upgrades.md says what newer kernels do to three programs on three machines. `UPDATE_GOLDEN=1` writes it anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::json;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/upgrades.md");

const HEAD: &str = "\
# What an upgrade of the kernel does

The fair classes of Linux 6.1, 6.12 and 7.3, and 7.3 with cache-aware scheduling, run three programs on three machines
with ten seeds.
Made by `UPDATE_GOLDEN=1 cargo test -p simsched-cli --test cli upgrades`; each section names its command.

The first policy's column has the mean of the metric, the others the change from it in percent, with its 95 % interval
over the seeds in parentheses: **bold** where the interval leaves out zero and at least five seeds vary.
Below stands what differs most inside the runs, as `simsched compare` prints it: migrations by who moves and why,
wakeups by how the CPU was chosen, costs of the kernel, each in percent of all of its kind under the first policy;
requests to reschedule (`need_resched`) by what asks, in percent of the first policy's switches away from a task.

A machine has the same prices under each kernel: what changes is what the scheduler does, and how often, not how long one
piece of its code takes.
Under 7.3 these are the decisions of the kernel's own code: with its compiled functions as a policy
([kernel:FILE](kernel.md)) and `--set irq_accounting=off`, all 120 runs on `genoa` and `spr` under `eevdf@7.3` and
`cache_aware` have as many events, preemptions and requests to reschedule, and take as long, to the ns. So what
cache-aware scheduling does to these programs there is the kernel's doing.
Pipes are those of each kernel, too: from 6.14 on a reader of a full pipe wakes a writer only if it frees a slot, to
hackbench's profit (`--set spurious_writer_wakeups=on` is the older rule).
What is new in a version, rule by rule, is in [settings](settings.md#policies); how far such numbers are to be trusted, in
[trust](trust.md).
";

const MACHINES: [&str; 3] = ["genoa", "spr", "power10"];
const POLICIES: [&str; 4] = ["cfs@6.1", "eevdf@6.12", "eevdf@7.3", "cache_aware"];

/// Programs, each with the metrics that are asked of it.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("hackbench -g 8 -f 20 -T -p -l 100", &["time", "wakeup_latency:p99", "cpu_migrations"]),
    (
        "schbench -m 2 -t 64 -r 0.2",
        &["request_latency:p99", "reported_wakeup_latency:p99", "throughput", "cpu_migrations"],
    ),
    ("netperf -t UDP_RR -n 8 -l 0.02", &["throughput", "request_latency:p99", "cpu_migrations"]),
];

/// How many differences inside the runs are told of each policy.
const TOLD: usize = 4;

/// A number with three digits, or with all that stand before its point.
fn digits(number: f64) -> String {
    let behind_point = match number {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{number:.behind_point$}")
}

/// The change of a metric from the first policy.
fn change(metric: &Value) -> String {
    let paired = &metric["paired"];
    let [change, low, high] =
        ["difference_pct", "low_pct", "high_pct"].map(|key| paired[key].as_f64());
    let (Some(change), Some(low), Some(high)) = (change, low, high) else {
        return "-".to_owned();
    };
    let text = format!("{change:+.1} ({low:+.1} to {high:+.1})");
    if paired["significant"] == true { format!("**{text}**") } else { text }
}

/// What differs most inside the runs of a policy.
fn why(differences: &Value) -> String {
    let is_listed = |one: &&Value| {
        ["migrations", "wakeups", "need_resched", "costs"]
            .contains(&one["subject"].as_str().unwrap())
    };
    let points = |one: &Value| one["points"].as_f64().unwrap();
    let mut told: Vec<&Value> = differences.as_array().unwrap().iter().filter(is_listed).collect();
    told.sort_by(|a, b| points(b).abs().total_cmp(&points(a).abs()));
    let line = |one: &&Value| {
        let (subject, name) = (one["subject"].as_str().unwrap(), one["name"].as_str().unwrap());
        format!("{subject} `{name}` {:+.1} %", points(one))
    };
    let lines: Vec<String> = told.iter().take(TOLD).map(line).collect();
    if lines.is_empty() { "nothing by half a percent".to_owned() } else { lines.join("; ") }
}

/// What one machine does: rows of the table, and lines of what differs.
fn machine(machine: &str, args: &str, metrics: &[&str]) -> (String, String) {
    let told = json(&args.replace("MACHINE", machine));
    let (mut rows, mut reasons) = (String::new(), String::new());
    for name in metrics {
        let all = told["metrics"].as_array().unwrap();
        let metric = all.iter().find(|metric| metric["name"] == *name).unwrap();
        let sides = metric["policies"].as_array().unwrap();
        let base = sides[0]["mean"].as_f64().unwrap();
        let (unit, base) = match metric["unit"].as_str().unwrap() {
            "" => (String::new(), digits(base)),
            // Runs take milliseconds.
            "s" => (" (ms)".to_owned(), digits(1e3 * base)),
            unit => (format!(" ({unit})"), digits(base)),
        };
        let changes: Vec<String> = sides[1..].iter().map(change).collect();
        writeln!(rows, "| {machine} | {name}{unit} | {base} | {} |", changes.join(" | ")).unwrap();
    }
    for (policy, differences) in POLICIES[1..].iter().zip(told["why"].as_array().unwrap()) {
        writeln!(reasons, "- {machine}, `{policy}`: {}.", why(differences)).unwrap();
    }
    (rows, reasons)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how goldens are renewed; no result depends on it")]
fn the_page_of_upgrades_says_what_the_command_measures() {
    let mut page = HEAD.to_owned();
    for (program, metrics) in PROGRAMS {
        let policies = POLICIES.map(|policy| format!("--policy {policy}")).join(" ");
        let command = format!("compare --topo MACHINE {policies} --seeds 10 -- {program}");
        let title = program.split(' ').next().unwrap();
        writeln!(page, "\n## {title}\n\n```sh\nsimsched {command}\n```\n").unwrap();
        writeln!(page, "| machine | metric | {} |", POLICIES.join(" | ")).unwrap();
        writeln!(page, "| --- | --- | ---: | ---: | ---: | ---: |").unwrap();
        let args = command.replace("compare ", "compare --quiet --json - ");
        let (rows, reasons): (Vec<_>, Vec<_>) =
            MACHINES.iter().map(|name| machine(name, &args, metrics)).unzip();
        writeln!(page, "{}\n{}", rows.concat(), reasons.concat().trim_end()).unwrap();
    }
    let kept = fs::read_to_string(PAGE).unwrap_or_default();
    if kept != page && std::env::var("UPDATE_GOLDEN").is_ok() {
        fs::write(Path::new(PAGE), &page).unwrap();
        return;
    }
    assert!(kept == page, "docs/upgrades.md is not what `compare` measures: UPDATE_GOLDEN=1");
}
