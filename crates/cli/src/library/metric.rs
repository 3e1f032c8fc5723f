//! `Metric`: a number of a run by its name, with its unit, its direction and its definition.

use std::fmt;
use std::str::FromStr;

use simsched_claims as claims;
use simsched_topology::{did_you_mean, nearest};

use super::error::Error;
use crate::meter::WorkUnit;
use crate::number;
use crate::report::Percentiles;
use crate::scenario::Outcome;

pub use simsched_claims::Better;

/// A number that a run has, by its name: `context_switches`, `wakeup_latency:p99`, `share:rq_lock:node0`,
/// `program:messages`. [`Metric::names`] lists them, [`FromStr`] reads one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    family: usize,
    part: String,
    node: Option<usize>,
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// In the unit of the metric; a rate where [`Number::basis`] says so.
    pub value: f64,
    /// What of the run it is of.
    pub basis: Basis,
    /// Half its 95 % interval by batch means, in percent of it: of a run of which a span was measured,
    /// where the metric has a value in every batch.
    pub ci95_pct: Option<f64>,
}

/// What a count or a time is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// What was measured.
    Measured,
    /// The whole work of the program, extrapolated from a span of its run by the part of the work that was
    /// done in it.
    WholeWork,
    /// A second of a span of the run of a program that does no fixed amount of work.
    PerSecond,
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricError {
    /// No metric has this name.
    Unknown {
        /// The name as it was given.
        name: String,
        /// Names that are close to it.
        nearest: Vec<String>,
    },
    /// The run does not have it.
    NotAvailable {
        /// The metric.
        metric: String,
        /// Why.
        why: String,
    },
}

/// How a family of metrics gets its value.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// As claims and comparisons define it.
    Claims(claims::Family),
    /// A latency that the program measures itself.
    Program,
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

struct Row {
    name: &'static str,
    /// What may stand behind the name; none if nothing does, `KEY` for any name.
    parts: &'static [&'static str],
    unit: &'static str,
    better: Better,
    doc: &'static str,
    source: Source,
}

const KEY: &[&str] = &["KEY"];
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

const TASK_SWITCHES: usize = 7;
const CPU_MIGRATIONS: usize = 8;
const CONTEXT_SWITCHES: usize = 9;
const MIGRATIONS: usize = 10;

#[rustfmt::skip]
static TABLE: [Row; 22] = [
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
        Source::Program, "wakeup latency that the program measures itself (schbench)"),
    row("busy_cpus", &[], "CPUs", Better::None, Source::Claims(claims::Family::BusyCpus),
        "CPU time that was not idle, over the time"),
    row("task_switches", &[], "", Better::None, Source::Claims(claims::Family::ContextSwitches),
        "switches away from a task: context-switches of perf stat"),
    row("cpu_migrations", &[], "", Better::None, Source::Claims(claims::Family::Migrations),
        "tasks switched in on another CPU than before: cpu-migrations of perf stat"),
    row("context_switches", &[], "", Better::None, Source::Count(|o| o.report.context_switches),
        "all switches, those from and to the idle task included (nr_switches)"),
    row("migrations", &[], "", Better::None, Source::Count(|o| o.report.migrations.total),
        "every change of a task's CPU, that of a fork included"),
    row("task_switches_per_cpu_second", &[], "1/(CPU s)", Better::None,
        Source::Claims(claims::Family::ContextSwitchesPerCpuSecond), "task_switches per second of busy CPU time"),
    row("cpu_migrations_per_cpu_second", &[], "1/(CPU s)", Better::None,
        Source::Claims(claims::Family::MigrationsPerCpuSecond), "cpu_migrations per second of busy CPU time"),
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

impl Metric {
    /// All switches, those from and to the idle task included (`nr_switches`).
    pub const CONTEXT_SWITCHES: Metric = Metric::bare(CONTEXT_SWITCHES);
    /// Switches away from a task: `context-switches` of `perf stat`.
    pub const TASK_SWITCHES: Metric = Metric::bare(TASK_SWITCHES);
    /// Every change of a task's CPU, that of a fork included.
    pub const MIGRATIONS: Metric = Metric::bare(MIGRATIONS);
    /// Tasks switched in on another CPU than before: `cpu-migrations` of `perf stat`.
    pub const CPU_MIGRATIONS: Metric = Metric::bare(CPU_MIGRATIONS);
    /// Elapsed time that the program reports, in seconds.
    pub const TIME: Metric = Metric::bare(0);

