//! The value of a metric in a run.

use simsched_claims as claims;
use simsched_topology::{did_you_mean, nearest};

use super::table::Source;
use super::{Basis, Metric, MetricError, Number};
use crate::number;
use crate::report::Percentiles;
use crate::scenario::Outcome;

impl Metric {
    /// The value in a run.
    pub(in crate::library) fn of(&self, outcome: &Outcome) -> Result<Number, MetricError> {
        let part = self.part.as_str();
        let measured = |value| Number { value, basis: Basis::Measured, ci95_pct: None };
        let found = match self.row().source {
            Source::Claims(family) => self.of_claims(family, outcome),
            Source::Counted(family, _) if outcome.cut.is_some() => self.of_claims(family, outcome),
            Source::Counted(_, count) => counted(count(outcome), outcome),
            Source::ProgramKey => key(&outcome.report.workload, part, "program").map(measured),
            Source::PolicyKey => key(&outcome.report.policy_metrics, part, "policy").map(measured),
            Source::Latency(histogram) => point(histogram(outcome), part).map(measured),
            Source::Count(count) => counted(count(outcome), outcome),
            Source::Time(time) => time(outcome, part)
                .ok_or_else(|| format!("there is no part {part}"))
                .and_then(|ns| counted(ns, outcome))
                .map(|found| Number { value: 1e-9 * found.value, ..found }),
        };
        found.map_err(|why| MetricError::NotAvailable { metric: self.to_string(), why })
    }

    fn of_claims(&self, family: claims::Family, outcome: &Outcome) -> Result<Number, String> {
        let metric = claims::Metric { family, part: self.part.clone(), node: self.node };
        let found = number::Number::of(&metric, outcome)
            .map_err(|why| why.splitn(3, ": ").last().unwrap_or_default().to_owned())?;
        let is_count =
            matches!(family, claims::Family::TaskSwitches | claims::Family::CpuMigrations);
        let basis = match family {
            claims::Family::Time if is_extrapolated(outcome) => Basis::WholeWork,
            _ if is_count => basis(outcome),
            _ => Basis::Measured,
        };
        Ok(Number { value: found.value, basis, ci95_pct: found.batch_ci95_pct })
    }
}

/// Whether the program says how much work it does, and only a part of that was simulated or measured.
fn is_extrapolated(outcome: &Outcome) -> bool {
    let sampled = outcome.report.precision.as_ref().is_some_and(|found| !found.exact);
    sampled || (outcome.cut.is_some() && number::total_work(outcome).is_some())
}

/// What a count of the run is of.
fn basis(outcome: &Outcome) -> Basis {
    match outcome.cut {
        _ if is_extrapolated(outcome) => Basis::WholeWork,
        Some(_) => Basis::PerSecond,
        None => Basis::Measured,
    }
}

/// A count or a time of the report. One of a span is scaled to the whole work of the program, or to a second
/// where the program does no fixed amount; that of a run of which a part was simulated is extrapolated in
/// the report.
fn counted(count: u64, outcome: &Outcome) -> Result<Number, String> {
    let scaled = |part, whole| {
        number::ratio(part, whole).ok_or_else(|| "nothing ran in that time".to_owned())
    };
    let value = match (&outcome.cut, number::total_work(outcome)) {
        (None, _) => scaled(count, 1)?,
        (Some(cut), Some((unit, total))) => {
            scaled(count, cut.totals.work(unit))? * scaled(total, 1)?
        }
        (Some(cut), None) => scaled(count, cut.totals.span_ns)? * 1e9,
    };
    Ok(Number { value, basis: basis(outcome), ci95_pct: None })
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
    nanos
        .and_then(|ns| number::ratio(ns, 1_000))
        .ok_or_else(|| "there was nothing to measure".to_owned())
}
