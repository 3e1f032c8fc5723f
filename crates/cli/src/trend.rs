//! `Trend`: whether a rate rises or falls over a few batches.

use crate::student::two_sided_p;

/// By how many percent of its mean a rate may change over a window in which it is called steady:
/// the change below which a claim is neutral.
const STEADY_PCT: f64 = 3.0;

/// How improbable a slope must be by chance alone to be believed. Three rates are looked at in each
/// run, so one run in thirty is called unsteady without being so.
const BELIEVED: f64 = 0.01;

/// How a rate changes over the batches of a window: the straight line of least squares through
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trend {
    /// By how much the line rises over the window, in percent of the mean.
    pub(crate) change_pct: f64,
    /// How probable so steep a line is if nothing changes: Student's t of the slope.
    pub(crate) p: f64,
}

impl Trend {
    /// The trend of `values`, batches of equal length; none of fewer than three, or around zero.
    #[expect(clippy::cast_precision_loss, reason = "batches are few")]
    pub(crate) fn of(values: &[f64]) -> Option<Trend> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 3 || mean == 0.0 {
            return None;
        }
        let at = |idx: usize| idx as f64 - (n - 1.0) / 2.0;
        let (mut squares, mut products) = (0.0, 0.0);
        for (idx, value) in values.iter().enumerate() {
            squares += at(idx) * at(idx);
            products += at(idx) * (value - mean);
        }
        let slope = products / squares;
        let rest = |(idx, value): (usize, &f64)| {
            let rest = value - mean - slope * at(idx);
            rest * rest
        };
        let rest: f64 = values.iter().enumerate().map(rest).sum();
        let deviation = (rest / (n - 2.0) / squares).sqrt();
        let p = match deviation {
            0.0 if slope == 0.0 => 1.0,
            0.0 => 0.0,
            _ => two_sided_p(slope.abs() / deviation, values.len() - 2),
        };
        Some(Trend { change_pct: 100.0 * slope * n / mean.abs(), p })
    }

    /// Whether the rate does not change, or too little to matter, or only by chance.
    pub(crate) fn is_steady(&self) -> bool {
        self.change_pct.abs() <= STEADY_PCT || self.p >= BELIEVED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `r = stats.linregress(range(6), values)`; `600 * r.slope / mean(values)`, `r.pvalue`.
    #[test]
    fn a_slope_and_its_p_can_be_worked_out_on_paper() {
        // Mean 12, slope 17.5/17.5 = 1; what is left over is 0.5, -0.5, 0, 0, -0.5, 0.5: squares 1,
        // deviation sqrt(1 / 4 / 17.5) = 0.119523, t = 8.3666 with 4 degrees of freedom.
        let trend = Trend::of(&[10.0, 10.0, 11.5, 12.5, 13.0, 15.0]).unwrap();
        assert!((trend.change_pct - 50.0).abs() < 1e-9, "{trend:?}");
        // t_4 is above 8.3666 with p between 0.0011 (8.41) and 0.0012.
        assert!((0.0009..0.0013).contains(&trend.p), "{trend:?}");
        assert!(!trend.is_steady());
    }

    #[test]
    fn noise_without_a_slope_is_steady() {
        let noise = Trend::of(&[10.0, 14.0, 9.0, 13.0, 10.0, 14.0, 9.0, 13.0]).unwrap();
        assert!(noise.is_steady(), "{noise:?}");
    }

    /// One percent in all, without any noise.
    #[test]
    fn a_slope_that_is_too_small_to_matter_is_steady() {
        let values: Vec<f64> = (0..10).map(|k| 1000.0 + f64::from(k)).collect();
        let trend = Trend::of(&values).unwrap();
        assert!(trend.p < 1e-6 && trend.is_steady(), "{trend:?}");
        let steep: Vec<f64> = (0..10).map(|k| 1000.0 + 10.0 * f64::from(k)).collect();
        assert!(!Trend::of(&steep).unwrap().is_steady());
    }

    #[test]
    fn two_batches_and_nothing_at_all_have_no_trend() {
        assert_eq!(Trend::of(&[1.0, 2.0]), None);
        assert_eq!(Trend::of(&[0.0; 10]), None);
    }
}
