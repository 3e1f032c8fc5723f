//! One scenario and one seed to one report.

use std::sync::Arc;

use simsched_core::observe::{CpuSeries, Digest, Invariants, LlcSeries, Stats};
use simsched_core::{
    Config, MarkId, Nanos, Notes, Policy, Reason, Seed, SimTime, Simulator, Workload,
};
use simsched_topology::Topology;
use simsched_trace::schedstat::SchedStat;

use crate::cut::{Awaits, Cut, Cutter, Slice, Window};
use crate::extensive::Extensive;
use crate::failure::Failure;
use crate::inside::{Inside, SeriesReport};
use crate::llc::LlcReport;
use crate::meter::{Meter, Metered, Totals};
use crate::precision::{Ask, Goal, Sampled};
use crate::progress::Progress;
use crate::record::{Outputs, Recorder};
use crate::report::{self, CutReport, End, Percentiles, Report, ScenarioReport, Wakeups};
use crate::schedstat::SchedInfo;
use crate::start::{Begins, Start, Whole, WholeReport};

/// Who watches every run; the rules are checked and the schedule is written on request.
pub(crate) type Watch = (Stats, (Window, (Digest, (Option<Invariants>, Option<Box<Recorder>>))));

/// A run before it starts.
pub(crate) struct Plan<P: ?Sized, W> {
    pub(crate) topology: Arc<Topology>,
    pub(crate) policy: Box<P>,
    /// The names that its reasons must have; none if that is not known.
    pub(crate) reasons: Option<Vec<&'static str>>,
    pub(crate) workload: W,
    pub(crate) config: Config,
    pub(crate) duration: Option<Nanos>,
    /// How much of a run that has become stationary is measured; none is the whole run.
    pub(crate) span: Option<Slice>,
    /// Whether its start is counted apart, and what belongs to that.
    pub(crate) start: Option<Begins>,
    /// The mark behind each round of the program, if it does a fixed number of them.
    pub(crate) round: Option<MarkId>,
    /// How precise the numbers of the whole job must be; none is to simulate it as a whole.
    pub(crate) precision: Option<(Ask, Goal)>,
    /// In intervals of which length it is told where processes are at home; none is not at all.
    pub(crate) llc_interval: Option<Nanos>,
    /// Whether `/proc/schedstat` is asked for.
    pub(crate) schedstat: bool,
    /// In intervals of which length it is kept how busy CPUs are; none is not at all.
    pub(crate) series: Option<Nanos>,
    pub(crate) paranoid: bool,
    /// Where its schedule is written.
    pub(crate) outputs: Outputs,
}

/// A run that is over.
pub(crate) struct Measured<P: ?Sized> {
    pub(crate) end: End,
    pub(crate) events: u64,
    pub(crate) topology: Arc<Topology>,
    pub(crate) policy: Box<P>,
    /// The names of its reasons.
    pub(crate) reasons: &'static [&'static str],
    /// Of what is measured.
    pub(crate) stats: Stats,
    pub(crate) idle_while_waiting: Nanos,
    /// Of the whole run, if the program's start is not measured.
    pub(crate) whole: Option<Whole>,
    /// What the program has written of the whole run.
    pub(crate) notes: Notes,
    pub(crate) totals: Totals,
    /// What was cut off, if the run was not measured as a whole.
    pub(crate) cut: Option<Cut>,
    /// What the numbers of the whole are extrapolated from, if a precision was asked for.
    pub(crate) sampled: Option<Sampled>,
    /// Where processes were at home, if that was asked for.
    pub(crate) llc: Option<LlcReport>,
    /// `/proc/schedstat` at the end of the run, if that was asked for.
    pub(crate) schedstat: Option<SchedStat>,
    /// How busy CPUs were over time, if that was asked for.
    pub(crate) series: Option<SeriesReport>,
    pub(crate) digest: Digest,
}

/// What the program on the simulated machine tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// Its output, byte for byte.
    pub(crate) text: String,
    /// What it reports as its time.
    pub(crate) elapsed: Option<Nanos>,
    /// Its results by name.
    pub(crate) numbers: report::Counts,
}

/// Makes a run check itself.
///
/// # Errors
/// When the policy attaches other reasons than its entry lists.
fn prepare<P: Policy + ?Sized, W: Workload>(
    run: &mut Simulator<P, W, Watch>,
    paranoid: bool,
    reasons: Option<&[&str]>,
) -> Result<(), Failure> {
    if paranoid {
        run.set_paranoid();
    }
    check_names(run.reasons(), reasons)
}

