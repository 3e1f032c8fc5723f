//! `States`: whether seeds have sampled two states of one machine.

/// Below this part of the mean a difference between two states is no matter.
const GAP: f64 = 0.1;

/// Of fewer seeds it cannot be told.
const FEWEST: usize = 8;

/// A state has at least so many seeds: one alone may be far from the others by chance.
const LEAST: usize = 2;

/// Values of so few kinds are read from a scale (whole microseconds) whose steps look like states.
const KINDS: usize = 5;

/// By number of values: what one sum of squares over the best two exceeds in one of a hundred samples of one
/// state, of the normal, the uniform, the exponential and a log-normal distribution (sigma 0.5) that for which
/// it is largest. Found by 100,000 to 400,000 samples of each with numpy 2.4.6.
const ONE_IN_100: [(usize, f64); 12] = [
    (8, 28.3),
    (9, 22.9),
    (10, 19.6),
    (12, 15.4),
    (14, 12.7),
    (16, 11.3),
    (20, 9.2),
    (24, 8.3),
    (32, 7.3),
    (48, 6.4),
    (64, 5.9),
    (100, 5.4),
];

/// Two states between which seeds are divided: a machine may settle into one or another, and then
/// the mean of a few seeds says as much about which were drawn as about the policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct States {
    /// The means of the lower and of the upper one, with how many seeds each has.
    pub(crate) of: [(f64, usize); 2],
}

impl States {
    /// The states of `values`, by seed, of which there are at least eight: the sorted values are cut in two such
    /// that the squares of their distances from the means of the parts have the least sum. It is a likelihood
    /// ratio of two normal states with one deviation against one state: a hundredth of all samples of one state
    /// are taken for two. States that are a tenth of the mean apart or less are none.
    pub(crate) fn of(values: &[f64]) -> Option<States> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let kinds = 1 + sorted.windows(2).filter(|pair| pair[0] < pair[1]).count();
        if sorted.len() < FEWEST || kinds < KINDS {
            return None;
        }
        let within = |at: &usize| squares(&sorted[..*at]) + squares(&sorted[*at..]);
        let cuts = LEAST..=sorted.len() - LEAST;
        let at = cuts.min_by(|a, b| within(a).total_cmp(&within(b)))?;
        let (low, high) = sorted.split_at(at);
        let of = [(mean(low), low.len()), (mean(high), high.len())];
        let is_wide = of[1].0 - of[0].0 > GAP * mean(&sorted).abs();
        let is_two = squares(&sorted) > bar(sorted.len()) * within(&at);
        (is_wide && is_two).then_some(States { of })
    }

    /// Such as `fall into two states: 28.93 (5) and 41.27 (3)`, with each mean `shown` so.
    pub(crate) fn told(&self, shown: impl Fn(f64) -> String) -> String {
        let [(low, few), (high, many)] = self.of;
        format!("fall into two states: {} ({few}) and {} ({many})", shown(low), shown(high))
    }
}

#[expect(clippy::cast_precision_loss, reason = "seeds are few")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of the squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

/// The bar for so many values: that of the largest number in the table that is not larger.
fn bar(nr: usize) -> f64 {
    let row = ONE_IN_100.iter().rev().find(|(least, _)| *least <= nr);
    row.map_or(f64::INFINITY, |(_, bar)| *bar)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::output::units::decimal;

    #[test]
    fn values_in_two_heaps_are_two_states() {
        let values = [41.0, 29.0, 28.0, 40.5, 28.5, 41.5, 28.2, 29.3];
        let found = States::of(&values).unwrap();
        assert_eq!(found.of, [(28.6, 5), (41.0, 3)]);
        assert_eq!(found.told(decimal), "fall into two states: 28.60 (5) and 41.00 (3)");
    }

    #[test]
    fn what_is_no_state_is_not_told_as_one() {
        let heaps = [41.0, 29.0, 28.0, 40.5, 28.5, 41.5, 28.2];
        assert_eq!(States::of(&heaps), None, "seven are too few");
        assert_eq!(States::of(&[30.0, 35.0, 41.0, 33.0, 38.0, 36.0, 31.0, 39.0]), None, "no heap");
        let near = [30.0, 30.01, 30.02, 30.03, 31.0, 31.01, 31.02, 31.03];
        assert_eq!(States::of(&near), None, "no difference that matters");
        assert_eq!(States::of(&[4.0, 4.0, 5.0, 4.0, 5.0, 5.0, 4.0, 4.0]), None, "a scale");
        let alone = [30.0, 30.1, 30.2, 30.3, 30.4, 30.5, 30.6, 60.0];
        assert_eq!(States::of(&alone), None, "one alone");
    }

    /// Of samples of one state at most five of a hundred comparisons may name two; a comparison asks twice.
    #[test]
    fn one_state_is_hardly_ever_taken_for_two() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut uniform = || random.random::<f64>();
        type Draw<'a> = &'a mut dyn FnMut() -> f64;
        for nr in [8, 11, 20, 40] {
            let alarms = |name: &str, draw: Draw<'_>| {
                let sample = |draw: Draw<'_>| (0..nr).map(|_| draw()).collect::<Vec<f64>>();
                let nr_alarms = (0..4_000).filter(|_| States::of(&sample(draw)).is_some()).count();
                assert!(nr_alarms <= 80, "{name} of {nr}: {nr_alarms} of 4000");
            };
            alarms("uniform", &mut || uniform());
            alarms("exponential", &mut || -libm::log(1.0 - uniform()));
            // Irwin and Hall: the sum of twelve is normal enough.
            alarms("normal", &mut || (0..12).map(|_| uniform()).sum::<f64>() - 5.0);
        }
    }
}
