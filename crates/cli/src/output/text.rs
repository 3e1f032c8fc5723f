//! A run as text.

use simsched_topology::Topology;

use super::llc;
use super::page::{Order, Page};
use super::units::{self, count, micros, percent, span};
use crate::report::{End, Percentiles, Report, ScenarioReport};

/// What of a run is measured by default.
pub(crate) const SINCE_START: &str = "without the start of the program (--whole: with it)";

/// One run.
pub(crate) fn run(report: &Report, topology: &Topology) -> String {
    let mut page = Page::default();
    scenario(&mut page, &report.scenario, topology);
    page.line("seed", &report.scenario.seed.to_string());
    stopped(&mut page, report.end);
    let events = count(report.events);
    let of_whole = report.whole.as_ref().map_or(report.simulated_ns, |whole| whole.simulated_ns);
    let simulated = report.precision.as_ref().map_or(of_whole, |p| p.simulated_ns);
    page.line("simulated", &format!("{} in {events} events", span(simulated)));
    if report.start_ns.is_some() {
        page.line("measured", &format!("{} {SINCE_START}", span(report.simulated_ns)));
    }
    precision(&mut page, report);
    page.gap();
    page.beside("context switches", report.context_switches, &beside(report, "context_switches"));
    page.part("  preemptions", report.preemptions, Some(report.context_switches));
    page.gap();
    let migrations = &report.migrations;
    page.beside("migrations", migrations.total, &beside(report, "migrations"));
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
    scenario.built_of().iter().for_each(|text| page.line("built of", text));
    let settings = scenario.settings.iter().map(|(key, value)| format!("{key}={value}"));
    let settings: Vec<String> = settings.collect();
    if !settings.is_empty() {
        page.line("settings", &settings.join(" "));
    }
    page.line("workload", &scenario.workload);
}

/// The time of the program, and how well it is known.
fn precision(page: &mut Page, report: &Report) {
    let elapsed = report.elapsed_ns.map(span);
    let Some(precision) = &report.precision else {
        elapsed.iter().for_each(|elapsed| page.line("elapsed", elapsed));
        return;
    };
    let (width, from) = (precision.beside("time"), precision.from());
    if let Some(elapsed) = elapsed {
        let known = if precision.exact { String::new() } else { format!("   {from}, {width}") };
        page.line("elapsed", &(elapsed + &known));
    } else if !precision.exact {
        page.line("whole job", &format!("{}   {from}", span(precision.whole_ns)));
    }
    if precision.exact {
        page.line("precision", &from);
        return;
    }
    page.line("precision", &precision.reached());
    let [warmup, sample] = [precision.warmup_ns, precision.sample_ns].map(span);
    page.line("sample", &format!("{sample} after a warm-up of {warmup}"));
    let kept = "all counts and times are extrapolated; latencies are those of the sample";
    page.line("", kept);
}

/// The interval of a number, if it has one.
fn beside(report: &Report, figure: &str) -> String {
    report.precision.as_ref().map_or_else(String::new, |precision| precision.beside(figure))
}

fn stopped(page: &mut Page, end: End) {
    match end {
        End::Finished => {}
        End::Duration => page.line("stopped", "by --duration: these numbers are partial"),
        End::Span => page.line("measured", "a part of the run"),
        End::Precision => {}
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
