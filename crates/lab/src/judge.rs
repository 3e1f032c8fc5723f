//! Holds the metrics of a run against a kernel's, and counts by class.

use crate::reference::Scenario;
use crate::together::together;
use crate::value::{Value, Values};
use crate::verdict::{Class, Verdict};

/// A metric of a scenario, the kernel's and ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The metric.
    pub metric: String,
    /// How far the kernel's values can be trusted.
    pub class: Class,
    /// The kernel's values over its seeds.
    pub kernel: Vec<Value>,
    /// Ours; none if the run has none.
    pub ours: Option<Value>,
    /// Whether they agree.
    pub verdict: Verdict,
}

impl Row {
    /// The spread of the kernel's values: standard deviation over mean. None for counts by LLC or
    /// node, and where the mean is 0.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "there are few seeds")]
    pub fn spread(&self) -> Option<f64> {
        let number = |value: &Value| match value {
            Value::Number(number) => Some(*number),
            Value::Vector(_) => None,
        };
        let numbers = self.kernel.iter().map(number).collect::<Option<Vec<f64>>>()?;
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let variance =
            numbers.iter().map(|number| (number - mean) * (number - mean)).sum::<f64>() / count;
        (mean != 0.0).then(|| variance.sqrt() / mean.abs())
    }
}

/// Judges the metrics of runs of `scenario` with different seeds, taken together; all are missed
/// where there is no run.
#[must_use]
pub fn judge(scenario: &Scenario, runs: &[&dyn Values]) -> Vec<Row> {
    let row = |metric: &crate::reference::Metric| {
        let ours = together(metric.class, runs.iter().map(|values| values.value(&metric.name)));
        let verdict = Verdict::of(metric.class, &metric.values, ours.as_ref());
        let (class, kernel) = (metric.class, metric.values.clone());
        Row { metric: metric.name.clone(), class, kernel, ours, verdict }
    };
    scenario.metrics.iter().map(row).collect()
}

/// How many metrics were met and judged, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Met and judged, in the order of [`Class::JUDGED`].
    judged: [(u64, u64); Class::JUDGED.len()],
    /// Those that are not judged.
    pub shown: u64,
}

impl Tally {
    /// Counts these rows too.
    pub fn add(&mut self, rows: &[Row]) {
        for row in rows {
            match Class::JUDGED.iter().position(|class| *class == row.class) {
                None => self.shown += 1,
                Some(nth) => {
                    let (met, judged) = &mut self.judged[nth];
                    *met += u64::from(row.verdict == Verdict::Met);
                    *judged += 1;
                }
            }
        }
    }

    /// How many of a class were met, and how many were judged; none of a class that is not judged.
    #[must_use]
    pub fn of(&self, class: Class) -> (u64, u64) {
        let nth = Class::JUDGED.iter().position(|judged| *judged == class);
        nth.map_or((0, 0), |nth| self.judged[nth])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Metric;

    struct One(f64);

    impl Values for One {
        fn value(&self, metric: &str) -> Option<Value> {
            (metric != "absent").then_some(Value::from(self.0))
        }
    }

    fn scenario() -> Scenario {
        let metric = |name: &str, class, values: &[f64]| Metric {
            name: name.to_owned(),
            class,
            values: values.iter().map(|value| Value::from(*value)).collect(),
        };
        let metrics = vec![
            metric("a", Class::Exact, &[7.0, 7.0]),
            metric("b", Class::Exact, &[9.0, 9.0]),
            metric("absent", Class::Loose, &[7.0]),
            metric("c", Class::Noisy, &[1.0, 3.0]),
        ];
        Scenario::new("x", metrics)
    }

    #[test]
    fn a_tally_counts_by_class_what_was_met_of_what_was_judged() {
        let rows = judge(&scenario(), &[&One(7.0)]);
        let mut tally = Tally::default();
        tally.add(&rows);
        assert_eq!((tally.of(Class::Exact), tally.of(Class::Tight)), ((1, 2), (0, 0)));
        assert_eq!((tally.of(Class::Loose), tally.shown), ((0, 1), 1));
        tally.add(&judge(&scenario(), &[]));
        assert_eq!(tally.of(Class::Exact), (1, 4));
    }

    #[test]
    fn the_spread_is_standard_deviation_over_mean() {
        let rows = judge(&scenario(), &[]);
        assert_eq!(rows[0].spread(), Some(0.0));
        assert_eq!(rows[3].spread(), Some(0.5));
    }
}