    const fn bare(family: usize) -> Metric {
        Metric { family, part: String::new(), node: None }
    }

    fn row(&self) -> &'static Row {
        &TABLE[self.family]
    }

    /// The names of all metrics; `KEY` stands for any name of its kind.
    #[must_use]
    pub fn names() -> Vec<String> {
        let of = |row: &Row| match row.parts {
            [] => vec![row.name.to_owned()],
            parts => parts.iter().map(|part| format!("{}:{part}", row.name)).collect(),
        };
        TABLE.iter().flat_map(of).collect()
    }

    /// The unit of its value; empty of counts and of what only the program knows.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        self.row().unit
    }

    /// In which direction it is good.
    #[must_use]
    pub fn better(&self) -> Better {
        self.row().better
    }

    /// What it is, in a line.
    #[must_use]
    pub fn definition(&self) -> &'static str {
        self.row().doc
    }

    pub(super) fn of(&self, outcome: &Outcome) -> Result<Number, MetricError> {
        let part = self.part.as_str();
        let measured = |value| Number { value, basis: Basis::Measured, ci95_pct: None };
        let found = match self.row().source {
            Source::Claims(family) => self.of_claims(family, outcome),
            Source::Program => {
                number::told(self.row().name.trim_start_matches("reported_"), part, outcome)
                    .map(|found| measured(found.value))
            }
            Source::ProgramKey => key(&outcome.report.workload, part, "program").map(measured),
            Source::PolicyKey => key(&outcome.report.policy_metrics, part, "policy").map(measured),
            Source::Latency(histogram) => point(histogram(outcome), part).map(measured),
            Source::Count(count) => counted(count(outcome), outcome),
            Source::Time(time) => {
                let ns = time(outcome, part).ok_or_else(|| format!("there is no part {part}"));
                ns.map(|ns| measured(number::ratio(ns, 1_000_000_000).unwrap_or(0.0)))
            }
        };
        found.map_err(|why| MetricError::NotAvailable { metric: self.to_string(), why })
    }

    fn of_claims(&self, family: claims::Family, outcome: &Outcome) -> Result<Number, String> {
        let metric = claims::Metric { family, part: self.part.clone(), node: self.node };
        let found = number::Number::of(&metric, outcome)
            .map_err(|why| why.splitn(3, ": ").last().unwrap_or_default().to_owned())?;
        let is_count =
            matches!(family, claims::Family::ContextSwitches | claims::Family::Migrations);
        let is_scaled = is_count || family == claims::Family::Time;
        let basis = match (&outcome.cut, number::total_work(outcome)) {
            (Some(_), Some(_)) if is_scaled => Basis::WholeWork,
            (Some(_), None) if is_count => Basis::PerSecond,
            _ => Basis::Measured,
        };
        Ok(Number { value: found.value, basis, ci95_pct: found.batch_ci95_pct })
    }
}

/// A count of the report: of a run that was cut, of the whole work or of a second.
fn counted(count: u64, outcome: &Outcome) -> Result<Number, String> {
    let number = |value, basis| Number { value, basis, ci95_pct: None };
    let nothing = || "nothing ran in that time".to_owned();
    let scaled = |part, whole| number::ratio(part, whole).ok_or_else(nothing);
    match (&outcome.cut, number::total_work(outcome)) {
        (None, _) => Ok(number(scaled(count, 1)?, Basis::Measured)),
        (Some(cut), Some((unit, total))) => {
            let value = scaled(count, work(cut, unit))? * scaled(total, 1)?;
            Ok(number(value, Basis::WholeWork))
        }
        (Some(cut), None) => Ok(number(scaled(count, cut.totals.span_ns)? * 1e9, Basis::PerSecond)),
    }
}

fn work(cut: &crate::cut::Cut, unit: WorkUnit) -> u64 {
    cut.totals.work(unit)
}

