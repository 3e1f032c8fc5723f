//! A replay beside its recording as text.

use simsched_topology::Topology;
use simsched_trace::history::Seen;

use super::command::{Replayed, sum};
use super::json::format;
use crate::output::units::{self, count, micros, span};
use crate::report::End;

/// The text of a replay, with so many threads.
pub(super) fn of(replayed: &Replayed, topology: &Topology, top: usize) -> String {
    let Replayed { report, facts, threads, .. } = replayed;
    let scenario = &report.scenario;
    let mut text = String::new();
    let mut line = |label: &str, value: &str| text.push_str(&format!("{label:<17} {value}\n"));
    let machine = format!("{}@{}: {}", scenario.topology, scenario.mode, units::machine(topology));
    line("machine", &machine);
    line("policy", &scenario.policy_full);
    scenario.built_of().iter().for_each(|text| line("built of", text));
    let settings: Vec<String> =
        scenario.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if !settings.is_empty() {
        line("settings", &settings.join(" "));
    }
    line("seed", &scenario.seed.to_string());
    line("recording", &scenario.workload);
    let what = format!(
        "{}: {} events of {} threads on {} CPUs in {}",
        format(facts.format),
        count(facts.events),
        threads.len(),
        facts.nr_cpus,
        span(replayed.recorded_span)
    );
    line("read", &what);
    for remark in remarks(replayed, topology) {
        line("", &remark);
    }
    if report.end != End::Finished {
        line("stopped", "by Ctrl-C: these numbers are partial");
    }
    text.push('\n');
    text.push_str(&totals(replayed));
    text.push('\n');
    text.push_str(&table(replayed, top));
    text.push_str(&format!("\ndigest {}\n", report.digest));
    text
}

/// What of a recording was left out, or may be wrong.
fn remarks(replayed: &Replayed, topology: &Topology) -> Vec<String> {
    let Replayed { report, facts, .. } = replayed;
    let is_free = super::is_free(report);
    let mut remarks = Vec::new();
    let mut add = |number: u64, text: &str| {
        if number > 0 {
            remarks.push(format!("{} {text}", count(number)));
        }
    };
    add(facts.left_out as u64, "idle tasks and stoppers are the simulator's own");
    add(facts.idle as u64, "threads were named and did nothing");
    let kept = replayed.threads.iter().filter(|pair| pair.kept).count();
    add(kept as u64, "threads were not free to leave a CPU, as what they did tells (--affinity)");
    add(facts.real_time as u64, "threads of real-time classes run as nice -20");
    add(facts.other_events, "events of other kinds were left out");
    add(facts.lost_events, "events were lost when it was recorded");
    add(facts.gaps, "times a thread was not where its last event had left it");
    let own = |key: &str| report.workload.get(key).and_then(|n| n.as_u64()).unwrap_or(0);
    add(
        own("waits_passed"),
        "wakeups came before their sleeps, which are short: the waker came first",
    );
    add(own("timers_late"), "timers had expired before they were set");
    let nr_cpus = topology.nr_cpus();
    if facts.nr_cpus as usize > nr_cpus {
        remarks.push(format!(
            "CPUs from {nr_cpus} on are not on this machine: threads begin on others"
        ));
    }
    if facts.is_assumed {
        let at = format!("{}@{}", report.scenario.topology, report.scenario.mode);
        let else_ = "(else: --recorded-on MACHINE, or unknown)";
        remarks.push(format!("assumed to be made on {at}, which has as many CPUs {else_}"));
    }
    remarks.extend(facts.not_recorded(is_free).map(|text| format!("not recorded: {text}")));
    remarks
}

fn totals(replayed: &Replayed) -> String {
    let Replayed { threads, .. } = replayed;
    let recorded = sum(threads.iter().map(|pair| &pair.recorded));
    let again = sum(threads.iter().map(|pair| &pair.replayed));
    let mut text =
        format!("{:<17} {:>14} {:>14} {:>9}\n", "in all", "recorded", "replayed", "change");
    let spans = [replayed.recorded_span, replayed.replayed_span];
    let mean = |seen: &Seen| seen.latency_sum.checked_div(seen.wakeups);
    for (label, [from, to], is_time) in [
        ("time", spans.map(Some), true),
        ("runtime", [recorded.runtime, again.runtime].map(Some), true),
        ("task switches", [recorded.switches, again.switches].map(Some), false),
        ("migrations", [recorded.migrations, again.migrations].map(Some), false),
        ("wakeups", [recorded.wakeups, again.wakeups].map(Some), false),
        ("latency mean", [mean(&recorded), mean(&again)], true),
        ("latency p50", replayed.latency.map(|it| it.p50), true),
        ("latency p90", replayed.latency.map(|it| it.p90), true),
        ("latency p99", replayed.latency.map(|it| it.p99), true),
        ("latency max", [recorded.latency_max, again.latency_max].map(Some), true),
    ] {
        let shown = |number: Option<u64>| match number {
            None => "-".to_owned(),
            Some(number) if is_time => span(number),
            Some(number) => count(number),
        };
        let change = change(from, to);
        text.push_str(&format!("{label:<17} {:>14} {:>14} {change:>9}\n", shown(from), shown(to)));
    }
    text
}

/// By how many percent a number has changed; of nothing, or nothing known, it is `-`.
#[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
fn change(from: Option<u64>, to: Option<u64>) -> String {
    match (from, to) {
        (Some(from), Some(to)) if from > 0 => {
            format!("{:+.1} %", 100.0 * (to as f64 - from as f64) / from as f64)
        }
        _ => "-".to_owned(),
    }
}

fn table(replayed: &Replayed, top: usize) -> String {
    let Replayed { threads, .. } = replayed;
    let shown = &threads[..top.min(threads.len())];
    if shown.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{:<24} {:>25} {:>17} {:>15} {:>21}\n{:<24} {:>12} {:>12} {:>8} {:>8} {:>7} {:>7} {:>10} {:>10}\n",
        "",
        "runtime (ms)",
        "switches",
        "migrations",
        "latency mean (us)",
        "thread",
        "recorded",
        "replayed",
        "rec.",
        "repl.",
        "rec.",
        "repl.",
        "rec.",
        "repl."
    );
    for pair in shown {
        let [from, to] = [&pair.recorded, &pair.replayed];
        let latency =
            |seen: &Seen| seen.latency_sum.checked_div(seen.wakeups).map_or("-".to_owned(), micros);
        let name = format!("{}-{}", pair.comm, pair.pid);
        text.push_str(&format!(
            "{name:<24} {:>12} {:>12} {:>8} {:>8} {:>7} {:>7} {:>10} {:>10}\n",
            millis(from.runtime),
            millis(to.runtime),
            from.switches,
            to.switches,
            from.migrations,
            to.migrations,
            latency(from),
            latency(to),
        ));
    }
    if shown.len() < threads.len() {
        text.push_str(&format!(
            "and {} more (--top N)\n",
            count((threads.len() - shown.len()) as u64)
        ));
    }
    text
}

/// Nanoseconds in milliseconds, to the microsecond.
fn millis(nanos: u64) -> String {
    let us = (nanos + 500) / 1_000;
    format!("{}.{:03}", us / 1_000, us % 1_000)
}
