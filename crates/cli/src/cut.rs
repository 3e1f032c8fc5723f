//! `Cutter`: a run to its end, or to the end of a stated span once it is stationary.
//!
//! A cut run first warms up, for a time that does not depend on the span: what a machine settles
//! into takes as long as its balancers and load averages take, however little of it is measured.
//! The time counts from the last step in which a task was started. Then the rates of operations,
//! migrations and context switches over the last half of it, in ten batches, must be without a
//! [`Trend`]; if they are not, it warms up for half as long again, up to twice the time in all.
//! Then the span is measured in ten batches of equal length, whose means tell how far the numbers
//! can be trusted (batch means: Law, Simulation Modeling and Analysis, section 9.5.3), and whether
//! the rates still change within it. What is not steady by then is measured all the same, and said.

use simsched_core::observe::{CpuSeries, LlcSeries, Stats};
use simsched_core::{
    MarkId, Nanos, Observer, Policy, SimTime, Simulator, Status, Tracepoint, Wants, Workload, World,
};
use simsched_topology::Topology;

use crate::counters::Counters;
use crate::failure::Failure;
use crate::interrupt;
use crate::meter::{Meter, RATES, Totals};
use crate::progress::Progress;
use crate::report::End;
use crate::run::Watch;
use crate::schedstat::SchedInfo;
use crate::student::Spread;
use crate::trend::Trend;

/// Events between two looks at the clock and at Ctrl-C: some 10 ms.
const PORTION: u64 = 100_000;

/// Batches of the measured span, and of the part of the warm-up that must be steady.
const BATCHES: usize = 10;

/// Steps of the warm-up that is asked for: the last half of it is one window of [`BATCHES`].
const STEPS: usize = 2 * BATCHES;

/// After how many steps without new tasks no run is waited for any more.
const MOST_STEPS: usize = 2 * STEPS;

/// The same for a program that starts tasks all the time.
const MOST_STEPS_WITH_FORKS: usize = 20 * STEPS;

/// Intervals of the widest sched domain after which its balancer has done what it does: a running task
/// is moved after more than two failures beyond `cache_nice_tries`, which is 2 at most.
const INTERVALS: u64 = 5;

/// When the balancer of the widest domain has had [`INTERVALS`]: one is as many ms as it has CPUs.
pub(crate) fn settles_in(topology: &Topology) -> SimTime {
    SimTime::ZERO + Nanos::from_millis(INTERVALS * topology.nr_cpus() as u64)
}

/// What is measured of a run that is not measured as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// For how long, of simulated time.
    pub(crate) span: Nanos,
    /// How long it runs before at least.
    pub(crate) warmup: Nanos,
}

/// Watches what only a part of the run, or only these commands, ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Of the measured span, once that has begun.
    pub(crate) stats: Option<Stats>,
    /// What `perf stat` counts of the run.
    pub(crate) counters: Counters,
    /// Where processes are at home, if that is asked for.
    pub(crate) llc: Option<LlcSeries>,
    /// What `/proc/schedstat` would show, if that is asked for.
    pub(crate) sched_info: Option<SchedInfo>,
    /// How busy CPUs are over time, if that is asked for.
    pub(crate) cpus: Option<CpuSeries>,
    /// What the run is to come to before it pauses once.
    pub(crate) awaits: Option<Awaits>,
    /// Whether it has come to that.
    pub(crate) pauses: bool,
}

/// A point of a run: this mark was passed, and so many tasks were born.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaits {
    /// None once it was passed.
    pub(crate) mark: Option<MarkId>,
    /// Those that are still to come.
    pub(crate) births: usize,
}

impl Awaits {
    fn on(&mut self, tracepoint: Tracepoint) {
        match tracepoint {
            Tracepoint::Mark { mark, .. } => self.mark = self.mark.filter(|it| *it != mark),
            Tracepoint::Fork { parent: Some(_), .. } => {
                self.births = self.births.saturating_sub(1);
            }
            _ => {}
        }
    }
}

impl Observer for Window {
    #[inline(always)]
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        self.counters.on(world, tracepoint);
        self.stats.on(world, tracepoint);
        self.llc.on(world, tracepoint);
        self.sched_info.on(world, tracepoint);
        self.cpus.on(world, tracepoint);
        if let Some(awaits) = &mut self.awaits
            && matches!(tracepoint, Tracepoint::Mark { .. } | Tracepoint::Fork { .. })
        {
            awaits.on(tracepoint);
            if awaits.mark.is_none() && awaits.births == 0 {
                (self.awaits, self.pauses) = (None, true);
            }
        }
    }

    #[inline(always)]
    fn pauses(&self) -> bool {
        self.pauses
    }

    fn wants(&self) -> Wants {
        self.llc.wants()
    }
}

/// What was measured of a run that was cut.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) span: Nanos,
    /// What went before.
    pub(crate) warmup: Nanos,
    /// Whether the rates of [`RATES`] were steady when the span began.
    pub(crate) settled: bool,
    /// Whether the span began before the balancer of the widest sched domain had its five intervals.
    pub(crate) early: bool,
    /// What was done in the span,
    pub(crate) totals: Totals,
    /// and in each of its batches.
    pub(crate) batches: Vec<Totals>,
    /// CPU time that had idled away before while tasks waited.
    pub(crate) wasted_before: Nanos,
}

