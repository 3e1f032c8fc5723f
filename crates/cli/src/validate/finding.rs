//! `Finding`: what a run has to say to the claims that it is for.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use simsched_claims::Metric;

use crate::meter::{RATES, WorkUnit};
use crate::number::Number;
use crate::report::CutReport;
use crate::scenario::Outcome;

/// What a run has to say.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// By the name of the metric; or why there is none.
    numbers: BTreeMap<String, Result<Number, String>>,
    /// What was measured of it, if not all.
    pub(super) cut: Option<CutReport>,
    /// Of the whole run.
    pub(super) digest: String,
}

impl Finding {
    /// Of a run that is asked for these metrics.
    pub(super) fn of(outcome: &Outcome, metrics: &[Metric]) -> Finding {
        let number = |metric: &Metric| (metric.to_string(), Number::of(metric, outcome));
        Finding {
            numbers: metrics.iter().map(number).collect(),
            cut: outcome.report.cut.clone(),
            digest: outcome.report.digest.clone(),
        }
    }

    /// # Errors
    /// Why the run has no such number.
    pub(super) fn number(&self, metric: &Metric) -> Result<Number, String> {
        let found = self.numbers.get(&metric.to_string());
        found.cloned().unwrap_or_else(|| Err(format!("metric not available: {metric}")))
    }

    /// Whether it was asked for all of these.
    pub(super) fn has(&self, metrics: &[Metric]) -> bool {
        metrics.iter().all(|metric| self.numbers.contains_key(&metric.to_string()))
    }

    /// As it is kept in a file: numbers by their bits, so that they are read as they were written.
    pub(super) fn to_json(&self) -> Value {
        let number = |number: &Result<Number, String>| match number {
            Ok(number) => {
                json!({ "bits": bits(number.value), "ci95": number.batch_ci95_pct.map(bits) })
            }
            Err(why) => json!({ "none": why }),
        };
        let numbers = self.numbers.iter().map(|(name, found)| (name.clone(), number(found)));
        json!({
            "numbers": numbers.collect::<Map<_, _>>(),
            "cut": self.cut.as_ref().map(cut_to_json),
            "digest": self.digest,
        })
    }

    /// As it was kept; none if that is damaged.
    pub(super) fn of_json(value: &Value) -> Option<Finding> {
        let number = |value: &Value| match value.get("none") {
            Some(why) => Some(Err(why.as_str()?.to_owned())),
            None => {
                let batch_ci95_pct = optional(value.get("ci95")?, number)?;
                Some(Ok(Number { value: number(value.get("bits")?)?, batch_ci95_pct }))
            }
        };
        let numbers = value.get("numbers")?.as_object()?.iter();
        Some(Finding {
            numbers: numbers
                .map(|(name, found)| Some((name.clone(), number(found)?)))
                .collect::<Option<_>>()?,
            cut: optional(value.get("cut")?, cut_of_json)?,
            digest: value.get("digest")?.as_str()?.to_owned(),
        })
    }
}

fn bits(number: f64) -> u64 {
    number.to_bits()
}

fn number(value: &Value) -> Option<f64> {
    value.as_u64().map(f64::from_bits)
}

/// Null, or what `read` makes of it.
fn optional<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    if value.is_null() { Some(None) } else { read(value).map(Some) }
}

fn cut_to_json(cut: &CutReport) -> Value {
    let trends = cut.trends_pct.iter().map(|(name, pct)| ((*name).to_owned(), bits(*pct).into()));
    json!({
        "span_ns": cut.span_ns,
        "warmup_ns": cut.warmup_ns,
        "stationary": cut.stationary,
        "settled": cut.settled,
        "early": cut.early,
        "trends": trends.collect::<Map<String, Value>>(),
        "work": cut.work,
        "work_unit": cut.work_unit,
        "work_total": cut.work_total,
        "batches": cut.batches,
        "work_rate_ci95": cut.work_rate_ci95_pct.map(bits),
    })
}

fn cut_of_json(value: &Value) -> Option<CutReport> {
    let unsigned = |key: &str| value.get(key)?.as_u64();
    let trend = |(name, pct): (&String, &Value)| {
        let (known, _) = RATES.iter().find(|(known, _)| known == name)?;
        Some((*known, number(pct)?))
    };
    let unit = value.get("work_unit")?.as_str()?;
    let trends = value.get("trends")?.as_object()?.iter();
    Some(CutReport {
        span_ns: unsigned("span_ns")?,
        warmup_ns: unsigned("warmup_ns")?,
        stationary: value.get("stationary")?.as_bool()?,
        settled: value.get("settled")?.as_bool()?,
        early: value.get("early")?.as_bool()?,
        trends_pct: trends.map(trend).collect::<Option<_>>()?,
        work: unsigned("work")?,
        work_unit: WorkUnit::ALL.iter().map(|unit| unit.name()).find(|name| *name == unit)?,
        work_total: optional(value.get("work_total")?, Value::as_u64)?,
        batches: usize::try_from(unsigned("batches")?).ok()?,
        work_rate_ci95_pct: optional(value.get("work_rate_ci95")?, number)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding() -> Finding {
        let known = Number { value: 0.1 + 0.2, batch_ci95_pct: Some(1.0 / 3.0) };
        let plain = Number { value: 7.0, batch_ci95_pct: None };
        let cut = CutReport {
            span_ns: 100,
            warmup_ns: 210,
            stationary: false,
            settled: true,
            early: true,
            trends_pct: RATES.iter().map(|(name, _)| (*name, -1.0 / 7.0)).collect(),
            work: 5,
            work_unit: WorkUnit::Rounds.name(),
            work_total: Some(50),
            batches: 10,
            work_rate_ci95_pct: Some(0.7),
        };
        let numbers =
            [("time", Ok(known)), ("migrations", Ok(plain)), ("rps:p50", Err("no".into()))];
        Finding {
            numbers: numbers.map(|(name, found)| (name.to_owned(), found)).into(),
            cut: Some(cut),
            digest: "00ff".to_owned(),
        }
    }

    #[test]
    fn what_is_kept_is_read_as_it_was() {
        let text = finding().to_json().to_string();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(Finding::of_json(&value), Some(finding()));
        let whole = Finding { cut: None, ..finding() };
        assert_eq!(Finding::of_json(&whole.to_json()), Some(whole));
    }

    #[test]
    fn what_is_damaged_is_nothing() {
        for (pointer, broken) in [
            ("/digest", Value::Null),
            ("/numbers/time/bits", "x".into()),
            ("/cut/work_unit", "parsecs".into()),
            ("/cut/trends/operations", Value::Null),
        ] {
            let mut value = finding().to_json();
            *value.pointer_mut(pointer).unwrap() = broken;
            assert_eq!(Finding::of_json(&value), None, "{pointer}");
        }
    }
}
