//! `Class` and `Verdict`: how far a metric can be trusted, and whether ours agrees with a kernel's.

use std::fmt;
use std::ops::RangeInclusive;

use crate::value::Value;

/// How much a metric differs between the seeds of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Not at all.
    Exact,
    /// By less than 5 % (standard deviation over mean).
    Tight,
    /// By less than 25 %.
    Loose,
    /// By more: shown, not judged.
    Noisy,
    /// How a patch changes a count, of which there are one or two runs only: judged by the factor
    /// between the changes.
    Ratio,
    /// A part of many, in percent, of the same runs: judged by the difference in points.
    Points,
    /// How often something is counted for each of something else, of the same runs.
    Counted,
    /// Counts by LLC or node that differ: shown, not judged.
    Varies,
    /// Nobody has compared seeds: shown, not judged.
    Unknown,
}

impl Class {
    /// All classes that are judged.
    pub const JUDGED: [Class; 6] =
        [Class::Exact, Class::Tight, Class::Loose, Class::Ratio, Class::Points, Class::Counted];

    /// The name in `robustness.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::Exact => "exact",
            Class::Tight => "tight",
            Class::Loose => "loose",
            Class::Noisy => "noisy",
            Class::Ratio => "ratio",
            Class::Points => "points",
            Class::Counted => "counted",
            Class::Varies => "varies",
            Class::Unknown => "unknown",
        }
    }

    /// The class of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Class> {
        let all =
            [Class::Exact, Class::Tight, Class::Loose, Class::Noisy, Class::Varies, Class::Unknown];
        all.into_iter().find(|class| class.name() == name)
    }

    /// From where to where a value may lie if the kernel's mean is `mean`; none if it is not judged.
    fn around(self, mean: f64) -> Option<RangeInclusive<f64>> {
        let within = |percent: f64| {
            let far = percent / 100.0 * mean.abs();
            mean - far..=mean + far
        };
        match self {
            Class::Exact | Class::Tight => Some(within(5.0)),
            Class::Loose => Some(within(25.0)),
            Class::Counted => Some(within(30.0)),
            Class::Ratio => Some(mean / 1.5..=mean * 1.5),
            Class::Points => Some(mean - 10.0..=mean + 10.0),
            Class::Noisy | Class::Varies | Class::Unknown => None,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether a value agrees with a kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It lies in the range over the kernel's seeds, or close to their mean.
    Met,
    /// It does not, or there is none.
    Missed,
    /// The kernel's own values differ too much to tell.
    Shown,
}

impl Verdict {
    /// Judges `ours` against the `kernel`'s values over its seeds.
    #[must_use]
    pub fn of(class: Class, kernel: &[Value], ours: Option<&Value>) -> Verdict {
        let met = match ours {
            _ if !Class::JUDGED.contains(&class) => return Verdict::Shown,
            None => false,
            Some(Value::Vector(_)) => kernel.iter().any(|value| Some(value) == ours),
            Some(Value::Number(ours)) => is_near(*ours, kernel, class),
        };
        if met { Verdict::Met } else { Verdict::Missed }
    }
}

/// Whether `ours` lies in the range of the kernel's numbers, or as near to their mean as its class
/// asks.
fn is_near(ours: f64, kernel: &[Value], class: Class) -> bool {
    let numbers = kernel.iter().filter_map(|value| match value {
        Value::Number(number) => Some(*number),
        Value::Vector(_) => None,
    });
    let (mut count, mut sum) = (0.0, 0.0);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for number in numbers {
        (count, sum) = (count + 1.0, sum + number);
        (low, high) = (low.min(number), high.max(number));
    }
    let around = class.around(sum / count);
    (low..=high).contains(&ours) || around.is_some_and(|around| around.contains(&ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(class: Class, kernel: &[f64], ours: f64) -> Verdict {
        let kernel: Vec<Value> = kernel.iter().map(|number| Value::from(*number)).collect();
        Verdict::of(class, &kernel, Some(&Value::from(ours)))
    }

    #[test]
    fn a_value_in_the_range_of_the_seeds_is_met() {
        assert_eq!(verdict(Class::Loose, &[10.0, 30.0, 20.0], 30.0), Verdict::Met);
        assert_eq!(verdict(Class::Exact, &[0.0, 0.0], 0.0), Verdict::Met);
    }

    #[test]
    fn a_value_near_the_mean_is_met_by_its_class() {
        assert_eq!(verdict(Class::Tight, &[100.0, 100.0], 105.0), Verdict::Met);
        assert_eq!(verdict(Class::Tight, &[100.0, 100.0], 105.1), Verdict::Missed);
        assert_eq!(verdict(Class::Loose, &[100.0, 100.0], 75.0), Verdict::Met);
        assert_eq!(verdict(Class::Loose, &[100.0, 100.0], 74.9), Verdict::Missed);
        assert_eq!(verdict(Class::Exact, &[0.0, 0.0], 0.1), Verdict::Missed);
    }

    #[test]
    fn a_change_is_met_within_half_as_much_again_and_a_part_within_ten_points() {
        assert_eq!(verdict(Class::Ratio, &[0.6], 0.4), Verdict::Met);
        assert_eq!(verdict(Class::Ratio, &[0.6], 0.39), Verdict::Missed);
        assert_eq!(verdict(Class::Ratio, &[0.4, 0.6], 0.75), Verdict::Met);
        assert_eq!(verdict(Class::Ratio, &[0.4, 0.6], 0.76), Verdict::Missed);
        assert_eq!(verdict(Class::Points, &[42.0], 52.0), Verdict::Met);
        assert_eq!(verdict(Class::Points, &[42.0], 52.1), Verdict::Missed);
    }

    #[test]
    fn counts_by_llc_must_be_those_of_a_seed() {
        let kernel = [Value::sorted(vec![4, 4, 5, 11]), Value::sorted(vec![4, 4, 6, 10])];
        let of = |ours: Vec<u64>| Verdict::of(Class::Exact, &kernel, Some(&Value::sorted(ours)));
        assert_eq!(of(vec![11, 4, 5, 4]), Verdict::Met);
        assert_eq!(of(vec![4, 5, 5, 10]), Verdict::Missed);
    }

    #[test]
    fn what_differs_between_the_kernels_own_seeds_is_not_judged() {
        assert_eq!(verdict(Class::Noisy, &[1.0, 9.0], 100.0), Verdict::Shown);
        assert_eq!(verdict(Class::Unknown, &[1.0], 100.0), Verdict::Shown);
    }

    #[test]
    fn a_metric_that_we_do_not_have_is_missed() {
        assert_eq!(Verdict::of(Class::Tight, &[Value::from(1.0)], None), Verdict::Missed);
    }
}
