//! A run, or several, as text.

use serde_json::Value;
use simsched_topology::Topology;

use super::units::{self, count, decimal, micros, percent, span};
use crate::report::{Counts, End, Percentiles, Report, ScenarioReport};
use crate::summary::Summary;

/// Reasons that are listed; the others are in the JSON.
const TOP: usize = 6;

/// One run.
pub(crate) fn run(report: &Report, topology: &Topology) -> String {
    let mut page = Page::default();
    scenario(&mut page, &report.scenario, topology);
    page.line("seed", &report.scenario.seed.to_string());
    stopped(&mut page, report.end);
    let events = count(report.events);
    page.line("simulated", &format!("{} in {events} events", span(report.simulated_ns)));
    if let Some(elapsed) = report.elapsed_ns {
        page.line("elapsed", &span(elapsed));
    }
    page.gap();
    page.part("context switches", report.context_switches, None);
    page.part("  preemptions", report.preemptions, Some(report.context_switches));
    page.gap();
    page.part("migrations", report.migrations.total, None);
    page.parts("by cause", &report.migrations.by_cause, report.migrations.total, usize::MAX);
    page.parts("by distance", &report.migrations.by_distance, report.migrations.total, usize::MAX);
    page.parts("by reason", &report.migrations.by_reason, report.migrations.total, TOP);
    page.gap();
    page.part("wakeups", report.wakeups.total, None);
    page.parts("by reason", &report.wakeups.by_reason, report.wakeups.total, TOP);
    page.gap();
    latencies(&mut page, report);
    page.gap();
    cpu_time(&mut page, report);
    page.gap();
    page.line("digest", &report.digest);
    page.0
}

/// Several runs of one scenario.
pub(crate) fn seeds(summary: &Summary, topology: &Topology) -> String {
    let mut page = Page::default();
    scenario(&mut page, &summary.scenario, topology);
    let first = summary.scenario.seed;
    let last = first.wrapping_add(summary.seeds as u64 - 1);
    page.line("seeds", &format!("{first} to {last}"));
    let interrupted = summary.runs.iter().filter(|run| run.end == End::Interrupted).count();
    if interrupted > 0 {
        page.line("stopped", &format!("by Ctrl-C: {interrupted} runs are not in the table"));
    }
    page.gap();
    page.text(&format!("{:<26}{:>14}{:>14}{:>14}", "", "mean", "std", "+- (95 %)"));
    for (name, path, scale) in METRICS {
        if let Some(cells) = cells(&summary.summary, path, *scale) {
            page.text(&format!("{name:<26}{cells}"));
        }
    }
    page.0
}

/// What the table of several runs shows: name, path in the summary, and the divisor of its unit.
const METRICS: &[(&str, &[&str], f64)] = &[
    ("elapsed (s)", &["elapsed_ns"], 1e9),
    ("simulated (s)", &["simulated_ns"], 1e9),
    ("context switches", &["context_switches"], 1.0),
    ("preemptions", &["preemptions"], 1.0),
    ("migrations", &["migrations", "total"], 1.0),
    ("  same core", &["migrations", "by_distance", "same_core"], 1.0),
    ("  same LLC", &["migrations", "by_distance", "same_llc"], 1.0),
    ("  same node", &["migrations", "by_distance", "same_node"], 1.0),
    ("  same socket", &["migrations", "by_distance", "same_socket"], 1.0),
    ("  cross socket", &["migrations", "by_distance", "cross_socket"], 1.0),
    ("wakeups", &["wakeups", "total"], 1.0),
    ("wakeup latency mean (us)", &["wakeup_latency_ns", "mean"], 1e3),
    ("  p50 (us)", &["wakeup_latency_ns", "p50"], 1e3),
    ("  p99 (us)", &["wakeup_latency_ns", "p99"], 1e3),
    ("  p99.9 (us)", &["wakeup_latency_ns", "p99_9"], 1e3),
    ("runqueue wait mean (us)", &["runqueue_wait_ns", "mean"], 1e3),
    ("  p99 (us)", &["runqueue_wait_ns", "p99"], 1e3),
    ("CPU time user (s)", &["cpu_time_ns", "user"], 1e9),
    ("  system (s)", &["cpu_time_ns", "system"], 1e9),
    ("  idle (s)", &["cpu_time_ns", "idle"], 1e9),
];

