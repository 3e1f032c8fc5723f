//! Several runs as text: a table of means with the rows of a single run.

use serde_json::{Map, Value};
use simsched_topology::Topology;

use super::page::Page;
use super::text;
use super::units::{decimal, span_of};
use crate::report::End;
use crate::summary::Summary;

/// Several runs of one scenario, of which `asked` were asked for.
pub(crate) fn seeds(summary: &Summary, topology: &Topology, asked: u64) -> String {
    let mut page = Page::default();
    text::scenario(&mut page, &summary.scenario, topology);
    let first = summary.scenario.seed;
    page.line("seeds", &format!("{first} to {}", first.saturating_add(asked - 1)));
    let since_start = summary.runs.iter().filter(|run| run.start_ns.is_some()).count();
    let others = summary.runs.len() - since_start;
    if since_start > 0 {
        page.line("measured", text::SINCE_START);
    }
    if since_start > 0 && others > 0 {
        page.line("", &format!("but for {others} runs that were stopped in it, and count with it"));
    }
    stopped(&mut page, summary, asked);
    if !summary.summary.is_empty() {
        table(&mut page, &Tree(&summary.summary));
    }
    page.0
}

/// By whom runs were stopped, if they were.
fn stopped(page: &mut Page, summary: &Summary, asked: u64) {
    let nr = |end| summary.runs.iter().filter(|run| run.end == end).count();
    let (timed_out, cut) = (nr(End::Duration), nr(End::Interrupted));
    if timed_out > 0 {
        let all = summary.runs.len();
        let text = format!("by --duration: {timed_out} of {all} runs, their numbers are partial");
        page.line("stopped", &text);
    }
    let missing = asked.saturating_sub(summary.runs.len() as u64);
    if cut > 0 || missing > 0 {
        let done = summary.runs.len() - cut;
        let text = format!("by Ctrl-C: {done} runs done, {cut} cut short, {missing} never started");
        page.line("stopped", &text);
    }
}

fn table(page: &mut Page, tree: &Tree<'_>) {
    page.gap();
    page.text(&format!("{:<28}{:>14}{:>14}{:>14}", "", "mean", "std", "+- (95 %)"));
    if tree.at(&["whole"]).is_some() {
        tree.row(page, "simulated", &["whole", "simulated_ns"], Unit::Span);
        tree.row(page, "measured", &["simulated_ns"], Unit::Span);
    } else {
        tree.row(page, "simulated", &["simulated_ns"], Unit::Span);
    }
    if tree.at(&["elapsed_ns"]).is_some() {
        tree.row(page, "elapsed", &["elapsed_ns"], Unit::Span);
    }
    page.gap();
    tree.row(page, "context switches", &["context_switches"], Unit::Count);
    tree.row(page, "  preemptions", &["preemptions"], Unit::Count);
    page.gap();
    tree.row(page, "migrations", &["migrations", "total"], Unit::Count);
    tree.rows(page, "by cause", ["migrations", "by_cause"]);
    tree.rows(page, "by distance", ["migrations", "by_distance"]);
    tree.rows(page, "by reason", ["migrations", "by_reason"]);
    page.gap();
    tree.row(page, "wakeups", &["wakeups", "total"], Unit::Count);
    tree.rows(page, "by reason", ["wakeups", "by_reason"]);
    page.gap();
    tree.latency(page, "wakeup latency", "wakeup_latency_ns");
    page.gap();
    tree.latency(page, "runqueue wait", "runqueue_wait_ns");
    page.gap();
    page.text("CPU time");
    for part in ["user", "system", "idle"] {
        tree.row(page, &format!("  {part}"), &["cpu_time_ns", part], Unit::Span);
    }
    tree.row(page, "    while tasks waited", &["idle_while_waiting_ns"], Unit::Span);
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Things.
    Count,
    /// Nanoseconds.
    Span,
}

/// The spreads of a summary.
struct Tree<'a>(&'a Map<String, Value>);

impl Tree<'_> {
    fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.0.get(*first)?, |value, key| value.get(key))
    }

    /// Mean, deviation and half interval of the number at `path`; `-` is what there is not.
    fn row(&self, page: &mut Page, label: &str, path: &[&str], unit: Unit) {
        let spread = self.at(path);
        let cell = |key: &str| match spread.and_then(|spread| spread.get(key)?.as_f64()) {
            None => "-".to_owned(),
            Some(number) if unit == Unit::Count => decimal(number),
            Some(nanos) => span_of(nanos),
        };
        let [mean, std, ci95] = ["mean", "std", "ci95"].map(cell);
        page.text(&format!("{label:<28}{mean:>14}{std:>14}{ci95:>14}"));
    }

    /// All parts of a whole of which any run has some.
    fn rows(&self, page: &mut Page, label: &str, path: [&str; 2]) {
        let Some(parts) = self.at(&path).and_then(Value::as_object) else { return };
        let is_some = |key: &&String| {
            let mean = self.at(&[path[0], path[1], key.as_str(), "mean"]);
            mean.and_then(Value::as_f64).is_some_and(|mean| mean > 0.0)
        };
        for (idx, key) in parts.keys().filter(is_some).enumerate() {
            if idx == 0 {
                page.text(&format!("  {label}"));
            }
            self.row(page, &format!("    {key}"), &[path[0], path[1], key.as_str()], Unit::Count);
        }
    }

    fn latency(&self, page: &mut Page, label: &str, key: &str) {
        self.row(page, label, &[key, "count"], Unit::Count);
        let points = ["mean", "p50", "p90", "p99", "p99_9", "max"];
        for point in points {
            let name = format!("  {}", point.replace('_', "."));
            self.row(page, &name, &[key, point], Unit::Span);
        }
    }
}
