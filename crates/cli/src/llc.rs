//! `LlcReport`: where the processes of a run were at home among its LLCs, as JSON.

use serde::Serialize;
use serde_json::{Map, Value};
use simsched_core::observe::{ByCause, LlcRow, LlcSeries};
use simsched_core::{Cause, ProcId};
use simsched_topology::{LlcId, Topology};

use crate::report::{Counts, named};

/// The version of what [`LlcReport`] becomes. It rises as [`crate::report::SCHEMA`] does.
const SCHEMA: u32 = 1;

/// Where processes were at home, over the run and interval by interval; `docs/json.md` describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LlcReport {
    pub(crate) schema: u32,
    pub(crate) interval_ns: u64,
    pub(crate) intervals: usize,
    /// By LLC.
    pub(crate) nr_cpus: Vec<usize>,
    /// By LLC: of the whole run.
    pub(crate) utilisation: Vec<f64>,
    /// All processes together.
    pub(crate) total: AtHome,
    /// Those that did anything.
    pub(crate) processes: Vec<Process>,
    pub(crate) series: Series,
}

/// What was done at home, and what elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct AtHome {
    pub(crate) runtime_ns: u64,
    pub(crate) at_home_ns: u64,
    /// The latter of the former, 0 to 1; none of nothing.
    pub(crate) share_at_home: Option<f64>,
    pub(crate) wakeups: u64,
    pub(crate) wakeups_home: u64,
    pub(crate) share_of_wakeups_home: Option<f64>,
    /// Between any two LLCs.
    pub(crate) moves: Counts,
    pub(crate) into: Counts,
    pub(crate) out_of: Counts,
}

/// One process over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Process {
    pub(crate) proc: u32,
    pub(crate) name: String,
    /// In how many intervals it did anything,
    pub(crate) intervals: usize,
    /// and in how many of them its home was its policy's.
    pub(crate) by_policy: usize,
    /// How often its home was another one than in the interval before.
    pub(crate) home_changes: usize,
    #[serde(flatten)]
    pub(crate) at_home: AtHome,
}

/// All intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Series {
    /// By interval, then by LLC.
    pub(crate) utilisation: Vec<Vec<f64>>,
    pub(crate) processes: Vec<ProcessSeries>,
}

/// One process: parallel arrays with one place for each interval in which it did anything.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ProcessSeries {
    pub(crate) proc: u32,
    pub(crate) interval: Vec<u32>,
    pub(crate) home: Vec<u16>,
    pub(crate) by_policy: Vec<bool>,
    pub(crate) runtime_ns: Vec<u64>,
    pub(crate) at_home_ns: Vec<u64>,
    pub(crate) wakeups: Vec<u64>,
    pub(crate) wakeups_home: Vec<u64>,
    /// By cause, those that it never had left out.
    pub(crate) into: Map<String, Value>,
    pub(crate) out_of: Map<String, Value>,
}

impl LlcReport {
    /// The report of a series that is finished; `names` are those of the processes.
    pub(crate) fn of(series: &LlcSeries, topology: &Topology, names: &[String]) -> LlcReport {
        let nr_cpus: Vec<usize> =
            (0..topology.nr_llcs()).map(|llc| topology.llc_span(LlcId::new(llc)).len()).collect();
        let spans = series.spans();
        let at = |interval: usize| utilisation(series.busy(interval), &nr_cpus, spans[interval].0);
        let mut busy = vec![0; nr_cpus.len()];
        for interval in 0..spans.len() {
            busy.iter_mut().zip(series.busy(interval)).for_each(|(sum, ns)| *sum += ns);
        }
        let by_proc = (0..names.len()).map(ProcId::new).filter_map(|proc| {
            let rows: Vec<&LlcRow> = series.rows().iter().filter(|row| row.proc == proc).collect();
            (!rows.is_empty()).then_some((proc, rows))
        });
        let (mut processes, mut parts) = (Vec::new(), Vec::new());
        for (proc, rows) in by_proc {
            processes.push(Process::of(proc, &names[proc.idx()], &rows));
            parts.push(ProcessSeries::of(proc, &rows));
        }
        LlcReport {
            schema: SCHEMA,
            interval_ns: series.interval().get(),
            intervals: spans.len(),
            utilisation: utilisation(&busy, &nr_cpus, spans.iter().map(|span| span.0).sum()),
            total: AtHome::of(series.rows().iter()),
            processes,
            series: Series { utilisation: (0..spans.len()).map(at).collect(), processes: parts },
            nr_cpus,
        }
    }
}