/// Mean, deviation and half interval of the number at `path`, if it is there.
fn cells(summary: &serde_json::Map<String, Value>, path: &[&str], scale: f64) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let spread = rest.iter().try_fold(summary.get(*first)?, |value, key| value.get(key))?;
    let cell = |key: &str| Some(decimal(spread.get(key)?.as_f64()? / scale));
    Some(format!("{:>14}{:>14}{:>14}", cell("mean")?, cell("std")?, cell("ci95")?))
}

fn scenario(page: &mut Page, scenario: &ScenarioReport, topology: &Topology) {
    let size = units::machine(topology);
    page.line("machine", &format!("{}@{}: {size}", scenario.topology, scenario.mode));
    page.line("policy", &scenario.policy);
    let settings = scenario.settings.iter().map(|(key, value)| format!("{key}={value}"));
    let settings: Vec<String> = settings.collect();
    if !settings.is_empty() {
        page.line("settings", &settings.join(" "));
    }
    page.line("workload", &scenario.workload);
}

fn stopped(page: &mut Page, end: End) {
    match end {
        End::Finished => {}
        End::Duration => page.line("stopped", "by --duration: these numbers are partial"),
        End::Interrupted => page.line("stopped", "by Ctrl-C: these numbers are partial"),
    }
}

fn latencies(page: &mut Page, report: &Report) {
    let head = ["count", "mean", "p50", "p90", "p99", "p99.9", "max"];
    let head: String = head.iter().map(|name| format!("{name:>11}")).collect();
    page.text(&format!("{:<16}{head}", "latency (us)"));
    latency(page, "wakeup", &report.wakeup_latency_ns);
    latency(page, "runqueue wait", &report.runqueue_wait_ns);
}

fn latency(page: &mut Page, name: &str, p: &Percentiles) {
    let us: String = [p.mean, p.p50, p.p90, p.p99, p.p99_9, p.max]
        .iter()
        .map(|nanos| format!("{:>11}", micros(*nanos)))
        .collect();
    page.text(&format!("  {name:<14}{:>11}{us}", count(p.count)));
}

fn cpu_time(page: &mut Page, report: &Report) {
    let time = &report.cpu_time_ns;
    let all = time.user + time.system + time.idle;
    page.value("CPU time", &span(all), "");
    for (name, part) in [("user", time.user), ("system", time.system), ("idle", time.idle)] {
        page.value(&format!("  {name}"), &span(part), &percent(part, all));
    }
}

/// Lines of text, each with a label.
#[derive(Default)]
struct Page(String);

impl Page {
    fn text(&mut self, text: &str) {
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }

    fn gap(&mut self) {
        self.0.push('\n');
    }

    fn line(&mut self, label: &str, text: &str) {
        self.text(&format!("{label:<12}{text}"));
    }

    fn value(&mut self, label: &str, value: &str, share: &str) {
        self.text(&format!("{label:<28}{value:>16}{share:>10}"));
    }

    fn part(&mut self, label: &str, part: u64, whole: Option<u64>) {
        let share = whole.map_or_else(String::new, |whole| percent(part, whole));
        self.value(label, &count(part), &share);
    }

    /// The greatest parts of a whole, at most `top`; parts of nothing are left out.
    fn parts(&mut self, label: &str, parts: &Counts, whole: u64, top: usize) {
        let mut parts: Vec<(&str, u64)> = parts
            .iter()
            .map(|(name, part)| (name.as_str(), part.as_u64().unwrap_or(0)))
            .filter(|(_, part)| *part > 0)
            .collect();
        if parts.is_empty() {
            return;
        }
        // Causes and distances have an order of their own; a selection is by size.
        if top < usize::MAX {
            parts.sort_by_key(|(_, part)| std::cmp::Reverse(*part));
            parts.truncate(top);
        }
        self.text(&format!("  {label}"));
        for (name, part) in parts {
            self.part(&format!("    {name}"), part, Some(whole));
        }
    }
}
