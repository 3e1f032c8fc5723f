//! `Dist`: constant, uniform, exponential, log-normal, table; samples to whole nanoseconds.
//!
//! The generator is named (`Stream`), and a test pins the first draws of each distribution. The uniform
//! distribution (that of `rand`) and the table use integers only; the other two take `ln` and `exp` from
//! `libm`, which are equal on every platform, and are rounded once, at the end.

use rand::distr::{Distribution, Uniform};
use simsched_core::{Nanos, Stream};

use crate::error::WorkloadError;
use crate::ziggurat::{exponential, normal};

/// How long something takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Dist {
    /// Always this long.
    Constant(Nanos),
    /// Each length from the first to the second with the same chance, both included.
    Uniform(Nanos, Nanos),
    /// With this mean; as long again with the same chance, however long it has lasted.
    Exponential(Nanos),
    /// With this mean, and this standard deviation in 1024ths of the mean.
    LogNormal {
        /// The mean, not the median.
        mean: Nanos,
        /// The coefficient of variation, in 1024ths.
        cv_1024: u32,
    },
    /// Each length with a chance in proportion to its weight.
    Table(Vec<(Nanos, u32)>),
}

impl Dist {
    /// Whether a sample needs no random number.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self, Dist::Constant(_))
    }

    /// Whether samples can be drawn: a range that is not empty, a table with a weight.
    ///
    /// # Errors
    /// In words, what is wrong.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let what = match self {
            Dist::Uniform(from, to) if from > to => format!("the range {from} to {to} is empty"),
            Dist::Table(rows) if rows.iter().all(|(_, weight)| *weight == 0) => {
                "the table has no weight".to_owned()
            }
            _ => return Ok(()),
        };
        Err(WorkloadError::Program { program: "distribution".to_owned(), what })
    }

    /// Draws a length.
    ///
    /// # Panics
    /// When [`check`](Dist::check) would have failed.
    pub fn sample(&self, stream: &mut Stream) -> Nanos {
        match self {
            Dist::Constant(ns) => *ns,
            Dist::Uniform(from, to) => {
                let range = Uniform::new_inclusive(from.get(), to.get());
                Nanos(range.expect("a range that is not empty").sample(stream))
            }
            Dist::Exponential(mean) => whole(exponential(stream) * float(*mean)),
            Dist::LogNormal { mean, cv_1024 } => {
                let cv = f64::from(*cv_1024) / 1024.0;
                // mean = exp(mu + sigma^2 / 2), cv^2 = exp(sigma^2) - 1.
                let variance = libm::log1p(cv * cv);
                let log = normal(stream) * variance.sqrt() - variance / 2.0;
                whole(libm::exp(log) * float(*mean))
            }
            Dist::Table(rows) => pick(rows, stream),
        }
    }
}

