//! What is quoted of a run, and how two sides differ in it.

use serde_json::{Map, Value};

use crate::document::at;
use crate::paired::Paired;
use crate::side::{Side, whole};
use crate::student::{Spread, t_975};
use crate::units::{decimal, span_of};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Span,
    /// Things.
    Count,
    /// Things each second.
    Rate,
}

/// In which direction a number is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
    Neither,
}

/// A number that people quote of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    find: fn(&Map<String, Value>) -> Option<f64>,
}

macro_rules! measure {
    ($name:literal, $label:literal, $unit:ident, $better:ident, $find:expr) => {
        Measure {
            name: $name,
            label: $label,
            unit: Unit::$unit,
            better: Better::$better,
            find: $find,
        }
    };
}

/// All of them, in the order in which they are shown.
pub(crate) const MEASURES: [Measure; 19] = [
    measure!("time", "time of the program", Span, Lower, time),
    measure!("throughput", "throughput per second", Rate, Higher, throughput),
    measure!("request_p50", "request latency, median", Span, Lower, |run| {
        number(run, "workload.request_latency_p50_ns")
    }),
    measure!("request_p99", "request latency, p99", Span, Lower, |run| {
        number(run, "workload.request_latency_p99_ns")
    }),
    measure!("wakeup_mean", "wakeup latency, mean", Span, Lower, |run| {
        number(run, "wakeup_latency_ns.mean")
    }),
    measure!("wakeup_p50", "wakeup latency, median", Span, Lower, |run| {
        number(run, "wakeup_latency_ns.p50")
    }),
    measure!("wakeup_p90", "wakeup latency, p90", Span, Lower, |run| {
        number(run, "wakeup_latency_ns.p90")
    }),
    measure!("wakeup_p99", "wakeup latency, p99", Span, Lower, |run| {
        number(run, "wakeup_latency_ns.p99")
    }),
    measure!("wakeup_p99_9", "wakeup latency, p99.9", Span, Lower, |run| {
        number(run, "wakeup_latency_ns.p99_9")
    }),
    measure!("wait_mean", "runqueue wait, mean", Span, Lower, |run| {
        number(run, "runqueue_wait_ns.mean")
    }),
    measure!("wait_p99", "runqueue wait, p99", Span, Lower, |run| {
        number(run, "runqueue_wait_ns.p99")
    }),
    measure!("task_switches", "task switches (perf)", Count, Neither, |run| {
        Some(number(run, "task_switches")? * whole(run))
    }),
    measure!("context_switches", "context switches", Count, Neither, |run| {
        Some(number(run, "context_switches")? * whole(run))
    }),
    measure!("preemptions", "preemptions", Count, Neither, |run| {
        Some(number(run, "preemptions")? * whole(run))
    }),
    measure!("cpu_migrations", "CPU migrations (perf)", Count, Neither, |run| {
        Some(number(run, "cpu_migrations")? * whole(run))
    }),
    measure!("migrations", "migrations", Count, Neither, |run| {
        Some(number(run, "migrations.total")? * whole(run))
    }),
    measure!("wakeups", "wakeups", Count, Neither, |run| {
        Some(number(run, "wakeups.total")? * whole(run))
    }),
    measure!("busy_cpus", "busy CPUs", Count, Neither, busy_cpus),
    measure!("wasted", "idle while tasks waited", Span, Neither, |run| {
        Some(number(run, "idle_while_waiting_ns")? * whole(run))
    }),
];

/// The measure of this name.
pub(crate) fn named(name: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.name == name)
}

pub(crate) fn number(run: &Map<String, Value>, key: &str) -> Option<f64> {
    at(run, key).and_then(Value::as_f64)
}

/// In ns; of a run that was cut, that of the whole work at the rate of the span.
fn time(run: &Map<String, Value>) -> Option<f64> {
    if !at(run, "cut").is_some_and(Value::is_object) {
        return number(run, "elapsed_ns");
    }
    number(run, "cut.work_total")?;
    Some(number(run, "cut.span_ns")? * whole(run))
}

/// What the program says; of one that only counts, its operations each second.
fn throughput(run: &Map<String, Value>) -> Option<f64> {
    let numbers = at(run, "workload")?.as_object()?;
    let rate = numbers.iter().find(|(key, _)| key.ends_with("_per_second"));
    numbers.get("throughput").or(rate.map(|(_, value)| value))?.as_f64()
}

fn busy_cpus(run: &Map<String, Value>) -> Option<f64> {
    let span = number(run, "simulated_ns").filter(|span| *span > 0.0)?;
    Some((number(run, "cpu_time_ns.user")? + number(run, "cpu_time_ns.system")?) / span)
}

