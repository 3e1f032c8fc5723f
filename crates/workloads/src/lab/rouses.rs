//! `Rouses`: two threads of the kernel of which one wakes up the other behind the begin of a scenario.
//!
//! Recorded in 7.3.4 beside the set of cache-aware scheduling (82 scenarios on `n2x8`, `s2x8` and `s2d2`, seed 1), and
//! what they are for was seen with `workqueue_execute_start`: half a second behind the last output of the console its port
//! is suspended (`pm_runtime_work()`), by a kworker that belongs to no CPU: 493 to 536 ms behind the begin of a scenario.
//! It wakes up another one, which finds nothing to do.

use rand::distr::{Distribution, Uniform};
use simsched_core::{Nanos, Op, Seed, SimTime, Stream, TaskId};

use super::kthread::rouse;

/// From the begin of a scenario to the suspension, in microseconds.
const SUSPENDS: [u64; 2] = [493_000, 536_000];

/// Who suspends the port, and when.
#[derive(Clone, Debug)]
pub(super) struct Rouses {
    /// The one that suspends the port, and the one that it wakes up.
    unbound: [TaskId; 2],
    draws: Stream,
}

impl Rouses {
    pub(super) fn new(unbound: [TaskId; 2], seed: Seed) -> Rouses {
        Rouses { unbound, draws: seed.stream("pm_runtime_work", 1) }
    }

    /// What the task that begins a scenario does for that: the port will be suspended.
    pub(super) fn begin(&mut self, now: SimTime) -> Op {
        let [first, last] = SUSPENDS;
        let later = Uniform::new(first, last).expect("a range that is not empty");
        let later = later.sample(&mut self.draws);
        rouse(self.unbound[0], now + Nanos::from_micros(later))
    }

    /// What `task` does at the end of a turn.
    pub(super) fn behind_turn(&self, task: TaskId, now: SimTime) -> Option<Op> {
        (task == self.unbound[0]).then_some(rouse(self.unbound[1], now))
    }
}
