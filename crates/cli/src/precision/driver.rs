//! Drives a run until what it tells is precise enough.

use simsched_core::observe::Stats;
use simsched_core::{Nanos, Policy, SimTime, Workload};
use simsched_workloads::catalog::Teams;

use super::plan::{Rates, doubt_of_last};
use super::series::{FIGURES, Step, float, start_of};
use super::{Ask, Figure, Goal, Sampled};
use crate::cut::{Cutter, settles_in};
use crate::even::{busy_share, nodes_are_even};
use crate::extensive::{Extensive, Growth};
use crate::failure::Failure;
use crate::meter::{Totals, WorkUnit};
use crate::report::{CpuTime, End};
use crate::student::both;
use crate::trend::Trend;

/// The length of a step.
const STEP: Nanos = Nanos(1_000_000);

/// Steps before the first look whether a run is stationary: MSER-5 and the batches need some.
const LEAST_STEPS: usize = 200;

/// After how many steps the counts are kept, for the sample to begin there.
const KEEP: usize = 50;

/// In so many batches a window must be without a trend.
const WINDOWS: usize = 10;

/// If more than so many 1,024ths of the rest are needed, all of it is simulated.
const MOST_1024: u64 = 700;

/// Of a job of teams at least so much of the rest is simulated.
const LEAST_1024: u64 = 1024 / 16;

/// A run on its way.
struct Watched {
    goal: Goal,
    /// Since the last new task.
    steps: Vec<Step>,
    /// The totals behind the last step, and when the first one began.
    last: Totals,
    /// Migrations and context switches up to there.
    counted: [u64; 2],
    origin: SimTime,
    forks: u64,
    /// Counts so far, by the number of steps.
    kept: Vec<(usize, Extensive)>,
    /// When the statistics of the sample began.
    stats_from: SimTime,
}

/// How a part of a run came out.
enum Came {
    /// The run is over, or was stopped by the user.
    Ended(End),
    /// As many steps as there should be, or somebody has ended.
    On,
    /// The limit of events was reached.
    Limited,
}

impl Watched {
    fn push(&mut self, now: Totals, counted: [u64; 2]) {
        let done = now.since(&self.last);
        let [migrations, switches] = [0, 1].map(|figure| counted[figure] - self.counted[figure]);
        let (unit, time) = match self.goal {
            Goal::Teams(_) => (WorkUnit::Messages, done.span_ns),
            Goal::Rounds(_) => (WorkUnit::Rounds, done.span_ns),
            Goal::Time(_) => (WorkUnit::Operations, done.ops),
        };
        let work = if matches!(self.goal, Goal::Time(_)) { done.span_ns } else { done.work(unit) };
        let figures = [time, migrations, switches];
        self.steps.push(Step { span_ns: done.span_ns, work, figures });
        (self.last, self.counted) = (now, counted);
    }

    /// What is still to be done.
    fn rest(&self) -> u64 {
        let done = |unit| self.last.work(unit);
        match self.goal {
            Goal::Teams(Teams { messages, .. }) => {
                messages.saturating_sub(done(WorkUnit::Messages))
            }
            Goal::Rounds(rounds) => rounds.saturating_sub(done(WorkUnit::Rounds)),
            Goal::Time(length) => (self.origin + length).get().saturating_sub(self.last.span_ns),
        }
    }

    /// The figures at the end of the last step.
    fn so_far(&self) -> [f64; FIGURES] {
        let first = match self.goal {
            Goal::Time(_) => self.last.ops,
            _ => self.last.span_ns,
        };
        [first, self.counted[0], self.counted[1]].map(float)
    }

    fn ends_at(&self, steps: usize) -> SimTime {
        let spans: u64 = self.steps[..steps].iter().map(|step| step.span_ns).sum();
        self.origin + Nanos(spans)
    }
}

/// Whether the rates of these steps have no trend.
fn is_steady(steps: &[Step]) -> bool {
    let size = (steps.len() / WINDOWS).max(1);
    (0..FIGURES).all(|figure| {
        let count = |batch: &[Step]| -> u64 { batch.iter().map(|step| step.figures[figure]).sum() };
        let work = |batch: &[Step]| -> u64 { batch.iter().map(|step| step.work).sum() };
        let rates = steps.rchunks_exact(size).take(WINDOWS);
        let rates: Vec<f64> =
            rates.map(|batch| float(count(batch)) / float(work(batch).max(1))).collect();
        Trend::of(&rates).is_none_or(|trend| trend.is_steady())
    })
}

