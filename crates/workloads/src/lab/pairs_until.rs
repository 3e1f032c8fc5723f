//! `tpp`: pairs of threads of one process that send a byte to and fro over two pipes until a deadline.

use std::fmt;

use simsched_core::{FutexId, Nanos, PipeId, TaskId};

use super::costs::{
    Birth, CLOCK, CLOCKS, PIPES, REPORT_MESSENGER, before_fork, birth, report_of_thread, work,
};
use super::memory::{Code, Memory, heap_pieces};
use super::pairs::{PING, PONG, mark};
use super::script::{FIRST, Script, wait_any};
use crate::builder::ProgramId;
use crate::error::WorkloadError;
use crate::program::{Operand, Programs, When};

/// What a round trip takes beside the work of both sides: 118.2 us pass from one question to the next
/// with 50 us of work on each side (mean of 5,070 trips, 7.3.4 on `n2x8` and `s2x8`, each).
const TRIP: Nanos = Nanos::from_micros(18);

/// How many pairs, and what they do. The first thread of the process makes all pipes, creates all
/// threads, and joins them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PairsUntil {
    pub(super) pairs: u32,
    /// What each side works before it writes.
    pub(super) work: Nanos,
    /// No round trip begins so long behind the start, or later.
    pub(super) length: Nanos,
}

impl PairsUntil {
    /// With the first thread of the process.
    pub(super) fn count(&self) -> u32 {
        1 + 2 * self.pairs
    }

    /// Whether a task measures itself: the first thread of the process only creates and joins.
    pub(super) fn reports(task: TaskId) -> bool {
        task > FIRST
    }

    pub(super) fn build(&self, mut script: Script) -> Result<Programs, WorkloadError> {
        let (kernel, zero) = (script.kernel, script.zero);
        mark(&mut script);
        let PipeId(pipes) = script.b.pipes(2 * self.pairs);
        let ended = script.b.futexes(self.pairs);
        let space = Memory { lock: script.b.sems(1), kernel };
        script.parent(|p| {
            p.run(before_fork(Birth { kernel, is_second: false }));
            p.spawn(FIRST);
            wait_any(p, 1);
        });
        let (first, threads) = (Operand::from(TaskId(FIRST.0 + 1)), 2 * self.pairs);
        let main = script.b.program("main", |p| {
            p.run(birth(kernel));
            p.repeat(self.pairs, |p, _| p.run(PIPES));
            p.repeat(threads, |p, nth| space.creates(p, first.plus(nth)));
            p.repeat(threads, |p, nth| p.join(first.plus(nth)));
        });
        let proc = script.b.process("lab");
        script.b.thread("lab", proc, main, [0, 0]);
        let end = When::after(zero, self.length);
        for nth in 0..self.pairs {
            let args = [pipes + 2 * nth, pipes + 2 * nth + 1];
            let ended = FutexId(ended.0 + nth);
            let asks = self.asks(&mut script, (space, nth), (end, ended));
            script.b.thread(&format!("a{nth:03}"), proc, asks, args);
            let answers = self.answers(&mut script, space, ended);
            script.b.thread(&format!("b{nth:03}"), proc, answers, args);
        }
        script.build()
    }

    /// Asks, waits for the answer, and works. Arguments: the pipes there and back.
    fn asks(
        &self,
        script: &mut Script,
        (space, nth): (Memory, u32),
        (end, ended): (When, FutexId),
    ) -> ProgramId {
        script.b.program("asks", |p| {
            space.begins(p, if nth == 0 { Code::Fresh } else { Code::Known });
            space.gets_large(p, heap_pieces(nth));
            p.forever(|p| {
                p.leave_when(end);
                p.mark(PING);
                p.run(CLOCKS);
                p.write(Operand::arg(0), 1);
                p.read(Operand::arg(1), 1);
                p.mark(PONG);
                p.run(CLOCK);
                work(p, self.work);
            });
            p.futex_set(ended, 1);
            p.write(Operand::arg(0), 1);
            p.run(report_of_thread(self.trips()));
        })
    }

    /// How many latencies a thread sorts at its end, about.
    fn trips(&self) -> u32 {
        let trip = TRIP.get() + 2 * self.work.get();
        u32::try_from(self.length.get() / trip).unwrap_or(u32::MAX)
    }

    /// Waits for a question, works, and answers. Arguments: the pipes there and back.
    fn answers(&self, script: &mut Script, space: Memory, ended: FutexId) -> ProgramId {
        script.b.program("answers", |p| {
            space.begins(p, Code::Known);
            p.forever(|p| {
                p.read(Operand::arg(0), 1);
                p.leave_unless(ended, 0);
                work(p, self.work);
                p.write(Operand::arg(1), 1);
            });
            p.run(REPORT_MESSENGER);
        })
    }
}

/// What they do, in a line.
impl fmt::Display for PairsUntil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (us, ms) = (self.work.get() / 1_000, self.length.get() / 1_000_000);
        write!(f, "pairs of threads over pipes: {}, {us} us of work, for {ms} ms", self.pairs)
    }
}
