//! `simsched replay`: a recording is run, and held against itself.

use simsched_trace::history::Seen;
use simsched_workloads::replay::Ends;

use super::quantiles::Quantiles;
use super::tally::Tally;
use super::{Facts, json, text};
use simsched_policies::Registry;

use crate::args::{FileArgs, ReplayArgs, ResultsArgs, RunArgs, ScheduleArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, Place};
use crate::progress::Progress;
use crate::record::Outputs;
use crate::report::{End, Report};
use crate::scenario::{Outcome, Scenario};

/// A replay beside its recording.
pub(super) struct Replayed {
    pub(super) report: Report,
    pub(super) facts: Facts,
    /// From the first event to the last, in ns.
    pub(super) recorded_span: u64,
    /// From the begin of the recording in the run to the end of the last thread, in ns.
    pub(super) replayed_span: u64,
    /// By thread, those with most CPU time in the recording first.
    pub(super) threads: Vec<Pair>,
    /// From calls for threads to the switches to them, recorded and replayed.
    pub(super) latency: [Quantiles; 2],
}

/// A thread in the recording and in its replay.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) comm: String,
    pub(super) pid: i32,
    /// It was not free to leave a CPU, and is not here.
    pub(super) kept: bool,
    pub(super) recorded: Seen,
    pub(super) replayed: Seen,
}

/// Does what `simsched replay` is asked for.
pub(crate) fn replay(args: &ReplayArgs, registry: &Registry) -> Result<(), Failure> {
    let mut scenario = Scenario::new(&as_run(args), registry)?;
    if let Some(note) = scenario.note().filter(|_| !args.quiet) {
        output::say(&format!("note: {note}"));
    }
    let recorded = scenario.recorded().expect("the workload is a recording");
    let (tasks, lead) = (recorded.replay.lowered().threads.clone(), recorded.replay.lowered().lead);
    let ends = Ends::new(tasks.len());
    recorded.replay = recorded.replay.clone().telling(ends.clone());
    let (tally, tallied) = Tally::new(&recorded.recording, &tasks, (ends, lead));
    let (facts, recorded_span) = (recorded.facts, recorded.recording.span);
    let mut latencies = std::mem::take(&mut recorded.latencies);
    let kept = recorded.kept.iter().copied();
    let pair = |((thread, seen), kept): ((&simsched_trace::Thread, &Seen), bool)| Pair {
        comm: thread.comm.clone(),
        pid: thread.pid,
        kept,
        recorded: *seen,
        replayed: Seen::default(),
    };
    let mut threads: Vec<Pair> =
        recorded.threads.iter().zip(&recorded.seen).zip(kept).map(pair).collect();
    interrupt::listen();
    let place = Place::of(args.json.as_deref())?;
    let mut progress = Progress::start(args.quiet);
    let listener = Outputs::to(Box::new(tally));
    let Outcome { report, .. } = scenario.measure_into(args.seed, Some(&mut progress), listener)?;
    progress.clear();
    let recorded_latency = Quantiles::of(std::mem::take(&mut latencies));
    let tallied = &mut *tallied.borrow_mut();
    for (row, thread) in tallied.rows.iter().zip(tasks) {
        threads[thread].replayed = row.seen;
    }
    let latency = [recorded_latency, Quantiles::of(std::mem::take(&mut tallied.latencies))];
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.recorded.runtime));
    let replayed_span = match report.end {
        End::Finished => report.elapsed_ns.unwrap_or(0),
        _ => report.simulated_ns.saturating_sub(lead),
    };
    let events = report.events;
    let replayed = Replayed { report, facts, recorded_span, replayed_span, threads, latency };
    place.tell(&output::json(&json::of(&replayed)), || {
        text::of(&replayed, scenario.topology(), args.top)
    })?;
    progress.done(events);
    Ok(())
}

/// The same as arguments of `simsched run`.
fn as_run(args: &ReplayArgs) -> RunArgs {
    RunArgs {
        file: FileArgs::default(),
        topo: args.topo.clone(),
        policy: args.policy.clone(),
        settings: args.settings.clone(),
        seed: args.seed,
        seeds: None,
        duration: None,
        precision: None,
        precision_limit: None,
        whole: true,
        llc_interval: None,
        series: crate::args::SeriesArgs { series: None },
        schedule: ScheduleArgs::default(),
        results: ResultsArgs::default(),
        json: None,
        paranoid: false,
        quiet: args.quiet,
        workload: args.workload(),
    }
}

/// The sum over all threads; of the longest latencies the longest.
pub(super) fn sum<'a>(all: impl Iterator<Item = &'a Seen>) -> Seen {
    all.fold(Seen::default(), |sum, seen| Seen {
        runtime: sum.runtime + seen.runtime,
        switches: sum.switches + seen.switches,
        migrations: sum.migrations + seen.migrations,
        wakeups: sum.wakeups + seen.wakeups,
        latency_sum: sum.latency_sum + seen.latency_sum,
        latency_max: sum.latency_max.max(seen.latency_max),
    })
}
