//! `Scatter`: how far a sum over a correlated series can be trusted.
//!
//! Counts of a scheduler have a memory on all scales: that of a pipe is gone after a millisecond, but tasks
//! stay for long where they have gathered, and so migrations of 100 ms resemble those of the 100 ms before.
//! Batch means of any one size take that for an independent scatter and give intervals that are too
//! narrow, and no batch is long enough in a sample of some hundred milliseconds.
//!
//! So the scatter of batches is looked at on several scales, and carried on to the length of the sample:
//! the variance of the sum of `m` steps grows as `m^(1 + memory)`, where a memory of 0 is independence, by
//! the straight line through its logarithms over that of `m` (the aggregated variance method: M. S. Taqqu,
//! V. Teverovsky and W. Willinger, "Estimators for long-range dependence: an empirical study", Fractals 3,
//! 1995; the memory is `2 H - 1` of the Hurst parameter H; the interval of a mean under it: J. Beran,
//! Statistics for Long-Memory Processes, 1994, chapter 8). The line is that of weighted least squares: the
//! logarithm of a variance of `n` batches has a variance of about `2 / (n - 1)`.
//!
//! A memory below 0 is taken for 0, which leaves the interval of a series that swings back too wide. Of a
//! memory that ends within the sample the line tells too much, and the interval is too wide as well: that
//! of a series that is independent by two fifths, that of an autoregressive one by up to a factor of two.
//! The degrees of freedom are those of the fewest batches.
//!
//! This was chosen after batch means that are widened by the correlation of neighbours, the spectral method
//! of Heidelberger and Welch (1981) and autoregressive ones (by AIC) had been tried on whole runs of
//! hackbench, schbench and netperf: of 100 intervals of 200 to 800 ms such batch means held what came next
//! in 79 to 83, and these do in 87 to 91. A memory that is longer than the sample cannot be seen in it.

use super::series::float;
use crate::student::t_975;

/// Into how many batches a series is divided: the most, and half of that again and again to the least.
const MOST_BATCHES: usize = 64;
pub(super) const LEAST_BATCHES: usize = 8;

/// The greatest memory that is believed, which is H = 0.9: that of counts of packets in networks is 0.8 to
/// 0.9 (W. E. Leland, M. S. Taqqu, W. Willinger and D. V. Wilson, "On the self-similar nature of Ethernet
/// traffic", IEEE/ACM Transactions on Networking 2, 1994). A series that is not stationary has more.
const MOST_MEMORY: f64 = 0.8;

/// How a sum over a series scatters around its expectation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scatter {
    /// Half the 95 % interval of the sum.
    pub(super) half: f64,
    /// The variance of a sum grows as its length to the power of `1 + memory`; 0 to 0.8.
    pub(super) memory: f64,
}

impl Scatter {
    /// That of the sum of these; `None` of fewer than eight.
    pub(super) fn of(values: &[f64]) -> Option<Scatter> {
        if values.len() < LEAST_BATCHES {
            return None;
        }
        let halves = |batches: &usize| Some(batches / 2).filter(|fewer| *fewer >= LEAST_BATCHES);
        let counts = std::iter::successors(Some(MOST_BATCHES), halves);
        let scales = counts.filter(|batches| *batches <= values.len());
        // What never changes on some scale tells nothing of the others.
        let points: Vec<Point> = scales.filter_map(|batches| Point::of(values, batches)).collect();
        if points.is_empty() {
            return Some(Scatter::default());
        }
        let (memory, at) = line(&points, libm::log(nr(values.len())));
        // The variance of a sum of all: that for each of its steps, times their number.
        let deviation = (libm::exp(at) * nr(values.len())).sqrt();
        Some(Scatter { half: t_975(LEAST_BATCHES - 1) * deviation, memory })
    }
}

/// How the sums of batches scatter on one scale.
struct Point {
    /// The logarithm of the length of a batch,
    length: f64,
    /// of the variance of its sum for each of its steps,
    variance: f64,
    /// and how well that is known.
    weight: f64,
}

impl Point {
    /// The point of so many batches; none if they are all the same. What does not fill a batch is left
    /// out at the beginning.
    fn of(values: &[f64], batches: usize) -> Option<Point> {
        let size = values.len() / batches;
        let whole = &values[values.len() - size * batches..];
        let sums: Vec<f64> = whole.chunks_exact(size).map(|batch| batch.iter().sum()).collect();
        let mean = sums.iter().sum::<f64>() / nr(batches);
        let squares: f64 = sums.iter().map(|sum| (sum - mean) * (sum - mean)).sum();
        let each = squares / (nr(batches) - 1.0) / nr(size);
        (each > 0.0).then(|| Point {
            length: libm::log(nr(values.len()) / nr(batches)),
            variance: libm::log(each),
            weight: (nr(batches) - 1.0) / 2.0,
        })
    }
}

