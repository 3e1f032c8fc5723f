//! `Quantiles`: the latencies of a recording, or of its replay, in three numbers.

/// Points of a distribution, in ns; none of no latencies. Each is the least that so many of them do not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quantiles {
    pub(super) p50: Option<u64>,
    pub(super) p90: Option<u64>,
    pub(super) p99: Option<u64>,
}

impl Quantiles {
    /// Of these latencies.
    pub(super) fn of(mut all: Vec<u64>) -> Quantiles {
        all.sort_unstable();
        let point = |percent: usize| {
            let rank = (all.len() * percent).div_ceil(100);
            all.get(rank.saturating_sub(1)).copied()
        };
        Quantiles { p50: point(50), p90: point(90), p99: point(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_one_of_the_numbers() {
        let of = |all: Vec<u64>| {
            let Quantiles { p50, p90, p99 } = Quantiles::of(all);
            [p50, p90, p99]
        };
        assert_eq!(of((1..=100).rev().collect()), [Some(50), Some(90), Some(99)]);
        assert_eq!(of(vec![7]), [Some(7); 3]);
        assert_eq!(of(vec![3, 1, 2]), [Some(2), Some(3), Some(3)]);
        assert_eq!(of(Vec::new()), [None; 3]);
    }
}
