//! `IdleGovernor`: which idle state a CPU chooses, by the length of its last idle periods.

use simsched_topology::IdleState;

use crate::time::{Nanos, SimTime};

/// How many idle periods are remembered (the kernel's menu governor keeps as many).
const PERIODS: usize = 8;

/// The idle side of one CPU.
///
/// The predicted length is the mean of the last idle periods, at most eight; with none behind it a
/// CPU expects a long one. The deepest state whose residency is not longer is taken. A period lasts
/// until the CPU has something to run: a tick or another interrupt that finds nothing to do does
/// not end it. Source: the rule "average of the last eight idle periods";
/// `drivers/cpuidle/governors/menu.c` remembers as many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleGovernor {
    since: Option<SimTime>,
    periods: [u64; PERIODS],
    /// How many periods have ended.
    ended: usize,
    state: usize,
}

impl IdleGovernor {
    /// A CPU that has been idle for long, in the state that follows from it.
    pub(crate) fn new(states: &[IdleState]) -> IdleGovernor {
        let mut governor = IdleGovernor { since: None, periods: [0; PERIODS], ended: 0, state: 0 };
        governor.state = governor.choose(states);
        governor
    }

    /// The CPU goes to sleep: a period begins, unless it was only interrupted.
    pub(crate) fn enter(&mut self, now: SimTime, states: &[IdleState]) {
        self.since.get_or_insert(now);
        self.state = self.choose(states);
    }

    /// The CPU has something to run: the period ends.
    pub(crate) fn leave(&mut self, now: SimTime) {
        if let Some(since) = self.since.take() {
            self.periods[self.ended % PERIODS] = now.since(since).0;
            self.ended += 1;
        }
    }

    /// How long the present idle period is expected to last.
    pub(crate) fn predicted(&self) -> Nanos {
        let known = self.ended.min(PERIODS) as u64;
        Nanos(self.periods.iter().sum::<u64>().checked_div(known).unwrap_or(u64::MAX))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// C1 for 2 us and more, C6 for 600 us and more.
    fn states() -> Vec<IdleState> {
        simsched_topology::Topology::builtin("spr", None).unwrap().idle_states().to_vec()
    }

    fn sleep(governor: &mut IdleGovernor, from: u64, to: u64) -> u32 {
        governor.enter(SimTime(from), &states());
        let exit = governor.state(&states()).measured_exit_ns;
        governor.leave(SimTime(to));
        exit
    }

    #[test]
    fn one_short_period_is_enough_to_leave_the_deepest_state() {
        let mut governor = IdleGovernor::new(&states());
        let deep = sleep(&mut governor, 0, 100_000);
        let shallow = sleep(&mut governor, 200_000, 300_000);
        assert!(deep > 100_000 && shallow < 20_000, "{deep} {shallow}");
    }

    #[test]
    fn an_interrupt_without_work_does_not_end_the_period() {
        let mut governor = IdleGovernor::new(&states());
        sleep(&mut governor, 0, 100_000);
        governor.enter(SimTime(200_000), &states());
        governor.enter(SimTime(4_000_000), &states());
        governor.leave(SimTime(5_100_000));
        assert_eq!(governor.predicted(), Nanos((100_000 + 4_900_000) / 2));
    }
}
