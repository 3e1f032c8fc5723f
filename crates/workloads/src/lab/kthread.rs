//! `Kthread`: a thread of the kernel, and the ticks at which it wakes up.

use simsched_core::{Nanos, Op, ProcId, SchedPolicy, SimTime, Start, TaskSpec};
use simsched_topology::{CpuId, CpuSet};

use super::damon::Damon;
use super::grace::Grace;

/// A tick of the lab's kernels (`CONFIG_HZ=250`).
pub(super) const TICK: Nanos = Nanos::from_millis(4);

/// Ticks in a second.
pub(super) const HZ: u64 = 250;

/// The ticks of a slot in the second level of the timer wheel, where timers of a second are.
pub(super) const SLOT: u64 = 8;

/// How often `kworker/N:1` finds changed counters once tasks have been born on CPU N, and so comes back
/// after a second: it wakes up 1.0 times in the first second of a run, 1.1 in the next, and 0.1 in
/// each one later.
const FOLDS: u64 = 2;
/// After so many seconds the next time.
const REST: u64 = 10;

/// Ticks between two looks of `rcu_preempt` at a grace period: 904 of 1,109 that are at most three.
const LOOK: u64 = 2;
/// The later ones come in twos, one such each 350 ticks: 1.42 and 1.44 wakeups a second.
pub(super) const PAIRS: u64 = 350;

/// A thread of the kernel: it sleeps until an instant of its plan, and computes for a turn.
#[derive(Clone, Debug)]
pub(super) struct Kthread {
    name: String,
    cpu: CpuId,
    allowed: Option<CpuSet>,
    plan: Plan,
    turn: Nanos,
    /// Turns done, or missed.
    turns: u64,
    /// It is in a turn.
    runs: bool,
    /// The tick in which the scenario began, 0 before, and whether it has begun.
    epoch: u64,
    pub(super) begun: bool,
}

/// At which ticks of the run a thread wakes up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    /// At `first`, and each `period` ticks.
    Periodic { first: u64, period: u64 },
    /// At `first`, and each second or only [`FOLDS`] of them, at a slot of the wheel that is `wheel`
    /// ticks on.
    Seconds { first: u64, wheel: u64, always: bool },
    /// So many `looks` from the `first` tick on, then twos from `later` on.
    Grace { first: u64, looks: u64, later: u64 },
    /// As [`damon`] says.
    Damon(Damon),
    /// In no run: its timer is only in the wheel of its CPU.
    Never,
}

impl Plan {
    /// The tick of turn `nth`, from 0 on.
    fn tick(self, nth: u64, begun: bool) -> u64 {
        match self {
            Plan::Periodic { first, period } => first + nth * period,
            Plan::Seconds { first, wheel, always } => {
                let finds = always || !begun || nth < FOLDS;
                let seconds = if finds { nth } else { (nth + 1 - FOLDS) * REST };
                (first + seconds * HZ + wheel).next_multiple_of(SLOT) - wheel
            }
            Plan::Grace { first, looks, .. } if nth < looks => first + nth * LOOK,
            Plan::Grace { looks, later, .. } => {
                let nth = nth - looks;
                later + nth / 2 * PAIRS + nth % 2 * LOOK
            }
            Plan::Damon(damon) => damon.tick(nth),
            Plan::Never => u64::MAX / TICK.get() / 2,
        }
    }
}

impl Kthread {
    pub(super) fn new(
        name: String,
        cpu: CpuId,
        allowed: Option<CpuSet>,
        plan: Plan,
        turn: Nanos,
    ) -> Kthread {
        let (turns, runs, epoch, begun) = (0, false, 0, true);
        Kthread { name, cpu, allowed, plan, turn, turns, runs, epoch, begun }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// At the first tick of the run that is not before the instant of its plan.
    fn wakes_at(&self, tick: Nanos) -> SimTime {
        let at = start_of(self.epoch + self.plan.tick(self.turns, self.begun));
        SimTime(at.get().div_ceil(tick.get()).saturating_mul(tick.get()))
    }

    /// A scenario begins at `now`; `drawn` is the plan of `rcu_preempt` in it.
    pub(super) fn begin(&mut self, now: SimTime, drawn: Plan) {
        let tick = tick_of(now);
        match &mut self.plan {
            Plan::Periodic { .. } | Plan::Damon(_) | Plan::Never => {}
            // Its next second stays the next one, and is the first of the scenario.
            Plan::Seconds { first, wheel, .. } => {
                let later = tick - self.epoch;
                *first = (*first + HZ - later % HZ) % HZ;
                *wheel = (*wheel + later) % SLOT;
                (self.epoch, self.turns, self.begun) = (tick, 0, true);
            }
            Plan::Grace { .. } => (self.plan, self.epoch, self.turns) = (drawn, tick, 0),
        }
    }

    pub(super) fn spec(&self, proc: ProcId, tick: Nanos) -> TaskSpec {
        TaskSpec {
            name: self.name.clone(),
            proc,
            nice: 0,
            policy: SchedPolicy::Normal,
            allowed: self.allowed,
            start: Start::Background {
                cpu: self.cpu,
                until: self.wakes_at(tick),
                deferrable: matches!(self.plan, Plan::Seconds { always: false, .. }),
            },
        }
    }

    pub(super) fn next_op(&mut self, now: SimTime, tick: Nanos, grace: Option<&mut Grace>) -> Op {
        self.runs = !self.runs;
        if self.runs {
            return Op::Run(self.turn);
        }
        if let (Some(grace), Plan::Grace { .. }) = (grace, self.plan) {
            return Op::SleepUntil(grace.next(tick_of(now)).map_or(SimTime::NEVER, start_of));
        }
        while self.wakes_at(tick) <= now {
            self.turns += 1;
        }
        Op::SleepUntil(self.wakes_at(tick))
    }
}

/// The last tick that is not behind `now`.
pub(super) fn tick_of(now: SimTime) -> u64 {
    now.get() / TICK.get()
}

pub(super) fn start_of(tick: u64) -> SimTime {
    SimTime(tick * TICK.get())
}
