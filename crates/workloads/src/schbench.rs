//! schbench: message threads that wake workers, and workers that think, compute and report back.
//!
//! Source: `schbench.c` as of 2025-12 (C. Mason). A worker puts itself on the stack of its message
//! thread, posts that, and waits; a message thread that was posted takes the whole stack, reads the clock
//! once and wakes one worker after the other. A worker that is back sleeps for the time of a request
//! to a network, takes the lock of the CPU on which it is, and multiplies matrices. With `-R` a message
//! thread hands out so many requests a second instead, one worker after the other. The main thread wakes up
//! once a second and counts.
//!
//! The lock of a CPU is one of user space: who finds it held spins, and a holder that is preempted
//! keeps it. That is what the program is about.
//!
//! What differs: who spins looks every `LOOK`; the faults of the first touch of the matrices cost nothing;
//! the tables in between lack the line with the kernel's own delays (that of the end is 0 in the
//! real one, too, as the threads are gone by then).

mod main_thread;
mod messenger;
mod program;
mod tables;
mod text;
mod worker;

use simsched_core::Nanos;
use simsched_topology::{CpuSet, Topology};

pub use text::{NAME, OPTIONS};
pub(crate) use text::{Run, parse};

/// The options of schbench.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schbench {
    /// Message threads (`-m`).
    pub messengers: u32,
    /// Workers of each message thread (`-t`).
    pub workers: u32,
    /// How long it runs (`-r`).
    pub runtime: Nanos,
    /// After which time it forgets what it has counted (`-w`); zero is never.
    pub warmup: Nanos,
    /// After which time it prints what it has counted, again and again (`-i`).
    pub interval: Nanos,
    /// After which time it forgets what it has counted, again and again (`-z`); zero is never.
    pub zero: Nanos,
    /// What the matrices take, in KiB (`-F`).
    pub footprint_kib: u32,
    /// Multiplications of a request (`-n`).
    pub operations: u32,
    /// How long a request sleeps first (`-s`).
    pub sleep: Nanos,
    /// Requests a second of all message threads; 0 is as many as there are (`-R`).
    pub rps: u32,
    /// Bytes that a worker and its message thread hand to and fro instead of computing (`-p`); 0 is off.
    pub pipe: u32,
    /// How much of the matrices is a worker's own, in percent (`--split`); else all is, and differently
    /// cut.
    pub split: Option<u32>,
    /// No locks (`-L`).
    pub skip_locking: bool,
    /// Requests are measured without their sleep (`-C`).
    pub calibrate: bool,
    /// Where the message threads are pinned, one after the other (`-M`).
    pub message_cpus: Option<CpuSet>,
    /// Where the workers may run (`-W`).
    pub worker_cpus: Option<CpuSet>,
    /// The standard deviation of sleeps and multiplications, in percent of their mean; else
    /// multiplications have 2, and sleeps none.
    pub lognormal: Option<u32>,
}

/// How much a multiplication takes more or less than its mean: the standard deviation in percent.
///
/// Source: a calibration in the real program's README, where requests are five multiplications and
/// nothing else, of 52 workers: 16,864 us at the median, 16,992 at 90 % and 17,248 at 99 %. As those of a
/// normal distribution they are 0.6 and 1.0 % of a request, or 1.3 and 2.2 % of a multiplication. Without
/// it the workers of a machine that has nothing else to do keep step for ever, and come back in one
/// batch for each sleep of their message thread.
const WORK_PERCENT: u32 = 2;

/// How long a step of the innermost loop of the multiplication takes, in cycles of its core, by
/// thousandths.
///
/// Source: seed 000, which has 266 requests a second of one worker on 8490H, with 5 multiplications of
/// 104 by 104: 3759 us each, less the sleep of 100 us with its slack of 50 us, and some 15 us for two
/// wakeups and two ways out of an idle state, are 3594 us, or 0.639 ns for each of 5 * 104^3 steps. The
/// clock did not depend on how many cores were busy: 267 of each of 64 workers, and 248 of each of 128 on
/// 120 cores, of which 8 shared a core with another. So turbo was off, as the test suite of its authors
/// (schedtests) sets it, and the clock that of the data sheet, 1.9 GHz.
const STEP_MILLICYCLES: u64 = 1214;

/// The clock of a machine that does not say its own, in MHz: that at which the step was measured.
const CLOCK_MHZ: u64 = 1900;

/// The speed of a multiplication beside a busy sibling, in thousandths.
///
/// Source: seed 000 has 126 requests a second of each of 239 workers on 240 CPUs, and 266 of one alone, at
/// one clock. That is of whole requests; without their sleep it would be 0.46.
const SMT_MILLI: u16 = 474;

/// How often who spins looks at a lock: a turn of the real loop takes some 40 ns, a request some 3 ms.
const LOOK: Nanos = Nanos::from_micros(5);

/// Bytes of a number in a matrix.
const WORD: u64 = 8;

/// Bytes of a cache line.
const LINE: u64 = 64;

/// The most workers of a run, with the message threads.
const MAX_THREADS: u64 = 1 << 16;

/// The sizes of the matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrices {
    /// Rows of those that a worker has for itself.
    pub private: u32,
    /// Rows of those that all share.
    pub shared: u32,
    /// Multiplications of a request with the former.
    pub private_ops: u32,
    /// Multiplications of a request with the latter.
    pub shared_ops: u32,
}

/// Rows of three matrices that take so many KiB together.
fn rows_of(kib: u64) -> u32 {
    u32::try_from((kib * 1024 / 3 / WORD).isqrt()).expect("the root of a number of KiB")
}

impl Schbench {
    /// What is multiplied.
    #[must_use]
    pub fn matrices(&self) -> Matrices {
        let kib = u64::from(self.footprint_kib);
        let operations = self.operations;
        match self.split {
            None => {
                let private = rows_of(kib);
                Matrices { private, shared: 0, private_ops: operations, shared_ops: 0 }
            }
            Some(percent) => {
                let [private, shared] =
                    [percent, 100 - percent].map(|part| rows_of(kib * u64::from(part) / 100));
                let part = u64::from(operations) * u64::from(percent) / 100;
                let private_ops = u32::try_from(part).expect("a part of them");
                Matrices { private, shared, private_ops, shared_ops: operations - private_ops }
            }
        }
    }

    /// How long a multiplication of so many rows takes where nothing is in its way.
    #[must_use]
    pub fn operation(rows: u32, topology: Option<&Topology>) -> Nanos {
        let clock = topology.and_then(|topology| topology.facts().frequency_ghz.allcore.as_ref());
        let mhz = clock.map_or(CLOCK_MHZ, |clock| clock.milli.max(1));
        let steps = u128::from(rows).pow(3);
        let ns = steps * u128::from(STEP_MILLICYCLES) / u128::from(mhz);
        Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
