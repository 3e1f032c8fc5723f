//! `Paired`: how two sides differ over the same seeds.

use serde::Serialize;

use crate::student::{Spread, two_sided_p};

/// How two sides differ, seed by seed.
///
/// Student's t on the differences, and no bootstrap: of 3 to 20 differences a bootstrap has too few
/// values to draw from, and its intervals are too narrow (3 differences have 10 distinct samples);
/// the t interval is exact where differences are normal, and errs little where they are not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paired {
    /// The mean difference in percent of the mean of the base.
    pub difference_pct: Option<f64>,
    /// Half its 95 % interval, in percent of the mean of the base; one pair has none.
    pub ci95_pct: Option<f64>,
    /// How probable so great a difference is if there is none; one pair tells nothing.
    pub p: Option<f64>,
    /// Whether the interval leaves out no difference.
    pub significant: bool,
}

impl Paired {
    /// The difference of `other` from `base`, seed by seed; there is at least one.
    pub fn of(base: &[f64], other: &[f64]) -> Paired {
        let differences: Vec<f64> = base.iter().zip(other).map(|(a, b)| b - a).collect();
        let (scale, spread) = (Spread::of(base).mean, Spread::of(&differences));
        let percent = |number: f64| (scale != 0.0).then(|| 100.0 * number / scale.abs());
        let p = spread.std.map(|std| p_value(spread.mean, std, differences.len()));
        Paired {
            difference_pct: percent(spread.mean),
            ci95_pct: spread.ci95.and_then(percent),
            p,
            significant: spread.ci95.is_some_and(|ci95| spread.mean.abs() > ci95),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "seeds are few")]
fn p_value(mean: f64, std: f64, n: usize) -> f64 {
    if std == 0.0 {
        return if mean == 0.0 { 1.0 } else { 0.0 };
    }
    two_sided_p(mean.abs() * (n as f64).sqrt() / std, n - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, want: f64) {
        let found = found.unwrap();
        assert!((found - want).abs() <= 1e-7 * want.abs().max(1e-3), "{found} is not {want}");
    }

    /// scipy 1.17.1: `r = stats.ttest_rel(other, base)`, `c = r.confidence_interval(0.95)`; then
    /// `mean(other - base) / mean(base)`, `(c.high - c.low) / 2 / mean(base)` and `r.pvalue`.
    #[test]
    fn three_seeds_have_the_interval_and_the_p_of_scipy() {
        let base = [10.0, 12.0, 11.0];
        let other = [9.0, 10.5, 9.4];
        let found = Paired::of(&base, &other);
        close(found.difference_pct, -12.424242424242424);
        close(found.ci95_pct, 7.259441374040108);
        close(found.p, 0.01794646523112767);
        assert!(found.significant);
    }

    /// scipy 1.17.1: `r = stats.ttest_rel(other, base)`, `c = r.confidence_interval(0.95)`; then
    /// `mean(other - base) / mean(base)`, `(c.high - c.low) / 2 / mean(base)` and `r.pvalue`.
    #[test]
    fn five_seeds_of_nothing_have_the_interval_and_the_p_of_scipy() {
        let base = [3.1, 2.9, 3.3, 3.0, 3.2];
        let other = [3.0, 3.1, 3.2, 2.9, 3.4];
        let found = Paired::of(&base, &other);
        close(found.difference_pct, 0.6451612903225812);
        close(found.ci95_pct, 6.581490780563763);
        close(found.p, 0.7989658591927785);
        assert!(!found.significant);
    }

    /// scipy 1.17.1: `r = stats.ttest_rel(other, base)`, `c = r.confidence_interval(0.95)`; then
    /// `mean(other - base) / mean(base)`, `(c.high - c.low) / 2 / mean(base)` and `r.pvalue`.
    #[test]
    fn eight_seeds_have_the_interval_and_the_p_of_scipy() {
        let base = [100.0, 104.0, 97.0, 110.0, 103.0, 99.0, 101.0, 108.0];
        let other = [120.0, 119.0, 118.0, 133.0, 121.0, 125.0, 119.0, 131.0];
        let found = Paired::of(&base, &other);
        close(found.difference_pct, 19.951338199513383);
        close(found.ci95_pct, 2.851908062473603);
        close(found.p, 7.201922555858587e-07);
        assert!(found.significant);
    }

    /// scipy 1.17.1: `r = stats.ttest_rel(other, base)`, `c = r.confidence_interval(0.95)`; then
    /// `mean(other - base) / mean(base)`, `(c.high - c.low) / 2 / mean(base)` and `r.pvalue`.
    #[test]
    fn twenty_seeds_have_the_interval_and_the_p_of_scipy() {
        let base = [
            50.0, 54.0, 58.0, 51.0, 55.0, 59.0, 52.0, 56.0, 60.0, 53.0, 57.0, 50.0, 54.0, 58.0,
            51.0, 55.0, 59.0, 52.0, 56.0, 60.0,
        ];
        let other = [
            49.0, 56.0, 58.0, 54.0, 56.0, 58.0, 54.0, 56.0, 63.0, 54.0, 56.0, 52.0, 54.0, 61.0,
            52.0, 54.0, 61.0, 52.0, 59.0, 61.0,
        ];
        let found = Paired::of(&base, &other);
        close(found.difference_pct, 1.8181818181818181);
        close(found.ci95_pct, 1.234666678425405);
        close(found.p, 0.006133478743419319);
        assert!(found.significant);
    }

    #[test]
    fn one_pair_has_a_difference_and_no_interval() {
        let one = Paired::of(&[4.0], &[5.0]);
        assert_eq!((one.difference_pct, one.ci95_pct, one.p), (Some(25.0), None, None));
        assert!(!one.significant);
    }

    #[test]
    fn a_difference_that_is_always_the_same_is_certain() {
        let same = Paired::of(&[4.0, 6.0], &[5.0, 7.0]);
        assert_eq!((same.difference_pct, same.ci95_pct), (Some(20.0), Some(0.0)));
        assert!(same.significant);
        let none = Paired::of(&[4.0, 6.0], &[4.0, 6.0]);
        assert_eq!((none.p, none.significant), (Some(1.0), false));
    }

    #[test]
    fn nothing_in_the_base_has_no_percentage() {
        let found = Paired::of(&[0.0, 0.0], &[1.0, 2.0]);
        assert_eq!((found.difference_pct, found.ci95_pct), (None, None));
    }
}
