//! A comparison as text: a table as mmtests prints them, then what differs inside.

use std::fmt::Write;

use simsched_topology::Topology;

use super::metrics::Cell;
use super::{Comparison, Difference, Row};
use crate::output::text::SINCE_START;
use crate::output::units::{self, decimal, span_of};
use crate::sensitivity;
use crate::states::States;

/// The metrics of which the table says if their seeds fall into two states: what programs are run for.
const STATED: [&str; 4] = ["time", "throughput", "bandwidth:triad", "rps:p50"];

/// What is said of a comparison without intervals.
const ONE_SEED: &str =
    "one seed: how far seeds differ cannot be said, and no change is sure; --seeds 5 tells it";

/// Lines of each subject, and below how many points the rest is left out.
const LINES: usize = 4;

/// The comparison of runs on `topology`.
pub(crate) fn of(comparison: &Comparison, topology: &Topology) -> String {
    let mut text = head(comparison, topology);
    table(&mut text, comparison);
    let is_cut = comparison.runs.iter().flatten().any(|run| run.cut.is_some());
    let of = if is_cut { ", in the measured spans" } else { "" };
    for (policy, why) in comparison.asked.policies.iter().skip(1).zip(&comparison.why) {
        let _ = writeln!(text, "\nWhy: {policy} against {}{of}", comparison.asked.policies[0]);
        differences(&mut text, why);
    }
    if let Some(sweep) = &comparison.sweep {
        let said = |flip: &super::Flip| {
            format!("{} of {} {}, and not {}", flip.metric, flip.policy, flip.to, flip.from)
        };
        text += &sensitivity::text(sweep, said);
    }
    text
}

fn head(comparison: &Comparison, topology: &Topology) -> String {
    let Comparison { asked: args, runs, .. } = comparison;
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "{label:<12}{value}");
    };
    let name = format!("{}@{}", topology.name(), topology.mode());
    line("machine", &format!("{name}: {}", units::machine(topology)));
    let first = runs.first().and_then(|side| side.first());
    let full: Vec<&str> = runs
        .iter()
        .filter_map(|side| side.first())
        .map(|run| run.report.scenario.policy_full.as_str())
        .collect();
    if !full.is_empty() {
        line("policies", &full.join(", "));
    }
    for scenario in runs.iter().filter_map(|side| side.first()).map(|run| &run.report.scenario) {
        if let Some(text) = scenario.built_of() {
            line("built of", &format!("{text} ({})", scenario.policy));
        }
    }
    if let Some(told) = bases(&full) {
        line("note", &told);
    }
    if let Some(first) = first {
        line("workload", &first.report.scenario.workload);
    }
    let last = args.seed.saturating_add(args.seeds - 1);
    line(
        "seeds",
        &match args.seeds {
            1 => format!("{last}, the same for all policies"),
            _ => format!("{} to {last}, the same for all policies", args.seed),
        },
    );
    for (key, value) in &args.settings {
        line("set", &format!("{key}={value}"));
    }
    for note in &comparison.notes {
        line("note", note);
    }
    if args.seeds == 1 {
        line("note", ONE_SEED);
    }
    let done = runs.first().map_or(0, Vec::len) as u64;
    if done < args.seeds {
        line("stopped", &format!("by Ctrl-C: {done} of {} seeds done on all sides", args.seeds));
    }
    let stopped = runs.iter().flatten().filter(|run| run.report.partial && run.cut.is_none());
    let stopped = stopped.count();
    if stopped > 0 {
        line("stopped", &format!("by --duration: {stopped} runs, their numbers are partial"));
    }
    if runs.iter().flatten().any(|run| run.report.start_ns.is_some()) {
        line("measured", SINCE_START);
    }
    for (policy, side) in args.policies.iter().zip(runs) {
        if let Some(told) = cuts(side) {
            line("measured", &format!("{policy}: {told}"));
        }
    }
    text
}

/// A note where policies differ by more than their features.
fn bases(full: &[&str]) -> Option<String> {
    let base = |name: &&'_ str| name.split('+').next().unwrap_or_default().to_owned();
    let first = base(full.first()?);
    let other = full.iter().map(base).find(|other| *other != first)?;
    Some(format!(
        "{other} and {first} are different schedulers: not all that differs is a feature's"
    ))
}

/// What was measured of runs that were cut, in a line for all of them or for those that differ.
fn cuts(side: &[crate::scenario::Outcome]) -> Option<String> {
    let cuts: Vec<_> = side.iter().filter_map(|run| run.report.cut.as_ref()).collect();
    let first = cuts.first()?;
    let unsteady = cuts.iter().filter(|cut| !cut.stationary).count();
    let warmup = cuts.iter().map(|cut| cut.warmup_ns).max().unwrap_or(0);
    let ci95 = cuts.iter().filter_map(|cut| cut.work_rate_ci95_pct).fold(0.0, f64::max);
    let mut told = format!(
        "{} of each run after at most {}, rate of {} +-{ci95:.1} % (95 %, {} batches)",
        units::span(first.span_ns),
        units::span(warmup),
        first.work_unit,
        first.batches
    );
    if unsteady > 0 {
        let _ = write!(told, "; {unsteady} of {} runs were not stationary", cuts.len());
        let mut trends = std::collections::BTreeMap::new();
        for (name, change) in cuts.iter().flat_map(|cut| &cut.trends_pct) {
            let most: &mut f64 = trends.entry(*name).or_insert(*change);
            *most = if change.abs() > most.abs() { *change } else { *most };
        }
        for (name, change) in trends {
            let _ = write!(told, ", {} {change:+.0} % over the span", name.replace('_', " "));
        }
    }
    if cuts.len() < side.len() {
        let whole = side.len() - cuts.len();
        let _ = write!(told, "; {whole} runs ended before and are measured whole");
    }
    Some(told)
}

