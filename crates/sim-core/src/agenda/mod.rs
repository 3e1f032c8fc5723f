//! `Agenda`: one slot for each source of events, and which is the earliest.
//!
//! Sources are known before the run, and each has one slot: arming it again *replaces* its plan,
//! so nothing is ever cancelled and no stale event can come out. At one instant, sources fire in
//! the order of the variants of [`Event`], then by id: the order depends on who, never on who was
//! armed first.
//!
//! The ends of stages, which are nearly all events, are in a calendar of nanoseconds; what fires
//! rarely hangs in a timing wheel.

mod calendar;
mod tournament;
mod turns;
mod wheel;

use simsched_topology::CpuId;

use crate::ids::TaskId;
use crate::names::TimerId;
use crate::time::SimTime;
use calendar::Calendar;
use turns::Turns;
use wheel::Wheel;

/// What can happen. The order of the variants is the order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// What the CPU is doing ends: an op, a switch, a handler.
    StageEnd(CpuId),
    /// An interprocessor interrupt arrives, or a polling idle CPU sees its flag.
    Resched(CpuId),
    /// The CPU's tick.
    Tick(CpuId),
    /// A sleeping task's timer expires.
    Timer(TaskId),
    /// A timer of the policy expires: last, so that a policy with timers moves no other event.
    PolicyTimer(TimerId),
}

/// The last instant that can be planned. What lies beyond never comes.
const LAST: SimTime = SimTime::LAST;

/// The plans of all sources.
#[derive(Clone, Debug)]
pub struct Agenda {
    stages: Calendar,
    wheel: Wheel,
    /// No source of the wheel fires earlier.
    wheel_from: u64,
    nr_cpus: u32,
    nr_tasks: u32,
    /// On a machine whose CPUs take turns: whose turn it is.
    turns: Option<Turns>,
}

impl Agenda {
    /// An empty agenda for this many CPUs, tasks and timers of the policy.
    ///
    /// # Panics
    /// With more than 1,024 CPUs, or more than 4 billion tasks.
    #[must_use]
    pub fn new(nr_cpus: usize, nr_tasks: usize, nr_timers: usize) -> Agenda {
        assert!(nr_cpus <= 1024, "at most 1,024 CPUs");
        Agenda {
            stages: Calendar::new(nr_cpus),
            wheel: Wheel::new(2 * nr_cpus + nr_tasks + nr_timers),
            wheel_from: u64::MAX,
            nr_cpus: u32::try_from(nr_cpus).expect("at most 1,024 CPUs"),
            nr_tasks: u32::try_from(nr_tasks).expect("tasks are numbered in 32 bits"),
            turns: None,
        }
    }

    /// Its CPUs take turns of `quantum` ns each, 0 or 1 is none. Then time goes back by less than a quantum
    /// wherever the turn passes to the next CPU.
    #[must_use]
    pub fn in_turns(self, quantum: u64) -> Agenda {
        let turns = (quantum > 1).then(|| Turns::new(self.nr_cpus as usize, quantum));
        Agenda { turns, ..self }
    }

    /// Plans `event` for `time`, in place of what was planned for its source; 104 days at most.
    #[inline]
    pub fn arm(&mut self, event: Event, time: SimTime) {
        let time = time.min(LAST);
        match (event, &mut self.turns) {
            (Event::StageEnd(cpu), _) => self.arm_stage(cpu, time),
            (Event::Resched(cpu), Some(turns)) => turns.kick(cpu, time.0),
            _ => {
                self.wheel_from = self.wheel_from.min(time.0);
                self.wheel.arm(self.index(event), time.0);
            }
        }
    }

    /// The stage of `cpu`, whose end is planned, ends when a turn begins, the first one that does not begin
    /// before that; no change where CPUs take no turns.
    #[cold]
    pub(crate) fn ends_with_turn(&mut self, cpu: CpuId) {
        if let Some(turns) = &mut self.turns {
            turns.pause(cpu);
        }
    }

    /// When the turns began that ended at `at`, where CPUs take turns; `at` elsewhere.
    pub(crate) fn turn_before(&self, at: SimTime) -> SimTime {
        self.turns.as_ref().map_or(at, |turns| SimTime(turns.before(at.0)))
    }

    /// When the turns behind those that `at` lies in begin, if no timer expires before; `at` where CPUs take no
    /// turns.
    pub(crate) fn next_turn(&self, at: SimTime) -> SimTime {
        self.turns.as_ref().map_or(at, |turns| SimTime(turns.next(at.0)))
    }

    /// Plans the end of the stage of `cpu`.
    #[inline(always)]
    pub fn arm_stage(&mut self, cpu: CpuId, time: SimTime) {
        match &mut self.turns {
            None => self.stages.arm(cpu, time.min(LAST).0),
            Some(turns) => turns.arm(cpu, time.min(LAST).0),
        }
    }

    /// Drops what is planned for the source of `event`, if anything is.
    #[inline]
    pub fn disarm(&mut self, event: Event) {
        match event {
            Event::StageEnd(cpu) => match &mut self.turns {
                None => self.stages.disarm(cpu),
                Some(turns) => turns.disarm(cpu),
            },
            _ => match (event, &mut self.turns) {
                (Event::Resched(cpu), Some(turns)) => turns.forget_kick(cpu),
                _ => self.wheel.disarm(self.index(event)),
            },
        }
    }

