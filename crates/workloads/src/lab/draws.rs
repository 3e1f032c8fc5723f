//! `Draws`: random numbers for the threads of the kernel, and values that are as frequent as they were counted.

use rand::distr::{Distribution, Uniform};
use simsched_core::Stream;
use simsched_topology::{CpuId, CpuSet};

/// Draws for the threads of one machine.
pub(super) struct Draws(pub(super) Stream);

impl Draws {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        Uniform::new(0, end.max(1)).expect("a range that is not empty").sample(&mut self.0)
    }

    pub(super) fn cpu(&mut self, of: &CpuSet) -> CpuId {
        let nth = self.below(of.len() as u64);
        of.iter().nth(usize::try_from(nth).unwrap_or(0)).unwrap_or(CpuId(0))
    }

    /// One of these values, each as often as its weight says.
    pub(super) fn weighted(&mut self, of: &[(u64, u32)]) -> u64 {
        let all: u32 = of.iter().map(|(_, weight)| weight).sum();
        let left = self.below(u64::from(all));
        at_weight(of, left)
    }
}

/// The value at `left` of the sum of the weights of these values; the first one behind all of them.
pub(super) fn at_weight(of: &[(u64, u32)], left: u64) -> u64 {
    let mut left = left;
    let found = of.iter().find(|(_, weight)| {
        let is_here = left < u64::from(*weight);
        left = left.saturating_sub(u64::from(*weight));
        is_here
    });
    found.or(of.first()).map_or(0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_at_as_many_places_as_it_weighs() {
        let found: Vec<u64> =
            (0..6).map(|left| at_weight(&[(7, 2), (8, 1), (9, 2)], left)).collect();
        assert_eq!(found, [7, 7, 8, 9, 9, 7]);
    }
}