impl<P: Policy + ?Sized, W: Workload> Plan<P, W> {
    /// Runs to the end, to the limit of time, or until the user asks to stop.
    ///
    /// # Errors
    /// A deadlock, a livelock or a broken contract; a broken invariant if they are checked.
    pub(crate) fn measure(self, progress: Option<&mut Progress>) -> Result<Measured<P>, Failure> {
        let mut setup = self.workload.setup();
        let (nr_cpus, nr_tasks) = (self.topology.nr_cpus(), setup.tasks.len());
        let recorder = (!self.outputs.is_empty())
            .then(|| Box::new(Recorder::new(&setup, &self.topology, self.outputs)));
        let start = self.start.and_then(|begins| begins.awaits(&setup));
        // The simulator asks for its own: with a million tasks a quarter of all memory.
        setup.tasks = Vec::new();
        let new_stats =
            || Stats::new(&self.topology, nr_tasks, setup.marks.len()).with_spans(&setup.spans);
        let rules = self.paranoid.then(|| Invariants::new(nr_cpus, nr_tasks));
        let series =
            |interval| LlcSeries::new(&self.topology, nr_tasks, setup.procs.len(), interval);
        let window = Window {
            llc: self.llc_interval.map(series),
            sched_info: self.schedstat.then(|| SchedInfo::new(nr_cpus, nr_tasks)),
            cpus: self.series.map(|interval| CpuSeries::new(&self.topology, interval)),
            ..Window::default()
        };
        let watch = (new_stats(), (window, (Digest::default(), (rules, recorder))));
        let meter = Meter::new(self.round);
        let workload = Metered::new(self.workload, &meter);
        let topology = Arc::clone(&self.topology);
        let mut run = Simulator::new(topology, self.policy, workload, watch, self.config)?;
        prepare(&mut run, self.paranoid, self.reasons.as_deref())?;
        let horizon = self.duration.map_or(SimTime::NEVER, |limit| SimTime::ZERO + limit);
        let cutter = Cutter { run: &mut run, meter: &meter, topology: &self.topology, progress };
        let driven = driven(cutter, (self.span, self.precision, start), horizon, new_stats);
        let totals = Totals::of(&run, &meter, &self.topology);
        let (events, wasted) = (run.events(), run.observer().0.idle_while_waiting());
        let reasons = run.reasons();
        let (world, policy, workload, (stats, (mut window, (digest, (rules, recorder))))) =
            run.into_parts();
        // Of a run that could not go on, the schedule tells how it came to that.
        let recorded = recorder.map_or(Ok(()), |recorder| recorder.finish(&world));
        let (Driven { end, cut, sampled, start }, ()) = (driven?, recorded?);
        if let Some(mut rules) = rules {
            rules.finish(&world).map_err(|broken| Failure::Simulation(broken.to_string()))?;
        }
        let topology = self.topology;
        if let Some(series) = &mut window.llc {
            series.finish(world.now());
        }
        let llc = window.llc.map(|series| LlcReport::of(&series, &topology, &setup.procs));
        let schedstat = window.sched_info.map(|counted| counted.table(&world, policy.as_ref()));
        let series = window.cpus.map(|series| SeriesReport::of(series, world.now()));
        let (totals, whole) = Start::apart(start, totals, &stats);
        check_given(whole.as_ref().map_or(&stats, |whole| &whole.stats), reasons)?;
        let wasted =
            cut.as_ref().map_or(wasted, |cut| Nanos(wasted.get() - cut.wasted_before.get()));
        let (stats, totals) = match (&cut, window.stats) {
            (Some(cut), Some(stats)) => (stats, cut.totals.clone()),
            _ => (stats, totals),
        };
        Ok(Measured {
            end,
            events,
            topology,
            policy,
            reasons,
            stats,
            idle_while_waiting: wasted,
            whole,
            notes: workload.notes(),
            totals,
            cut,
            sampled,
            llc,
            schedstat,
            series,
            digest,
        })
    }
}

/// Counts by reason stand under the names that the policy attaches: these must be those of its entry.
fn check_names(attached: &[&str], listed: Option<&[&str]>) -> Result<(), Failure> {
    match listed {
        Some(listed) if listed != attached => Err(Failure::Simulation(format!(
            "attach() names the reasons {attached:?}, and the policy's entry {listed:?}: expected the same \
             (`ReasonInfo::names` makes the one of the other)"
        ))),
        _ => Ok(()),
    }
}

