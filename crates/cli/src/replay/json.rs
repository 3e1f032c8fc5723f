//! A replay beside its recording as JSON; docs/replay.md tells what its keys mean.

use serde::Serialize;
use simsched_trace::history::Seen;
use simsched_trace::reader::Format;

use super::command::{Pair, Replayed, sum};
use super::quantiles::Quantiles;
use crate::report::{Report, SCHEMA};

/// A replay beside its recording.
#[derive(Serialize)]
pub(super) struct Replay<'a> {
    schema: u32,
    recording: Recording,
    recorded: Counts,
    replayed: Counts,
    threads: Vec<Thread<'a>>,
    run: &'a Report,
}

/// What was read.
#[derive(Serialize)]
struct Recording {
    format: &'static str,
    span_ns: u64,
    events: u64,
    other_events: u64,
    lost_events: u64,
    gaps: u64,
    cpus: u32,
    resolution_ns: u64,
    here: bool,
    here_assumed: bool,
    speeds: bool,
    threads: usize,
    left_out: usize,
    names_only: usize,
    real_time: usize,
    kept: usize,
    preempt_ns: u64,
    tick_ns: Option<u64>,
    not_recorded: Vec<&'static str>,
}

/// What was counted of a thread, or of all.
#[derive(Serialize)]
struct Counts {
    #[serde(skip_serializing_if = "Option::is_none")]
    span_ns: Option<u64>,
    runtime_ns: u64,
    task_switches: u64,
    migrations: u64,
    wakeups: u64,
    latency_mean_ns: Option<u64>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    latency: Option<Points>,
    latency_max_ns: Option<u64>,
}

/// Points of the latencies of all threads; null of none.
#[derive(Serialize)]
struct Points {
    latency_p50_ns: Option<u64>,
    latency_p90_ns: Option<u64>,
    latency_p99_ns: Option<u64>,
}

/// A thread in both.
#[derive(Serialize)]
struct Thread<'a> {
    comm: &'a str,
    pid: i32,
    kept: bool,
    recorded: Counts,
    replayed: Counts,
}

/// The name of a format.
pub(super) fn format(format: Format) -> &'static str {
    match format {
        Format::Ftrace => "ftrace",
        Format::PerfScript => "perf script",
    }
}

fn counts(seen: &Seen, span_ns: Option<u64>, latency: Option<Quantiles>) -> Counts {
    Counts {
        span_ns,
        runtime_ns: seen.runtime,
        task_switches: seen.switches,
        migrations: seen.migrations,
        wakeups: seen.wakeups,
        latency_mean_ns: seen.latency_sum.checked_div(seen.wakeups),
        latency: latency.map(|Quantiles { p50, p90, p99 }| Points {
            latency_p50_ns: p50,
            latency_p90_ns: p90,
            latency_p99_ns: p99,
        }),
        latency_max_ns: (seen.wakeups > 0).then_some(seen.latency_max),
    }
}

/// The JSON of a replay.
pub(super) fn of(replayed: &Replayed) -> Replay<'_> {
    let Replayed { report, facts, threads, .. } = replayed;
    let is_free = super::is_free(report);
    let thread = |pair: &'_ Pair| -> (Counts, Counts) {
        (counts(&pair.recorded, None, None), counts(&pair.replayed, None, None))
    };
    Replay {
        schema: SCHEMA,
        recording: Recording {
            format: format(facts.format),
            span_ns: replayed.recorded_span,
            events: facts.events,
            other_events: facts.other_events,
            lost_events: facts.lost_events,
            gaps: facts.gaps,
            cpus: facts.nr_cpus,
            resolution_ns: facts.resolution,
            here: facts.is_here,
            here_assumed: facts.is_assumed,
            speeds: facts.has_speeds,
            threads: threads.len(),
            left_out: facts.left_out,
            names_only: facts.idle,
            real_time: facts.real_time,
            kept: threads.iter().filter(|pair| pair.kept).count(),
            preempt_ns: facts.preempt,
            tick_ns: facts.tick,
            not_recorded: facts.not_recorded(is_free).collect(),
        },
        recorded: counts(
            &sum(threads.iter().map(|pair| &pair.recorded)),
            Some(replayed.recorded_span),
            Some(replayed.latency[0]),
        ),
        replayed: counts(
            &sum(threads.iter().map(|pair| &pair.replayed)),
            Some(replayed.replayed_span),
            Some(replayed.latency[1]),
        ),
        threads: threads
            .iter()
            .map(|pair| {
                let (recorded, replayed) = thread(pair);
                Thread { comm: &pair.comm, pid: pair.pid, kept: pair.kept, recorded, replayed }
            })
            .collect(),
        run: report,
    }
}
