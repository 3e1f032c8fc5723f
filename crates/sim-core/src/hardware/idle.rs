//! `IdleGovernor`: which idle state a CPU chooses, by the length of its last idle periods.

use simsched_topology::IdleState;

use crate::time::{Nanos, SimTime};

/// How many idle periods are remembered (the kernel's menu governor keeps as many).
const PERIODS: usize = 8;

/// The idle side of one CPU.
///
/// The predicted length is the mean of the last eight idle periods; the deepest state whose
/// residency is not longer is taken. Source: spec of the idle model ("use average of last 8 idle
/// periods"); `drivers/cpuidle/governors/menu.c` has the same history length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleGovernor {
    since: SimTime,
    periods: [u64; PERIODS],
    next: usize,
    state: usize,
}

impl IdleGovernor {
    /// A CPU that has been idle for long, in the state that follows from it.
    pub(crate) fn new(states: &[IdleState]) -> IdleGovernor {
        let long = u64::from(u32::MAX);
        let mut governor =
            IdleGovernor { since: SimTime::ZERO, periods: [long; PERIODS], next: 0, state: 0 };
        governor.state = governor.choose(states);
        governor
    }

    /// The idle task has become current.
    pub(crate) fn enter(&mut self, now: SimTime, states: &[IdleState]) {
        self.since = now;
        self.state = self.choose(states);
    }

    /// The idle period ends.
    pub(crate) fn leave(&mut self, now: SimTime) {
        self.periods[self.next] = now.since(self.since).0;
        self.next = (self.next + 1) % PERIODS;
    }

    /// How long the present idle period is expected to last.
    pub(crate) fn predicted(&self) -> Nanos {
        Nanos(self.periods.iter().sum::<u64>() / PERIODS as u64)
    }

    /// The state that the CPU is in.
    pub(crate) fn state<'a>(&self, states: &'a [IdleState]) -> &'a IdleState {
        &states[self.state]
    }

    fn choose(&self, states: &[IdleState]) -> usize {
        let predicted = self.predicted().0;
        let fits = |state: &IdleState| u64::from(state.residency_ns) <= predicted;
        states.iter().rposition(fits).unwrap_or(0)
    }
}
