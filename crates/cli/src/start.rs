//! `Start`: how a run begins, which its numbers leave out by default.
//!
//! A benchmark starts its tasks, lets all of them get ready, and starts the clock of what it reports. When all
//! that is done, in whatever order, its start is over. A program that may start tasks at any time is over it when
//! it has started its clock. What the run was up to there is counted apart, and both together are the whole run.

use serde::Serialize;
use simsched_core::observe::Stats;
use simsched_core::{MarkId, Nanos, Policy, Setup, SimTime, Status, TaskSpec, Workload};
use simsched_workloads::catalog::Benchmark;

use crate::cut::{Awaits, Cutter};
use crate::failure::Failure;
use crate::meter::Totals;
use crate::report::{Counts, CpuTime, End, Migrations, Percentiles, Wakeups, costs, need_resched};

/// The mark that a workload passes where it starts its clock.
const MARK: &str = "start";

/// What the start of a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// It starts its clock.
    WithClock,
    /// It does, and all its tasks are born.
    WithBirths,
}

impl Begins {
    pub(crate) fn of(benchmark: &dyn Benchmark) -> Begins {
        if benchmark.begins_with_births() { Begins::WithBirths } else { Begins::WithClock }
    }

    /// The end of the start of a workload with this setup; none where it has no clock.
    pub(crate) fn awaits(self, setup: &Setup) -> Option<Awaits> {
        let mark = setup.marks.iter().position(|mark| mark == MARK)?;
        let is_born = |task: &&TaskSpec| task.start == simsched_core::Start::Spawned;
        let births = match self {
            Begins::WithClock => 0,
            Begins::WithBirths => setup.tasks.iter().filter(is_born).count(),
        };
        Some(Awaits { mark: Some(MarkId::new(mark)), births })
    }
}

/// The part of a run that is its start.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// When it was over.
    pub(crate) at: SimTime,
    pub(crate) stats: Stats,
    pub(crate) totals: Totals,
}

impl Start {
    /// What a run has done since its start, and all of it: `totals` has the CPU time since, and all else of the
    /// whole run, `later` what was counted since. A run without a start has done what `totals` say.
    pub(crate) fn apart(
        start: Option<Start>,
        totals: Totals,
        later: &Stats,
    ) -> (Totals, Option<Whole>) {
        let Some(Start { at, totals: before, mut stats }) = start else { return (totals, None) };
        stats.merge(later);
        let all = before.with_time_of(&totals);
        let whole = Whole { stats, totals: all.clone(), start: at.since(SimTime::ZERO) };
        (all.since(&before), Some(whole))
    }
}

impl<P: Policy + ?Sized, W: Workload> Cutter<'_, P, W> {
    /// Runs to its end, or until this time; the statistics begin anew where the start is over. There is none of a
    /// run that does not come to that.
    pub(crate) fn since_start(
        &mut self,
        start: Awaits,
        horizon: SimTime,
    ) -> Result<(End, Option<Start>), Failure> {
        self.run.observer_mut().1.0.awaits = Some(start);
        loop {
            if let Some(end) = self.portion(horizon)? {
                return Ok((end, None));
            }
            if std::mem::take(&mut self.run.observer_mut().1.0.pauses) {
                break;
            }
        }
        // What else happens at this instant still happens; then all time is charged.
        let status = self.run.run_until(self.run.world().now())?;
        let (at, totals) = (self.run.world().now(), self.totals());
        let stats = self.run.observer_mut().0.restart(at);
        let start = Some(Start { at, stats, totals });
        match status {
            Status::Finished => Ok((End::Finished, start)),
            _ => Ok((self.until(horizon)?, start)),
        }
    }
}

/// The counts of a whole run of which only a part is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WholeReport {
    pub(crate) simulated_ns: u64,
    pub(crate) context_switches: u64,
    pub(crate) task_switches: u64,
    pub(crate) cpu_migrations: u64,
    pub(crate) preemptions: u64,
    pub(crate) need_resched: Counts,
    pub(crate) forks: u64,
    pub(crate) exits: u64,
    pub(crate) migrations: Migrations,
    pub(crate) wakeups: Wakeups,
    pub(crate) first_wakeups: Wakeups,
    pub(crate) scanned_cpus: u64,
    pub(crate) wakeup_latency_ns: Percentiles,
    pub(crate) runqueue_wait_ns: Percentiles,
    pub(crate) cpu_time_ns: CpuTime,
    pub(crate) idle_while_waiting_ns: u64,
    pub(crate) costs: Counts,
}

impl WholeReport {
    /// The counts of `whole`, with the names of the policy's reasons and domains.
    pub(crate) fn of(whole: &Whole, reasons: &[&'static str], domains: &Counts) -> WholeReport {
        let Whole { stats, totals, .. } = whole;
        let domains: Vec<String> = domains.keys().cloned().collect();
        WholeReport {
            simulated_ns: totals.span_ns,
            context_switches: stats.context_switches(),
            task_switches: totals.task_switches,
            cpu_migrations: totals.cpu_migrations,
            preemptions: stats.preemptions(),
            need_resched: need_resched(stats),
            forks: stats.forks(),
            exits: stats.exits(),
            migrations: Migrations::of(stats, reasons, &domains),
            wakeups: Wakeups::of(stats.wakeups_by_reason(), reasons),
            first_wakeups: Wakeups::of(stats.new_by_reason(), reasons),
            scanned_cpus: stats.scanned(),
            wakeup_latency_ns: Percentiles::of(stats.wakeup_latency()),
            runqueue_wait_ns: Percentiles::of(stats.runqueue_wait()),
            cpu_time_ns: CpuTime::of(stats),
            idle_while_waiting_ns: stats.idle_while_waiting().get(),
            costs: costs(&stats.total_cpu_time(), &totals.names),
        }
    }
}

/// A whole run: its statistics and totals.
pub(crate) struct Whole {
    pub(crate) stats: Stats,
    pub(crate) totals: Totals,
    /// How long its start was.
    pub(crate) start: Nanos,
}
