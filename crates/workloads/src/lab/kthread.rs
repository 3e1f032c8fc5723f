//! `Kthread`: a thread of the kernel, and the ticks at which it wakes up.

use simsched_core::{Nanos, Op, ProcId, RousedBy, SchedPolicy, SimTime, Start, TaskId, TaskSpec};
use simsched_topology::{CpuId, CpuSet};

use super::damon::Damon;
use super::grace::{Grace, LOOK};

/// A tick of the lab's kernels (`CONFIG_HZ=250`).
pub(super) const TICK: Nanos = Nanos::from_millis(4);

/// Ticks in a second.
pub(super) const HZ: u64 = 250;

/// A tick behind the end of every run.
pub(super) const NEVER: u64 = u64::MAX / TICK.get() / 2;

/// The ticks of a slot in the second level of the timer wheel, where timers of a second are.
pub(super) const SLOT: u64 = 8;

/// The later ones come in twos, one such each 350 ticks: 1.42 and 1.44 wakeups a second.
pub(super) const PAIRS: u64 = 350;

/// What a turn takes, from the return to the thread to its next sleep: 4 to 6 us from switch to switch without the system
/// call, the dequeue and the switch that the machine adds. One with `delayed_vfree_work()` takes 2.5 us less in the median
/// than one with `vmstat_update()` (863 and 1,234 in four boots of 7.3.4, with works traced), and is charged alike.
pub(super) const TURN: Nanos = Nanos(2_200);

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
    /// The tick in which the scenario began, 0 before.
    epoch: u64,
    /// The ticks in which works are queued for it beside those of its plan.
    works: Vec<u64>,
}

/// At which ticks of the run a thread wakes up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    /// At `first`, and each `period` ticks.
    Periodic { first: u64, period: u64 },
    /// Next in this tick, or when it is woken up; what follows is said at the end of each turn
    /// ([`Vmstat`](super::vmstat::Vmstat)).
    Counters { next: u64 },
    /// So many `looks` from the `first` tick on, then twos from `later` on.
    Grace { first: u64, looks: u64, later: u64 },
    /// As [`damon`] says.
    Damon(Damon),
    /// In no run: its timer is only in the wheel of its CPU.
    Never,
}

impl Plan {
    /// This, with the first of the looks of `rcu_preempt` so many ticks behind the begin, where that is known.
    pub(super) fn beginning(self, after: Option<u64>) -> Plan {
        match (self, after) {
            (Plan::Grace { looks, later, .. }, Some(first)) => Plan::Grace { first, looks, later },
            _ => self,
        }
    }

    /// The tick of turn `nth`, from 0 on.
    fn tick(self, nth: u64) -> u64 {
        match self {
            Plan::Periodic { first, period } => first + nth * period,
            Plan::Counters { next } => next,
            Plan::Grace { first, looks, .. } if nth < looks => first + nth * LOOK,
            Plan::Grace { looks, later, .. } => {
                let nth = nth - looks;
                later + nth / 2 * PAIRS + nth % 2 * LOOK
            }
            Plan::Damon(damon) => damon.tick(nth),
            Plan::Never => NEVER,
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
        let (turns, runs, epoch) = (0, false, 0);
        Kthread { name, cpu, allowed, plan, turn, turns, runs, epoch, works: Vec::new() }
    }

    /// At the first tick of the run that is not before the instant of its plan.
    fn wakes_at(&self, tick: Nanos) -> SimTime {
        let planned = self.epoch + self.plan.tick(self.turns);
        let at = start_of(self.works.iter().copied().fold(planned, u64::min));
        SimTime(at.get().div_ceil(tick.get()).saturating_mul(tick.get()))
    }

    /// A scenario begins at `now`; `drawn` is the plan of `rcu_preempt` in it.
    pub(super) fn begin(&mut self, now: SimTime, drawn: Plan) {
        let tick = tick_of(now);
        if let Plan::Grace { .. } = self.plan {
            (self.plan, self.epoch, self.turns) = (drawn, tick, 0);
        }
    }

    /// Before the run it has slept on this CPU.
    pub(super) fn slept_on(&mut self, cpu: CpuId) {
        self.cpu = cpu;
    }

    /// The tick in which the scenario began for `rcu_preempt`.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The tick of the last look of `rcu_preempt` at what has begun last.
    pub(super) fn last_look(&self) -> u64 {
        match self.plan {
            Plan::Grace { first, looks, .. } => self.epoch + first + looks.saturating_sub(1) * LOOK,
            _ => 0,
        }
    }

    /// Whether its next op ends a turn.
    pub(super) fn runs(&self) -> bool {
        self.runs
    }

    /// Its next turn is in this tick.
    pub(super) fn comes_back(&mut self, next: u64) {
        self.plan = Plan::Counters { next };
    }

    /// A work is queued for it in this tick.
    pub(super) fn queue_work(&mut self, tick: u64) {
        self.works.push(tick);
    }

    /// It has executed the works that have been queued up to `tick`: whether its plan is due as well.
    pub(super) fn finish_works(&mut self, tick: u64) -> bool {
        let queued = self.works.len();
        self.works.retain(|work| *work > tick);
        queued == self.works.len() || self.is_due(tick)
    }

    /// Whether its plan is due by `tick`.
    fn is_due(&self, tick: u64) -> bool {
        self.epoch + self.plan.tick(self.turns) <= tick
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
                deferrable: matches!(self.plan, Plan::Counters { .. }),
            },
        }
    }

    pub(super) fn next_op(&mut self, now: SimTime, tick: Nanos, grace: Option<&mut Grace>) -> Op {
        self.runs = !self.runs;
        if self.runs {
            let is_due = self.works.is_empty() || self.is_due(tick_of(now));
            return Op::Run(if is_due { self.turn } else { self.turn.min(TURN) });
        }
        if let (Some(grace), Plan::Grace { .. }) = (grace, self.plan) {
            return Op::SleepUntil(grace.next(tick_of(now)).map_or(SimTime::NEVER, start_of));
        }
        let is_said = matches!(self.plan, Plan::Counters { .. });
        while !is_said && self.wakes_at(tick) <= now {
            self.turns += 1;
        }
        Op::SleepUntil(self.wakes_at(tick))
    }
}

/// The first multiple of [`SLOT`] behind `jiffies`: there expires a timer of 64 to 511 ticks that is due at `jiffies`
/// (`calc_index()`).
pub(super) fn slot_behind(jiffies: u64) -> u64 {
    jiffies / SLOT * SLOT + SLOT
}

/// A thread of the kernel is woken up at this instant by a timer of the CPU of the task that does this.
pub(super) fn rouse(task: TaskId, at: SimTime) -> Op {
    Op::Rouse { task, at, by: RousedBy::ThisCpu }
}

/// The last tick that is not behind `now`.
pub(super) fn tick_of(now: SimTime) -> u64 {
    now.get() / TICK.get()
}

pub(super) fn start_of(tick: u64) -> SimTime {
    SimTime(tick * TICK.get())
}
