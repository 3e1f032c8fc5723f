//! `together`: one value of a metric from runs with different seeds.

use crate::value::{Value, round};
use crate::verdict::Class;

/// What `runs` have come to together; none if there is no run, or one has no such metric.
///
/// A metric that is the same in all runs of a kernel has the value that half of the runs have at
/// least: the median. Of one that varies the mean is compared, as the lab's findings ask for ("compare
/// means of at least 3 seeds"). Of counts by LLC or node it is what most runs have, and the first of
/// those that as many have.
pub(crate) fn together(class: Class, runs: impl Iterator<Item = Option<Value>>) -> Option<Value> {
    let runs: Vec<Value> = runs.collect::<Option<_>>()?;
    let number = |value: &Value| match value {
        Value::Number(number) => Some(*number),
        Value::Vector(_) => None,
    };
    match runs.iter().map(number).collect::<Option<Vec<f64>>>() {
        Some(numbers) if numbers.is_empty() => None,
        Some(mut numbers) if class == Class::Exact => {
            numbers.sort_by(f64::total_cmp);
            Some(Value::from(numbers[(numbers.len() - 1) / 2]))
        }
        Some(numbers) => Some(Value::from(mean(&numbers))),
        None => most(&runs),
    }
}

/// Of one run its value as it is; of several as many decimals as the lab keeps.
#[expect(clippy::cast_precision_loss, reason = "there are few seeds")]
fn mean(numbers: &[f64]) -> f64 {
    match numbers {
        [only] => *only,
        _ => round(numbers.iter().sum::<f64>() / numbers.len() as f64, 4),
    }
}

fn most(runs: &[Value]) -> Option<Value> {
    let count = |value: &Value| runs.iter().filter(|other| *other == value).count();
    // Of equals `max_by_key` takes the last: of the runs in reverse that is the first.
    runs.iter().rev().max_by_key(|value| count(value)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(class: Class, runs: &[f64]) -> Option<Value> {
        together(class, runs.iter().map(|run| Some(Value::from(*run))))
    }

    #[test]
    fn what_varies_has_its_mean_and_what_does_not_its_median() {
        assert_eq!(of(Class::Loose, &[1.0, 2.0, 6.0]), Some(Value::from(3.0)));
        assert_eq!(of(Class::Exact, &[6.0, 2.0, 2.0]), Some(Value::from(2.0)));
        assert_eq!(of(Class::Tight, &[0.123_456]), Some(Value::from(0.123_456)));
    }

    #[test]
    fn counts_by_llc_are_what_most_runs_have() {
        let vector = |counts: &[u64]| Some(Value::sorted(counts.to_vec()));
        let runs = [vector(&[4, 5]), vector(&[3, 6]), vector(&[3, 6])];
        assert_eq!(together(Class::Exact, runs.into_iter()), vector(&[3, 6]));
        let runs = [vector(&[4, 5]), vector(&[3, 6])];
        assert_eq!(together(Class::Exact, runs.into_iter()), vector(&[4, 5]));
    }

    #[test]
    fn a_run_without_the_metric_leaves_nothing() {
        let runs = [Some(Value::from(1.0)), None];
        assert_eq!(together(Class::Loose, runs.into_iter()), None);
        assert_eq!(of(Class::Loose, &[]), None);
    }
}
