//! `Memory`: what the threads of a workload share in user space.
//!
//! Noted instants, stacks, and what was stored in the futex words: a thread that finds a word
//! changed makes no system call.

use simsched_core::SimTime;

const NONE: u32 = u32::MAX;

/// What lies where.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    clocks: Vec<SimTime>,
    /// By futex word, as the kernel sees them too.
    words: Vec<u32>,
    stacks: Vec<Stack>,
    /// By number on a stack: the one below, or itself if it is on none.
    below: Vec<u32>,
}

/// A list that is pushed to at one end, and taken as a whole.
#[derive(Clone, Copy, Debug)]
struct Stack {
    top: u32,
    /// The first that is left of what was taken.
    taken: u32,
}

impl Memory {
    /// Clocks at the start of the run, words that hold 0, empty stacks for the numbers below
    /// `items`.
    pub(crate) fn new(clocks: u32, words: u32, stacks: u32, items: u32) -> Memory {
        Memory {
            clocks: vec![SimTime::ZERO; clocks as usize],
            words: vec![0; words as usize],
            stacks: vec![Stack { top: NONE, taken: NONE }; stacks as usize],
            below: (0..items).collect(),
        }
    }

    pub(crate) fn note(&mut self, clock: u32, now: SimTime) {
        self.clocks[clock as usize] = now;
    }

    pub(crate) fn noted(&self, clock: u32) -> SimTime {
        self.clocks[clock as usize]
    }

    pub(crate) fn store(&mut self, word: u32, value: u32) {
        self.words[word as usize] = value;
    }

    pub(crate) fn holds(&self, word: u32, value: u32) -> bool {
        self.words[word as usize] == value
    }

    /// Puts a number on a stack, unless it is on one already.
    pub(crate) fn push(&mut self, stack: u32, item: u32) {
        let below = &mut self.below[item as usize];
        if *below == item {
            *below = std::mem::replace(&mut self.stacks[stack as usize].top, item);
        }
    }

    /// Takes all that is on a stack.
    pub(crate) fn take(&mut self, stack: u32) {
        let stack = &mut self.stacks[stack as usize];
        stack.taken = std::mem::replace(&mut stack.top, NONE);
    }

    /// The next of what was taken, the last that was pushed first.
    pub(crate) fn next(&mut self, stack: u32) -> Option<u32> {
        let stack = &mut self.stacks[stack as usize];
        let item = Some(stack.taken).filter(|item| *item != NONE)?;
        stack.taken = std::mem::replace(&mut self.below[item as usize], item);
        Some(item)
    }
}
