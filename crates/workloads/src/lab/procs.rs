//! `th-free`, `pr`, `mix` and `sl`: processes of several threads that compute until a common deadline,
//! or run for a while and sleep until the next instant of a grid.

use simsched_core::{Nanos, SemId, TaskId};

use super::costs::{Birth, PIECE, REPORT_MESSENGER, before_fork, birth, birth_timer, work};
use super::messages::{begins, creates, gets_heap, heap_pieces};
use super::script::{FIRST, Script, wait_any};
use super::timers::RUN;
use crate::builder::{Body, ProgramId};
use crate::error::WorkloadError;
use crate::program::{Operand, Programs, When};

/// When the first turn of the first thread begins, behind the start.
const FIRST_TURN: Nanos = Nanos::from_millis(20);
/// How far the first turns of two threads are apart.
const STAGGER: Nanos = Nanos::from_micros(137);

/// The processes. All are forked back to back by the parent; the first thread of each creates the
/// others back to back, then works as they do, and joins them at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Procs {
    /// The number of threads of each process.
    pub(super) threads: Vec<u32>,
    /// What each thread does; none if it computes without a pause.
    pub(super) turns: Option<Turns>,
    /// The deadline, behind the start.
    pub(super) length: Nanos,
}

/// Turns of a thread: turn `k` of thread `i` of its process begins at 20 ms + `i` * 137 us + `k` *
/// (`run` + `sleep`) behind the start, as long as that is before the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turns {
    /// What a turn computes.
    pub(super) run: Nanos,
    /// The rest of a period.
    pub(super) sleep: Nanos,
}

impl Turns {
    fn period(self) -> Nanos {
        Nanos(self.run.get() + self.sleep.get())
    }
}

impl Procs {
    pub(super) fn count(&self) -> u32 {
        self.threads.iter().sum()
    }

    pub(super) fn build(&self, mut script: Script) -> Result<Programs, WorkloadError> {
        let kernel = script.kernel;
        if self.turns.is_some() {
            let run = script.b.mark("run");
            debug_assert!(run == RUN, "the mark has the id that it promises");
        }
        let processes = u32::try_from(self.threads.len()).expect("a name has set a limit");
        let spaces = script.b.sems(processes);
        script.parent(|p| {
            let mut main = FIRST.0;
            for (nth, threads) in self.threads.iter().enumerate() {
                p.run(before_fork(Birth { kernel, is_second: nth == 1 }));
                p.spawn(TaskId(main));
                main += threads;
            }
            wait_any(p, processes);
        });
        let mut main = FIRST.0;
        for (nth, &threads) in (0..processes).zip(&self.threads) {
            let space = SemId(spaces.0 + nth);
            let proc = script.b.process("lab");
            for i in 0..threads {
                let program = self.program(&mut script, space, (main, i, threads));
                script.b.thread(&format!("p{nth}t{i:02}"), proc, program, [0, 0]);
            }
            main += threads;
        }
        script.build()
    }

    /// What thread `i` of a process of `threads` threads does, the first of which is task `main`.
    fn program(
        &self,
        script: &mut Script,
        space: SemId,
        (main, i, threads): (u32, u32, u32),
    ) -> ProgramId {
        let zero = script.zero;
        let others = threads - 1;
        let first = Operand::from(TaskId(main + 1));
        script.b.program("thr", |p| {
            if i == 0 {
                p.run(if self.turns.is_some() { birth_timer() } else { birth() });
                if others > 0 {
                    p.repeat(others, |p, nth| creates(p, space, first.plus(nth)));
                }
            } else {
                begins(p, space);
                if self.turns.is_some() {
                    gets_heap(p, space, heap_pieces(i - 1));
                }
            }
            match self.turns {
                None => p.run_until(When::after(zero, self.length), PIECE),
                Some(turns) => self.takes_turns(p, turns, When::after(zero, self.begin(i)), i),
            }
            p.run(REPORT_MESSENGER);
            if i == 0 && others > 0 {
                p.repeat(others, |p, nth| p.join(first.plus(nth)));
            }
        })
    }

    fn takes_turns(&self, p: &mut Body<'_>, turns: Turns, grid: When, i: u32) {
        let period = turns.period();
        p.repeat(self.nr_turns(turns, i), |p, turn| {
            p.sleep_until(grid.plus_turns(turn, period));
            p.mark(RUN);
            p.run(work(turns.run));
        });
    }

    fn begin(&self, i: u32) -> Nanos {
        Nanos(FIRST_TURN.get() + u64::from(i) * STAGGER.get())
    }

    fn nr_turns(&self, turns: Turns, i: u32) -> u32 {
        let Nanos(left) = self.length.saturating_sub(self.begin(i));
        u32::try_from(left.div_ceil(turns.period().get())).unwrap_or(u32::MAX)
    }

    /// How long behind the start this turn of a task is due; `None` for a task without such a turn.
    pub(super) fn due(&self, task: TaskId, turn: u64) -> Option<Nanos> {
        let (turns, mut i) = (self.turns?, task.0.checked_sub(FIRST.0)?);
        for threads in &self.threads {
            if i < *threads {
                let due = Nanos(self.begin(i).get() + turn * turns.period().get());
                return (turn < u64::from(self.nr_turns(turns, i))).then_some(due);
            }
            i -= threads;
        }
        None
    }
}