impl<P: Policy + ?Sized, W: Workload> Cutter<'_, P, W> {
    /// Runs until the figures of the whole job are known as precisely as asked for, or to its end.
    pub(crate) fn precise(
        &mut self,
        ask: Ask,
        goal: Goal,
        new_stats: impl Fn() -> Stats,
    ) -> Result<(End, Option<Sampled>), Failure> {
        let mut watched = Watched {
            goal,
            steps: Vec::new(),
            last: self.totals(),
            counted: [0; 2],
            origin: SimTime::ZERO,
            forks: 0,
            kept: Vec::new(),
            stats_from: SimTime::ZERO,
        };
        let mut look = LEAST_STEPS;
        loop {
            match self.step_to(&mut watched, look, ask)? {
                Came::Ended(End::Interrupted) => return Ok((End::Interrupted, None)),
                Came::Ended(end) => return Ok((end, Some(self.whole(ask, &watched)))),
                Came::Limited => return self.stopped(ask, &watched, false, true),
                Came::On => {}
            }
            if self.run.observer().0.exits() > 0 {
                // The job is ending: there is nothing stationary to wait for.
                let end = self.until(SimTime::NEVER)?;
                let whole = (end == End::Finished).then(|| self.whole(ask, &watched));
                return Ok((end, whole));
            }
            look = watched.steps.len() * 9 / 8;
            let start = start_of(&watched.steps).filter(|_| self.has_settled(&watched));
            let Some(start) = start.filter(|start| is_steady(&watched.steps[*start..])) else {
                self.run.observer_mut().1.0.stats = Some(new_stats());
                watched.stats_from = self.run.world().now();
                continue;
            };
            let Some(rates) = Rates::of(&watched.steps[start..]).filter(Rates::is_pilot) else {
                continue;
            };
            let rest = float(watched.rest());
            let needed = rates.needed(ask, rest, watched.so_far());
            match goal {
                Goal::Teams(teams) => {
                    // The teams need time to draw apart.
                    let to_1024 = part_1024(needed.max(rates.sample), rest).max(LEAST_1024);
                    if to_1024 <= MOST_1024 {
                        return self.shortened(ask, watched, (teams, to_1024), start);
                    }
                }
                _ if needed <= rates.sample => return self.stopped(ask, &watched, true, false),
                _ => {}
            }
        }
    }

    /// Runs on in steps until there are so many of them since the last new task.
    fn step_to(&mut self, watched: &mut Watched, steps: usize, ask: Ask) -> Result<Came, Failure> {
        while watched.steps.len() < steps && self.run.observer().0.exits() == 0 {
            if let Some(end) = self.on_for(STEP, SimTime::NEVER)? {
                return Ok(Came::Ended(end));
            }
            let now = self.totals();
            let forks = self.run.observer().0.forks();
            if forks != watched.forks {
                watched.steps.clear();
                watched.kept.clear();
                (watched.forks, watched.last, watched.counted) = (forks, now, self.counted());
                watched.origin = self.run.world().now();
                continue;
            }
            watched.push(now, self.counted());
            if watched.steps.len().is_multiple_of(KEEP) {
                watched.kept.push((watched.steps.len(), self.counts()));
            }
            if ask.limit.is_some_and(|limit| self.run.events() >= limit) {
                return Ok(Came::Limited);
            }
        }
        Ok(Came::On)
    }

    /// Whether the balancers of the widest domain have had their time, or nothing to do.
    fn has_settled(&self, watched: &Watched) -> bool {
        let settles = Nanos(settles_in(self.topology).get());
        if self.run.world().now() >= watched.origin + settles {
            return true;
        }
        let nodes = self.topology.nr_nodes();
        let busy: Option<Vec<u64>> = (0..nodes).map(|node| self.busy_of(watched, node)).collect();
        busy.is_some_and(|shares| nodes_are_even(&shares))
    }

    /// In millionths: what part of its time the CPUs of a node have been busy lately.
    fn busy_of(&self, watched: &Watched, node: usize) -> Option<u64> {
        let (_, before) = watched.kept.iter().rev().nth(1)?;
        let of = |was: &Extensive| was.costs_by_node.get(node).map(CpuTime::of_costs);
        let (now, before) = (of(&watched.kept.last()?.1)?, of(before)?);
        let idle = now.idle - before.idle;
        let all = now.user + now.system - before.user - before.system + idle;
        Some(busy_share(all - idle, all))
    }

    /// Migrations and context switches.
    fn counted(&self) -> [u64; 2] {
        let stats = &self.run.observer().0;
        [stats.migrations(), stats.context_switches()]
    }

    fn counts(&self) -> Extensive {
        let stats = &self.run.observer().0;
        let wasted = stats.idle_while_waiting();
        let policy = (self.run.policy(), self.run.reasons());
        Extensive::of(stats, &self.totals(), wasted, policy, self.topology)
    }

    /// A job that was simulated as a whole.
    fn whole(&self, ask: Ask, watched: &Watched) -> Sampled {
        let totals = self.totals();
        let [migrations, switches] = self.counted();
        let first = if matches!(watched.goal, Goal::Time(_)) { totals.ops } else { totals.span_ns };
        let values = [first, migrations, switches];
        Sampled {
            ask,
            goal: watched.goal,
            settled: false,
            limited: false,
            growth: None,
            stretch: None,
            sample: [SimTime::ZERO, self.run.world().now()],
            simulated: Nanos(totals.span_ns),
            figures: values.map(|value| Figure { value: float(value), half: 0.0, memory: 0.0 }),
            stats: None,
            stats_from: SimTime::ZERO,
        }
    }

    /// A job that is stopped here, and grows by the rates behind its start.
    fn stopped(
        &mut self,
        ask: Ask,
        watched: &Watched,
        settled: bool,
        limited: bool,
    ) -> Result<(End, Option<Sampled>), Failure> {
        // Without an end of the start, the last half must do.
        let start = start_of(&watched.steps).unwrap_or(watched.steps.len() / 2);
        let from =
            watched.kept.iter().find(|(steps, _)| *steps >= start && *steps < watched.steps.len());
        let rates = Rates::of(&watched.steps[start..]);
        let Some(((from, first), rates)) = from.zip(rates) else {
            let text = "the run was stopped before there was anything to extrapolate from";
            return Err(Failure::Input(format!("--precision-limit: {text}")));
        };
        let per = watched.steps[*from..].iter().map(|step| step.work).sum();
        let (rest, so_far) = (float(watched.rest()), watched.so_far());
        let mut figures = [Figure::default(); FIGURES];
        for (figure, found) in figures.iter_mut().enumerate() {
            let value = so_far[figure] + rest * rates.rates[figure].rate;
            *found = rates.figure(figure, value, rates.half_of(figure, rest, rates.sample));
        }
        let sampled = Sampled {
            settled,
            limited,
            growth: Some((Box::new(first.clone()), Growth { more: watched.rest(), per })),
            sample: [watched.ends_at(start), self.run.world().now()],
            figures,
            stats: self.run.observer_mut().1.0.stats.take(),
            stats_from: watched.stats_from,
            ..self.whole(ask, watched)
        };
        Ok((End::Precision, Some(sampled)))
    }

    /// Leaves out what need not be known, and simulates the rest of the job to its end.
    fn shortened(
        &mut self,
        ask: Ask,
        mut watched: Watched,
        (teams, to_1024): (Teams, u64),
        start: usize,
    ) -> Result<(End, Option<Sampled>), Failure> {
        let (rest, so_far) = (watched.rest(), watched.so_far());
        let (first, from) = (self.counts(), self.run.world().now());
        self.meter.shorten(teams, to_1024);
        loop {
            let look = watched.steps.len() + LEAST_STEPS;
            match self.step_to(&mut watched, look, ask)? {
                Came::Ended(End::Interrupted) => return Ok((End::Interrupted, None)),
                Came::Ended(_) => break,
                Came::Limited => return self.stopped(ask, &watched, true, true),
                Came::On if self.run.observer().0.exits() > 0 => {
                    if self.until(SimTime::NEVER)? == End::Interrupted {
                        return Ok((End::Interrupted, None));
                    }
                    break;
                }
                Came::On => {}
            }
        }
        let skipped = self.meter.skipped().unwrap_or(0);
        let whole = self.whole(ask, &watched);
        let Some(rates) = Rates::of(&watched.steps[start..]).filter(|_| skipped > 0) else {
            return Ok((End::Finished, Some(whole)));
        };
        let growth = Growth { more: skipped, per: rest - skipped };
        // From the first end of a task on: this work, and what it took.
        let ending = watched.rest().saturating_sub(skipped);
        let ends = Ending { work: float(ending), so_far: watched.so_far() };
        let figures = stretched(&rates, (teams, growth), &ends, (so_far, whole.figures));
        let stretch = growth.of(from.get(), whole.simulated.get()) - whole.simulated.get();
        let sampled = Sampled {
            settled: true,
            growth: Some((Box::new(first), growth)),
            stretch: Some((from, Nanos(stretch))),
            sample: [watched.ends_at(start), watched.ends_at(watched.steps.len())],
            figures,
            stats: self.run.observer_mut().1.0.stats.take(),
            stats_from: watched.stats_from,
            ..whole
        };
        Ok((End::Finished, Some(sampled)))
    }
}

