//! How threads come to be and to an end: forks, waiting for each other, and the end of the run.

use std::fmt::Write;

use simsched_core::{FutexId, LockId, Op, RousedBy, SimTime, TaskId};

use super::program::{COMM, MAIN, Program};
use super::size::FORKS;
use super::thread::{Step, Thread};

impl Program {
    /// Starts a thread of another task; at the limit rt-app ends as a whole.
    pub(super) fn fork(&mut self, thread: usize, fork: usize) -> Option<Op> {
        let [first, count, used] = self.pools[fork];
        if used == count {
            let name = &self.config.forks[fork];
            let _ = writeln!(self.text, "[{COMM}] <error> {name} reached its fork limit ({FORKS})");
            let row = &mut self.threads[thread];
            row.steps.clear();
            row.then([Step::Stop, Step::Shake(0), Step::Rouse(0), Step::Leave]);
            return None;
        }
        self.pools[fork][2] += 1;
        self.number(first + used, Some(used));
        self.begin(first + used, false);
        Some(Op::Spawn(TaskId::new(first + used)))
    }

    pub(super) fn join(&mut self, thread: usize) -> Option<Op> {
        let left = |row: &Thread| row.is_started && !row.is_joined;
        let next = (1..self.threads.len()).find(|&next| left(&self.threads[next]))?;
        self.threads[next].is_joined = true;
        self.threads[thread].steps.push_front(Step::Join);
        Some(Op::Join(TaskId::new(next)))
    }

    pub(super) fn shake(&mut self, thread: usize, futex: usize) -> Option<Op> {
        let conds = self.conds.len();
        if futex == conds + self.sems.len() {
            return None;
        }
        let words = self.conds.iter_mut().map(|cond| &mut cond.word);
        let word = words.chain(self.sems.iter_mut().map(|sem| &mut sem.word)).nth(futex)?;
        *word = word.wrapping_add(1);
        let value = *word;
        self.threads[thread].steps.push_front(Step::Shake(futex + 1));
        Some(self.wake(thread, FutexId::new(futex), value, u32::MAX))
    }

    pub(super) fn rouse(&mut self, thread: usize, from: usize, now: SimTime) -> Option<Op> {
        let lives = |row: &Thread| row.is_started && !row.has_ended;
        let next = (from..self.threads.len())
            .find(|&next| next != thread && lives(&self.threads[next]))?;
        self.threads[thread].steps.push_front(Step::Rouse(next + 1));
        Some(Op::Rouse { task: TaskId::new(next), at: now, by: RousedBy::ThisCpu })
    }

    pub(super) fn leave(&mut self, thread: usize) -> Op {
        let row = &mut self.threads[thread];
        if self.is_stopped
            && let Some(mutex) = row.held.pop()
        {
            row.then([Step::Leave]);
            return Op::Unlock(LockId(mutex));
        }
        if thread != MAIN && !self.is_stopped {
            let text = format!("[{}] Exiting.", row.index);
            self.notice(&text);
        }
        Op::Exit
    }
}
