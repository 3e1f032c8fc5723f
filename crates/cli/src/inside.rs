//! `Inside`: what a page draws of a run, as JSON: the machine, histograms, who moves where, and how
//! busy CPUs are.

use serde::Serialize;
use serde_json::{Map, Value};
use simsched_core::observe::{CpuSeries, Histogram, Stats};
use simsched_core::{Cause, Cost, SimTime};
use simsched_topology::{CpuId, LlcId, Topology};

/// What [`Inside`] adds to a report: no single numbers that could be summed up or stand in a column.
pub(crate) const KEYS: [&str; 5] =
    ["machine", "migrations_by_llc", "cpu_utilisation", "histograms", "series"];

/// These keys of a report; `docs/json.md` describes them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Inside {
    machine: Machine,
    migrations_by_llc: Vec<[u64; 3]>,
    /// By CPU.
    cpu_utilisation: Vec<f64>,
    histograms: Histograms,
    /// Absent unless asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<SeriesReport>,
}

/// The CPUs of a machine by LLC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Machine {
    llcs: Vec<Llc>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Llc {
    package: u16,
    node: u16,
    /// The CPUs of each core, the cores separated by blanks.
    cores: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Histograms {
    wakeup_latency_ns: Buckets,
    runqueue_wait_ns: Buckets,
}

/// Parallel arrays with one place for each bucket that has any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Buckets {
    /// No span in the bucket is longer.
    up_to: Vec<u64>,
    count: Vec<u64>,
}

/// How busy CPUs are over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SeriesReport {
    schema: u32,
    interval_ns: u64,
    intervals: usize,
    /// By interval, then by CPU, in percent.
    cpu_busy_pct: Vec<Vec<u64>>,
    /// By cause, then by interval; causes that there never were are left out.
    migrations: Map<String, Value>,
}

impl Inside {
    /// Of `stats`, and of the latencies of the part of the run that has latencies.
    pub(crate) fn of(
        topology: &Topology,
        stats: &Stats,
        latencies: &Stats,
        series: Option<SeriesReport>,
    ) -> Inside {
        let nr_llcs = topology.nr_llcs() as u64;
        let moves = (0..).zip(stats.migrations_by_llc()).filter(|(_, count)| **count > 0);
        Inside {
            machine: Machine {
                llcs: (0..topology.nr_llcs()).map(|k| Llc::of(topology, k)).collect(),
            },
            migrations_by_llc: moves
                .map(|(at, count): (u64, _)| [at / nr_llcs, at % nr_llcs, *count])
                .collect(),
            cpu_utilisation: topology.cpus().iter().map(|cpu| utilisation(stats, cpu)).collect(),
            histograms: Histograms {
                wakeup_latency_ns: Buckets::of(latencies.wakeup_latency()),
                runqueue_wait_ns: Buckets::of(latencies.runqueue_wait()),
            },
            series,
        }
    }
}

impl Llc {
    fn of(topology: &Topology, llc: usize) -> Llc {
        let span = topology.llc_span(LlcId::new(llc));
        let first = span.first().expect("an LLC has CPUs");
        let is_first = |cpu: &CpuId| topology.smt_mask(*cpu).first() == Some(*cpu);
        let cores = span.iter().filter(is_first).map(|cpu| topology.smt_mask(cpu).to_string());
        Llc {
            package: topology.package_of(first).0,
            node: topology.node_of(first).0,
            cores: cores.collect::<Vec<_>>().join(" "),
        }
    }
}

/// The part of its time in which a CPU was not idle, in ten-thousandths; the way out of idle states is
/// idle time, as in `cpu_time_ns`.
#[expect(clippy::cast_precision_loss, reason = "below 2^52 ns in any run that ends")]
fn utilisation(stats: &Stats, cpu: CpuId) -> f64 {
    let spent = stats.cpu_time(cpu);
    let all: u64 = spent.iter().sum();
    let idle = spent[Cost::Idle as usize] + spent[Cost::IdleExit as usize];
    ((all - idle) as f64 / all.max(1) as f64 * 1e4).round() / 1e4
}

impl Buckets {
    /// Sixteen buckets for each power of two: the end of one is at most 1/16 above any span in it.
    fn of(histogram: &Histogram) -> Buckets {
        let mut buckets = Buckets::default();
        for (span, count) in histogram.buckets() {
            let end = end_of(span.get());
            if buckets.up_to.last() == Some(&end) {
                *buckets.count.last_mut().expect("as many as ends") += count;
            } else {
                buckets.up_to.push(end);
                buckets.count.push(count);
            }
        }
        buckets
    }
}

/// The longest span of a bucket: spans below 32 are themselves, of longer ones the five leading bits
/// count.
fn end_of(span: u64) -> u64 {
    let shift = (64 - span.leading_zeros()).saturating_sub(5);
    span | ((1 << shift) - 1)
}

impl SeriesReport {
    /// The report of the series of a run that was over at `end`.
    pub(crate) fn of(mut series: CpuSeries, end: SimTime) -> SeriesReport {
        series.finish(end);
        let intervals = 0..series.intervals();
        let percent = |interval: usize| -> Vec<u64> {
            let span = series.span(interval).get().max(1);
            series.busy(interval).iter().map(|busy| (100 * busy + span / 2) / span).collect()
        };
        let column = |(cause, name): (usize, &str)| {
            let column: Vec<u64> =
                intervals.clone().map(|interval| series.moves(interval)[cause]).collect();
            let is_some = column.iter().any(|count| *count > 0);
            is_some.then(|| (name.to_owned(), Value::from(column)))
        };
        SeriesReport {
            schema: 1,
            interval_ns: series.interval().get(),
            intervals: series.intervals(),
            cpu_busy_pct: intervals.clone().map(percent).collect(),
            migrations: Cause::NAMES.into_iter().enumerate().filter_map(column).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simsched_core::Nanos;

    /// 1000 is 11111_01000 in binary: of 16 to the power of two, 992..=1023 is one.
    #[test]
    fn a_bucket_ends_where_five_bits_do() {
        let ends = [0, 31, 32, 33, 34, 1_000, 1_024].map(end_of);
        assert_eq!(ends, [0, 31, 33, 33, 35, 1_023, 1_087]);
    }

    #[test]
    fn buckets_keep_every_sample() {
        let mut histogram = Histogram::new();
        [5, 1_000, 1_010, 1_030, 5].iter().for_each(|span| histogram.record(Nanos(*span)));
        let buckets = Buckets::of(&histogram);
        assert_eq!(buckets.up_to, [5, 1_023, 1_087]);
        assert_eq!(buckets.count, [2, 2, 1]);
    }

    #[test]
    fn a_machine_is_told_core_by_core() {
        let topology = Topology::builtin("t16", None).unwrap();
        let llcs: Vec<Llc> = (0..topology.nr_llcs()).map(|llc| Llc::of(&topology, llc)).collect();
        let packages: Vec<u16> = llcs.iter().map(|llc| llc.package).collect();
        assert_eq!(packages, [0, 0, 1, 1]);
        let cpus = llcs.iter().flat_map(|llc| llc.cores.split([' ', ',', '-']));
        assert_eq!(cpus.count(), 16, "{llcs:?}");
    }
}
