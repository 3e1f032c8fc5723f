//! `pingpong`: pairs of processes that send a byte to and fro over two pipes.

use simsched_core::{MarkId, Nanos, PipeId};

use super::costs::{
    Birth, CLOCK, CLOCKS, PIPES, REPORT, before_fork, before_pong, birth_ping, birth_pong,
    report_of, work,
};
use super::script::{FIRST, Script, wait_any};
use crate::builder::{Body, ProgramId};
use crate::error::WorkloadError;
use crate::program::{Operand, Programs};

/// `ping`: before a write.
pub(super) const PING: MarkId = MarkId(2);
/// `pong`: behind the read of the answer.
pub(super) const PONG: MarkId = MarkId(3);

/// Declares the marks of a round trip.
pub(super) fn mark(script: &mut Script) {
    let marks = (script.b.mark("ping"), script.b.mark("pong"));
    debug_assert!(marks == (PING, PONG), "the marks have the ids that they promise");
}

/// How many pairs, and what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pairs {
    pub(super) pairs: u32,
    /// Round trips of each pair.
    pub(super) rounds: u32,
    /// What each side works before it writes.
    pub(super) work: Nanos,
}

impl Pairs {
    pub(super) fn build(&self, mut script: Script) -> Result<Programs, WorkloadError> {
        let kernel = script.kernel;
        let pairs = self.pairs;
        mark(&mut script);
        let first = script.b.pipes(2 * pairs);
        script.parent(|p| {
            let birth = |is_second| Birth { kernel, is_second };
            p.run(PIPES);
            p.run(before_fork(birth(false)));
            p.spawn(Operand::from(FIRST));
            p.run(before_pong(birth(true)));
            p.spawn(Operand::from(FIRST).offset(1));
            if pairs > 1 {
                p.repeat(pairs - 1, |p, nth| {
                    p.run(PIPES);
                    p.run(before_fork(birth(false)));
                    p.spawn(Operand::from(FIRST).offset(2).plus_each(nth, 2));
                    p.run(before_pong(birth(false)));
                    p.spawn(Operand::from(FIRST).offset(3).plus_each(nth, 2));
                });
            }
            wait_any(p, 2 * pairs);
        });
        let (ping, pong) = (self.ping(&mut script), self.pong(&mut script));
        for nth in 0..pairs {
            let PipeId(there) = first;
            let (there, back) = (there + 2 * nth, there + 2 * nth + 1);
            script.child(&format!("ping{nth:02}"), ping, [there, back]);
            script.child(&format!("pong{nth:02}"), pong, [there, back]);
        }
        script.build()
    }

    /// Works, asks, and waits for the answer.
    fn ping(&self, script: &mut Script) -> ProgramId {
        let kernel = script.kernel;
        script.b.program("ping", |p| {
            p.run(birth_ping(kernel));
            p.repeat(self.rounds, |p, _| {
                self.burn(p);
                p.mark(PING);
                p.run(CLOCKS);
                p.write(Operand::arg(0), 1);
                p.read(Operand::arg(1), 1);
                p.mark(PONG);
                p.run(CLOCK);
            });
            p.run(report_of(self.rounds));
        })
    }

    /// Waits for a question, works, and answers.
    fn pong(&self, script: &mut Script) -> ProgramId {
        let kernel = script.kernel;
        script.b.program("pong", |p| {
            p.run(birth_pong(kernel));
            p.repeat(self.rounds, |p, _| {
                p.read(Operand::arg(0), 1);
                self.burn(p);
                p.write(Operand::arg(1), 1);
            });
            p.run(REPORT);
        })
    }

    fn burn(&self, p: &mut Body<'_>) {
        if self.work > Nanos::ZERO {
            work(p, self.work);
        }
    }
}
