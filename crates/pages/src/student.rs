//! Mean, deviation and the 95 % interval of a few runs.

use serde::Serialize;

/// What a few runs say about one number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation of the sample (divided by n - 1); one run has none.
    pub std: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean (Student's t); one run has none.
    pub ci95: Option<f64>,
}

impl Spread {
    /// The spread of `values`, of which there is at least one.
    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^52 values")]
    pub fn of(values: &[f64]) -> Spread {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Spread { mean, std: None, ci95: None };
        }
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let std = (squares / (n - 1.0)).sqrt();
        let ci95 = t_975(values.len() - 1) * std / n.sqrt();
        Spread { mean, std: Some(std), ci95: Some(ci95) }
    }
}

/// The 97.5 % quantile of Student's t distribution with `df` degrees of freedom (at least 1), to
/// about 1e-9: the root of its distribution function by bisection.
pub fn t_975(df: usize) -> f64 {
    // With one degree of freedom it is 12.7, and it falls from there.
    let (mut low, mut high) = (1.0, 13.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if within(middle, df) < 0.95 { low = middle } else { high = middle }
    }
    high
}

/// The probability that a t variable with `df` degrees of freedom lies within `-t..t`.
///
/// With theta = atan(t / sqrt(df)): for odd df it is
/// `2/pi * (theta + sin * (cos + 2/3 cos^3 + .. + (2*4..(df-3))/(3*5..(df-2)) cos^(df-2)))`, for
/// even df `sin * (1 + 1/2 cos^2 + (1*3)/(2*4) cos^4 + .. + (1*3..(df-3))/(2*4..(df-2)) cos^(df-2))`.
///
/// Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
#[expect(clippy::cast_precision_loss, reason = "degrees of freedom are few")]
fn within(t: f64, df: usize) -> f64 {
    let theta = libm::atan(t / (df as f64).sqrt());
    let (sin, cos) = libm::sincos(theta);
    let odd = df % 2;
    let mut term = if odd == 1 { cos } else { 1.0 };
    let mut sum = if df > 1 { term } else { 0.0 };
    for k in (2 + odd..df).step_by(2) {
        term *= cos * cos * (k - 1) as f64 / k as f64;
        sum += term;
    }
    if odd == 1 { std::f64::consts::FRAC_2_PI * (theta + sin * sum) } else { sin * sum }
}

/// Half the interval of a sum or a quotient of two numbers that have nothing to do with each other, of which these
/// are halves: the root of the sum of their squares, without [`f64::hypot`], whose last bit the platform decides.
pub fn both(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

/// How probable it is that a t variable with `df` degrees of freedom (at least 1) lies outside
/// `-t..t`.
pub fn two_sided_p(t: f64, df: usize) -> f64 {
    (1.0 - within(t, df)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, want: f64, error: f64) {
        assert!((found - want).abs() <= error, "{found} is not {want}");
    }

    /// The column 0.975 of the t table in NIST/SEMATECH e-Handbook of Statistical Methods,
    /// 1.3.6.7.2, to its three decimals.
    #[test]
    fn quantiles_are_those_of_the_published_table() {
        let table = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (6, 2.447),
            (7, 2.365),
            (8, 2.306),
            (9, 2.262),
            (10, 2.228),
            (11, 2.201),
            (12, 2.179),
            (13, 2.160),
            (14, 2.145),
            (15, 2.131),
            (19, 2.093),
            (20, 2.086),
            (24, 2.064),
            (29, 2.045),
            (30, 2.042),
            (40, 2.021),
            (60, 2.000),
            (99, 1.984),
            (100, 1.984),
        ];
        for (df, want) in table {
            close(t_975(df), want, 0.000_51);
        }
    }

    /// 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares 32, deviation sqrt(32/7) = 2.13809, and
    /// 2.36462 * 2.13809 / sqrt(8) = 1.78749.
    #[test]
    fn a_spread_can_be_worked_out_on_paper() {
        let spread = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        close(spread.mean, 5.0, 1e-12);
        close(spread.std.unwrap(), 2.138_09, 1e-5);
        close(spread.ci95.unwrap(), 1.787_49, 1e-5);
    }

    #[test]
    fn one_run_has_no_spread() {
        assert_eq!(Spread::of(&[7.0]), Spread { mean: 7.0, std: None, ci95: None });
    }

    #[test]
    fn equal_runs_have_an_interval_of_no_width() {
        let none = Some(0.0);
        assert_eq!(Spread::of(&[3.0; 4]), Spread { mean: 3.0, std: none, ci95: none });
    }
}
