//! `replay`: a recorded schedule as a workload of `run`, `compare` and the like, and the command
//! `simsched replay`, which holds the replay against the recording.

mod command;
mod json;
mod machine;
mod quantiles;
mod recording;
mod source;
mod tally;
mod text;

use std::path::Path;

use simsched_core::Config;
use simsched_topology::Topology;
use simsched_trace::history::{self, History, Seen};
use simsched_trace::reader;
use simsched_trace::{Thread, What};
use simsched_workloads::replay::{self as workload, Recording, Replay};

use crate::failure::Failure;
use crate::identity;
use crate::report::Report;
use crate::topo;

pub(crate) use command::replay;
use machine::Machine;
use recording::recording as players;

/// The threads of a trace as those of a workload.
pub(crate) fn recording(trace: &simsched_trace::reader::Trace, history: &History) -> Recording {
    players(trace, history).1
}

/// A recording that was read, and its programs for one machine.
pub(crate) struct Recorded {
    pub(crate) replay: Replay,
    /// The hash of the text.
    pub(crate) hash: String,
    /// What the file says, without its events.
    pub(crate) facts: Facts,
    /// By thread of the recording.
    pub(crate) seen: Vec<Seen>,
    /// By thread of the recording.
    pub(crate) threads: Vec<Thread>,
    /// By thread of the recording: whether it was not free to leave a CPU, and is not here.
    pub(crate) kept: Vec<bool>,
    pub(crate) recording: Recording,
    /// From each call for a thread to the switch to it, in ns.
    pub(crate) latencies: Vec<u64>,
}

/// What a file says beside its events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) format: reader::Format,
    pub(crate) events: u64,
    pub(crate) other_events: u64,
    pub(crate) lost_events: u64,
    /// How often a thread was not where its events before had said.
    pub(crate) gaps: u64,
    pub(crate) nr_cpus: u32,
    /// In ns.
    pub(crate) resolution: u64,
    /// Whether it was made on the machine on which it is replayed.
    pub(crate) is_here: bool,
    /// That it was is an assumption: it has as many CPUs.
    pub(crate) is_assumed: bool,
    /// Whether what siblings and clocks took was taken out of the threads' times.
    pub(crate) has_speeds: bool,
    /// Whether some wakeup is told to be synchronous.
    pub(crate) has_sync: bool,
    /// Idle tasks and stoppers.
    pub(crate) left_out: usize,
    /// Threads of which only a name is known.
    pub(crate) idle: usize,
    /// Threads of real-time classes.
    pub(crate) real_time: usize,
    /// From the call for a thread to the switch away from the one that it preempts, in ns.
    pub(crate) preempt: u64,
    /// When a tick came, in ns from the first event, if that was found.
    pub(crate) tick: Option<u64>,
}

/// Whether a run was one on free hardware.
fn is_free(report: &Report) -> bool {
    report.scenario.settings.get("hardware").is_some_and(|model| model == "free")
}

impl Facts {
    /// What the recording does not say and a replay needs, each with what is taken for it. Where the hardware is
    /// free, siblings and clocks take nothing.
    pub(crate) fn not_recorded(&self, is_free: bool) -> impl Iterator<Item = &'static str> {
        let siblings =
            "what busy siblings and slower clocks took: it counts as work (--recorded-on)";
        let sync = "whether a wakeup was synchronous: none is";
        let always = [
            "why a thread slept: it waits for the wakeup that ended its sleep, or until its timer",
            "time in interrupts: it counts as work of the thread that was interrupted",
        ];
        let siblings = (!self.has_speeds && !is_free).then_some(siblings);
        let sync = (!self.has_sync).then_some(sync);
        always.into_iter().chain(sync).chain(siblings)
    }
}

/// Whether a command line names a recording.
pub(crate) fn is_meant(argv: &[String]) -> bool {
    argv.first().is_some_and(|name| name == workload::NAME)
}

/// The recording that the words behind `replay` name, for this machine, configured so.
///
/// # Errors
/// One sentence about the options, or about the file and its line.
pub(crate) fn open(
    args: &[String],
    topology: &Topology,
    config: &Config,
) -> Result<Recorded, Failure> {
    let named = workload::parse(args).map_err(Failure::input)?;
    let (file, mut options) = (named.file, named.options);
    let bytes = source::bytes(Path::new(file), options.max_input)?;
    let trace = reader::read(&bytes).map_err(|e| Failure::Input(format!("{file}: {e}")))?;
    // What is replayed depends on the machine of the recording, too.
    let machine = named.recorded_on.map(topo::file_text).transpose()?.flatten();
    let hash = match machine {
        Some(machine) => identity::hex(&[&bytes, machine.as_bytes()].concat()),
        None => identity::hex(&bytes),
    };
    drop(bytes);
    let history = History::of(&trace);
    let tick = 1_000_000_000 / u64::from(config.hz.max(1));
    options.tick = History::tick(&trace, tick);
    let (players, mut recording) = players(&trace, &history);
    let machine = Machine::of(&trace, named.recorded_on, topology, config)?;
    recording.here = machine.is_this;
    recording.speeds = machine.speeds(&trace, config.turbo);
    let lives = players.iter().map(|ix| &history.lives[ix.0 as usize]);
    let infers = options.affinity == workload::Affinity::Inferred;
    let kept = lives.clone().map(|life| infers && life.kept).collect();
    let seen = lives.map(|life| life.seen).collect();
    let threads: Vec<Thread> = players.iter().map(|ix| trace.threads.get(*ix).clone()).collect();
    let is_machines = |thread: &&Thread| history::is_idle(thread) || history::is_stopper(thread);
    let left_out = trace.threads.all.iter().filter(is_machines).count();
    let replay = Replay::new(named, &recording, options, topology.nr_cpus(), tick)
        .map_err(|e| Failure::Input(format!("{file}: {e}")))?;
    let facts = Facts {
        format: trace.format,
        events: trace.told.len() as u64,
        other_events: trace.other_events,
        lost_events: trace.lost_events,
        gaps: history.gaps,
        nr_cpus: trace.nr_cpus,
        resolution: trace.resolution,
        has_sync: trace
            .told
            .iter()
            .any(|told| matches!(told.event.what, What::Waking { sync: true, .. })),
        is_here: recording.here,
        is_assumed: machine.is_assumed,
        has_speeds: machine.is_known(),
        left_out,
        idle: trace.threads.all.len() - left_out - threads.len(),
        real_time: threads.iter().filter(|thread| thread.prio < 100).count(),
        preempt: history.preempt,
        tick: options.tick,
    };
    Ok(Recorded {
        replay,
        hash,
        facts,
        seen,
        threads,
        kept,
        recording,
        latencies: history.latencies,
    })
}
