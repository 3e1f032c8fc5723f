//! `Cutter`: a run to its end, or to the end of a stated span once it is stationary.
//!
//! A cut run warms up in steps of a fifth of the span. It counts as stationary after two successive
//! steps in which no task was started and whose rates of work differ by at most 3 %; if it is not
//! after four spans without new tasks, what follows is measured all the same, and said not to be stationary. Then the
//! span is measured in ten batches of equal length, whose means tell how far the numbers can be
//! trusted (batch means: Law, Simulation Modeling and Analysis, section 9.5.3).

use simsched_core::observe::Stats;
use simsched_core::{
    Nanos, Observer, Policy, SimTime, Simulator, Status, Tracepoint, Workload, World,
};
use simsched_topology::Topology;

use crate::failure::Failure;
use crate::interrupt;
use crate::meter::{Meter, Totals, WorkUnit};
use crate::progress::Progress;
use crate::report::End;
use crate::run::Watch;
use crate::student::Spread;

/// Events between two looks at the clock and at Ctrl-C: some 10 ms.
const PORTION: u64 = 100_000;

/// Steps of the warm-up in one span.
const STEPS: u64 = 5;

/// After how many steps nobody waits for a steady rate any more.
const MOST_STEPS: u64 = 4 * STEPS;

/// The same for a program that starts tasks all the time.
const MOST_STEPS_WITH_FORKS: u64 = 50 * MOST_STEPS;

/// By how much the rates of two steps may differ.
const STEADY: f64 = 0.03;

/// Batches of the measured span.
const BATCHES: u64 = 10;

/// Watches what only a part of the run, or only these commands, ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Of the measured span, once that has begun.
    pub(crate) stats: Option<Stats>,
    /// Switches away from a task since the start of the run.
    pub(crate) task_switches: u64,
}

impl Observer for Window {
    #[inline]
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if let Tracepoint::Switch { prev: Some(_), .. } = tracepoint {
            self.task_switches += 1;
        }
        self.stats.on(world, tracepoint);
    }
}

/// What was measured of a run that was cut.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) span: Nanos,
    /// What went before.
    pub(crate) warmup: Nanos,
    /// Whether the rate of work was steady when the span began.
    pub(crate) stationary: bool,
    /// What was done in the span,
    pub(crate) totals: Totals,
    /// and in each of its batches.
    pub(crate) batches: Vec<Totals>,
    /// CPU time that had idled away before while tasks waited.
    pub(crate) wasted_before: Nanos,
}

impl Cut {
    /// Half the 95 % interval of the mean of `number` over the batches, in percent of the mean.
    pub(crate) fn batch_ci95_pct(&self, number: impl Fn(&Totals) -> Option<f64>) -> Option<f64> {
        let numbers: Vec<f64> = self.batches.iter().map(number).collect::<Option<_>>()?;
        let spread = (!numbers.is_empty()).then(|| Spread::of(&numbers))?;
        (spread.mean != 0.0).then_some(100.0 * spread.ci95? / spread.mean.abs())
    }
}

/// Drives a run.
pub(crate) struct Cutter<'a, P, W> {
    pub(crate) run: &'a mut Simulator<P, W, Watch>,
    pub(crate) meter: &'a Meter,
    pub(crate) topology: &'a Topology,
    pub(crate) progress: Option<&'a mut Progress>,
}

impl<P: Policy, W: Workload> Cutter<'_, P, W> {
    /// Runs to its end, or until this time.
    pub(crate) fn until(&mut self, horizon: SimTime) -> Result<End, Failure> {
        loop {
            if interrupt::is_asked() {
                // What happens at this very instant still happens; then all time is charged.
                self.run.run_until(self.run.world().now())?;
                return Ok(End::Interrupted);
            }
            match self.run.run_events(horizon, PORTION)? {
                Status::Finished => return Ok(End::Finished),
                Status::Horizon => return Ok(End::Duration),
                Status::Paused => {}
            }
            if let Some(progress) = self.progress.as_deref_mut() {
                progress.at(self.run.world().now(), self.run.events());
            }
        }
    }

    /// Runs on for so long, but not beyond `horizon`; whether it did.
    fn on_for(&mut self, span: Nanos, horizon: SimTime) -> Result<Option<End>, Failure> {
        let goal = self.run.world().now() + span;
        let end = self.until(goal.min(horizon))?;
        Ok((end != End::Duration || goal > horizon).then_some(end))
    }

    fn totals(&self) -> Totals {
        Totals::of(self.run, self.meter, self.topology)
    }

    /// Runs until it is stationary, and measures `span`. There is no cut of a run that ends before.
    pub(crate) fn cut(
        &mut self,
        span: Nanos,
        horizon: SimTime,
        new_stats: impl Fn() -> Stats,
    ) -> Result<(End, Option<Cut>), Failure> {
        let batch = Nanos((span.get() / BATCHES).max(1));
        let stationary = match self.warm_up(Nanos((span.get() / STEPS).max(1)), horizon)? {
            Warm::Ended(end) => return Ok((end, None)),
            Warm::Steady => true,
            Warm::Unsteady => false,
        };
        let (start, wasted_before) = (self.totals(), self.run.observer().0.idle_while_waiting());
        self.run.observer_mut().1.0.stats = Some(new_stats());
        let mut batches = Vec::new();
        let mut last = start.clone();
        for _ in 0..BATCHES {
            if let Some(end) = self.on_for(batch, horizon)? {
                return Ok((end, None));
            }
            let now = self.totals();
            batches.push(now.since(&last));
            last = now;
        }
        let totals = last.since(&start);
        let (span, warmup) = (Nanos(totals.span_ns), Nanos(start.span_ns));
        let cut = Cut { span, warmup, stationary, totals, batches, wasted_before };
        Ok((End::Span, Some(cut)))
    }

    fn warm_up(&mut self, step: Nanos, horizon: SimTime) -> Result<Warm, Failure> {
        let (mut before, mut settled) = (None, 0);
        for _ in 0..MOST_STEPS_WITH_FORKS {
            let (start, forks) = (self.totals(), self.run.observer().0.forks());
            if let Some(end) = self.on_for(step, horizon)? {
                return Ok(Warm::Ended(end));
            }
            let rate = self.totals().since(&start).rate(WorkUnit::Operations);
            let is_settled = self.run.observer().0.forks() == forks;
            let now = rate.filter(|rate| is_settled && *rate > 0.0);
            if let (Some(before), Some(now)) = (before, now)
                && differ_by(before, now) <= STEADY
            {
                return Ok(Warm::Steady);
            }
            before = now;
            settled += u64::from(is_settled);
            if settled == MOST_STEPS {
                break;
            }
        }
        Ok(Warm::Unsteady)
    }
}

/// How a warm-up came out.
enum Warm {
    Steady,
    Unsteady,
    Ended(End),
}

fn differ_by(a: f64, b: f64) -> f64 {
    (a - b).abs() / a.max(b)
}
