//! schbench as it was from 2016 to 2020: workers that spin by the clock, and message threads that wake
//! them in batches.
//!
//! Source: `schbench.c` as of 2020-01, before the warm-up (C. Mason). A worker spins until so much time has
//! passed, puts itself on the stack of its message thread, posts that, and waits. A message thread
//! that was posted sleeps, up to a quarter longer by chance, and then wakes all that wait, reading the
//! clock once for all of them. With `-R` it wakes two thirds of its workers at a time, each with a
//! request.
//!
//! What differs: who spins reads the clock every `LOOK`, not all the time; `-a`, which runs again and
//! again with more threads, is refused.

mod program;
mod text;
mod thread;

use simsched_core::Nanos;

pub(crate) use text::parse;
pub use text::{NAME, OPTIONS};

/// The options of the old schbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchbenchOld {
    /// Message threads (`-m`).
    pub messengers: u32,
    /// Workers of each message thread (`-t`).
    pub workers: u32,
    /// How long it runs (`-r`).
    pub runtime: Nanos,
    /// How long a message thread sleeps before it wakes a batch (`-s`).
    pub sleep: Nanos,
    /// How long a worker spins (`-c`).
    pub cpu: Nanos,
    /// Bytes that a worker and its message thread hand to and fro (`-p`); 0 is off.
    pub pipe: u32,
    /// Requests a second of all message threads; 0 is off (`-R`).
    pub rps: u32,
    /// The standard deviation of sleeps and spins, in percent of their mean.
    pub lognormal: u32,
}

/// How often who spins reads the clock; the last look comes in time.
const LOOK: Nanos = Nanos::from_micros(20);

/// The most threads of a run.
const MAX_THREADS: u64 = 1 << 16;
