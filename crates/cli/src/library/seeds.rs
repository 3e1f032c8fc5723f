//! `Seeds`: the seeds of several runs.

use std::ops::RangeInclusive;

use super::Error;

/// Most runs of one simulation: the report of each is kept until the last one is done.
const MOST: u64 = 10_000;

/// Consecutive seeds, a run for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    pub(super) first: u64,
    pub(super) count: u64,
}

impl Seeds {
    /// `count` seeds from `first` upwards.
    ///
    /// # Errors
    /// When `count` is not in `1..=10000`, or the last seed would be over `u64::MAX`.
    pub fn new(first: u64, count: u64) -> Result<Seeds, Error> {
        Seeds { first, count }.checked()
    }

    /// A range that is empty or too long is found when the simulation is checked.
    pub(super) fn checked(self) -> Result<Seeds, Error> {
        let Seeds { first, count } = self;
        if !(1..=MOST).contains(&count) {
            return Err(Error::input(format!("seeds: found {count}, expected 1..={MOST}")));
        }
        match first.checked_add(count - 1) {
            Some(_) => Ok(self),
            None => Err(Error::input(format!(
                "seeds: found {first} as the first of {count}, expected 0..={}",
                u64::MAX - (count - 1)
            ))),
        }
    }
}

impl From<u64> for Seeds {
    fn from(seed: u64) -> Seeds {
        Seeds { first: seed, count: 1 }
    }
}

impl From<RangeInclusive<u64>> for Seeds {
    fn from(range: RangeInclusive<u64>) -> Seeds {
        let (first, last) = (*range.start(), *range.end());
        let count = last.checked_sub(first).map_or(0, |more| more.saturating_add(1));
        Seeds { first, count }
    }
}
