//! `Postbox`: how the threads of a schbench wait for each other: futex words, and stacks of who waits.
//!
//! Source: `fpost()`, `fwait()`, `xlist_add()` and `xlist_splice()` of `schbench.c`. Who is about to
//! wait stores [`BLOCKED`] in its own word. Who wants to wake it stores [`RUNNING`] and calls the kernel,
//! but only if the word said `BLOCKED`. Who is back stores `BLOCKED` again.

use simsched_core::{FutexId, Op};

/// The words before the start.
const BLOCKED: u32 = 0;
const RUNNING: u32 = 1;

/// On no stack, or below the last.
const NONE: u32 = u32::MAX;

/// A word for each task, by its number, and a stack for each message thread.
#[derive(Clone, Debug)]
pub(crate) struct Postbox {
    words: Vec<u32>,
    tops: Vec<u32>,
    /// By task: who is below it on its stack.
    below: Vec<u32>,
}

/// What [`Postbox::wait`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It was posted; what is to be stored.
    Posted(Op),
    /// It has to sleep.
    Sleep(Op),
}

impl Postbox {
    pub(crate) fn new(tasks: usize, stacks: usize) -> Postbox {
        Postbox { words: vec![BLOCKED; tasks], tops: vec![NONE; stacks], below: vec![NONE; tasks] }
    }

    fn store(&mut self, task: u32, value: u32) -> Op {
        self.words[task as usize] = value;
        Op::FutexSet { futex: FutexId(task), value }
    }

    /// A task is about to wait.
    pub(crate) fn block(&mut self, task: u32) -> Op {
        self.store(task, BLOCKED)
    }

    /// A task has found that it need not wait.
    pub(crate) fn run(&mut self, task: u32) -> Op {
        self.store(task, RUNNING)
    }

    /// Wakes a task that waits, or is about to: what is to be stored and then called, if anything.
    pub(crate) fn post(&mut self, task: u32) -> Option<[Op; 2]> {
        (self.words[task as usize] == BLOCKED).then(|| {
            [self.run(task), Op::FutexWake { futex: FutexId(task), count: 1, sync: false }]
        })
    }

    /// One look of a task that waits until it is posted.
    pub(crate) fn wait(&mut self, task: u32) -> Wait {
        match self.words[task as usize] {
            RUNNING => Wait::Posted(self.block(task)),
            _ => Wait::Sleep(Op::FutexWait { futex: FutexId(task), value: BLOCKED }),
        }
    }

    /// Puts a task on a stack.
    pub(crate) fn push(&mut self, stack: u32, task: u32) {
        let top = &mut self.tops[stack as usize];
        self.below[task as usize] = std::mem::replace(top, task);
    }

    /// Takes a whole stack: its top.
    pub(crate) fn take(&mut self, stack: u32) -> Option<u32> {
        let top = std::mem::replace(&mut self.tops[stack as usize], NONE);
        (top != NONE).then_some(top)
    }

    /// Who was below a task that was taken.
    pub(crate) fn below(&mut self, task: u32) -> Option<u32> {
        let below = std::mem::replace(&mut self.below[task as usize], NONE);
        (below != NONE).then_some(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_calls_the_kernel_only_for_who_waits() {
        let mut box_ = Postbox::new(2, 1);
        let wake = Op::FutexWake { futex: FutexId(1), count: 1, sync: false };
        assert!(matches!(box_.wait(1), Wait::Sleep(_)));
        assert_eq!(box_.post(1).map(|ops| ops[1]), Some(wake));
        assert_eq!(box_.post(1), None);
        assert!(matches!(box_.wait(1), Wait::Posted(_)));
        assert!(matches!(box_.wait(1), Wait::Sleep(_)));
    }

    #[test]
    fn a_stack_gives_the_last_first_and_all_at_once() {
        let mut box_ = Postbox::new(4, 1);
        (1..4).for_each(|task| box_.push(0, task));
        let taken = std::iter::successors(box_.take(0), |task| box_.below(*task));
        assert_eq!(taken.collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!(box_.take(0), None);
    }
}
