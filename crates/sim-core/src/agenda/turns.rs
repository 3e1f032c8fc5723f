//! `Turns`: the order of events on a machine whose CPUs take turns of one quantum each.
//!
//! Such a machine is simulated itself: in each round the CPUs advance by the same time, one after the
//! other in the order of their numbers. So a CPU sees what those before it have done in the whole
//! round, and what those behind it have done up to the end of the round before. A round ends a quantum
//! behind its begin, and earlier where a timer expires: that fires between two rounds, and the next one
//! begins there. An interrupt that a CPU sends to one behind it which is at work arrives at the begin of that
//! one's turn, any other with the next round; and so does the end of an instruction that gives up the rest of a
//! turn (`PAUSE`).

use simsched_topology::CpuId;

use super::tournament::Tournament;
use super::{Agenda, Event, LAST};
use crate::time::SimTime;

/// The end of a stage that is not planned.
const NEVER: u64 = u64::MAX;

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    quantum: u64,
    nr_cpus: usize,
    /// The CPU whose turn it is; behind the last one between two rounds.
    cpu: usize,
    /// It has done nothing in its turn yet.
    begins: bool,
    /// When the round has begun, or the last one had.
    start: u64,
    /// When the round ends, or the last one has ended.
    end: u64,
    /// By CPU: the end of its stage, [`NEVER`] if none is planned. All are looked at once a round: one order of
    /// all of them, kept for each event, takes longer.
    stages: Vec<u64>,
    /// By CPU: its stage ends when a round begins, the first one that does not begin before that end.
    pauses: Vec<bool>,
    /// By CPU: when an interrupt from another CPU was sent, at the earliest.
    kicks: Tournament,
}

impl Turns {
    /// No round has begun yet.
    pub(super) fn new(nr_cpus: usize, quantum: u64) -> Turns {
        Turns {
            quantum,
            nr_cpus,
            cpu: nr_cpus,
            begins: true,
            start: 0,
            end: 0,
            stages: vec![NEVER; nr_cpus],
            pauses: vec![false; nr_cpus],
            kicks: Tournament::new(nr_cpus),
        }
    }

    /// Plans the end of the stage of `cpu`.
    pub(super) fn arm(&mut self, cpu: CpuId, time: u64) {
        self.pauses[cpu.idx()] = false;
        self.stages[cpu.idx()] = time;
    }

    /// The stage of `cpu` ends when a round begins, the first one that does not begin before its end.
    pub(super) fn pause(&mut self, cpu: CpuId) {
        self.pauses[cpu.idx()] = true;
    }

    /// Plans an interrupt for `cpu`, which arrives with the first round that does not begin before `time`.
    pub(super) fn kick(&mut self, cpu: CpuId, time: u64) {
        self.kicks.arm(cpu, time);
    }

    /// Drops the interrupt for `cpu`.
    pub(super) fn forget_kick(&mut self, cpu: CpuId) {
        self.kicks.disarm(cpu);
    }

    /// For when an interrupt for `cpu` is planned.
    pub(super) fn kicked(&self, cpu: CpuId) -> Option<u64> {
        self.kicks.planned(cpu)
    }

    /// A timer has expired at `time`: the next round begins there.
    pub(super) fn begin_at(&mut self, time: u64) {
        self.end = self.end.max(time);
    }

    /// When the first round behind the one of `at` begins, if no timer expires before.
    pub(super) fn next(&self, at: u64) -> u64 {
        let beyond = at.checked_sub(self.end).map_or(0, |late| late / self.quantum + 1);
        self.end + beyond * self.quantum
    }

    /// When the round began that ended at `at`, which is not before the begin of the last one.
    pub(super) fn before(&self, at: u64) -> u64 {
        match at.checked_sub(self.start) {
            None | Some(0) => at.saturating_sub(self.quantum),
            Some(span) => self.start + (span - 1) / self.quantum * self.quantum,
        }
    }

    /// Drops what is planned for `cpu`.
    pub(super) fn disarm(&mut self, cpu: CpuId) {
        self.stages[cpu.idx()] = NEVER;
    }