fn key(counts: &crate::report::Counts, key: &str, of: &str) -> Result<f64, String> {
    let found = counts.get(key).and_then(serde_json::Value::as_f64);
    found.ok_or_else(|| {
        let known: Vec<&str> = counts.keys().map(String::as_str).collect();
        let hint = did_you_mean(&nearest(key, known.iter().copied()));
        format!("the {of} has no number `{key}` (it has: {}){hint}", known.join(", "))
    })
}

/// In us.
fn point(histogram: Percentiles, part: &str) -> Result<f64, String> {
    let Percentiles { mean, p50, p90, p99, p99_9, max, .. } = histogram;
    let nanos = match part {
        "mean" => mean,
        "p50" => p50,
        "p90" => p90,
        "p99" => p99,
        "p99.9" => p99_9,
        _ => max,
    };
    nanos.and_then(|ns| number::ratio(ns, 1_000)).ok_or_else(|| "no task has waited".to_owned())
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(name: &str) -> Result<Metric, MetricError> {
        let unknown = || {
            let names = Metric::names();
            let close = nearest(name, names.iter().map(String::as_str));
            let nearest = close.into_iter().map(str::to_owned).collect();
            MetricError::Unknown { name: name.to_owned(), nearest }
        };
        let (first, rest) = name.split_once(':').map_or((name, ""), |(first, rest)| (first, rest));
        let family = TABLE.iter().position(|row| row.name == first).ok_or_else(unknown)?;
        let row = &TABLE[family];
        let (part, node) = match rest.rsplit_once(":node") {
            Some((part, node)) if row.name == "share" => {
                (part, Some(node.parse().map_err(|_| unknown())?))
            }
            _ => (rest, None),
        };
        let is_part = match row.parts {
            [] => rest.is_empty(),
            parts if parts == KEY => !part.is_empty(),
            parts => parts.contains(&part),
        };
        if !is_part || (row.parts.is_empty() && name.contains(':')) {
            return Err(unknown());
        }
        Ok(Metric { family, part: part.to_owned(), node })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)?;
        if !self.part.is_empty() {
            write!(f, ":{}", self.part)?;
        }
        self.node.map_or(Ok(()), |node| write!(f, ":node{node}"))
    }
}

impl fmt::Display for MetricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetricError::Unknown { name, nearest } => {
                write!(f, "there is no metric `{name}`{}", did_you_mean(nearest))
            }
            MetricError::NotAvailable { metric, why } => {
                write!(f, "metric not available: {metric}: {why}")
            }
        }
    }
}

impl std::error::Error for MetricError {}

impl From<MetricError> for Error {
    fn from(error: MetricError) -> Error {
        Error::input(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_listed_is_read_and_written_as_it_was() {
        for name in Metric::names() {
            let metric: Metric = name.parse().unwrap();
            assert_eq!(metric.to_string(), name);
            assert!(!metric.definition().is_empty());
        }
        let metric: Metric = "share:rq_lock:node1".parse().unwrap();
        assert_eq!((metric.to_string().as_str(), metric.node), ("share:rq_lock:node1", Some(1)));
    }

    #[test]
    fn the_constants_stand_for_their_names() {
        let all = [
            (Metric::TIME, "time"),
            (Metric::TASK_SWITCHES, "task_switches"),
            (Metric::CPU_MIGRATIONS, "cpu_migrations"),
            (Metric::CONTEXT_SWITCHES, "context_switches"),
            (Metric::MIGRATIONS, "migrations"),
        ];
        for (metric, name) in all {
            assert_eq!(metric.to_string(), name);
        }
    }

    #[test]
    fn what_is_no_metric_is_refused_with_the_nearest() {
        for name in [
            "",
            "tim",
            "time:",
            "time:p50",
            "wakeup_latency",
            "wakeup_latency:p98",
            "share:",
            "share:x:nodex",
        ] {
            assert!(name.parse::<Metric>().is_err(), "{name}");
        }
        let said = "contextswitches".parse::<Metric>().unwrap_err().to_string();
        assert!(said.contains("`context_switches`"), "{said}");
    }
}