fn table(text: &mut String, comparison: &Comparison) {
    let policies = &comparison.asked.policies;
    let width = policies.iter().map(String::len).max().unwrap_or(0).clamp(30, 1_000) + 2;
    if comparison.rows.is_empty() {
        return;
    }
    text.push_str(
        "\nIn parentheses the change from the first policy in percent, its 95 % interval below; *: sure (five \
         seeds or\nmore that vary, and an interval without 0). Percentiles come from buckets of at most 1/128 of their values,\n\
         schbench's own from whole us.\n",
    );
    let _ = write!(text, "\n{:<40}{:<8}", "", "");
    for policy in policies {
        let _ = write!(text, "{policy:>width$}");
    }
    text.push('\n');
    for row in &comparison.rows {
        lines(text, row, width);
    }
    for row in &comparison.rows {
        for (policy, cell) in policies.iter().zip(&row.cells) {
            // Each metric more would be another chance for a false alarm.
            let is_asked = STATED.contains(&row.name);
            if let Some(states) = States::of(&cell.values).filter(|_| is_asked) {
                let told = states.told(|mean| row.shown(mean));
                let _ = writeln!(text, "\nnote: {}: the seeds of {policy} {told}", row.name);
            }
        }
    }
}

impl Row {
    /// A value of this metric; a span says its own unit.
    fn shown(&self, value: f64) -> String {
        if self.unit == "s" { span_of(value * 1e9) } else { decimal(value) }
    }
}

/// Mean with change, the interval of the change, and the deviation in percent.
fn lines(text: &mut String, row: &Row, width: usize) {
    // A span says its own unit.
    let unit =
        if ["", "s"].contains(&row.unit) { String::new() } else { format!(" ({})", row.unit) };
    let name = format!("{}{unit}", row.name);
    let mut line = |label: &str, name: &str, cell: &dyn Fn(&Cell) -> String| {
        let _ = write!(text, "{name:<40}{label:<8}");
        for each in &row.cells {
            let _ = write!(text, "{:>width$}", cell(each));
        }
        text.push('\n');
    };
    line("Amean", &name, &|cell| {
        let mean = row.shown(cell.spread.mean);
        let Some(paired) = cell.paired else { return mean };
        let change = paired.difference_pct.map_or("-".to_owned(), |pct| format!("{pct:+.2}"));
        let (left, right) = if paired.significant { ('*', '*') } else { ('(', ')') };
        format!("{mean} {left}{change} %{}{right}", row.word(&paired))
    });
    if row.cells.iter().any(|cell| cell.spread.std.is_some()) {
        line("95 %", "", &|cell| {
            let ends = cell.paired.and_then(|paired| paired.low_pct.zip(paired.high_pct));
            ends.map_or_else(String::new, |(low, high)| format!("({low:+.2} to {high:+.2} %)"))
        });
        line("CoeffVar", "", &|cell| {
            let percent = cell.spread.std.filter(|_| cell.spread.mean != 0.0);
            let percent = percent.map(|std| 100.0 * std / cell.spread.mean);
            percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.2} %  "))
        });
    }
    if row.cells.iter().any(|cell| cell.batch_ci95_pct.is_some()) {
        line("batches", "", &|cell| {
            let told = |ci95: f64| format!("+-{ci95:.2} %  ");
            cell.batch_ci95_pct.map_or_else(|| "-".to_owned(), told)
        });
    }
}

fn differences(text: &mut String, why: &[Difference]) {
    if why.is_empty() {
        let _ = writeln!(text, "  nothing inside differs by more than half a percent");
    }
    let mut subject = "";
    let mut shown = 0;
    for difference in why {
        if difference.subject != subject {
            subject = difference.subject;
            shown = 0;
            let of = match subject {
                "waits" => "each in % of itself",
                "need_resched" => "in % of the switches away from a task",
                _ => "in % of all",
            };
            let _ = writeln!(text, "  {subject} ({of})");
        }
        shown += 1;
        if shown > LINES {
            continue;
        }
        let number = |number| match difference.unit {
            "ns" => span_of(number),
            _ => decimal(number),
        };
        let (base, other) = (number(difference.base), number(difference.other));
        let name = &difference.name;
        let _ =
            writeln!(text, "    {name:<34}{base:>14} ->{other:>14} {:>+9.1} %", difference.points);
    }
}
