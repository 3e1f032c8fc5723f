//! `Report`: the serializable mirror of a run's result; its schema number.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use simsched_core::observe::{Histogram, Stats};
use simsched_core::{Cause, Cost, Nanos, Reason, ReschedCause};
use simsched_topology::Distance;

use crate::cut::Cut;
use crate::extensive;
use crate::inside::Inside;
use crate::llc::LlcReport;
use crate::meter::{CostNames, Costs, Totals, WorkUnit};
use crate::precision::PrecisionReport;
use crate::run::Told;
use crate::start::WholeReport;

mod scenario;

pub(crate) use self::scenario::ScenarioReport;

/// The version of the JSON that [`Report`] becomes. It rises whenever a key goes away or changes
/// its meaning; new keys do not raise it. `docs/json.md` describes it.
pub(crate) const SCHEMA: u32 = 2;

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// All tasks have ended.
    Finished,
    /// The time of `--duration` was over.
    Duration,
    /// Ctrl-C.
    Interrupted,
    /// What `--span` asks for was measured.
    Span,
    /// What `--precision` asks for was reached, or its limit was.
    Precision,
}

/// What happened in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Report {
    pub(crate) schema: u32,
    pub(crate) scenario: ScenarioReport,
    pub(crate) digest: String,
    /// Whether the workload was stopped before its end.
    pub(crate) partial: bool,
    pub(crate) end: End,
    /// What was cut off, and how steady the rest was; absent of a run that is measured as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cut: Option<CutReport>,
    /// How far the numbers are extrapolated, and how precise they are; absent unless asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) precision: Option<PrecisionReport>,
    /// How long the start of the program was, which is not measured; absent where all of the run is measured, or
    /// another part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start_ns: Option<u64>,
    /// How long what is measured is.
    pub(crate) simulated_ns: u64,
    /// Of the whole run.
    pub(crate) events: u64,
    /// What the program reports as its time; absent as long as it has reported none.
    pub(crate) elapsed_ns: Option<u64>,
    pub(crate) context_switches: u64,
    /// Those away from a task, which is what `perf stat` counts.
    pub(crate) task_switches: u64,
    /// How often a task was switched in on another CPU than before, which is what `perf stat` counts.
    pub(crate) cpu_migrations: u64,
    pub(crate) preemptions: u64,
    /// How often the current task of a CPU was to be rescheduled.
    pub(crate) need_resched: Counts,
    pub(crate) forks: u64,
    pub(crate) exits: u64,
    pub(crate) migrations: Migrations,
    /// By name, bottom-up.
    pub(crate) domains: Counts,
    pub(crate) wakeups: Wakeups,
    pub(crate) first_wakeups: Wakeups,
    pub(crate) scanned_cpus: u64,
    pub(crate) wakeup_latency_ns: Percentiles,
    pub(crate) runqueue_wait_ns: Percentiles,
    pub(crate) cpu_time_ns: CpuTime,
    pub(crate) idle_while_waiting_ns: u64,
    pub(crate) costs: Counts,
    /// The same by NUMA node.
    pub(crate) costs_by_node: Vec<Counts>,
    pub(crate) workload: Map<String, Value>,
    pub(crate) policy_metrics: Counts,
    /// Where processes were at home; absent unless asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) llc: Option<LlcReport>,
    /// The counts of the whole run, if `start_ns` is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) whole: Option<WholeReport>,
    /// What pages draw.
    #[serde(flatten)]
    pub(crate) inside: Inside,
}

/// The part of a long run that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CutReport {
    pub(crate) span_ns: u64,
    /// What ran before and does not count.
    pub(crate) warmup_ns: u64,
    /// Whether operations, migrations and context switches were steady before the span and in it.
    pub(crate) stationary: bool,
    /// Whether they were before.
    pub(crate) settled: bool,
    /// Whether the machine's balancers were not waited for to the end.
    pub(crate) early: bool,
    /// By how much the rate of each changes over the span, in percent of it; of those that change by
    /// more than chance and enough to matter.
    pub(crate) trends_pct: BTreeMap<&'static str, f64>,
    /// What was done in the span, in messages or operations.
    pub(crate) work: u64,
    pub(crate) work_unit: &'static str,
    /// What the whole program does; null if it does not say.
    pub(crate) work_total: Option<u64>,
    pub(crate) batches: usize,
    /// Half the 95 % interval of the rate of work by batch means, in percent of the rate.
    pub(crate) work_rate_ci95_pct: Option<f64>,
}

