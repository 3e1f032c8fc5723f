//! `States`: whether a few seeds have sampled two states of one machine.

use crate::output::units::decimal;

/// Below this part of the mean a gap between two states is no matter.
const GAP: f64 = 0.1;

/// How much wider the gap is than either state.
const APART: f64 = 3.0;

/// Two states between which seeds are divided: a machine may settle into one or another, and then
/// the mean of a few seeds says as much about which were drawn as about the policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct States {
    /// The means of the lower and of the upper one, with how many seeds each has.
    pub(crate) of: [(f64, usize); 2],
}

impl States {
    /// The states of `values`, by seed: where the widest gap between them is more than a tenth of the
    /// mean, and three times as wide as the values on either side of it are apart. None of fewer
    /// than three values, which always look so.
    #[expect(clippy::cast_precision_loss, reason = "seeds are few")]
    pub(crate) fn of(values: &[f64]) -> Option<States> {
        if values.len() < 3 {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let gap = |at: &usize| sorted[*at] - sorted[at - 1];
        let at = (1..sorted.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
        let (low, high) = sorted.split_at(at);
        let width = |part: &[f64]| part[part.len() - 1] - part[0];
        let is_wide = gap(&at) > GAP * mean(&sorted).abs();
        let is_apart = gap(&at) > APART * width(low).max(width(high));
        let of = [(mean(low), low.len()), (mean(high), high.len())];
        (is_wide && is_apart).then_some(States { of })
    }

    /// Such as `fall into two states: 28.93 (2) and 41.27 (1)`.
    pub(crate) fn told(&self) -> String {
        let [(low, few), (high, many)] = self.of;
        format!("fall into two states: {} ({few}) and {} ({many})", decimal(low), decimal(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_two_heaps_are_two_states() {
        let found = States::of(&[41.0, 29.0, 28.0]).unwrap();
        assert_eq!(found.of, [(28.5, 2), (41.0, 1)]);
        assert_eq!(found.told(), "fall into two states: 28.50 (2) and 41.00 (1)");
    }

    #[test]
    fn values_around_one_mean_are_one_state() {
        assert_eq!(States::of(&[30.0, 35.0, 41.0]), None, "no heap");
        assert_eq!(States::of(&[30.0, 30.1, 30.5, 30.2]), None, "no gap that matters");
        assert_eq!(States::of(&[5.0, 5.0, 5.0]), None);
    }

    #[test]
    fn two_values_are_too_few_to_tell() {
        assert_eq!(States::of(&[10.0, 90.0]), None);
    }
}
