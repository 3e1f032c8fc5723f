//! How threads come to be and to an end: forks, waiting for each other, and the end of the run.

use std::fmt::Write;

use simsched_core::{FutexId, LockId, Op, SimTime, TaskId};

use super::config::{Config, Event, Phase};
use super::program::{COMM, FORKS, MAIN, Program};
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
        Some(Op::Rouse { task: TaskId::new(next), at: now })
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

/// The most threads that each fork of the file can start, up to the limit.
pub(super) fn fork_counts(config: &Config) -> Vec<usize> {
    let turns = |loops: i32| usize::try_from(loops).unwrap_or(FORKS + 1);
    let each = |def: usize, fork: usize| {
        let task = &config.tasks[def];
        let of_phase = |phase: &Phase| {
            let forks = phase.events.iter().filter(|event| **event == Event::Fork(fork)).count();
            let loops = if phase.loops <= 0 { FORKS + 1 } else { turns(phase.loops) };
            forks.saturating_mul(loops)
        };
        let once = task.phases.iter().map(of_phase).fold(0, usize::saturating_add);
        once.saturating_mul(turns(task.loops)).min(FORKS)
    };
    let mut counts = vec![0_usize; config.forks.len()];
    loop {
        let threads = |def: usize| {
            let forked = config.forks.iter().position(|name| *name == config.tasks[def].name);
            config.tasks[def].instances as usize + forked.map_or(0, |fork| counts[fork])
        };
        let of_fork = |fork: usize| {
            let defs = 0..config.tasks.len();
            defs.map(|def| each(def, fork).saturating_mul(threads(def)))
                .fold(0, usize::saturating_add)
                .min(FORKS)
        };
        let next: Vec<usize> = (0..counts.len()).map(of_fork).collect();
        if next == counts {
            return counts;
        }
        counts = next;
    }
}
