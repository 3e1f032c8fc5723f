//! `pc`: a waker that asks all its wakees over pipes and waits for all their answers, threads of one
//! process.

use std::fmt;

use simsched_core::{FutexId, Nanos, PipeId, TaskId};

use super::costs::{
    Birth, CLOCK, CLOCKS, PIPE, REPORT_MESSENGER, before_fork, birth_waker, report_of, work,
};
use super::memory::{Code, Memory};
use super::pairs::{PING, PONG, mark};
use super::script::{FIRST, Script, wait_any};
use crate::builder::{Body, ProgramId};
use crate::error::WorkloadError;
use crate::program::{Operand, Programs, When};

/// What a round takes beside the work of both sides: 318.6 us pass from one question to the next with
/// 100 and 200 us of work, and 622.1 with 200 and 400 and 4 wakees (means of 1,800 and 960 rounds,
/// 7.3.4 on `n2x8` and `s2x8`).
const ROUND: Nanos = Nanos::from_micros(20);

/// A waker and its wakees. In a round it writes a byte into the pipe of each, reads as many bytes from
/// the pipe of the answers, and works. A wakee works for each byte before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Star {
    pub(super) wakees: u32,
    /// What the waker works in a round, and a wakee.
    pub(super) work: [Nanos; 2],
    /// No round begins so long behind the start, or later.
    pub(super) length: Nanos,
}

/// The objects of a star.
#[derive(Clone, Copy, Debug)]
struct Objects {
    answers: PipeId,
    /// The pipe of the first wakee; those of the others follow.
    questions: PipeId,
    /// Set when the next byte asks for nothing: the wakee ends.
    ended: FutexId,
    space: Memory,
}

impl Star {
    /// With the waker.
    pub(super) fn count(&self) -> u32 {
        1 + self.wakees
    }

    pub(super) fn build(&self, mut script: Script) -> Result<Programs, WorkloadError> {
        let kernel = script.kernel;
        mark(&mut script);
        let answers = script.b.pipes(1);
        let questions = script.b.pipes(self.wakees);
        let ended = script.b.futexes(1);
        let space = Memory { lock: script.b.sems(1), kernel };
        let objects = Objects { answers, questions, ended, space };
        script.parent(|p| {
            p.run(before_fork(Birth { kernel, is_second: false }));
            p.spawn(FIRST);
            wait_any(p, 1);
        });
        let (waker, wakee) = (self.waker(&mut script, objects), self.wakee(&mut script, objects));
        let proc = script.b.process("lab");
        script.b.thread("w000", proc, waker, [0, 0]);
        for nth in 0..self.wakees {
            script.b.thread(&format!("c{nth:03}"), proc, wakee, [questions.0 + nth, 0]);
        }
        script.build()
    }

    fn waker(&self, script: &mut Script, objects: Objects) -> ProgramId {
        let Objects { answers, questions, ended, space } = objects;
        let kernel = script.kernel;
        let end = When::after(script.zero, self.length);
        let first = Operand::from(TaskId(FIRST.0 + 1));
        let asks = |p: &mut Body<'_>| {
            p.repeat(self.wakees, |p, nth| p.write(Operand::from(questions).plus(nth), 1));
        };
        script.b.program("waker", |p| {
            p.run(birth_waker(kernel));
            p.repeat(self.wakees, |p, nth| {
                p.run(PIPE);
                space.creates(p, first.plus(nth));
            });
            p.forever(|p| {
                p.leave_when(end);
                p.mark(PING);
                p.run(CLOCKS);
                asks(p);
                p.repeat(self.wakees, |p, _| p.read(answers, 1));
                p.mark(PONG);
                p.run(CLOCK);
                work(p, self.work[0]);
            });
            p.futex_set(ended, 1);
            asks(p);
            p.run(report_of(self.rounds()));
            p.repeat(self.wakees, |p, nth| p.join(first.plus(nth)));
        })
    }

    /// How many latencies the waker sorts at its end, about.
    fn rounds(&self) -> u32 {
        let round = ROUND.get() + self.work[0].get() + self.work[1].get();
        u32::try_from(self.length.get() / round).unwrap_or(u32::MAX)
    }

    /// Argument: its pipe.
    fn wakee(&self, script: &mut Script, objects: Objects) -> ProgramId {
        script.b.program("wakee", |p| {
            objects.space.begins(p, Code::Known);
            p.forever(|p| {
                p.read(Operand::arg(0), 1);
                p.leave_unless(objects.ended, 0);
                work(p, self.work[1]);
                p.write(objects.answers, 1);
            });
            p.run(REPORT_MESSENGER);
        })
    }
}

/// What it does, in a line.
impl fmt::Display for Star {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [waker, wakee] = self.work.map(|span| span.get() / 1_000);
        write!(f, "a waker, {waker} us of work, and wakees over pipes: {}, ", self.wakees)?;
        write!(f, "{wakee} us of work each, for {} ms", self.length.get() / 1_000_000)
    }
}
