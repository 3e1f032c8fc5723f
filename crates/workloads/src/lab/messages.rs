//! `schbench`: message threads that wake workers, and workers that think and report back, over
//! futexes.
//!
//! As in the lab's program (`worker()` and `msg()` of `lab.c`): a thread that is about to wait clears its own word, and
//! sleeps in `FUTEX_WAIT` as long as that is clear. Whoever wakes it sets its word and calls `FUTEX_WAKE`, whether it
//! sleeps or not: a worker whose word is set while it is in its own `FUTEX_WAKE` does not sleep. A worker puts itself on
//! the stack of its message thread before that; the message thread takes the whole stack, the
//! last that came first.

use simsched_core::{FutexId, MarkId, Nanos, TaskId};

use super::costs::{FROM_STAMP, REPORT_MESSENGER, REPORT_WORKER, SLACK, TO_STAMP, work};
use super::kernel::Kernel;
use super::memory::{Code, Memory, heap_pieces};
use super::script::{FIRST, Script};
use crate::builder::{Body, ProgramId};
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{Operand, Programs, StackId};

/// `run`: behind a worker's wait.
pub(super) const RUN: MarkId = MarkId(2);
/// The parent looks at its clock for the last time, before it waits for all others.
pub(super) const TIMED: MarkId = MarkId(3);
/// The marks of the wakeups of the workers, by their numbers, begin here.
const WAKE: MarkId = MarkId(4);

/// What is in the word of a thread that has nothing to do.
const CLEAR: u8 = 0;
const SET: u32 = 1;
/// The word that says that all shall end.
const STOPPED: FutexId = FutexId(0);
/// The words of the message threads begin here; those of the workers follow.
const WORDS: u32 = 1;

/// How many there are, and what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Messages {
    /// Message threads.
    pub(super) messengers: u32,
    /// Workers of each message thread.
    pub(super) workers: u32,
    /// What a worker works between two waits.
    pub(super) think: Nanos,
    /// How long the parent lets them.
    pub(super) length: Nanos,
}

impl Messages {
    pub(super) fn build(&self, mut script: Script) -> Result<Programs, WorkloadError> {
        let all = self.messengers * self.workers;
        let (run, timed) = (script.b.mark("run"), script.b.mark("timed"));
        debug_assert!((run, timed) == (RUN, TIMED), "the marks have the ids that they promise");
        for worker in 0..all {
            script.b.mark(&format!("wake {}", self.worker_name(worker)));
        }
        let futexes = script.b.futexes(WORDS + self.messengers + all);
        debug_assert!(futexes == STOPPED, "the word has the id that it promises");
        let stacks = script.b.stacks(self.messengers, all);
        let space = Memory { lock: script.b.sems(1), kernel: script.kernel };
        script.parent(|p| self.parent(p, space));
        let messengers = [Code::Messages, Code::Known]
            .map(|code| self.messenger(&mut script, stacks, space, code));
        let workers = [0, 1, 2].map(|pieces| self.worker(&mut script, stacks, space, pieces));
        for group in 0..self.messengers {
            let messenger = messengers[usize::from(group > 0)];
            script.thread(&format!("msg{group:03}"), messenger, [WORDS + group, group]);
            for nth in group * self.workers..(group + 1) * self.workers {
                let worker = workers[heap_pieces(nth)];
                script.thread(&self.worker_name(nth), worker, [nth, group]);
            }
        }
        script.build()
    }

    /// The lab numbers the workers behind the message threads.
    fn worker_name(&self, worker: u32) -> String {
        format!("wrk{:03}", self.messengers + worker)
    }

    /// The mark of a worker's wakeup, by worker.
    pub(super) fn wakes(&self) -> Vec<(MarkId, TaskId)> {
        let groups = (0..self.messengers).flat_map(|group| {
            let workers = group * self.workers..(group + 1) * self.workers;
            workers.map(move |worker| (worker, FIRST.0 + group + 1 + worker))
        });
        groups.map(|(worker, task)| (MarkId(WAKE.0 + worker), TaskId(task))).collect()
    }

    /// The word of a worker, by its number.
    fn word(&self) -> u32 {
        WORDS + self.messengers
    }

    /// Creates all, sleeps, wakes all so that they end, and waits for them.
    fn parent(&self, p: &mut Body<'_>, space: Memory) {
        let threads = self.messengers * (1 + self.workers);
        p.repeat(threads, |p, nth| space.creates(p, Operand::from(FIRST).plus(nth)));
        p.sleep(Dist::Constant(Nanos(self.length.get() + SLACK.get())));
        p.futex_set(STOPPED, 1);
        p.mark(TIMED);
        for group in 0..self.messengers {
            post(p, FutexId(WORDS + group));
            for worker in group * self.workers..(group + 1) * self.workers {
                post(p, FutexId(self.word() + worker));
            }
        }
        p.repeat(threads, |p, nth| p.join(Operand::from(FIRST).plus(nth)));
    }

    /// Arguments: its own word, and its stack.
    fn messenger(
        &self,
        script: &mut Script,
        stacks: StackId,
        space: Memory,
        code: Code,
    ) -> ProgramId {
        let (own, stack) = (Operand::arg(0), Operand::arg(1).offset(stacks.0));
        let name = if code == Code::Messages { "msg" } else { "msg known" };
        script.b.program(name, |p| {
            space.begins(p, code);
            p.forever(|p| {
                p.futex_set(own, u32::from(CLEAR));
                p.each(stack, |p, worker| {
                    p.run(TO_STAMP);
                    p.mark(Operand::from(WAKE).plus(worker));
                    p.run(FROM_STAMP);
                    post(p, Operand::fixed(self.word()).plus(worker));
                });
                p.when_futex(STOPPED, 1, |p| {
                    p.run(REPORT_MESSENGER);
                    p.exit();
                });
                // A worker that came in between has set the word: the stack is taken again.
                p.when_futex(own, CLEAR, |p| p.futex_wait(own, u32::from(CLEAR)));
            });
        })
    }

    /// Arguments: its number, and that of its message thread. Its heap has so many pieces too many.
    fn worker(
        &self,
        script: &mut Script,
        stacks: StackId,
        space: Memory,
        pieces: usize,
    ) -> ProgramId {
        let own = Operand::arg(0).offset(self.word());
        let messenger = Operand::arg(1).offset(WORDS);
        let end = |p: &mut Body<'_>| {
            p.when_futex(STOPPED, 1, |p| {
                p.run(REPORT_WORKER);
                p.exit();
            });
        };
        script.b.program(&format!("wrk{pieces}"), |p| {
            space.begins(p, Code::Known);
            match space.kernel {
                // Counted as faults of the heap there.
                Kernel::V6_1 => space.gets_heap(p, pieces),
                Kernel::V6_12 | Kernel::V7_3 => space.gets_large(p, pieces),
            }
            p.forever(|p| {
                end(p);
                p.futex_set(own, u32::from(CLEAR));
                p.push_arg(0, Operand::arg(1).offset(stacks.0));
                post(p, messenger);
                p.forever(|p| {
                    end(p);
                    p.leave_unless(own, CLEAR);
                    p.futex_wait(own, u32::from(CLEAR));
                });
                p.run(TO_STAMP);
                p.mark(RUN);
                p.run(FROM_STAMP);
                work(p, self.think);
            });
        })
    }
}

/// Sets the word of a thread, and wakes that if it sleeps.
fn post(p: &mut Body<'_>, word: impl Into<Operand>) {
    let word = word.into();
    p.futex_set(word, SET);
    p.futex_wake(word, 1);
}