    /// When the source of `event` will fire.
    #[must_use]
    pub fn planned(&self, event: Event) -> Option<SimTime> {
        let time = match event {
            Event::StageEnd(cpu) => match &self.turns {
                None => self.stages.planned(cpu),
                Some(turns) => turns.planned(cpu),
            },
            Event::Resched(cpu) if self.turns.is_some() => self.turns.as_ref()?.kicked(cpu),
            _ => self.wheel.planned(self.index(event)),
        };
        time.map(SimTime)
    }

    /// Before this instant, `horizon` or the next for what is in the wheel, and at it nothing but stages
    /// ends, as long as nothing else is armed. Not for a machine whose CPUs take turns.
    #[inline]
    pub(crate) fn stages_until(&self, horizon: SimTime) -> SimTime {
        debug_assert!(self.turns.is_none(), "CPUs take no turns");
        SimTime(horizon.0.min(self.wheel_from))
    }

    /// Takes out the next end of a stage, unless it comes after `until`, which is that of
    /// [`Agenda::stages_until`].
    #[inline(always)]
    pub(crate) fn next_stage(&mut self, until: SimTime) -> Option<(SimTime, CpuId)> {
        let stage = self.stages.earliest();
        (stage <= until.0).then(|| (SimTime(stage), self.stages.take(stage)))
    }

    /// Plans the end of the stage of `cpu`, of which nothing is planned, where CPUs take no turns.
    #[inline(always)]
    pub(crate) fn arm_next_stage(&mut self, cpu: CpuId, time: SimTime) {
        debug_assert!(self.turns.is_none(), "CPUs take no turns");
        self.stages.arm_new(cpu, time.min(LAST).0);
    }

    /// Takes the next event out, unless it lies after `horizon`: then time has passed up to there,
    /// and nothing earlier may be armed.
    #[inline]
    pub fn next_until(&mut self, horizon: SimTime) -> Option<(SimTime, Event)> {
        if self.turns.is_some() {
            return self.next_in_turns(horizon);
        }
        let stage = self.stages.earliest();
        if stage > self.wheel_from {
            match self.wheel.earliest(horizon.0.min(stage - 1)) {
                Ok(time) => return Some(self.take_from_wheel(time)),
                Err(from) => self.wheel_from = from,
            }
        }
        if stage > horizon.0 {
            return None;
        }
        Some((SimTime(stage), Event::StageEnd(self.stages.take(stage))))
    }

    fn take_from_wheel(&mut self, time: u64) -> (SimTime, Event) {
        let idx = self.wheel.take(time);
        if let Some(turns) = &mut self.turns {
            turns.begin_at(time);
        }
        self.wheel_from = time;
        self.stages.pass(time);
        (SimTime(time), self.event(idx))
    }

    /// The number of a source in the wheel.
    #[inline]
    fn index(&self, event: Event) -> u32 {
        match event {
            Event::StageEnd(_) => unreachable!("stages are not in the wheel"),
            Event::Resched(cpu) => u32::from(cpu.0),
            Event::Tick(cpu) => self.nr_cpus + u32::from(cpu.0),
            Event::Timer(task) => 2 * self.nr_cpus + task.0,
            Event::PolicyTimer(timer) => 2 * self.nr_cpus + self.nr_tasks + timer.0,
        }
    }

    #[inline]
    fn event(&self, idx: u32) -> Event {
        let n = self.nr_cpus;
        if idx < n {
            Event::Resched(CpuId::new(idx as usize))
        } else if idx < 2 * n {
            Event::Tick(CpuId::new((idx - n) as usize))
        } else if idx < 2 * n + self.nr_tasks {
            Event::Timer(TaskId(idx - 2 * n))
        } else {
            Event::PolicyTimer(TimerId(idx - 2 * n - self.nr_tasks))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_instant_sources_fire_by_kind_then_by_id() {
        let mut agenda = Agenda::new(2, 2, 1);
        let order = [
            Event::StageEnd(CpuId(0)),
            Event::StageEnd(CpuId(1)),
            Event::Resched(CpuId(1)),
            Event::Tick(CpuId(0)),
            Event::Timer(TaskId(1)),
            Event::PolicyTimer(TimerId(0)),
        ];
        for event in order.iter().rev() {
            agenda.arm(*event, SimTime(7));
        }
        let fired: Vec<_> = std::iter::from_fn(|| agenda.next_until(SimTime(9))).collect();
        assert_eq!(fired, order.map(|event| (SimTime(7), event)));
    }

    #[test]
    fn an_event_after_the_horizon_stays() {
        let mut agenda = Agenda::new(1, 0, 0);
        agenda.arm(Event::Tick(CpuId(0)), SimTime(5_000_000_000));
        assert_eq!(agenda.next_until(SimTime(4_999_999_999)), None);
        agenda.arm(Event::StageEnd(CpuId(0)), SimTime(4_999_999_999));
        assert!(agenda.next_until(SimTime(4_999_999_999)).is_some());
        assert!(agenda.next_until(SimTime(5_000_000_000)).is_some());
    }
}
