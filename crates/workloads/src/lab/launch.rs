//! `hackbench`: a small run of it with threads over pipes, timed from outside.

use simsched_core::{Nanos, Seed};

use crate::error::WorkloadError;
use crate::hackbench::{Hackbench, Outside, THREADS_OVER_PIPES};
use crate::program::Programs;

/// What surrounds the run proper, from fork to the wait for its end: 1,620 us lie before the first
/// thread or behind the main task's exit, of which that takes 45; the first thread is there after 80
/// (a price). From the last worker's exit to that of the main task 390 us, 20 of them a price.
const OUTSIDE: Outside =
    Outside { before: Nanos::from_micros(1495), after: Nanos::from_micros(370 + 45) };

/// The options that the lab varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) groups: u32,
    pub(super) fds: u32,
    pub(super) loops: u32,
}

impl Launch {
    pub(super) fn hackbench(&self) -> Hackbench {
        let Launch { groups, fds, loops } = *self;
        Hackbench { groups, fds, loops, ..THREADS_OVER_PIPES }
    }

    pub(super) fn build(&self, seed: Seed) -> Result<Programs, WorkloadError> {
        self.hackbench().build_within(OUTSIDE, seed)
    }
}