impl AtHome {
    fn of<'a>(rows: impl Iterator<Item = &'a LlcRow> + Clone) -> AtHome {
        let sum = |value: fn(&LlcRow) -> u64| rows.clone().map(value).sum::<u64>();
        let by_cause = |counts: fn(&LlcRow) -> &ByCause| {
            let sum = |cause: usize| rows.clone().map(|row| counts(row)[cause]).sum();
            named(Cause::NAMES.into_iter().enumerate().map(|(cause, name)| (name, sum(cause))))
        };
        let [runtime, at_home] = [sum(|row| row.runtime.0), sum(|row| row.at_home.0)];
        let [wakeups, home] = [sum(|row| row.wakeups), sum(|row| row.wakeups_home)];
        AtHome {
            runtime_ns: runtime,
            at_home_ns: at_home,
            share_at_home: share(at_home, runtime),
            wakeups,
            wakeups_home: home,
            share_of_wakeups_home: share(home, wakeups),
            moves: by_cause(|row| &row.moves),
            into: by_cause(|row| &row.into),
            out_of: by_cause(|row| &row.out_of),
        }
    }
}

impl Process {
    fn of(proc: ProcId, name: &str, rows: &[&LlcRow]) -> Process {
        Process {
            proc: proc.0,
            name: name.to_owned(),
            intervals: rows.len(),
            by_policy: rows.iter().filter(|row| row.by_policy).count(),
            home_changes: rows.windows(2).filter(|pair| pair[0].home != pair[1].home).count(),
            at_home: AtHome::of(rows.iter().copied()),
        }
    }
}

impl ProcessSeries {
    fn of(proc: ProcId, rows: &[&LlcRow]) -> ProcessSeries {
        ProcessSeries {
            proc: proc.0,
            interval: rows.iter().map(|row| row.interval).collect(),
            home: rows.iter().map(|row| row.home.0).collect(),
            by_policy: rows.iter().map(|row| row.by_policy).collect(),
            runtime_ns: rows.iter().map(|row| row.runtime.0).collect(),
            at_home_ns: rows.iter().map(|row| row.at_home.0).collect(),
            wakeups: rows.iter().map(|row| row.wakeups).collect(),
            wakeups_home: rows.iter().map(|row| row.wakeups_home).collect(),
            into: columns(rows, |row| &row.into),
            out_of: columns(rows, |row| &row.out_of),
        }
    }
}

/// The counts of each cause that has any, row by row.
fn columns(rows: &[&LlcRow], counts: fn(&LlcRow) -> &ByCause) -> Map<String, Value> {
    let column = |(cause, name): (usize, &str)| {
        let column: Vec<u64> = rows.iter().map(|row| counts(row)[cause]).collect();
        let is_some = column.iter().any(|count| *count > 0);
        is_some.then(|| (name.to_owned(), Value::from(column)))
    };
    Cause::NAMES.into_iter().enumerate().filter_map(column).collect()
}

/// The part of the CPU time of each LLC that was used, of `span_ns`.
fn utilisation(busy: &[u64], nr_cpus: &[usize], span_ns: u64) -> Vec<f64> {
    let all = nr_cpus.iter().map(|cpus| *cpus as u64 * span_ns);
    busy.iter().zip(all).map(|(busy, all)| share(*busy, all).unwrap_or(0.0)).collect()
}

/// In ten-thousandths, so that nobody reads noise.
#[expect(clippy::cast_precision_loss, reason = "below 2^52 in any run that ends")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1e4).round() / 1e4)
}
