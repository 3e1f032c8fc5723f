//! `hackbench`: a run of it, timed from outside.

use simsched_core::{Nanos, Seed};

use crate::error::WorkloadError;
use crate::hackbench::{Hackbench, Outside};
use crate::program::Programs;

/// What surrounds the run proper, from fork to the wait for its end: 1,620 us lie before the first
/// thread or behind the main task's exit, of which that takes 45; the first thread is there after 80
/// (a price). From the last worker's exit to that of the main task 390 us, 20 of them a price.
const OUTSIDE: Outside =
    Outside { before: Nanos::from_micros(1495), after: Nanos::from_micros(370 + 45) };

/// hackbench with these options as the lab times it: from the start of its process to its end.
///
/// # Errors
/// When there are more tasks than a run can hold, or an option is 0.
pub fn timed(hackbench: &Hackbench, seed: Seed) -> Result<Programs, WorkloadError> {
    hackbench.build_within(OUTSIDE, seed)
}

/// A run that is timed from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch(pub(super) Hackbench);

impl Launch {
    pub(super) fn build(self, seed: Seed) -> Result<Programs, WorkloadError> {
        self.0.build_within(OUTSIDE, seed)
    }
}
