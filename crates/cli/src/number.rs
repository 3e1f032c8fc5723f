//! `Number`: the value of a metric in one run, as a claim or a comparison asks for it.
//!
//! Of a run that was cut, a program that sends a fixed number of messages gets its time and its
//! counts extrapolated by the part of them that was sent in the measured span. A program without
//! such a number runs for a fixed time, so its counts are those of the span.

use simsched_claims::{Family, Metric};

use crate::meter::{Totals, WorkUnit};
use crate::report::Percentiles;
use crate::scenario::Outcome;

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    /// Half its 95 % interval by batch means, in percent of it: of a run that was cut, where the
    /// metric has a value in every batch.
    pub(crate) batch_ci95_pct: Option<f64>,
}

/// What the core waits for: memory that it is bound by, data of a cold cache, messages of other cores, and the lines of
/// `tg->load_avg` and of runqueue locks.
const STALLS: [&str; 6] =
    ["memory", "refill", "message", "update_cfs_group", "update_load_avg", "rq_lock"];

impl Number {
    /// The value of `metric` in a run.
    ///
    /// # Errors
    /// Why the run has none: `metric not available: ...`.
    pub(crate) fn of(metric: &Metric, outcome: &Outcome) -> Result<Number, String> {
        let found = match metric.family {
            Family::Time => time(outcome),
            Family::Throughput => throughput(outcome),
            Family::Bandwidth | Family::Rps | Family::RequestLatency => {
                told(metric.family.name(), &metric.part, outcome)
            }
            Family::ReportedWakeupLatency => told("wakeup_latency", &metric.part, outcome),
            Family::WakeupLatency => wakeup(metric, outcome),
            Family::TaskSwitches => count(outcome, |totals| totals.task_switches),
            Family::CpuMigrations => count(outcome, |totals| totals.cpu_migrations),
            Family::TaskSwitchesPerCpuSecond => {
                each(outcome, |totals| per_cpu_second(totals, totals.task_switches))
            }
            Family::CpuMigrationsPerCpuSecond => {
                each(outcome, |totals| per_cpu_second(totals, totals.cpu_migrations))
            }
            Family::BusyCpus => each(outcome, busy_cpus),
            Family::Share => share(metric, outcome),
            Family::Stalled => stalled(outcome),
            Family::ImbNumaNr | Family::Setting => Err("it is computed without a run".to_owned()),
        };
        found.map_err(|why| format!("metric not available: {metric}: {why}"))
    }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^52 in any run that ends")]
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn per_cpu_second(totals: &Totals, count: u64) -> Option<f64> {
    Some(1e9 * ratio(count, totals.busy_ns(None)?)?)
}

fn busy_cpus(totals: &Totals) -> Option<f64> {
    ratio(totals.busy_ns(None)?, totals.span_ns)
}

/// A number that the whole and each batch has.
fn each(outcome: &Outcome, number: impl Fn(&Totals) -> Option<f64>) -> Result<Number, String> {
    let value = number(&outcome.totals).ok_or("nothing ran in that time")?;
    let batches = outcome.cut.as_ref().and_then(|cut| cut.batch_ci95_pct(number));
    Ok(Number { value, batch_ci95_pct: batches })
}

/// What the whole program does, and in which unit; none if it does not say.
pub(crate) fn total_work(outcome: &Outcome) -> Option<(WorkUnit, u64)> {
    let (unit, total) = WorkUnit::of(&outcome.report.workload);
    Some((unit, total?))
}

/// A count of the whole program, or of a second of one that was cut and does no fixed amount of work:
/// the spans of two runs may differ.
fn count(outcome: &Outcome, count: impl Fn(&Totals) -> u64) -> Result<Number, String> {
    let total = total_work(outcome).filter(|_| outcome.cut.is_some());
    each(outcome, |totals| match (total, &outcome.cut) {
        (Some((unit, total)), _) => {
            Some(ratio(count(totals), totals.work(unit))? * ratio(total, 1)?)
        }
        (None, Some(_)) => Some(ratio(count(totals), totals.span_ns)? * 1e9),
        (None, None) => ratio(count(totals), 1),
    })
}

/// Whether the value of a count is one of each second: of a run of which a span was measured and whose
/// program does no fixed amount of work.
pub(crate) fn is_per_second(metric: &Metric, outcome: &Outcome) -> bool {
    let is_count = matches!(metric.family, Family::TaskSwitches | Family::CpuMigrations);
    is_count && outcome.cut.is_some() && total_work(outcome).is_none()
}

/// In seconds.
fn time(outcome: &Outcome) -> Result<Number, String> {
    match (&outcome.cut, outcome.report.elapsed_ns) {
        (None, Some(elapsed)) => {
            Ok(Number { value: ratio(elapsed, 1_000_000_000).unwrap_or(0.0), batch_ci95_pct: None })
        }
        (None, None) => Err("the program did not come to its end".to_owned()),
        (Some(_), _) => {
            let (unit, total) =
                total_work(outcome).ok_or("the program does not do a fixed amount of work")?;
            each(outcome, |totals| Some(ratio(total, 1)? / totals.rate(unit)?))
        }
    }
}

/// What the program itself says; of a program that was cut, its messages per second.
fn throughput(outcome: &Outcome) -> Result<Number, String> {
    let numbers = &outcome.report.workload;
    let of = |key: &str| numbers.get(key)?.as_f64();
    let rate = numbers.keys().find(|key| key.ends_with("_per_second")).and_then(|key| of(key));
    if let Some(value) = of("throughput").or(rate) {
        let (unit, _) = WorkUnit::of(&outcome.report.workload);
        let batches = outcome.cut.as_ref().and_then(|cut| cut.batch_ci95_pct(|t| t.rate(unit)));
        return Ok(Number { value, batch_ci95_pct: batches });
    }
    if let Some((unit, _)) = total_work(outcome).filter(|_| outcome.cut.is_some()) {
        return each(outcome, |totals| totals.rate(unit));
    }
    Err(nothing_told(outcome, "throughput, or another that ends in _per_second"))
}

fn nothing_told(outcome: &Outcome, wanted: &str) -> String {
    let known: Vec<&str> = outcome.report.workload.keys().map(String::as_str).collect();
    let part = if outcome.cut.is_some() { " in a span of its run" } else { "" };
    format!("the program has no number {wanted}{part} (it has: {})", known.join(", "))
}

/// A number of the program: `rps:p50` is its `rps_p50`, a latency may end in `_ns` or `_us`.
pub(crate) fn told(family: &str, part: &str, outcome: &Outcome) -> Result<Number, String> {
    let key = format!("{family}_{}", part.replace('.', "_"));
    let of = |suffix: &str, scale: f64| {
        let number = outcome.report.workload.get(&format!("{key}{suffix}"))?.as_f64()?;
        Some(Number { value: number * scale, batch_ci95_pct: None })
    };
    let found = of("", 1.0).or_else(|| of("_us", 1.0)).or_else(|| of("_ns", 1e-3));
    found.ok_or_else(|| nothing_told(outcome, &key))
}

/// The wakeup latency of all tasks as the scheduler sees it, in us.
fn wakeup(metric: &Metric, outcome: &Outcome) -> Result<Number, String> {
    let Percentiles { p50, p90, p99, p99_9, .. } = outcome.report.wakeup_latency_ns;
    let nanos = match metric.part.as_str() {
        "p50" => p50,
        "p90" => p90,
        "p99" => p99,
        _ => p99_9,
    };
    let value = nanos.and_then(|nanos| ratio(nanos, 1_000)).ok_or("no task was woken up")?;
    Ok(Number { value, batch_ci95_pct: None })
}

fn share(metric: &Metric, outcome: &Outcome) -> Result<Number, String> {
    let name = metric.part.as_str();
    let idx =
        outcome.totals.cost(name).ok_or_else(|| format!("the report has no cost `{name}`"))?;
    let nodes = outcome.totals.by_node.len();
    if let Some(node) = metric.node.filter(|node| *node >= nodes) {
        return Err(format!("found node {node}, expected 0..={}", nodes - 1));
    }
    each(outcome, |totals| {
        Some(100.0 * ratio(totals.costs(metric.node)?[idx], totals.busy_ns(metric.node)?)?)
    })
}

fn stalled(outcome: &Outcome) -> Result<Number, String> {
    let parts: Vec<usize> = STALLS.iter().filter_map(|name| outcome.totals.cost(name)).collect();
    each(outcome, |totals| {
        let costs = totals.costs(None)?;
        let stalls = parts.iter().map(|idx| costs[*idx]).sum();
        Some(100.0 * ratio(stalls, totals.busy_ns(None)?)?)
    })
}