/// `part` of `whole` in 1,024ths, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 1024")]
fn part_1024(part: f64, whole: f64) -> u64 {
    (1024.0 * part / whole.max(1.0)).ceil().clamp(1.0, 1024.0) as u64
}

/// Where the first task has ended: the work that is left, and the figures so far.
struct Ending {
    work: f64,
    so_far: [f64; FIGURES],
}

/// The figures of a job that was shortened: `figures` behind its end, `so_far` before.
fn stretched(
    rates: &Rates,
    (teams, growth): (Teams, Growth),
    ending: &Ending,
    (so_far, figures): ([f64; FIGURES], [Figure; FIGURES]),
) -> [Figure; FIGURES] {
    let (rest, done) = (float(growth.more + growth.per), float(growth.per));
    let factor = rest / done.max(1.0);
    let mut found = [Figure::default(); FIGURES];
    for (figure, found) in found.iter_mut().enumerate() {
        let value = figures[figure].value;
        // What is not as it was while all teams were at work is that they end one after the other.
        let as_before = ending.work * rates.rates[figure].rate;
        let ends = factor * (value - ending.so_far[figure] - as_before).abs();
        let doubt = ends * doubt_of_last(teams.count, factor);
        let half = rates.half_of(figure, rest, done);
        let half = both(half, doubt);
        let grown = so_far[figure] + factor * (value - so_far[figure]);
        *found = rates.figure(figure, grown, half);
    }
    found
}
