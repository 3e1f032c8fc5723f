//! `Rouses`: what threads of the kernel are woken up by another one of them.
//!
//! Recorded in 7.3.4 beside the set of cache-aware scheduling (82 scenarios on `n2x8`, `s2x8` and `s2d2`, seed 1), and
//! what they are for was seen with `workqueue_execute_start`:
//!
//! - `kworker/0:1` looks each second at the counters of all CPUs (`vmstat_shepherd()`), and wakes up the kworkers of
//!   those that have something to fold and do not come back by themselves: none in 28 of 77 turns, up to nine in the
//!   others. Which CPUs these are depends on pages that were freed there, which are not simulated: here any are.
//! - Half a second behind the last output of the console its port is suspended (`pm_runtime_work()`), by a kworker that
//!   belongs to no CPU: 493 to 536 ms behind the begin of a scenario. It wakes up another one, which finds nothing to do.

use rand::distr::{Distribution, Uniform};
use simsched_core::{Nanos, Op, Seed, SimTime, Stream, TaskId};

/// How many kworkers a turn of `kworker/0:1` wakes up, with how many turns of each.
const FOUND: [(usize, u64); 10] =
    [(0, 28), (1, 6), (2, 12), (3, 10), (4, 8), (5, 2), (6, 3), (7, 4), (8, 2), (9, 2)];
/// From the begin of a scenario to the suspension, in microseconds.
const SUSPENDS: [u64; 2] = [493_000, 536_000];

/// Which threads wake up which.
#[derive(Clone, Debug)]
pub(super) struct Rouses {
    /// By CPU: its kworker; that of CPU 0 is the one that looks at the counters.
    kworkers: Vec<TaskId>,
    /// The one that suspends the port, and the one that it wakes up.
    unbound: [TaskId; 2],
    draws: Stream,
}

impl Rouses {
    pub(super) fn new(kworkers: Vec<TaskId>, unbound: [TaskId; 2], seed: Seed) -> Rouses {
        Rouses { kworkers, unbound, draws: seed.stream("vmstat_shepherd", 0) }
    }

    fn below(&mut self, end: u64) -> u64 {
        Uniform::new(0, end.max(1)).expect("a range that is not empty").sample(&mut self.draws)
    }

    /// What the task that begins a scenario does for that: the port will be suspended.
    pub(super) fn begin(&mut self, now: SimTime) -> Op {
        let later = SUSPENDS[0] + self.below(SUSPENDS[1] - SUSPENDS[0]);
        Op::Rouse { task: self.unbound[0], at: now + Nanos::from_micros(later) }
    }

    /// What `task` does at the end of a turn.
    pub(super) fn behind_turn(&mut self, task: TaskId, now: SimTime) -> Vec<Op> {
        let rouse = |task: TaskId| Op::Rouse { task, at: now };
        if task == self.unbound[0] {
            return vec![rouse(self.unbound[1])];
        }
        if self.kworkers.first() != Some(&task) {
            return Vec::new();
        }
        let all = FOUND.iter().map(|(_, turns)| turns).sum();
        let mut left = self.below(all);
        let found = FOUND.iter().find(|(_, turns)| {
            let hit = left < *turns;
            left = left.saturating_sub(*turns);
            hit
        });
        let mut others = self.kworkers[1..].to_vec();
        let count = found.map_or(0, |(count, _)| *count).min(others.len());
        let mut draw = || {
            let nth = self.below(others.len() as u64);
            rouse(others.swap_remove(usize::try_from(nth).unwrap_or(0)))
        };
        (0..count).map(|_| draw()).collect()
    }
}
