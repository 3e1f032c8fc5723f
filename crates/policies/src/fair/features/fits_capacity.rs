//! `UTIL_FITS_CAPACITY`: whether what a CPU has queued and the wakee fit it together, by estimated
//! utilization.
//!
//! Source: "sched/fair: Introduce UTIL_FITS_CAPACITY feature", M. Desnoyers, 2023-10-18 (v1) and
//! 2023-10-19 (v2); spec 05 section 8.

/// How much room is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FitsCapacity {
    /// No more than the CPU has (version 1).
    V1,
    /// Less than four fifths of what interrupts leave of it (version 2).
    #[default]
    V2,
}

/// The margin of version 2, of 1024. Source: `fits_capacity()`.
const MARGIN_1024: u64 = 1280;

impl FitsCapacity {
    /// The words of the setting.
    pub const VALUES: &'static [&'static str] = &["v1", "v2"];

    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FitsCapacity::V1 => "v1",
            FitsCapacity::V2 => "v2",
        }
    }

    /// The rule of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<FitsCapacity> {
        [FitsCapacity::V1, FitsCapacity::V2].into_iter().find(|rule| rule.name() == name)
    }

    /// Whether `util` (the estimate of the runnable tasks and of the wakee) fits a CPU that has
    /// `capacity`, of which interrupts leave `left`. All are in 1024ths of a big core.
    #[must_use]
    pub const fn fits(self, util: u64, capacity: u64, left: u64) -> bool {
        match self {
            FitsCapacity::V1 => util <= capacity,
            FitsCapacity::V2 => util * MARGIN_1024 < left * 1024,
        }
    }
}
