//! `--precision`: a part of a job is simulated, the whole is extrapolated, and it is said how well.
//!
//! 1. The run is watched in steps of 1 ms from the last new task on. It is taken for stationary when
//!    `series::start_of` finds the end of its start, the rates behind that have no [`Trend`], and the
//!    machine has settled: its balancers of the widest sched domain have had five intervals, or its
//!    nodes are as evenly busy as that domain asks for.
//! 2. From the intervals of the rates follows how much of the rest has to be simulated.
//! 3. A job of teams (hackbench) has that part of the rest left of the work of each task, and is
//!    simulated to its end, so that the time in which one team after the other ends is part of it; each
//!    thing that happens in the rest counts for as many as the rest was shortened by. Other jobs are
//!    stopped, and grow by their rates.
//!
//! What is not stationary before the job ends, or needs most of it, is simulated as a whole.
//!
//! [`Trend`]: crate::trend::Trend

#[cfg(test)]
mod dice;
mod driver;
mod plan;
mod report;
mod scatter;
mod series;

use simsched_core::observe::Stats;
use simsched_core::{Nanos, SimTime};
use simsched_workloads::catalog::{Benchmark, Teams};

pub(crate) use report::PrecisionReport;

use crate::extensive::{Extensive, Growth};
use series::FIGURES;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ask {
    /// Half the 95 % interval of the time, migrations and context switches of the job, in percent.
    pub(crate) percent: f64,
    /// After how many events the run is stopped, whatever was reached.
    pub(crate) limit: Option<u64>,
}

/// What the whole job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// So many messages, that teams of tasks send.
    Teams(Teams),
    /// So many rounds.
    Rounds(u64),
    /// So long, from the last new task on.
    Time(Nanos),
}

impl Goal {
    /// The goal of a program; none if it has no measure of its progress.
    pub(crate) fn of(benchmark: &dyn Benchmark) -> Option<Goal> {
        let teams = benchmark.teams().map(Goal::Teams);
        let rounds = || benchmark.rounds().map(|(_, rounds)| Goal::Rounds(rounds));
        teams.or_else(rounds).or_else(|| benchmark.lasts().map(Goal::Time))
    }

    /// What the three figures are called that must be precise.
    fn figures(self) -> [&'static str; FIGURES] {
        let first = if matches!(self, Goal::Time(_)) { "operations" } else { "time" };
        [first, "migrations", "context_switches"]
    }

    /// In what the job is measured.
    fn unit(self) -> &'static str {
        match self {
            Goal::Teams(_) => "messages",
            Goal::Rounds(_) => "rounds",
            Goal::Time(_) => "ns",
        }
    }
}

/// A number of the whole job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figure {
    value: f64,
    /// Half its 95 % interval; 0 of a job that was simulated as a whole.
    half: f64,
    /// How slowly that falls with more work: `RateOf::memory`.
    memory: f64,
}

impl Figure {
    fn percent(&self) -> Option<f64> {
        (self.value > 0.0).then(|| 100.0 * self.half / self.value)
    }

    /// A number below 50 cannot be precise to 2 %: one more or less is precise enough.
    fn is_within(&self, percent: f64) -> bool {
        self.half <= (self.value * percent / 100.0).max(1.0)
    }
}

/// How a run was sampled.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    ask: Ask,
    goal: Goal,
    /// Whether the run was stationary.
    settled: bool,
    /// Whether `Ask::limit` has stopped it.
    limited: bool,
    /// How the counts grow, from the counts at an earlier time; none of a whole job.
    growth: Option<(Box<Extensive>, Growth)>,
    /// From where on a shortened job is stretched, and by how much in all.
    stretch: Option<(SimTime, Nanos)>,
    /// When the rates on which all is based begin and end.
    sample: [SimTime; 2],
    /// How much was simulated.
    simulated: Nanos,
    figures: [Figure; FIGURES],
    /// Of the sample: what has no sum, such as latencies.
    pub(crate) stats: Option<Stats>,
    /// When these begin.
    stats_from: SimTime,
}

impl Sampled {
    /// What `counts` come to in the whole job; none if they are those of the whole.
    pub(crate) fn grown(&self, counts: &Extensive) -> Option<Extensive> {
        let (first, growth) = self.growth.as_ref()?;
        Some(counts.grown(first, *growth))
    }

    /// Whether all figures are as precise as asked for.
    pub(crate) fn is_reached(&self) -> bool {
        let within = |figure: &Figure| figure.is_within(self.ask.percent);
        self.growth.is_none() || self.settled && self.figures.iter().all(within)
    }

    /// When something happens in the whole job that happens now in a job that is shortened.
    pub(crate) fn stretched(&self, at: u64) -> u64 {
        match (self.stretch, &self.growth) {
            (Some((from, _)), Some((_, growth))) if at > from.get() => growth.of(from.get(), at),
            _ => at,
        }
    }

    /// What a program says of itself is that of the sample, as it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.growth.is_some() && self.stretch.is_none()
    }
}
