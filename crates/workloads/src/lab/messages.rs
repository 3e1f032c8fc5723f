//! `schbench`: message threads that wake workers, and workers that think and report back, over
//! futexes.
//!
//! A thread that is about to wait stores [`BLOCKED`] in its own word. Whoever wants to wake it stores
//! [`RUNNING`] and makes a system call, but only if the word said `BLOCKED`. A worker puts itself on
//! the stack of its message thread before it waits; the message thread takes the whole stack, the
//! last that came first.

use simsched_core::{FutexId, MarkId, Nanos, SemId, TaskId};

use super::costs::{
    BETWEEN_CALLS, BETWEEN_FAULTS, FAULT, FROM_FAULT, HEAP_FAULTS, HEAP_LEAVE, HEAP_MAP,
    HEAP_UNMAP, REPORT_MESSENGER, REPORT_WORKER, SLACK, STACK, STACK_FAULT, STACK_LEAVE, TO_CREATE,
    TO_FAULT, TO_STACK, stack_leave_more, work,
};
use super::script::{FIRST, Script};
use crate::builder::{Body, ProgramId};
use crate::dist::Dist;
use crate::error::WorkloadError;
use crate::program::{Operand, Programs, StackId};

/// `run`: behind a worker's wait.
pub(super) const RUN: MarkId = MarkId(2);
/// The marks of the wakeups of the workers, by their numbers, begin here.
const WAKE: MarkId = MarkId(3);

const RUNNING: u32 = 0;
const BLOCKED: u8 = 1;
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
        let run = script.b.mark("run");
        debug_assert!(run == RUN, "the mark has the id that it promises");
        for worker in 0..all {
            script.b.mark(&format!("wake {}", self.worker_name(worker)));
        }
        let futexes = script.b.futexes(WORDS + self.messengers + all);
        debug_assert!(futexes == STOPPED, "the word has the id that it promises");
        let stacks = script.b.stacks(self.messengers, all);
        let space = script.b.sems(1);
        script.parent(|p| self.parent(p, space));
        let messenger = self.messenger(&mut script, stacks, space);
        let workers = [0, 1, 2].map(|pieces| self.worker(&mut script, stacks, space, pieces));
        for group in 0..self.messengers {
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

    /// Creates all, sleeps, tells all to end, and waits for them.
    fn parent(&self, p: &mut Body<'_>, space: SemId) {
        let threads = self.messengers * (1 + self.workers);
        p.repeat(threads, |p, nth| creates(p, space, Operand::from(FIRST).plus(nth)));
        p.sleep(Dist::Constant(Nanos(self.length.get() + SLACK.get())));
        p.futex_set(STOPPED, 1);
        for group in 0..self.messengers {
            post(p, FutexId(WORDS + group), |_| ());
            for worker in group * self.workers..(group + 1) * self.workers {
                post(p, FutexId(self.word() + worker), |_| ());
            }
        }
        p.repeat(threads, |p, nth| p.join(Operand::from(FIRST).plus(nth)));
    }

    /// Arguments: its own word, and its stack.
    fn messenger(&self, script: &mut Script, stacks: StackId, space: SemId) -> ProgramId {
        let (own, stack) = (Operand::arg(0), Operand::arg(1).offset(stacks.0));
        script.b.program("msg", |p| {
            begins(p, space);
            p.forever(|p| {
                p.futex_set(own, u32::from(BLOCKED));
                p.each(stack, |p, worker| {
                    let wake = Operand::from(WAKE).plus(worker);
                    post(p, Operand::fixed(self.word()).plus(worker), |p| p.mark(wake));
                });
                p.when_futex(STOPPED, 1, |p| {
                    p.run(REPORT_MESSENGER);
                    p.exit();
                });
                p.futex_wait(own, u32::from(BLOCKED));
            });
        })
    }

    /// Arguments: its number, and that of its message thread. Its heap has so many pieces too many.
    fn worker(
        &self,
        script: &mut Script,
        stacks: StackId,
        space: SemId,
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
            begins(p, space);
            gets_heap(p, space, pieces);
            p.forever(|p| {
                end(p);
                p.futex_set(own, u32::from(BLOCKED));
                p.push_arg(0, Operand::arg(1).offset(stacks.0));
                post(p, messenger, |_| ());
                p.futex_wait(own, u32::from(BLOCKED));
                end(p);
                p.mark(RUN);
                p.run(work(self.think));
            });
        })
    }
}