fn pick(rows: &[(Nanos, u32)], stream: &mut Stream) -> Nanos {
    let weights: u64 = rows.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let mut at = Uniform::new(0, weights).expect("a weight").sample(stream);
    let row = rows.iter().find(|(_, weight)| match at.checked_sub(u64::from(*weight)) {
        Some(rest) => {
            at = rest;
            false
        }
        None => true,
    });
    row.expect("the draw is below the sum of the weights").0
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 ns, which are 104 days")]
fn float(ns: Nanos) -> f64 {
    ns.get() as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, positive")]
fn whole(ns: f64) -> Nanos {
    Nanos(ns.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use simsched_core::Seed;

    const MEAN: Nanos = Nanos(100_000);

    fn draws(dist: &Dist, n: usize) -> Vec<u64> {
        let mut stream = Seed(1).stream("test", 0);
        dist.check().unwrap();
        (0..n).map(|_| dist.sample(&mut stream).get()).collect()
    }

    /// Mean and standard deviation of 100,000 draws.
    fn moments(dist: &Dist) -> (f64, f64) {
        let draws = draws(dist, 100_000);
        let n = draws.len() as f64;
        let mean = draws.iter().map(|d| *d as f64).sum::<f64>() / n;
        let squares = draws.iter().map(|d| (*d as f64 - mean) * (*d as f64 - mean));
        let variance = squares.sum::<f64>() / n;
        (mean, variance.sqrt())
    }

    /// The standard error of the mean of 100,000 draws is sd / 316: 1 % is three of them at sd =
    /// mean.
    fn check_moments(dist: &Dist, mean: f64, sd: f64) {
        let found = moments(dist);
        assert!((found.0 / mean - 1.0).abs() < 0.01, "{dist:?}: mean {}", found.0);
        assert!((found.1 / sd - 1.0).abs() < 0.03, "{dist:?}: sd {}", found.1);
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_textbook() {
        // Uniform on 0..=200,000: sd = 200,000 / sqrt(12).
        check_moments(&Dist::Uniform(Nanos(0), Nanos(200_000)), 1e5, 57_735.0);
        check_moments(&Dist::Exponential(MEAN), 1e5, 1e5);
        check_moments(&Dist::LogNormal { mean: MEAN, cv_1024: 512 }, 1e5, 5e4);
        // 1/4 * 40,000 + 3/4 * 120,000 = 100,000; sd = 80,000 * sqrt(3)/4.
        let rows = vec![(Nanos(40_000), 1), (Nanos(7), 0), (Nanos(120_000), 3)];
        check_moments(&Dist::Table(rows), 1e5, 34_641.0);
    }

    #[test]
    fn the_edges_of_a_range_are_included_and_nothing_beyond() {
        let draws = draws(&Dist::Uniform(Nanos(5), Nanos(7)), 300);
        assert_eq!([5, 6, 7].map(|n| draws.contains(&n)), [true; 3]);
        assert!(draws.iter().all(|n| (5..=7).contains(n)));
        assert_eq!(Dist::Uniform(Nanos(9), Nanos(9)).sample(&mut Seed(1).stream("", 0)), Nanos(9));
    }

    #[test]
    fn a_constant_draws_no_random_number() {
        let mut stream = Seed(1).stream("test", 0);
        let untouched = stream.clone();
        assert_eq!(Dist::Constant(MEAN).sample(&mut stream), MEAN);
        assert!(stream == untouched && Dist::Constant(MEAN).is_constant());
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        assert!(Dist::Uniform(Nanos(2), Nanos(1)).check().is_err());
        assert!(Dist::Table(vec![(Nanos(1), 0)]).check().is_err());
        assert!(Dist::Table(Vec::new()).check().is_err());
    }

    /// The generator from the state 1, 2, 3, 4: the first outputs of xoshiro256++ as published
    /// with its reference implementation by Blackman and Vigna.
    #[test]
    fn the_stream_is_xoshiro256_plus_plus_and_stays_so() {
        use rand::SeedableRng;
        let mut state = [0; 32];
        for (bytes, word) in state.chunks_exact_mut(8).zip(1u64..) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let mut stream = Stream::from_seed(state);
        let first: [u64; 3] = std::array::from_fn(|_| stream.next_u64());
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    /// The first draws of each distribution: they are what `rand_distr` 0.6 gives, and they change
    /// only on purpose.
    #[test]
    fn the_first_draws_are_pinned() {
        let first = |dist: Dist| <[u64; 3]>::try_from(draws(&dist, 3)).unwrap();
        assert_eq!(first(Dist::Uniform(Nanos(0), MEAN)), UNIFORM);
        assert_eq!(first(Dist::Exponential(MEAN)), EXPONENTIAL);
        assert_eq!(first(Dist::LogNormal { mean: MEAN, cv_1024: 512 }), LOG_NORMAL);
    }

    const UNIFORM: [u64; 3] = [67268, 72665, 53912];
    const EXPONENTIAL: [u64; 3] = [41634, 137588, 152232];
    const LOG_NORMAL: [u64; 3] = [102654, 127420, 96601];
}