/// How two sides differ in a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// The means.
    pub(crate) base: f64,
    pub(crate) other: f64,
    /// The difference in percent of the base; none of a base of nothing.
    pub(crate) pct: Option<f64>,
    /// The ends of its 95 % interval, in percent, if something tells one.
    pub(crate) ends: Option<(f64, f64)>,
    pub(crate) verdict: Verdict,
}

/// What a difference amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is one, as far as can be told.
    Differs,
    /// There is none that matters.
    Same,
    /// It may be chance.
    Chance,
}

/// Below this a change does not matter, in percent, as in the verdicts on claims.
pub(crate) const NEUTRAL: f64 = 3.0;

impl Measure {
    /// The number of each run that counts; none if not all have it.
    pub(crate) fn values(&self, side: &Side) -> Option<Vec<f64>> {
        side.each(self.find)
    }

    pub(crate) fn spread(&self, side: &Side) -> Option<Spread> {
        Some(Spread::of(&self.values(side)?))
    }

    /// How `other` differs from `base`; none if one of them has no such number.
    pub(crate) fn change(&self, base: &Side, other: &Side) -> Option<Change> {
        let (from, to) = (self.values(base)?, self.values(other)?);
        let own = match (self.own_interval(base), self.own_interval(other)) {
            (None, None) => None,
            // A run that was measured as a whole has no such doubt.
            (a, b) => Some((a.unwrap_or(0.0), b.unwrap_or(0.0))),
        };
        let same_seeds = base.seeds() == other.seeds();
        Some(Change::of(&from, &to, same_seeds, own))
    }

    /// Half the interval of the number of one run, in percent of it, where the run tells that itself.
    pub(crate) fn own_interval(&self, side: &Side) -> Option<f64> {
        let runs = side.counted();
        let [run] = runs.as_slice() else { return None };
        let figure = match self.name {
            "time" => "time",
            "throughput" => "operations",
            "context_switches" => "context_switches",
            "migrations" => "migrations",
            _ => return None,
        };
        let precision = at(run, "precision.exact").and_then(Value::as_bool) == Some(false);
        if precision {
            return number(run, &format!("precision.figures.{figure}.ci95_pct"));
        }
        let is_rate = ["time", "throughput"].contains(&self.name);
        if is_rate { number(run, "cut.work_rate_ci95_pct") } else { None }
    }

    pub(crate) fn shown(&self, value: f64) -> String {
        match self.unit {
            Unit::Span => span_of(value),
            Unit::Count | Unit::Rate => tidy(value),
        }
    }
}

/// A count as people write it: without a fraction if it has none.
pub(crate) fn tidy(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let whole = value.abs() as u64;
        return crate::units::count(whole);
    }
    decimal(value)
}

impl Change {
    /// Of values by run; `same_seeds` makes pairs of them, and `own` are the intervals that single
    /// runs tell, in percent.
    pub(crate) fn of(
        base: &[f64],
        other: &[f64],
        same_seeds: bool,
        own: Option<(f64, f64)>,
    ) -> Change {
        let (from, to) = (Spread::of(base), Spread::of(other));
        let pct = (from.mean != 0.0).then(|| 100.0 * (to.mean - from.mean) / from.mean.abs());
        let around = |half: f64| pct.map(|pct| (pct - half, pct + half));
        let ends = match (base.len(), other.len()) {
            (1, 1) => own.and_then(|(a, b)| {
                around((to.mean / from.mean * crate::student::both(a, b)).abs())
            }),
            _ if same_seeds && base.len() > 1 => {
                let paired = Paired::of(base, other);
                paired.low_pct.zip(paired.high_pct)
            }
            (n, m) if n > 1 && m > 1 => welch(base, other),
            _ => None,
        };
        let verdict = match (pct, ends) {
            (None, _) if to.mean == from.mean => Verdict::Same,
            (None, _) => Verdict::Differs,
            (Some(pct), Some((low, high))) if low > 0.0 || high < 0.0 => {
                if pct.abs() < 1.0 {
                    Verdict::Same
                } else {
                    Verdict::Differs
                }
            }
            (Some(_), Some((low, high))) if -low < NEUTRAL && high < NEUTRAL => Verdict::Same,
            (Some(_), Some(_)) => Verdict::Chance,
            (Some(pct), None) if pct.abs() < NEUTRAL => Verdict::Same,
            (Some(_), None) => Verdict::Differs,
        };
        Change { base: from.mean, other: to.mean, pct, ends, verdict }
    }