    /// When the stage of `cpu` ends.
    pub(super) fn planned(&self, cpu: CpuId) -> Option<u64> {
        Some(self.stages[cpu.idx()]).filter(|&time| time != NEVER)
    }

    /// The first of the CPUs whose turn is not over that has something to do in it.
    #[inline]
    fn next_at_work(&self) -> Option<usize> {
        let ahead = self.stages[self.cpu..].iter().position(|&time| time < self.end)?;
        Some(self.cpu + ahead)
    }

    /// When the first CPU has to do something.
    fn first(&self) -> u64 {
        let stage = self.stages.iter().copied().min().unwrap_or(NEVER);
        stage.min(self.kicks.earliest())
    }

    /// Takes out what comes next in the round under way. A CPU that has something to do takes an interrupt from one
    /// before it at the begin of its turn, one that is halted waits for the next round.
    #[inline]
    fn take(&mut self) -> Option<(u64, Event)> {
        while self.cpu < self.nr_cpus {
            // Hardly ever is an interrupt under way.
            if self.kicks.earliest() < self.end
                && let Some(cpu) = self.take_kick_of_turn()
            {
                return Some((self.start, Event::Resched(cpu)));
            }
            let Some(nth) = self.next_at_work() else { break };
            let (time, pauses) = (self.stages[nth], self.pauses[nth]);
            if pauses && time > self.start {
                (self.cpu, self.begins) = (nth + 1, true);
                continue;
            }
            (self.cpu, self.begins) = (nth, false);
            self.stages[nth] = NEVER;
            let time = if pauses { self.start } else { time };
            return Some((time, Event::StageEnd(CpuId::new(nth))));
        }
        self.cpu = self.nr_cpus;
        None
    }

    /// An interrupt for the next CPU of the round that has one and something to do, if none before it has anything
    /// else to do; the turn is that CPU's then.
    #[cold]
    fn take_kick_of_turn(&mut self) -> Option<CpuId> {
        let last = self.next_at_work().unwrap_or(self.nr_cpus - 1);
        let first = self.cpu + usize::from(!self.begins);
        let is_kicked = |cpu: &CpuId| {
            self.kicked(*cpu).is_some_and(|sent| sent < self.end) && self.planned(*cpu).is_some()
        };
        let cpu = (first..=last).map(CpuId::new).find(is_kicked)?;
        self.kicks.disarm(cpu);
        (self.cpu, self.begins) = (cpu.idx(), false);
        Some(cpu)
    }

    /// When the next round begins, and when it ends at the latest, if the first thing that a CPU has
    /// to do comes at `first`.
    fn span(&self, first: u64) -> (u64, u64) {
        let skipped = first.saturating_sub(self.end) / self.quantum;
        let start = self.end + skipped * self.quantum;
        (start, start + self.quantum)
    }

    /// The next interrupt that a CPU has sent, if it arrives at `start` and nothing fires before it at `other`.
    fn take_kick(&mut self, start: u64, other: Option<u64>) -> Option<(SimTime, Event)> {
        let sent = self.kicks.earliest();
        if sent > start || other.is_some_and(|other| other < sent) {
            return None;
        }
        let cpu = self.kicks.first();
        self.kicks.disarm(cpu);
        self.begin_at(start);
        Some((SimTime(start), Event::Resched(cpu)))
    }
}