/// Counts by name, in the order in which they are listed.
pub(crate) type Counts = Map<String, Value>;

/// Changes of a task's CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Migrations {
    pub(crate) total: u64,
    pub(crate) by_cause: Counts,
    pub(crate) by_distance: Counts,
    pub(crate) by_reason: Counts,
    /// The same apart for each cause; reasons that it never had are left out.
    pub(crate) by_cause_and_reason: Counts,
    /// Where a balancer moved tasks, and the domain that wakeups and forks crossed.
    pub(crate) by_domain: Counts,
}

/// Wakeups, and why each wakee went where it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Wakeups {
    pub(crate) total: u64,
    pub(crate) by_reason: Counts,
}

/// A histogram in the points that people quote, in ns; without a sample it has no points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: u64,
    pub(crate) mean: Option<u64>,
    pub(crate) p50: Option<u64>,
    pub(crate) p90: Option<u64>,
    pub(crate) p99: Option<u64>,
    pub(crate) p99_9: Option<u64>,
    pub(crate) max: Option<u64>,
}

/// CPU time of all CPUs together as `/proc/stat` divides it, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CpuTime {
    pub(crate) user: u64,
    pub(crate) system: u64,
    pub(crate) idle: u64,
}

impl Migrations {
    pub(crate) fn of(stats: &Stats, reasons: &[&'static str], domains: &[String]) -> Migrations {
        let mut sum = [0; 256];
        for counts in stats.migrations_by_reason() {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let causes = Cause::NAMES.into_iter().zip(stats.migrations_by_reason());
        let apart = causes.map(|(cause, counts)| {
            let mut counts = by_reason(counts, reasons);
            counts.retain(|_, count| count.as_u64() != Some(0));
            (cause.to_owned(), Value::Object(counts))
        });
        let in_domains = domains.iter().map(String::as_str).zip(*stats.migrations_by_domain());
        let outside = stats.migrations_by_domain().last().copied().map(|count| ("none", count));
        // The first distance is that of a CPU to itself, and nobody migrates there.
        let far = Distance::ALL.into_iter().skip(1);
        Migrations {
            total: stats.migrations(),
            by_cause: named(Cause::NAMES.into_iter().zip(*stats.migrations_by_cause())),
            by_distance: named(far.map(|d| (d.name(), stats.migrations_by_distance()[d.idx()]))),
            by_reason: by_reason(&sum, reasons),
            by_cause_and_reason: apart.collect(),
            by_domain: named(in_domains.chain(outside)),
        }
    }
}

impl Migrations {
    /// Makes the total that of the causes, and all other parts sum up to it.
    pub(crate) fn add_up(&mut self) {
        self.total = extensive::sum(&self.by_cause);
        for parts in [&mut self.by_distance, &mut self.by_reason, &mut self.by_domain] {
            extensive::fit(parts, self.total);
        }
        for (cause, apart) in &mut self.by_cause_and_reason {
            let of_cause = self.by_cause.get(cause).and_then(Value::as_u64);
            if let (Some(total), Value::Object(parts)) = (of_cause, apart) {
                extensive::fit(parts, total);
            }
        }
    }
}

impl Wakeups {
    pub(crate) fn of(counts: &[u64], reasons: &[&'static str]) -> Wakeups {
        Wakeups { total: counts.iter().sum(), by_reason: by_reason(counts, reasons) }
    }
}

impl Percentiles {
    pub(crate) fn of(histogram: &Histogram) -> Percentiles {
        let count = histogram.count();
        let point = |span: Nanos| (count > 0).then_some(span.get());
        Percentiles {
            count,
            mean: point(histogram.mean()),
            p50: point(histogram.quantile(50, 100)),
            p90: point(histogram.quantile(90, 100)),
            p99: point(histogram.quantile(99, 100)),
            p99_9: point(histogram.quantile(999, 1_000)),
            max: point(histogram.max()),
        }
    }
}

impl CpuTime {
    pub(crate) fn of(stats: &Stats) -> CpuTime {
        let spent = stats.total_cpu_time();
        let user = spent[Cost::User as usize] + spent[Cost::Memory as usize];
        // Linux runs the way out of an idle state in the idle task, and accounts it so.
        let idle = spent[Cost::Idle as usize] + spent[Cost::IdleExit as usize];
        CpuTime { user, system: spent.iter().sum::<u64>() - user - idle, idle }
    }

    /// Of the time that was spent on each [`Cost`], by name.
    pub(crate) fn of_costs(spent: &Counts) -> CpuTime {
        let of =
            |names: [&str; 2]| names.iter().filter_map(|name| spent.get(*name)?.as_u64()).sum();
        let (user, idle) = (of(["user", "memory"]), of(["idle", "idle_exit"]));
        CpuTime { user, system: extensive::sum(spent) - user - idle, idle }
    }
}

/// Counts with their names, in the order given.
pub(crate) fn named<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> Counts {
    counts.map(|(name, count)| (name.to_owned(), Value::from(count))).collect()
}

/// How often current tasks were to be rescheduled, by cause; a lazy request is named apart.
pub(crate) fn need_resched(stats: &Stats) -> Counts {
    let mut counts = Counts::new();
    for (cause, [hard, lazy]) in ReschedCause::NAMES.into_iter().zip(*stats.need_resched()) {
        counts.insert(cause.to_owned(), hard.into());
        // The tick makes lazy requests hard ones.
        if cause != ReschedCause::NAMES[ReschedCause::Promoted as usize] {
            counts.insert(format!("{cause}_lazy"), lazy.into());
        }
    }
    counts
}

/// Nanoseconds by [`Cost`], under these names.
pub(crate) fn costs(spent: &Costs, names: &CostNames) -> Counts {
    let rows = names.iter().zip(spent).filter(|(name, _)| !name.is_empty());
    named(rows.map(|(name, ns)| (*name, *ns)))
}

/// The same by node.
pub(crate) fn costs_by_node(totals: &Totals) -> Vec<Counts> {
    totals.by_node.iter().map(|spent| costs(spent, &totals.names)).collect()
}

impl CutReport {
    /// The report of a cut of a program that has `told` this.
    pub(crate) fn of(cut: &Cut, told: &Told) -> CutReport {
        let (unit, total) = WorkUnit::of(&told.numbers);
        CutReport {
            span_ns: cut.span.get(),
            warmup_ns: cut.warmup.get(),
            stationary: cut.is_stationary(),
            settled: cut.settled,
            early: cut.early,
            trends_pct: cut
                .trends()
                .into_iter()
                .filter_map(|(name, trend)| Some((name, trend.filter(|t| !t.is_steady())?)))
                .map(|(name, trend)| (name, trend.change_pct))
                .collect(),
            work: cut.totals.work(unit),
            work_unit: unit.name(),
            work_total: total,
            batches: cut.batches.len(),
            work_rate_ci95_pct: cut.batch_ci95_pct(|batch| batch.rate(unit)),
        }
    }
}

/// The counts of all reasons that the policy gives, and of the core's own.
fn by_reason(counts: &[u64], reasons: &[&'static str]) -> Counts {
    let core = Reason::CORE_NAMES.into_iter().zip(counts.iter().rev().copied());
    named(reasons.iter().copied().zip(counts.iter().copied()).chain(core))
}

/// `Nanos` of an option, for JSON.
pub(crate) fn nanos(span: Option<Nanos>) -> Option<u64> {
    span.map(Nanos::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_the_core_count_from_the_end() {
        let mut counts = [0; 256];
        (counts[0], counts[1]) = (7, 8);
        counts[usize::from(Reason::STILL_QUEUED.0)] = 1;
        counts[usize::from(Reason::ON_CPU.0)] = 2;
        counts[usize::from(Reason::PINNED.0)] = 3;
        counts[usize::from(Reason::FALLBACK.0)] = 4;
        let named = Value::Object(by_reason(&counts, &["prev_idle", "target_idle"]));
        let want = r#"{"prev_idle":7,"target_idle":8,"still_queued":1,"on_cpu":2,"pinned":3,"fallback":4}"#;
        assert_eq!(named.to_string(), want);
    }

    #[test]
    fn percentiles_are_those_of_the_histogram() {
        let mut histogram = Histogram::new();
        (1..=100).for_each(|span| histogram.record(Nanos(span)));
        let found = Percentiles::of(&histogram);
        let points = [found.mean, found.p50, found.p90, found.p99, found.p99_9, found.max];
        assert_eq!((found.count, points), (100, [50, 50, 90, 99, 100, 100].map(Some)));
    }

    #[test]
    fn nothing_has_no_percentiles() {
        let found = serde_json::to_value(Percentiles::of(&Histogram::new())).unwrap();
        let want =
            r#"{"count":0,"mean":null,"p50":null,"p90":null,"p99":null,"p99_9":null,"max":null}"#;
        assert_eq!(found.to_string(), want);
    }
}
