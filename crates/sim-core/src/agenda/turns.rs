//! `Turns`: the order of events on a machine whose CPUs take turns of one quantum each.
//!
//! Such a machine is simulated itself: in each round the CPUs advance by the same time, one after the
//! other in the order of their numbers. So a CPU sees what those before it have done in the whole
//! round, and what those behind it have done up to the end of the round before. A round ends with the
//! quantum, and earlier where something is planned that no CPU does by itself: that fires between two
//! rounds.

use simsched_topology::CpuId;

use super::tournament::Tournament;
use super::{Agenda, Event, LAST};
use crate::time::SimTime;

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    quantum: u64,
    nr_cpus: usize,
    /// The CPU whose turn it is; behind the last one between two rounds.
    cpu: usize,
    /// When the round ends, or the last one has ended.
    end: u64,
    /// The ends of the CPUs' stages.
    stages: Tournament,
}

impl Turns {
    /// No round has begun yet.
    pub(super) fn new(nr_cpus: usize, quantum: u64) -> Turns {
        Turns { quantum, nr_cpus, cpu: nr_cpus, end: 0, stages: Tournament::new(nr_cpus) }
    }

    /// Plans the end of the stage of `cpu`.
    pub(super) fn arm(&mut self, cpu: CpuId, time: u64) {
        self.stages.arm(cpu, time);
    }

    /// Drops what is planned for `cpu`.
    pub(super) fn disarm(&mut self, cpu: CpuId) {
        self.stages.disarm(cpu);
    }

    /// When the stage of `cpu` ends.
    pub(super) fn planned(&self, cpu: CpuId) -> Option<u64> {
        self.stages.planned(cpu)
    }

    /// Takes out what comes next in the round under way.
    fn take(&mut self) -> Option<(u64, CpuId)> {
        while self.cpu < self.nr_cpus {
            let cpu = CpuId::new(self.cpu);
            if let Some(time) = self.planned(cpu).filter(|&time| time < self.end) {
                self.disarm(cpu);
                return Some((time, cpu));
            }
            self.cpu += 1;
        }
        None
    }

    /// When the next round begins, and when it ends at the latest, if the first thing that a CPU has
    /// to do comes at `first`.
    fn span(&self, first: u64) -> (u64, u64) {
        let start = self.end.max(first - first % self.quantum);
        (start, start - start % self.quantum + self.quantum)
    }
}

impl Agenda {
    /// [`Agenda::next_until`] in turns. A round that would not be over at `horizon` does not begin.
    pub(super) fn next_in_turns(&mut self, horizon: SimTime) -> Option<(SimTime, Event)> {
        loop {
            let turns = self.turns.as_mut()?;
            if let Some((time, cpu)) = turns.take() {
                return Some((SimTime(time), Event::StageEnd(cpu)));
            }
            let first = turns.stages.earliest();
            let (start, end) = turns.span(first.min(LAST.0));
            if first > horizon.0.min(LAST.0) {
                let time = self.wheel.earliest(horizon.0).ok()?;
                return Some(self.take_from_wheel(time));
            }
            let end = match self.wheel.earliest(horizon.0.min(end - 1)) {
                Ok(time) if time <= start => return Some(self.take_from_wheel(time)),
                Ok(time) => time,
                Err(_) => end,
            };
            if end - 1 > horizon.0 {
                return None;
            }
            let turns = self.turns.as_mut()?;
            (turns.cpu, turns.end) = (0, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fires up to 5 us with a quantum of 1 us: pairs of the instant and the event.
    fn fired(plans: &[(Event, u64)]) -> Vec<(u64, Event)> {
        let mut agenda = Agenda::new(3, 1, 0).in_turns(1_000);
        for &(event, time) in plans {
            agenda.arm(event, SimTime(time));
        }
        let next = || agenda.next_until(SimTime(5_000)).map(|(time, event)| (time.0, event));
        std::iter::from_fn(next).collect()
    }

    fn stage(cpu: u16) -> Event {
        Event::StageEnd(CpuId(cpu))
    }

    #[test]
    fn within_a_quantum_the_cpus_fire_in_the_order_of_their_numbers() {
        let plans = [(stage(2), 1_100), (stage(1), 1_500), (stage(0), 1_900)];
        let order = vec![(1_900, stage(0)), (1_500, stage(1)), (1_100, stage(2))];
        assert_eq!(fired(&plans), order);
    }

    #[test]
    fn a_later_quantum_comes_behind_an_earlier_one() {
        let plans = [(stage(0), 2_000), (stage(1), 1_999)];
        assert_eq!(fired(&plans), vec![(1_999, stage(1)), (2_000, stage(0))]);
    }

    #[test]
    fn what_no_cpu_does_by_itself_cuts_a_quantum() {
        let tick = Event::Tick(CpuId(1));
        let plans = [(stage(0), 1_900), (stage(1), 1_100), (tick, 1_500)];
        let order = vec![(1_100, stage(1)), (1_500, tick), (1_900, stage(0))];
        assert_eq!(fired(&plans), order);
    }

    #[test]
    fn a_quantum_that_would_end_behind_the_horizon_does_not_begin() {
        assert_eq!(fired(&[(stage(0), 4_999), (stage(1), 5_000)]), vec![(4_999, stage(0))]);
    }
}