impl Cut {
    /// How each of [`RATES`] changes over the span.
    pub(crate) fn trends(&self) -> [(&'static str, Option<Trend>); RATES.len()] {
        trends(&self.batches)
    }

    /// Whether they were steady before the span, and are within it.
    pub(crate) fn is_stationary(&self) -> bool {
        self.settled && is_steady(&self.trends())
    }

    /// Half the 95 % interval of the mean of `number` over the batches, in percent of the mean.
    pub(crate) fn batch_ci95_pct(&self, number: impl Fn(&Totals) -> Option<f64>) -> Option<f64> {
        let numbers: Vec<f64> = self.batches.iter().map(number).collect::<Option<_>>()?;
        let spread = (!numbers.is_empty()).then(|| Spread::of(&numbers))?;
        (spread.mean != 0.0).then_some(100.0 * spread.ci95? / spread.mean.abs())
    }
}

/// Drives a run.
pub(crate) struct Cutter<'a, P: ?Sized, W> {
    pub(crate) run: &'a mut Simulator<P, W, Watch>,
    pub(crate) meter: &'a Meter,
    pub(crate) topology: &'a Topology,
    pub(crate) progress: Option<&'a mut Progress>,
}

impl<P: Policy + ?Sized, W: Workload> Cutter<'_, P, W> {
    /// Runs to its end, or until this time.
    pub(crate) fn until(&mut self, horizon: SimTime) -> Result<End, Failure> {
        loop {
            if let Some(end) = self.portion(horizon)? {
                return Ok(end);
            }
        }
    }

    /// Runs for some 10 ms of the user's time, to its end, or until this time; none where it goes on.
    pub(crate) fn portion(&mut self, horizon: SimTime) -> Result<Option<End>, Failure> {
        if interrupt::is_asked() {
            // What happens at this very instant still happens; then all time is charged.
            self.run.run_until(self.run.world().now())?;
            return Ok(Some(End::Interrupted));
        }
        match self.run.run_events(horizon, PORTION)? {
            Status::Finished => return Ok(Some(End::Finished)),
            Status::Horizon => return Ok(Some(End::Duration)),
            Status::Paused => {}
        }
        if let Some(recorder) = &self.run.observer().1.1.1.1 {
            recorder.failure().map_or(Ok(()), Err)?;
        }
        if let Some(progress) = self.progress.as_deref_mut() {
            progress.at(self.run.world().now(), self.run.events());
        }
        Ok(None)
    }

    /// Runs on for so long, but not beyond `horizon`; whether it did.
    pub(crate) fn on_for(&mut self, span: Nanos, horizon: SimTime) -> Result<Option<End>, Failure> {
        let goal = self.run.world().now() + span;
        let end = self.until(goal.min(horizon))?;
        Ok((end != End::Duration || goal > horizon).then_some(end))
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals::of(self.run, self.meter, self.topology)
    }

    /// Runs until it is stationary, and measures. There is no cut of a run that ends before.
    pub(crate) fn cut(
        &mut self,
        slice: Slice,
        horizon: SimTime,
        new_stats: impl Fn() -> Stats,
    ) -> Result<(End, Option<Cut>), Failure> {
        let batch = Nanos((slice.span.get() / BATCHES as u64).max(1));
        let step = Nanos((slice.warmup.get() / STEPS as u64).max(1));
        let settled = match self.warm_up(step, horizon)? {
            Warm::Ended(end) => return Ok((end, None)),
            Warm::Done { steady } => steady,
        };
        let early = self.run.world().now() < settles_in(self.topology);
        let (start, wasted_before) = (self.totals(), self.run.observer().0.idle_while_waiting());
        self.run.observer_mut().1.0.stats = Some(new_stats());
        self.meter.begin();
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
        let cut = Cut { span, warmup, settled, early, totals, batches, wasted_before };
        Ok((End::Span, Some(cut)))
    }

    /// Runs until the rates are steady, for twice the time that was asked for at most.
    fn warm_up(&mut self, step: Nanos, horizon: SimTime) -> Result<Warm, Failure> {
        // The steps since the last one in which a task was started.
        let mut steps: Vec<Totals> = Vec::new();
        for _ in 0..MOST_STEPS_WITH_FORKS {
            let (start, forks) = (self.totals(), self.run.observer().0.forks());
            if let Some(end) = self.on_for(step, horizon)? {
                return Ok(Warm::Ended(end));
            }
            if self.run.observer().0.forks() != forks {
                steps.clear();
                continue;
            }
            steps.push(self.totals().since(&start));
            let has_window = steps.len() >= STEPS && steps.len().is_multiple_of(BATCHES);
            let steady = has_window && is_steady(&trends(&steps[steps.len() - BATCHES..]));
            if steady || steps.len() >= MOST_STEPS {
                return Ok(Warm::Done { steady });
            }
        }
        Ok(Warm::Done { steady: false })
    }
}

/// How each of [`RATES`] changes over these batches.
fn trends(batches: &[Totals]) -> [(&'static str, Option<Trend>); RATES.len()] {
    RATES.map(|(name, rate)| {
        let rates: Option<Vec<f64>> = batches.iter().map(rate).collect();
        (name, rates.and_then(|rates| Trend::of(&rates)))
    })
}

fn is_steady(trends: &[(&str, Option<Trend>)]) -> bool {
    trends.iter().all(|(_, trend)| trend.is_none_or(|trend| trend.is_steady()))
}

/// How a warm-up came out.
enum Warm {
    /// With rates that were steady at last or not.
    Done {
        steady: bool,
    },
    Ended(End),
}