/// The slope of the line through these, from 0 to the most, and where it is at `at`.
fn line(points: &[Point], at: f64) -> (f64, f64) {
    let weight: f64 = points.iter().map(|point| point.weight).sum();
    let mean = |of: fn(&Point) -> f64| {
        points.iter().map(|point| point.weight * of(point)).sum::<f64>() / weight
    };
    let (length, variance) = (mean(|point| point.length), mean(|point| point.variance));
    let (mut squares, mut products) = (0.0, 0.0);
    for point in points {
        let off = point.length - length;
        squares += point.weight * off * off;
        products += point.weight * off * (point.variance - variance);
    }
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    let slope = slope.clamp(0.0, MOST_MEMORY);
    (slope, variance + slope * (at - length))
}

fn nr(count: usize) -> f64 {
    float(count as u64)
}

#[cfg(test)]
mod tests {
    use super::super::dice::Dice;
    use super::*;

    fn of(values: &[f64]) -> Scatter {
        Scatter::of(values).unwrap()
    }

    /// In how many of 400 series the interval holds what is expected, and how wide it is in the mean.
    fn held(series: impl Fn(&mut Dice) -> Vec<f64>) -> (usize, f64) {
        let mut dice = Dice(7);
        let (mut held, mut widths) = (0, 0.0);
        for _ in 0..400 {
            let values = series(&mut dice);
            let half = of(&values).half;
            held += usize::from(values.iter().sum::<f64>().abs() <= half);
            widths += half / 400.0;
        }
        (held, widths)
    }

    /// The variance of the sum of `n` is `n (1 + phi) / (1 - phi)`, but for the ends of the series.
    /// 380 of 400 are expected; 362 are four standard deviations fewer.
    #[test]
    fn the_interval_of_a_correlated_series_holds_its_mean_as_often_as_it_says() {
        for phi in [0.0, 0.5, 0.9] {
            let (held, width) = held(|dice| dice.autoregressive(1_000, phi));
            assert!(held >= 362, "phi {phi}: {held} of 400");
            let exact = 1.96 * (1_000.0 * (1.0 + phi) / (1.0 - phi)).sqrt();
            assert!((1.0..2.2).contains(&(width / exact)), "phi {phi}: {width}, not {exact}");
        }
    }

    /// Five of them at once, of which the slowest forgets in 100 steps: a memory on all scales of the
    /// sample. Batch means that are widened by the correlation of neighbours hold 314 of 400 (numpy).
    #[test]
    fn the_interval_of_a_series_with_a_memory_on_all_scales_holds_its_mean_too() {
        let series = |dice: &mut Dice| {
            let parts = [0.0, 0.7, 0.9, 0.97, 0.99].map(|phi| dice.autoregressive(400, phi));
            (0..400).map(|idx| parts.iter().map(|part| part[idx]).sum()).collect()
        };
        let (held, _) = held(series);
        assert!(held >= 362, "{held} of 400");
    }

    /// numpy 2.4.6 and scipy 1.17.1, where `s[b]` is `var(sums of b batches, ddof=1) / size`, `b` is 64, 32,
    /// 16 and 8: `p = polyfit(log(n / b), log(s), 1, w=sqrt((b - 1) / 2))`, and
    /// `stats.t.ppf(.975, 7) * sqrt(n * exp(polyval(p, log(n))))`.
    #[test]
    fn memory_and_interval_are_those_of_a_line_by_numpy() {
        let series = |nr: usize, tenths: i64| {
            let (mut dice, mut level) = (Dice(11), 0_i64);
            let mut next = || {
                let bits = i64::try_from(dice.bits()).unwrap();
                level = level * tenths / 10 + bits % 41 - 20;
                i32::try_from(level + (bits >> 8) % 50).map(f64::from).unwrap()
            };
            (0..nr).map(|_| next()).collect::<Vec<f64>>()
        };
        assert_eq!(series(6, 8), [-11.0, 9.0, -23.0, 31.0, 35.0, 36.0]);
        let wants = [
            (330, 8, 0.284_278_555_974_720_4, 2_757.695_707_563_854_7),
            (200, 9, 0.749_181_145_539_047, 6_411.863_123_480_403),
        ];
        for (nr, tenths, memory, half) in wants {
            let found = of(&series(nr, tenths));
            assert!((found.memory - memory).abs() < 1e-9, "{found:?}");
            assert!((found.half / half - 1.0).abs() < 1e-7, "{found:?}");
        }
    }

    /// A walk never comes back to a mean; what swings to and fro has no memory.
    #[test]
    fn a_memory_is_between_none_and_that_of_the_greatest_hurst_parameter() {
        let mut sum = 0.0;
        let mut dice = Dice(3);
        let walk: Vec<f64> = std::iter::repeat_with(|| {
            sum += dice.normal();
            sum
        })
        .take(500)
        .collect();
        assert_eq!(of(&walk).memory, MOST_MEMORY);
        let mut last = 0.0;
        let swings: Vec<f64> = (0..500)
            .map(|_| {
                let next = dice.normal();
                std::mem::replace(&mut last, next) - next
            })
            .collect();
        assert_eq!(of(&swings).memory, 0.0);
    }

    #[test]
    fn few_values_have_no_scatter_and_equal_ones_that_of_no_width() {
        assert_eq!(Scatter::of(&[1.0; 7]), None);
        assert_eq!(of(&[0.0; 64]), Scatter::default());
    }
}
