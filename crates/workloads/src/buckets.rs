//! `Buckets`: the histogram with which schbench counts, so that its percentiles are the same numbers.
//!
//! Source: `schbench.c`, both lines of versions, which has it from fio: values below 512 have a bucket each,
//! and each power of two above has 256. The last bucket takes what is longer than all others. A
//! percentile is the middle of the first bucket up to which so many samples lie.

/// Bits of a value that its bucket keeps behind the highest.
const BITS: u32 = 8;
/// Groups of `2^BITS` buckets.
const GROUPS: usize = 19;
/// All buckets.
const COUNT: usize = GROUPS << BITS;

/// Samples by bucket, and the extremes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Buckets {
    counts: Vec<u32>,
    samples: u64,
    /// The smallest that is not 0; 0 if there is none.
    least: u32,
    most: u32,
}

/// A percentile, and how many samples lie in its bucket and below, as far as they are above that of the
/// percentile before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Percentile {
    pub(crate) value: u32,
    pub(crate) samples: u64,
}

/// The bucket of a value.
fn bucket_of(value: u32) -> usize {
    let highest = value.checked_ilog2().unwrap_or(0);
    if highest <= BITS {
        return value as usize;
    }
    let dropped = highest - BITS;
    let group = (dropped as usize + 1) << BITS;
    let offset = (value >> dropped) as usize & ((1 << BITS) - 1);
    (group + offset).min(COUNT - 1)
}

/// The middle of a bucket, rounded down.
fn value_of(bucket: usize) -> u32 {
    let bucket = u32::try_from(bucket).expect("a few thousand buckets");
    if bucket < 2 << BITS {
        return bucket;
    }
    let dropped = (bucket >> BITS) - 1;
    let offset = bucket & ((1 << BITS) - 1);
    (1 << (dropped + BITS)) + (offset << dropped) + (1 << (dropped - 1))
}

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets { counts: vec![0; COUNT], samples: 0, least: 0, most: 0 }
    }
}

impl Buckets {
    /// Counts a value.
    pub(crate) fn add(&mut self, value: u64) {
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        self.counts[bucket_of(value)] += 1;
        self.samples += 1;
        self.most = self.most.max(value);
        if self.least == 0 || value < self.least {
            self.least = value;
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        (self.samples, self.least, self.most) = (0, 0, 0);
    }

    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    pub(crate) fn least(&self) -> u32 {
        self.least
    }

    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// The percentiles of this rising list, all in one walk. A bound is compared as the real program does,
    /// in floating point.
    pub(crate) fn percentiles<const N: usize>(&self, percents: [f64; N]) -> [Percentile; N] {
        let mut found = [Percentile { value: 0, samples: 0 }; N];
        let (mut bucket, mut sum, mut before) = (0, u64::from(self.counts[0]), 0);
        for (percent, found) in percents.iter().zip(&mut found) {
            while float(sum) < percent / 100.0 * float(self.samples) && bucket + 1 < COUNT {
                bucket += 1;
                sum += u64::from(self.counts[bucket]);
            }
            *found = Percentile { value: value_of(bucket), samples: sum - before };
            before = sum;
        }
        found
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 samples")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values and how a real schbench prints them: the percentile of a lone sample beside its
    /// `max`, from runs of the version of 2025-12.
    #[test]
    fn a_lone_value_is_printed_as_the_real_one_prints_it() {
        let printed = [
            (102, 102),
            (4111, 4104),
            (8480, 8496),
            (11_514, 11_504),
            (16_778, 16_800),
            (26_490, 26_464),
            (39_828, 39_872),
            (44_027, 43_968),
            (49_931, 49_984),
            (69_950, 70_016),
            (335_647, 335_360),
            (785_957, 785_408),
        ];
        for (value, shown) in printed {
            assert_eq!(value_of(bucket_of(value)), shown, "{value}");
        }
    }

    /// A bucket's values are within half its width of what is printed: at most 1 in 512.
    #[test]
    fn a_bucket_is_never_more_than_a_512th_off() {
        for value in (0..5000).chain((5000..60_000_000).step_by(9973)) {
            let shown = value_of(bucket_of(value));
            assert!(shown.abs_diff(value) * 512 <= value, "{value} is shown as {shown}");
        }
        assert_eq!(bucket_of(u32::MAX), COUNT - 1);
    }

    #[test]
    fn a_bucket_holds_the_value_that_it_is_printed_as() {
        for bucket in 0..COUNT {
            assert_eq!(bucket_of(value_of(bucket)), bucket);
        }
    }

    /// Of a real run with four samples, of which all was printed.
    #[test]
    fn counts_are_those_between_two_percentiles() {
        let mut rps = Buckets::default();
        for value in [0, 28, 15, 24] {
            rps.add(value);
        }
        let told = rps.percentiles([20.0, 50.0, 90.0]).map(|at| (at.value, at.samples));
        assert_eq!(told, [(0, 1), (15, 1), (28, 2)]);
        assert_eq!((rps.samples(), rps.least(), rps.most()), (4, 15, 28));
        rps.clear();
        assert_eq!(rps.percentiles([20.0, 99.9]).map(|at| (at.value, at.samples)), [(0, 0); 2]);
    }
}
