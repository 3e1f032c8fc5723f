//! What differs inside the runs of two policies, largest first.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::report::Report;
use crate::scenario::Outcome;

/// A number inside the runs that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    /// What it is part of.
    pub(crate) subject: &'static str,
    pub(crate) name: String,
    /// `ns` or nothing.
    pub(crate) unit: &'static str,
    /// The mean of the base.
    pub(crate) base: f64,
    /// The mean of the other.
    pub(crate) other: f64,
    /// The difference in percent of a whole of the base: see [`whole`].
    pub(crate) points: f64,
}

/// Differences below so many percent of their subject are not worth a line.
const LEAST: f64 = 0.5;

/// What differences of the part `name` of `subject` are held against: of waits, which are no parts of anything, the wait
/// itself; of requests to reschedule the switches away from a task, since a base may have hardly any requests; of the
/// rest the sum over all parts of the subject.
fn whole(base: &[Part], subject: &str, name: &str) -> f64 {
    let is_counted = |part: &&Part| match subject {
        WAITS => part.subject == WAITS && part.name == name,
        RESCHEDULES => part.subject == SWITCHES,
        _ => part.subject == subject,
    };
    base.iter().filter(is_counted).map(|part| part.mean).sum()
}

/// The differences of `other` from `base`, subject by subject, the largest of each first.
pub(crate) fn differences(base: &[Outcome], other: &[Outcome]) -> Vec<Difference> {
    let (base, other) = (parts(base), parts(other));
    let mean = |parts: &[Part], subject: &str, name: &str| {
        let part = parts.iter().find(|part| part.subject == subject && part.name == name);
        part.map_or(0.0, |part| part.mean)
    };
    let mut found: Vec<Difference> = Vec::new();
    for (subject, unit) in SUBJECTS {
        let mut names: Vec<&str> = Vec::new();
        for part in base.iter().chain(&other).filter(|part| part.subject == subject) {
            if !names.contains(&part.name.as_str()) {
                names.push(&part.name);
            }
        }
        let difference = |name: &str| {
            let whole = whole(&base, subject, name);
            let (base, other) = (mean(&base, subject, name), mean(&other, subject, name));
            let points = if whole > 0.0 { 100.0 * (other - base) / whole } else { 0.0 };
            Difference { subject, name: name.to_owned(), unit, base, other, points }
        };
        let mut of_subject: Vec<Difference> = names.into_iter().map(difference).collect();
        of_subject.retain(|difference| difference.points.abs() >= LEAST);
        of_subject.sort_by(|a, b| b.points.abs().total_cmp(&a.points.abs()));
        found.append(&mut of_subject);
    }
    found
}

const MIGRATIONS: &str = "migrations";
const COSTS: &str = "costs";
const UTILISATION: &str = "utilisation";
const WAKEUPS: &str = "wakeups";
const RESCHEDULES: &str = "need_resched";
const WAITS: &str = "waits";
/// The switches away from a task, which are no subject of their own.
const SWITCHES: &str = "task_switches";

const SUBJECTS: [(&str, &str); 6] = [
    (MIGRATIONS, ""),
    (WAKEUPS, ""),
    (RESCHEDULES, ""),
    (COSTS, "ns"),
    (UTILISATION, "ns"),
    (WAITS, "ns"),
];

struct Part {
    subject: &'static str,
    name: String,
    mean: f64,
}

/// All parts of all subjects, as means over the runs.
fn parts(runs: &[Outcome]) -> Vec<Part> {
    let mut sums: Vec<Part> = Vec::new();
    for run in runs {
        for (subject, name, number) in of_run(&run.report) {
            match sums.iter_mut().find(|part| part.subject == subject && part.name == name) {
                Some(part) => part.mean += number,
                None => sums.push(Part { subject, name, mean: number }),
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "runs are few")]
    let count = runs.len().max(1) as f64;
    sums.iter_mut().for_each(|part| part.mean /= count);
    sums
}

/// The idle time is no cost: it is utilisation.
const NO_COST: [&str; 2] = ["idle", "user"];

fn of_run(report: &Report) -> Vec<(&'static str, String, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    let number = |number: u64| number as f64;
    let flat = |subject, map: &Map<String, Value>| -> Vec<(&'static str, String, f64)> {
        let each =
            map.iter().filter_map(|(name, value)| Some((subject, name.clone(), value.as_f64()?)));
        each.collect()
    };
    let mut parts = Vec::new();
    for (cause, reasons) in &report.migrations.by_cause_and_reason {
        let Some(reasons) = reasons.as_object() else { continue };
        let named = |(subject, reason, count)| (subject, format!("{cause}, {reason}"), count);
        parts.extend(flat(MIGRATIONS, reasons).into_iter().map(named));
    }
    parts.extend(flat(WAKEUPS, &report.wakeups.by_reason));
    parts.extend(flat(RESCHEDULES, &report.need_resched));
    parts.push((SWITCHES, String::new(), number(report.task_switches)));
    let costs = flat(COSTS, &report.costs).into_iter();
    parts.extend(costs.filter(|(_, name, _)| !NO_COST.contains(&name.as_str())));
    let time = &report.cpu_time_ns;
    for (name, ns) in [("user", time.user), ("system", time.system), ("idle", time.idle)] {
        parts.push((UTILISATION, name.to_owned(), number(ns)));
    }
    let (wakeup, queue) = (&report.wakeup_latency_ns, &report.runqueue_wait_ns);
    let waits = [
        ("wakeup latency, mean", wakeup.mean),
        ("wakeup latency, p99", wakeup.p99),
        ("runqueue wait, mean", queue.mean),
        ("runqueue wait, p99", queue.p99),
        ("idle CPUs while tasks waited", Some(report.idle_while_waiting_ns)),
    ];
    let known =
        waits.into_iter().filter_map(|(name, ns)| Some((WAITS, name.to_owned(), number(ns?))));
    parts.extend(known);
    parts
}
