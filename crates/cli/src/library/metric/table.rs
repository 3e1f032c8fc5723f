//! The table of metrics: name, parts, unit, direction, definition, and where the value comes from.

use simsched_claims as claims;

use super::Better;
use crate::report::Percentiles;
use crate::scenario::Outcome;

/// How a family of metrics gets its value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// As claims and comparisons define it.
    Claims(claims::Family),
    /// A count that claims define for a span, and the report for a whole run.
    Counted(claims::Family, fn(&Outcome) -> u64),
    /// A number of the program by its key.
    ProgramKey,
    /// A counter of the policy by its key.
    PolicyKey,
    /// A point of a histogram, in ns.
    Latency(fn(&Outcome) -> Percentiles),
    /// A count of the report.
    Count(fn(&Outcome) -> u64),
    /// A time of the report in ns, by its part.
    Time(fn(&Outcome, &str) -> Option<u64>),
}

pub(super) struct Row {
    pub(super) name: &'static str,
    /// What may stand behind the name; none if nothing does, `KEY` for any name.
    pub(super) parts: &'static [&'static str],
    pub(super) unit: &'static str,
    pub(super) better: Better,
    pub(super) doc: &'static str,
    pub(super) source: Source,
}

pub(super) const KEY: &[&str] = &["KEY"];
const POINTS: &[&str] = &["mean", "p50", "p90", "p99", "p99.9", "max"];

const fn row(
    name: &'static str,
    parts: &'static [&'static str],
    unit: &'static str,
    better: Better,
    source: Source,
    doc: &'static str,
) -> Row {
    Row { name, parts, unit, better, doc, source }
}

pub(super) const TASK_SWITCHES: usize = 7;
pub(super) const CPU_MIGRATIONS: usize = 8;
pub(super) const CONTEXT_SWITCHES: usize = 9;
pub(super) const MIGRATIONS: usize = 10;

#[rustfmt::skip]
pub(super) static TABLE: [Row; 22] = [
    row("time", &[], "s", Better::Lower, Source::Claims(claims::Family::Time),
        "elapsed time that the program reports; in a span all of its work over the rate of work"),
    row("throughput", &[], "", Better::Higher, Source::Claims(claims::Family::Throughput),
        "what the program reports as its throughput, in its unit; else its work per second"),
    row("bandwidth", &["copy", "scale", "add", "triad"], "MB/s", Better::Higher,
        Source::Claims(claims::Family::Bandwidth), "memory bandwidth of one of STREAM's kernels"),
    row("rps", &["p20", "p50", "p90", "mean"], "requests/s", Better::Higher,
        Source::Claims(claims::Family::Rps), "requests per second that the program reports"),
    row("request_latency", &["mean", "p50", "p90", "p95", "p99", "p99.9", "max"], "us", Better::Lower,
        Source::Claims(claims::Family::RequestLatency), "latency of requests that the program reports"),
    row("reported_wakeup_latency", &["p50", "p90", "p99", "p99.9"], "us", Better::Lower,
        Source::Claims(claims::Family::ReportedWakeupLatency), "wakeup latency that the program measures itself (schbench)"),
    row("busy_cpus", &[], "CPUs", Better::None, Source::Claims(claims::Family::BusyCpus),
        "CPU time that was not idle, over the time"),
    row("task_switches", &[], "", Better::None, Source::Counted(claims::Family::TaskSwitches, |o| o.report.task_switches),
        "switches away from a task: context-switches of perf stat"),
    row("cpu_migrations", &[], "", Better::None, Source::Counted(claims::Family::CpuMigrations, |o| o.report.cpu_migrations),
        "tasks switched in on another CPU than before: cpu-migrations of perf stat"),
    row("context_switches", &[], "", Better::None, Source::Count(|o| o.report.context_switches),
        "all switches, those from and to the idle task included (nr_switches)"),
    row("migrations", &[], "", Better::None, Source::Count(|o| o.report.migrations.total),
        "every change of a task's CPU, that of a fork included"),
    row("task_switches_per_cpu_second", &[], "1/(CPU s)", Better::None,
        Source::Claims(claims::Family::TaskSwitchesPerCpuSecond), "task_switches per second of busy CPU time"),
    row("cpu_migrations_per_cpu_second", &[], "1/(CPU s)", Better::None,
        Source::Claims(claims::Family::CpuMigrationsPerCpuSecond), "cpu_migrations per second of busy CPU time"),
    row("preemptions", &[], "", Better::None, Source::Count(|o| o.report.preemptions),
        "switches away from a task that is still runnable"),
    row("wakeups", &[], "", Better::None, Source::Count(|o| o.report.wakeups.total),
        "wakeups of tasks that are asleep, or about to sleep"),
    row("wakeup_latency", POINTS, "us", Better::Lower, Source::Latency(|o| o.report.wakeup_latency_ns),
        "from the waking call to the first instruction of the wakee, of all tasks"),
    row("runqueue_wait", POINTS, "us", Better::Lower, Source::Latency(|o| o.report.runqueue_wait_ns),
        "from being enqueued or preempted to the first instruction"),
    row("cpu_time", &["user", "system", "idle"], "s", Better::None, Source::Time(cpu_time),
        "CPU time of all CPUs as /proc/stat divides it"),
    row("idle_while_waiting", &[], "s", Better::Lower,
        Source::Time(|o, _| Some(o.report.idle_while_waiting_ns)), "CPU time that idles while tasks wait elsewhere"),
    row("share", KEY, "%", Better::None, Source::Claims(claims::Family::Share),
        "part of a cost in busy CPU time (update_load_avg, rq_lock, ...), of all nodes or of one (:node0)"),
    row("program", KEY, "", Better::None, Source::ProgramKey, "a number that the program reports, by its key in the JSON"),
    row("policy", KEY, "", Better::None, Source::PolicyKey, "a counter of the policy, by its key in the JSON"),
];

fn cpu_time(outcome: &Outcome, part: &str) -> Option<u64> {
    let time = outcome.report.cpu_time_ns;
    match part {
        "user" => Some(time.user),
        "system" => Some(time.system),
        "idle" => Some(time.idle),
        _ => None,
    }
}