/// Creates a thread of the same process: with a stack, which it may use.
pub(super) fn creates(p: &mut Body<'_>, space: SemId, thread: Operand) {
    p.run(TO_STACK);
    maps(p, space, STACK);
    p.run(BETWEEN_CALLS);
    p.down_write(space);
    p.run(stack_leave_more());
    p.up_write(space, STACK_LEAVE);
    p.run(BETWEEN_CALLS);
    faults(p, space, STACK_FAULT);
    p.run(TO_CREATE);
    p.spawn(thread);
}

/// The same in a child process whose address space was copied with the stacks of its parent's threads, which
/// are taken again: 42 to 48 us (8 of 9 creations in `life-fork`, 7.3.4, and 85 once) pass from one
/// creation to the next, and 61 to 66 (quartiles of 9) where its parent maps stacks.
pub(super) fn creates_again(p: &mut Body<'_>, space: SemId, thread: Operand) {
    p.run(TO_STACK);
    faults(p, space, STACK_FAULT);
    p.run(TO_CREATE);
    p.spawn(thread);
}

/// Makes room for what a thread measures that is too large for its heap.
pub(super) fn maps_large(p: &mut Body<'_>, space: SemId) {
    maps(p, space, HEAP_MAP[1]);
    p.run(BETWEEN_CALLS);
    faults(p, space, FAULT);
}

/// What a thread does first: it touches its stack.
pub(super) fn begins(p: &mut Body<'_>, space: SemId) {
    p.run(TO_FAULT);
    faults(p, space, FAULT);
    p.run(FROM_FAULT);
}

/// How many pieces too many the heap of a thread has at first that is the `nth` of its process to get
/// one: those of the first are two, and every second one of the others has one.
pub(super) fn heap_pieces(nth: u32) -> usize {
    match nth {
        0 => 2,
        nth => (nth % 2) as usize,
    }
}

/// A thread gets a heap of its own with its first allocation.
pub(super) fn gets_heap(p: &mut Body<'_>, space: SemId, pieces: usize) {
    let row = usize::from(pieces == 0);
    maps(p, space, HEAP_MAP[row]);
    for _ in 0..pieces {
        p.run(BETWEEN_CALLS);
        let [written, read] = HEAP_UNMAP;
        maps(p, space, written);
        faults(p, space, read);
    }
    p.run(BETWEEN_CALLS);
    maps(p, space, HEAP_LEAVE[row]);
    p.run(BETWEEN_CALLS);
    for held in HEAP_FAULTS {
        faults(p, space, held);
        p.run(BETWEEN_FAULTS);
    }
}

/// Maps memory of the address space, or asks for leave to use it.
fn maps(p: &mut Body<'_>, space: SemId, held: u32) {
    p.down_write(space);
    p.up_write(space, held);
}

/// Touches a page that is not there.
fn faults(p: &mut Body<'_>, space: SemId, held: u32) {
    p.down_read(space);
    p.up_read(space, held);
}

/// Wakes the owner of a word if it waits, or is about to; `before` comes before the call.
fn post(p: &mut Body<'_>, word: impl Into<Operand>, before: impl FnOnce(&mut Body<'_>)) {
    let word = word.into();
    p.when_futex(word, BLOCKED, |p| {
        p.futex_set(word, RUNNING);
        before(p);
        p.futex_wake(word, 1);
    });
}
