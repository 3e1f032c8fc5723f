//! `LogNormal`: log-normal lengths in integers only, the same on every platform.
//!
//! A normal number is the count of ones in 256 random bits, smoothed by a uniform one: a binomial of
//! variance 64 and a uniform of variance 1/12. The power of two of a fraction, and the logarithm that
//! gives the deviation, are found bit by bit by squaring and by square roots of two.

use rand::distr::{Distribution, StandardUniform};
use simsched_core::{Nanos, Stream};

/// Bits behind the point of logarithms.
const POINT: u32 = 32;
/// 1 as a fraction of powers of two.
const ONE: u64 = 1 << 62;
/// 1 / ln 2, with [`POINT`] bits: 1.442695040888963.
const LOG2_E: u64 = 6_196_328_019;
/// `2^POINT` over the standard deviation of the sum, the root of 64 + 1/12, in 1/2^POINT: 8.0052066.
const PER_DEVIATION: u64 = 536_521_728;

/// Lengths around a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogNormal {
    /// The binary logarithm of the median over the mean, negated.
    below: u64,
    /// The standard deviation of the binary logarithm.
    deviation: u64,
}

impl LogNormal {
    /// With a standard deviation of so many percent of the mean. `None` if the lengths do not vary.
    pub(crate) fn new(percent: u32) -> Option<LogNormal> {
        if percent == 0 {
            return None;
        }
        // log2(1 + cv^2): the variance is that times ln 2, in units of natural logarithms.
        let square = u128::from(percent) * u128::from(percent);
        let ratio = ((10_000 + square) << POINT) / 10_000;
        let log = log2(u64::try_from(ratio).ok()?);
        let variance = (u128::from(log) * u128::from(LOG2_E)) >> POINT;
        let deviation = u64::try_from((variance << POINT).isqrt()).ok()?;
        Some(LogNormal { below: log / 2, deviation })
    }

    /// Draws a length with this mean.
    pub(crate) fn sample(self, mean: Nanos, stream: &mut Stream) -> Nanos {
        let mut draw = || -> u64 { StandardUniform.sample(stream) };
        let ones: u32 = (0..4).map(|_| draw().count_ones()).sum();
        let smooth = i64::from(u32::try_from(draw() >> 32).expect("32 bits")) - (1 << (POINT - 1));
        // In standard deviations, with POINT bits.
        let sum = (i64::from(ones) - 128) * (1 << POINT) + smooth;
        let normal = (i128::from(sum) * i128::from(PER_DEVIATION)) >> POINT;
        let log = ((normal * i128::from(self.deviation)) >> POINT) - i128::from(self.below);
        let whole = i32::try_from(log >> POINT).unwrap_or(i32::MIN);
        let fraction = power(u32::try_from(log & ((1 << POINT) - 1)).expect("its low bits"));
        let product = u128::from(mean.get()) * u128::from(fraction);
        let shift = 62 - whole;
        let length = match shift {
            0..128 => product >> shift,
            128.. => 0,
            _ => product << (-shift).min(60),
        };
        Nanos(u64::try_from(length).unwrap_or(u64::MAX))
    }
}

/// The binary logarithm of a number of at least 1, both with [`POINT`] bits.
fn log2(number: u64) -> u64 {
    let whole = number.ilog2() - POINT;
    // Between 1 and 2, with 62 bits.
    let mut rest = (u128::from(number) << (62 - POINT)) >> whole;
    let mut log = u64::from(whole);
    for _ in 0..POINT {
        rest = (rest * rest) >> 62;
        log <<= 1;
        if rest >= 2 * u128::from(ONE) {
            rest >>= 1;
            log |= 1;
        }
    }
    log
}

/// The square root of two, that of this, and so on, in units of [`ONE`].
static ROOTS: [u128; POINT as usize] = {
    let mut roots = [0; POINT as usize];
    let mut root = 2 * (ONE as u128);
    let mut nth = 0;
    while nth < roots.len() {
        root = (root << 62).isqrt();
        roots[nth] = root;
        nth += 1;
    }
    roots
};

/// Two to the power of a fraction with [`POINT`] bits, in units of [`ONE`].
fn power(fraction: u32) -> u64 {
    let mut product = u128::from(ONE);
    let mut rest = fraction;
    while rest != 0 {
        let nth = rest.leading_zeros();
        product = (product * ROOTS[nth as usize]) >> 62;
        rest &= !(1 << (POINT - 1 - nth));
    }
    u64::try_from(product).expect("below two")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "what is expected is known to far fewer digits")]
mod tests {
    use super::*;
    use simsched_core::Seed;

    #[test]
    fn powers_and_logarithms_are_those_of_the_textbook() {
        for nth in 0..1000_u32 {
            let fraction = nth * 4_294_967;
            let found = power(fraction) as f64 / ONE as f64;
            assert!((found - (f64::from(fraction) / 2_f64.powi(32)).exp2()).abs() < 1e-9);
        }
        for quarters in [4_u32, 5, 7, 8, 40, 404] {
            let found = log2(u64::from(quarters) << (POINT - 2)) as f64 / 2_f64.powi(32);
            let expected = (f64::from(quarters) / 4.0).log2();
            assert!((found - expected).abs() < 1e-8, "{quarters}: {found}");
        }
        assert!((LOG2_E as f64 / 2_f64.powi(32) - std::f64::consts::LOG2_E).abs() < 1e-9);
        let deviation = 2_f64.powi(32) / PER_DEVIATION as f64;
        assert!((deviation - (64.0 + 1.0 / 12.0_f64).sqrt()).abs() < 1e-6);
    }

    /// The mean of 200,000 draws has a standard error of sd / 447.
    #[test]
    fn mean_deviation_and_median_are_those_of_a_log_normal() {
        for percent in [10, 50, 100] {
            let dist = LogNormal::new(percent).unwrap();
            let mut stream = Seed(1).stream("test", 0);
            let n = 200_000;
            let mut draws: Vec<u64> =
                (0..n).map(|_| dist.sample(Nanos(1_000_000), &mut stream).get()).collect();
            let mean = draws.iter().sum::<u64>() as f64 / f64::from(n);
            let cv = f64::from(percent) / 100.0;
            let squares = draws.iter().map(|d| (*d as f64 - mean).powi(2)).sum::<f64>();
            let sd = (squares / f64::from(n)).sqrt();
            assert!((mean / 1e6 - 1.0).abs() < 0.01, "{percent}: mean {mean}");
            assert!((sd / 1e6 / cv - 1.0).abs() < 0.04, "{percent}: sd {sd}");
            draws.sort_unstable();
            let median = 1e6 / (1.0 + cv * cv).sqrt();
            let found = draws[draws.len() / 2] as f64;
            assert!((found / median - 1.0).abs() < 0.01, "{percent}: median {found}");
        }
    }

    #[test]
    fn no_deviation_is_no_distribution() {
        assert_eq!(LogNormal::new(0), None);
    }
}
