//! Where processes were at home among the LLCs, as text.

use super::page::Page;
use super::units::{count, span};
use crate::llc::{AtHome, LlcReport, Process};
use crate::report::Counts;

/// Processes that are listed one by one.
const MOST: usize = 8;

/// The block of a run.
pub(super) fn block(page: &mut Page, report: &LlcReport) {
    let intervals = count(report.intervals as u64);
    page.text(&format!(
        "LLCs, the whole run in {intervals} intervals of {}",
        span(report.interval_ns)
    ));
    let used: Vec<String> = report.utilisation.iter().map(|part| hundredths(*part)).collect();
    page.text(&format!("  utilisation by LLC   {}", used.join("  ")));
    at_home(page, &report.total);
    let mut processes: Vec<&Process> = report.processes.iter().collect();
    processes.sort_by_key(|process| std::cmp::Reverse(process.at_home.runtime_ns));
    page.text(&format!(
        "  {:<24}{:>14}{:>10}{:>10}{:>12}{:>14}",
        "process", "runtime", "at home", "wakeups", "home moved", "policy's home"
    ));
    for process in processes.iter().take(MOST) {
        line(page, process);
    }
    if let Some(more) = processes.len().checked_sub(MOST).filter(|more| *more > 0) {
        page.text(&format!("  and {more} more"));
    }
}

fn at_home(page: &mut Page, all: &AtHome) {
    page.part("  wakeups", all.wakeups, None);
    page.part("    to the home", all.wakeups_home, Some(all.wakeups));
    for (label, moves) in [
        ("  moves between LLCs", &all.moves),
        ("  into the home", &all.into),
        ("  out of the home", &all.out_of),
    ] {
        let total = sum(moves);
        page.part(label, total, None);
        for (cause, count) in moves {
            if let Some(some) = count.as_u64().filter(|count| *count > 0) {
                page.part(&format!("    {cause}"), some, Some(total));
            }
        }
    }
}

fn line(page: &mut Page, process: &Process) {
    let all = &process.at_home;
    let part = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), hundredths);
    page.text(&format!(
        "  {:<24}{:>14}{:>10}{:>10}{:>12}{:>14}",
        format!("{} ({})", process.name, process.proc),
        span(all.runtime_ns),
        part(all.share_at_home),
        part(all.share_of_wakeups_home),
        count(process.home_changes as u64),
        format!("{} of {}", process.by_policy, process.intervals),
    ));
}

fn sum(counts: &Counts) -> u64 {
    counts.values().filter_map(serde_json::Value::as_u64).sum()
}

/// A share as percent.
fn hundredths(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