/// Each reason that the policy gave has a name.
fn check_given(stats: &Stats, reasons: &[&str]) -> Result<(), Failure> {
    let core = usize::from(u8::MAX) + 1 - Reason::CORE_NAMES.len();
    let counts = [stats.wakeups_by_reason(), stats.new_by_reason()];
    let nameless = (reasons.len()..core).find(|at| counts.iter().any(|by| by[*at] > 0));
    nameless.map_or(Ok(()), |at| {
        let names = reasons.len();
        Err(Failure::Simulation(format!(
            "the policy placed a task by Reason({at}), and attach() names {names} reasons: expected one for \
             each"
        )))
    })
}

/// What a run came to that was driven to its end, or as far as it is measured.
struct Driven {
    end: End,
    cut: Option<Cut>,
    sampled: Option<Sampled>,
    start: Option<Start>,
}

/// Runs to the end, or as much as is measured: a span, what a precision asks for, or all behind its start.
fn driven<P: Policy + ?Sized, W: Workload>(
    mut cutter: Cutter<'_, P, W>,
    asked: (Option<Slice>, Option<(Ask, Goal)>, Option<Awaits>),
    horizon: SimTime,
    new_stats: impl Fn() -> Stats,
) -> Result<Driven, Failure> {
    let whole = |end| Driven { end, cut: None, sampled: None, start: None };
    match asked {
        (Some(slice), ..) => {
            let (end, cut) = cutter.cut(slice, horizon, new_stats)?;
            Ok(Driven { cut, ..whole(end) })
        }
        (None, Some((ask, goal)), _) => {
            let (end, sampled) = cutter.precise(ask, goal, new_stats)?;
            Ok(Driven { sampled, ..whole(end) })
        }
        (None, None, Some(awaits)) => {
            let (end, start) = cutter.since_start(awaits, horizon)?;
            Ok(Driven { start, ..whole(end) })
        }
        (None, None, None) => cutter.until(horizon).map(whole),
    }
}

/// The configuration of one of several runs.
pub(crate) fn seeded(config: Config, seed: u64) -> Config {
    Config { seed: Seed(seed), ..config }
}

impl<P: Policy + ?Sized> Measured<P> {
    /// The report of this run, of which the program has `told` this.
    pub(crate) fn report(&self, scenario: ScenarioReport, told: Told) -> Report {
        let stats = &self.stats;
        let reasons = self.reasons;
        let counted = Extensive::of(
            stats,
            &self.totals,
            self.idle_while_waiting,
            (self.policy.as_ref(), reasons),
            &self.topology,
        );
        let whole = self.sampled.as_ref().and_then(|sampled| sampled.grown(&counted));
        let counts = whole.unwrap_or(counted);
        // Latencies are those of the sample, where there is one.
        let latencies = self.sampled.as_ref().and_then(|sampled| sampled.stats.as_ref());
        let latencies = latencies.unwrap_or(stats);
        Report {
            schema: report::SCHEMA,
            scenario,
            digest: self.digest.to_string(),
            partial: self.end != End::Finished,
            end: self.end,
            cut: self.cut.as_ref().map(|cut| CutReport::of(cut, &told)),
            start_ns: self.whole.as_ref().map(|whole| whole.start.get()),
            whole: self
                .whole
                .as_ref()
                .map(|whole| WholeReport::of(whole, reasons, &counts.domains)),
            precision: self.sampled.as_ref().map(|sampled| sampled.report(&counts)),
            simulated_ns: counts.span_ns,
            events: self.events,
            elapsed_ns: report::nanos(told.elapsed),
            context_switches: counts.context_switches,
            task_switches: counts.task_switches,
            cpu_migrations: counts.cpu_migrations,
            preemptions: counts.preemptions,
            need_resched: counts.need_resched,
            forks: stats.forks(),
            exits: stats.exits(),
            migrations: counts.migrations,
            domains: counts.domains,
            wakeups: counts.wakeups,
            first_wakeups: Wakeups::of(stats.new_by_reason(), reasons),
            scanned_cpus: counts.scanned_cpus,
            wakeup_latency_ns: Percentiles::of(latencies.wakeup_latency()),
            runqueue_wait_ns: Percentiles::of(latencies.runqueue_wait()),
            cpu_time_ns: counts.cpu_time_ns,
            idle_while_waiting_ns: counts.idle_while_waiting_ns,
            costs: counts.costs,
            costs_by_node: counts.costs_by_node,
            workload: told.numbers,
            policy_metrics: counts.policy_metrics,
            llc: self.llc.clone(),
            inside: Inside::of(&self.topology, stats, latencies, self.series.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