    /// Half the width of the interval, where there is one that has any.
    pub(crate) fn half(&self) -> Option<f64> {
        self.ends.map(|(low, high)| (high - low) / 2.0).filter(|half| *half >= 0.05)
    }

    /// Whether it is good, of a measure that has a good direction.
    pub(crate) fn is_good(&self, better: Better) -> Option<bool> {
        match better {
            Better::Neither => None,
            Better::Lower => Some(self.other < self.base),
            Better::Higher => Some(self.other > self.base),
        }
    }
}

/// The ends of the 95 % interval of the difference of two means of different seeds, in percent of the base: Welch's
/// t of the logarithm of their ratio (the delta method, as for seeds in pairs), with its degrees of freedom rounded
/// down, which makes it no narrower. None of means of nothing, or of different signs.
#[expect(clippy::cast_precision_loss, reason = "runs are few")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the runs")]
fn welch(base: &[f64], other: &[f64]) -> Option<(f64, f64)> {
    let (from, to) = (Spread::of(base).mean, Spread::of(other).mean);
    if !(to / from > 0.0 && (to / from).is_finite()) {
        return None;
    }
    let part = |values: &[f64], mean: f64| {
        let (std, n) = (Spread::of(values).std? / mean, values.len() as f64);
        Some((std * std / n, n - 1.0))
    };
    let ((a, df_a), (b, df_b)) = (part(base, from)?, part(other, to)?);
    let df = if a + b > 0.0 { (a + b) * (a + b) / (a * a / df_a + b * b / df_b) } else { 1.0 };
    let half = t_975((df as usize).max(1)) * (a + b).sqrt();
    let log = libm::log(to / from);
    let end = |log: f64| from.signum() * 100.0 * libm::expm1(log);
    let (low, high) = (end(log - half), end(log + half));
    Some((low.min(high), low.max(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_the_same_seeds_are_surer_than_two_means() {
        let (base, other) = ([10.0, 20.0, 30.0], [10.5, 21.0, 31.5]);
        let paired = Change::of(&base, &other, true, None);
        let (low, high) = paired.ends.unwrap();
        assert_eq!(paired.pct, Some(5.0));
        assert!((low - 5.0).abs() < 1e-9 && (high - 5.0).abs() < 1e-9, "{low} {high}");
        assert_eq!(paired.verdict, Verdict::Differs);
        assert_eq!(Change::of(&base, &other, false, None).verdict, Verdict::Chance);
    }

    /// scipy 1.17.1: `stats.t.ppf(0.975, df)` times the root of the sum of `(std / mean)^2 / n` around the logarithm
    /// of the ratio, with the degrees of freedom of `stats.ttest_ind(.., equal_var=False)` rounded down (5 and 7).
    #[test]
    fn means_of_different_seeds_have_the_interval_of_welch() {
        let ends = |base: &[f64], other: &[f64]| Change::of(base, other, false, None).ends.unwrap();
        let close = |found: f64, want: f64| assert!((found / want - 1.0).abs() < 1e-7, "{found}");
        let (low, high) = ends(&[10.0, 12.0, 11.0, 11.0], &[14.0, 15.0, 15.0, 16.0]);
        close(low, 21.148_644_423_508);
        close(high, 53.489_470_813_310);
        // Nothing falls by more than all of it.
        let (low, high) = ends(&[54.0, 8.0, 1.0, 3.0, 2.0], &[80.0, 1.0, 2.0, 300.0, 5.0]);
        close(low, -52.755_676_055_904);
        close(high, 6_791.217_972_370_6);
    }

    #[test]
    fn one_run_each_differs_from_three_percent_on() {
        let verdict = |other: f64| Change::of(&[100.0], &[other], true, None).verdict;
        assert_eq!(verdict(102.9), Verdict::Same);
        assert_eq!(verdict(96.0), Verdict::Differs);
    }

    /// 4 and 3 percent make an interval of 5.
    #[test]
    fn one_run_with_an_interval_of_its_own_differs_beyond_it() {
        let verdict = |other: f64| Change::of(&[100.0], &[other], true, Some((4.0, 3.0))).verdict;
        assert_eq!(verdict(104.0), Verdict::Chance);
        assert_eq!(verdict(94.0), Verdict::Differs);
    }

    #[test]
    fn something_in_place_of_nothing_differs() {
        let change = Change::of(&[0.0], &[7.0], true, None);
        assert_eq!((change.pct, change.verdict), (None, Verdict::Differs));
        assert_eq!(Change::of(&[0.0], &[0.0], true, None).verdict, Verdict::Same);
    }
}
