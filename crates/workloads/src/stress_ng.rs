//! stress-ng `--cpu`: processes that compute for a time, and share nothing.
//!
//! Source: stress-ng 0.15.06 (C. King): the parent forks a process for each stressor, which does one
//! bogo operation after the other until its time is over, and waits for all.
//!
//! What differs: bogo operations, of which the real ones go through some seventy kinds, all take the
//! same time.

mod text;

use simsched_core::{MarkId, Nanos, Seed};

pub(crate) use text::Run;
pub use text::{NAME, OPTIONS, parse};

use crate::builder::Builder;
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{ClockId, Operand, Programs, When};

/// What of stress-ng's options counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StressNg {
    /// Processes (`--cpu`).
    pub cpus: u32,
    /// For how long (`--timeout`).
    pub length: Nanos,
    /// Which table is printed.
    pub metrics: Metrics,
}

/// Which table is printed at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metrics {
    /// None.
    #[default]
    None,
    /// `--metrics-brief`.
    Brief,
    /// `--metrics`.
    Full,
}

/// The parent begins.
pub const START: MarkId = MarkId(0);
/// The parent has waited for all.
pub const STOP: MarkId = MarkId(1);
/// A bogo operation is done.
pub const DONE: MarkId = MarkId(2);

/// How long a bogo operation takes: version 0.15.06 did 1465 to 1544 of them in a second of CPU time, over
/// all kinds, on an EPYC.
const BOGO: Nanos = Nanos(665_000);

/// The most processes of a run.
const MAX_STRESSORS: u32 = 1 << 16;

impl StressNg {
    fn check(&self) -> Result<(), WorkloadError> {
        let (what, limit) = ("stressors", u64::from(MAX_STRESSORS));
        match u64::from(self.cpus) {
            count if count > limit => Err(WorkloadError::TooMany { what, count, limit }),
            _ => Ok(()),
        }
    }

    /// The programs of all tasks: task 0 is the parent.
    ///
    /// # Errors
    /// When there are more stressors than a run can hold, or none.
    pub fn build(&self, seed: Seed) -> Result<Programs, WorkloadError> {
        self.check()?;
        let mut b = Builder::new();
        for name in ["start", "stop", "done"] {
            b.mark(name);
        }
        let begun: ClockId = b.clock();
        let parent = b.program("parent", |p| {
            p.clock(begun);
            p.mark(START);
            p.repeat(self.cpus, |p, nth| p.spawn(Operand::fixed(1).plus(nth)));
            p.repeat(self.cpus, |p, _| p.wait_any());
            p.mark(STOP);
        });
        let stressor = b.program("stressor", |p| {
            p.forever(|p| {
                p.leave_when(When::after(begun, self.length));
                p.run(Dist::Constant(BOGO));
                p.mark(DONE);
            });
        });
        let proc = b.process(NAME);
        b.start(NAME, proc, parent, [0, 0]);
        for _ in 0..self.cpus {
            let proc = b.process("stress-ng-cpu");
            b.thread("stress-ng-cpu", proc, stressor, [0, 0]);
        }
        b.build(seed)
    }
}
