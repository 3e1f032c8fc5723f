//! `PrecisionReport`: how the numbers of a job were extrapolated, as JSON and in words.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Figure, Sampled};
use crate::extensive::Extensive;
use crate::output::units;

/// The version of what [`PrecisionReport`] becomes. It rises as [`crate::report::SCHEMA`] does.
const SCHEMA: u32 = 2;

/// How the numbers of a job were extrapolated; `docs/json.md` describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PrecisionReport {
    pub(crate) schema: u32,
    pub(crate) asked_pct: f64,
    /// Whether all figures are as precise as that.
    pub(crate) reached: bool,
    /// Whether the job was simulated as a whole.
    pub(crate) exact: bool,
    /// Whether the run was found stationary.
    pub(crate) stationary: bool,
    /// Whether `--precision-limit` has stopped the run.
    pub(crate) limited: bool,
    pub(crate) simulated_ns: u64,
    pub(crate) whole_ns: u64,
    /// The former of the latter, 0 to 1.
    pub(crate) share_simulated: f64,
    /// What went before the sample of the rates.
    pub(crate) warmup_ns: u64,
    pub(crate) sample_ns: u64,
    pub(crate) work_unit: &'static str,
    /// How much of the work was left out, and how much was done from where that began.
    pub(crate) left_out: u64,
    pub(crate) stands_for_it: u64,
    pub(crate) figures: BTreeMap<&'static str, FigureReport>,
    /// The keys of the report whose numbers are extrapolated,
    pub(crate) extrapolated: Vec<&'static str>,
    /// those of the sample,
    pub(crate) of_sample: Vec<&'static str>,
    /// since when,
    pub(crate) of_sample_from_ns: u64,
    /// and those of all that was simulated.
    pub(crate) of_simulated: Vec<&'static str>,
}

/// A number of the whole job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct FigureReport {
    pub(crate) value: f64,
    /// Half its 95 % interval in percent of it; null of nothing.
    pub(crate) ci95_pct: Option<f64>,
    pub(crate) reached: bool,
    /// 0 to 0.8: the interval falls with the work that is known as its power of `(memory - 1) / 2`.
    pub(crate) memory: f64,
}

/// What grows with the length of a job.
const EXTENSIVE: [&str; 14] = [
    "simulated_ns",
    "context_switches",
    "task_switches",
    "cpu_migrations",
    "preemptions",
    "migrations",
    "domains",
    "wakeups",
    "scanned_cpus",
    "cpu_time_ns",
    "idle_while_waiting_ns",
    "costs",
    "costs_by_node",
    "policy_metrics",
];

/// What has no sum.
const LATENCIES: [&str; 3] = ["wakeup_latency_ns", "runqueue_wait_ns", "histograms"];

/// What happens once in the life of a task, or tells of single instants.
const ONCE: [&str; 8] = [
    "digest",
    "events",
    "forks",
    "exits",
    "first_wakeups",
    "llc",
    "migrations_by_llc",
    "cpu_utilisation",
];

impl Sampled {
    /// How `whole`, the counts of the whole job, were extrapolated.
    pub(crate) fn report(&self, whole: &Extensive) -> PrecisionReport {
        let exact = self.growth.is_none();
        let names = |names: &[&'static str]| if exact { Vec::new() } else { names.to_vec() };
        let figure = |figure: &Figure| FigureReport {
            value: figure.value,
            ci95_pct: figure.percent(),
            reached: figure.is_within(self.ask.percent),
            memory: figure.memory,
        };
        let figures = self.goal.figures().into_iter().zip(self.figures.iter().map(figure));
        let growth = self.growth.as_ref().map(|(_, growth)| *growth);
        let mut extrapolated = names(&EXTENSIVE);
        let mut of_sample = names(&LATENCIES);
        if self.is_stopped() {
            of_sample.push("workload");
        } else if !exact {
            extrapolated.extend(["elapsed_ns", "workload"]);
        }
        let [from, to] = self.sample.map(|at| at.get());
        PrecisionReport {
            schema: SCHEMA,
            asked_pct: self.ask.percent,
            reached: self.is_reached(),
            exact,
            stationary: self.settled,
            limited: self.limited,
            simulated_ns: self.simulated.get(),
            whole_ns: whole.span_ns,
            share_simulated: share(self.simulated.get(), whole.span_ns),
            warmup_ns: from,
            sample_ns: to - from,
            work_unit: self.goal.unit(),
            left_out: growth.map_or(0, |growth| growth.more),
            stands_for_it: growth.map_or(0, |growth| growth.per),
            figures: figures.collect(),
            extrapolated,
            of_sample,
            of_sample_from_ns: self.stats_from.get(),
            of_simulated: names(&ONCE),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^52 ns in any run that ends")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

impl PrecisionReport {
    /// Behind a number of the text: its interval.
    pub(crate) fn beside(&self, figure: &str) -> String {
        let percent = self.figures.get(figure).and_then(|figure| figure.ci95_pct);
        match percent {
            Some(percent) if !self.exact => format!("+-{percent:.1} %"),
            _ => String::new(),
        }
    }

    /// From what the numbers are extrapolated.
    pub(crate) fn from(&self) -> String {
        if self.exact {
            return "the whole job was simulated: the numbers are exact".to_owned();
        }
        let [simulated, whole] = [self.simulated_ns, self.whole_ns].map(units::span);
        format!("extrapolated from {simulated} of {whole} simulated")
    }

    /// What was asked for and what was reached.
    pub(crate) fn reached(&self) -> String {
        let width = |(name, figure): (&&str, &FigureReport)| {
            let width = figure.ci95_pct.map_or("-".to_owned(), |pct| format!("+-{pct:.1} %"));
            format!("{} {width}", name.replace('_', " "))
        };
        let widths: Vec<String> = self.figures.iter().map(width).collect();
        let asked = format!("+-{} % asked for", self.asked_pct);
        let unsteady = if self.stationary { "" } else { "; the run was not stationary" };
        let limited = if self.limited { "; stopped by --precision-limit" } else { "" };
        let verdict = if self.reached { "reached" } else { "NOT reached" };
        format!("{asked}, {verdict}: {}{unsteady}{limited}", widths.join(", "))
    }
}
