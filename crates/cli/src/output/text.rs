//! A run as text.

use simsched_topology::Topology;

use super::llc;
use super::page::{Order, Page};
use super::units::{self, count, micros, percent, span};
use crate::report::{End, Percentiles, Report, ScenarioReport};

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
    let migrations = &report.migrations;
    page.part("migrations", migrations.total, None);
    page.parts("by cause", &migrations.by_cause, migrations.total, Order::AsListed);
    page.parts("by distance", &migrations.by_distance, migrations.total, Order::AsListed);
    page.parts("by reason", &migrations.by_reason, migrations.total, Order::BySize);
    page.gap();
    page.part("wakeups", report.wakeups.total, None);
    page.parts("by reason", &report.wakeups.by_reason, report.wakeups.total, Order::BySize);
    page.gap();
    latencies(&mut page, report);
    page.gap();
    cpu_time(&mut page, report);
    page.gap();
    if let Some(llc) = &report.llc {
        llc::block(&mut page, llc);
        page.gap();
    }
    page.line("digest", &report.digest);
    page.0
}

/// What was run, without the seed.
pub(super) fn scenario(page: &mut Page, scenario: &ScenarioReport, topology: &Topology) {
    let size = units::machine(topology);
    let ScenarioReport { topology: name, mode, topology_file: file, .. } = scenario;
    page.line("machine", &format!("{name}@{mode} ({file}): {size}"));
    page.line("policy", &scenario.policy_full);
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
        End::Span => page.line("measured", "a part of the run"),
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
        .map(|nanos| format!("{:>11}", nanos.map_or_else(|| "-".to_owned(), micros)))
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
    let wasted = report.idle_while_waiting_ns;
    page.value("    while tasks waited", &span(wasted), &percent(wasted, all));
}