impl Agenda {
    /// [`Agenda::next_until`] in turns. A round that would not be over at `horizon` does not begin.
    pub(super) fn next_in_turns(&mut self, horizon: SimTime) -> Option<(SimTime, Event)> {
        loop {
            let turns = self.turns.as_mut()?;
            if let Some((time, event)) = turns.take() {
                return Some((SimTime(time), event));
            }
            let first = turns.first();
            let (start, end) = turns.span(first.min(LAST.0));
            if first > horizon.0.min(LAST.0) {
                let time = self.wheel.earliest(horizon.0).ok()?;
                return Some(self.take_from_wheel(time));
            }
            let timer = self.wheel.earliest(horizon.0.min(end - 1)).ok();
            if let Some(kick) = turns.take_kick(start, timer) {
                return Some(kick);
            }
            let end = match timer {
                Some(time) if time <= start => return Some(self.take_from_wheel(time)),
                Some(time) => time,
                None => end,
            };
            if end - 1 > horizon.0 {
                return None;
            }
            let turns = self.turns.as_mut()?;
            (turns.cpu, turns.begins, turns.start, turns.end) = (0, true, start, end);
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
    fn the_next_quantum_begins_where_a_timer_expires() {
        let tick = Event::Tick(CpuId(1));
        let plans = [(stage(0), 2_400), (stage(1), 2_100), (tick, 1_500)];
        assert_eq!(fired(&plans), vec![(1_500, tick), (2_400, stage(0)), (2_100, stage(1))]);
    }

    #[test]
    fn what_a_cpu_sends_arrives_with_the_next_quantum() {
        let (tick, kick) = (Event::Tick(CpuId(1)), Event::Resched(CpuId(2)));
        let plans = [(stage(0), 1_900), (kick, 1_200), (stage(1), 2_100)];
        let order = vec![(1_900, stage(0)), (2_000, kick), (2_100, stage(1))];
        assert_eq!(fired(&plans), order);
        let plans = [(stage(0), 1_900), (kick, 1_200), (tick, 1_500)];
        assert_eq!(fired(&plans), vec![(1_500, kick), (1_500, tick), (1_900, stage(0))]);
    }

    /// CPU 0 sends an interrupt at 1.9 us: CPU 1 is at work, and its turn of that quantum is still to come. CPU 2 is
    /// halted, and CPU 0 itself has had its turn.
    #[test]
    fn a_cpu_at_work_takes_an_interrupt_at_the_begin_of_its_turn() {
        let arrives = |to: u16| {
            let mut agenda = Agenda::new(3, 1, 0).in_turns(1_000);
            agenda.arm(stage(0), SimTime(1_900));
            agenda.arm(stage(1), SimTime(1_800));
            assert_eq!(agenda.next_until(SimTime(5_000)), Some((SimTime(1_900), stage(0))));
            agenda.arm(stage(0), SimTime(2_500));
            agenda.arm(Event::Resched(CpuId(to)), SimTime(1_950));
            let fired = std::iter::from_fn(|| agenda.next_until(SimTime(5_000)));
            fired.map(|(time, event)| (time.0, event)).collect::<Vec<_>>()
        };
        let kick = |to| Event::Resched(CpuId(to));
        let late = |kick| vec![(1_800, stage(1)), kick, (2_500, stage(0))];
        assert_eq!(arrives(0), late((2_000, kick(0))));
        assert_eq!(arrives(1), vec![(1_000, kick(1)), (1_800, stage(1)), (2_500, stage(0))]);
        assert_eq!(arrives(2), late((2_000, kick(2))));
    }

    /// CPU 0 pauses from 1.2 us on, and waits for the next quantum: that is the one which a timer begins.
    #[test]
    fn a_pause_ends_with_the_next_quantum() {
        let ends = |timers: &[(Event, u64)]| {
            let mut agenda = Agenda::new(3, 1, 0).in_turns(1_000);
            for &(event, time) in timers {
                agenda.arm(event, SimTime(time));
            }
            agenda.arm(stage(0), SimTime(1_200));
            agenda.ends_with_turn(CpuId(0));
            let next = || agenda.next_until(SimTime(5_000));
            let fired: Vec<_> = std::iter::from_fn(next).collect();
            fired.iter().find(|(_, event)| *event == stage(0)).map(|(time, _)| time.0)
        };
        assert_eq!(ends(&[]), Some(2_000));
        assert_eq!(ends(&[(Event::Tick(CpuId(1)), 1_500)]), Some(1_500));
        assert_eq!(ends(&[(Event::Tick(CpuId(1)), 1_100)]), Some(2_100));
    }

    #[test]
    fn a_quantum_that_would_end_behind_the_horizon_does_not_begin() {
        assert_eq!(fired(&[(stage(0), 4_999), (stage(1), 5_000)]), vec![(4_999, stage(0))]);
    }
}
