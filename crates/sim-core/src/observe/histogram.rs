//! `Histogram`: log-linear counts of spans, exact merge, no allocation after birth.

use crate::time::Nanos;

/// Buckets per power of two are `2^SUB_BITS`; a bucket is at most 1/128 of its values wide.
const SUB_BITS: u32 = 7;

/// Values below this have a bucket each.
const EXACT: u64 = 2 << SUB_BITS;

/// Exact buckets, and 128 for each of the powers `2^8..=2^63`.
const BUCKETS: usize = (2 << SUB_BITS) + ((63 - SUB_BITS as usize) << SUB_BITS);

/// How often each span occurred.
///
/// The whole range of [`Nanos`] is covered. Spans below 256 ns are kept exactly; longer ones fall
/// into buckets whose width is at most 1/128 of their least value. Count, sum and maximum are
/// exact. The size is fixed (58 KiB), and only the buckets that occur are ever touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    sum: u128,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    /// A histogram of nothing.
    #[must_use]
    pub fn new() -> Histogram {
        Histogram { counts: vec![0; BUCKETS].into_boxed_slice(), count: 0, sum: 0, max: 0 }
    }

    /// Counts one span.
    #[inline]
    pub fn record(&mut self, span: Nanos) {
        let value = span.get();
        self.counts[bucket(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// Adds all that `other` has counted: the result is the histogram of both samples together.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// How many spans were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their exact sum, in ns.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The longest span, exactly; zero if there is none.
    #[must_use]
    pub fn max(&self) -> Nanos {
        Nanos(self.max)
    }

    /// The mean, rounded down to a nanosecond; zero if nothing was counted.
    #[must_use]
    pub fn mean(&self) -> Nanos {
        let mean = self.sum.checked_div(u128::from(self.count)).unwrap_or(0);
        Nanos(u64::try_from(mean).expect("a mean is at most the maximum"))
    }

    /// The buckets that have any, from short to long: the longest span of each, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> {
        let some = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        some.map(|(idx, count)| (Nanos(last_of(idx)), *count))
    }

    /// The quantile `num/den`: the least span that at least that part of all spans do not exceed.
    ///
    /// The span of rank `ceil(count * num / den)`, but at least the first, is looked up and rounded
    /// up to the end of its bucket or to the maximum, whichever is less: at most 1/128 too long,
    /// never too short. `quantile(1, 1)` is the maximum. Zero if nothing was counted.
    ///
    /// # Panics
    /// When `den` is zero.
    #[must_use]
    pub fn quantile(&self, num: u64, den: u64) -> Nanos {
        let rank = (u128::from(self.count) * u128::from(num)).div_ceil(u128::from(den)).max(1);
        let mut seen = 0;
        for (idx, &count) in self.counts.iter().enumerate() {
            seen += u128::from(count);
            if seen >= rank {
                return Nanos(last_of(idx).min(self.max));
            }
        }
        Nanos(self.max)
    }
}

/// The bucket of `value`: the value itself while it is exact, else its power of two and the seven
/// bits below the leading one.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "an index below 7,424")]
fn bucket(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let power = 63 - value.leading_zeros();
    let shift = power - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (value >> shift)) as usize
}

/// The greatest value in bucket `idx`.
fn last_of(idx: usize) -> u64 {
    let idx = idx as u64;
    if idx < EXACT {
        return idx;
    }
    // bucket() adds shift * 128 to a value >> shift that lies in 128..256.
    let shift = (idx >> SUB_BITS) - 1;
    let first = (idx - (shift << SUB_BITS)) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record(Nanos(value));
        }
        histogram
    }

    #[test]
    fn buckets_tile_the_whole_range() {
        let mut next = 0;
        for idx in 0..BUCKETS {
            assert_eq!(bucket(next), idx, "the bucket of {next}");
            assert_eq!(bucket(last_of(idx)), idx, "the end of bucket {idx}");
            next = last_of(idx).wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends at u64::MAX");
    }

    #[test]
    fn an_empty_histogram_is_all_zero() {
        let empty = Histogram::new();
        assert_eq!((empty.count(), empty.mean(), empty.max()), (0, Nanos(0), Nanos(0)));
        assert_eq!(empty.quantile(99, 100), Nanos(0));
    }

    /// Of 1, 2, .., 200 the median has rank 100, the 99th percentile rank 198.
    #[test]
    fn small_spans_are_exact() {
        let histogram = of(&(1..=200).rev().collect::<Vec<_>>());
        assert_eq!(histogram.quantile(50, 100), Nanos(100));
        assert_eq!(histogram.quantile(99, 100), Nanos(198));
        assert_eq!(histogram.quantile(999, 1000), Nanos(200));
        assert_eq!(histogram.quantile(0, 1), Nanos(1));
        assert_eq!(histogram.mean(), Nanos(100), "20,100 / 200 = 100.5, rounded down");
        assert_eq!(histogram.sum(), 20_100);
    }

    /// Half of the samples are 1,000 and half are 1,000,000: 1,000 lies in 1000..=1003
    /// (512..1024 in steps of 4), and the maximum bounds the upper one.
    #[test]
    fn long_spans_round_up_to_the_end_of_their_bucket() {
        let histogram = of(&[1_000, 1_000, 1_000_000, 1_000_000]);
        assert_eq!(histogram.quantile(1, 2), Nanos(1_003));
        assert_eq!(histogram.quantile(3, 4), Nanos(1_000_000));
    }

    /// 300 lies in 300..=301, as spans from 256 to 511 are told apart by twos.
    #[test]
    fn buckets_are_told_with_their_ends_and_counts() {
        let found: Vec<(Nanos, u64)> = of(&[300, 7, 7, 301]).buckets().collect();
        assert_eq!(found, [(Nanos(7), 2), (Nanos(301), 2)]);
    }

    /// Spans of all magnitudes: a mantissa, shifted.
    fn spans() -> impl Strategy<Value = Vec<u64>> {
        let span = (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| bits >> shift);
        proptest::collection::vec(span, 1..300)
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_sample(mut values in spans(), num in 0u64..=1000) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = (values.len() as u64 * num).div_ceil(1000).max(1);
            let exact = values[usize::try_from(rank).unwrap() - 1];
            let found = histogram.quantile(num, 1000).get();
            prop_assert!(exact <= found, "{found} is below {exact}");
            prop_assert!(found - exact <= exact / 128, "{found} is far above {exact}");
        }

        #[test]
        fn totals_are_exact(values in spans()) {
            let histogram = of(&values);
            let sum: u128 = values.iter().map(|v| u128::from(*v)).sum();
            prop_assert_eq!(histogram.count(), values.len() as u64);
            prop_assert_eq!(histogram.sum(), sum);
            prop_assert_eq!(u128::from(histogram.mean().get()), sum / values.len() as u128);
            prop_assert_eq!(histogram.max().get(), *values.iter().max().unwrap());
        }

        #[test]
        fn a_merge_is_the_histogram_of_both(a in spans(), b in spans()) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
