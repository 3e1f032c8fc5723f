//! `replay`: a recorded schedule as a workload of `run`, `compare` and the like, and the command
//! `simsched replay`, which holds the replay against the recording.

mod command;
mod json;
mod recording;
mod source;
mod tally;
mod text;

use std::path::Path;

use simsched_trace::Thread;
use simsched_trace::history::{self, History, Seen};
use simsched_trace::reader;
use simsched_workloads::replay::{self as workload, Recording, Replay};

use crate::failure::Failure;
use crate::identity;

pub(crate) use command::replay;
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

/// Whether a command line names a recording.
pub(crate) fn is_meant(argv: &[String]) -> bool {
    argv.first().is_some_and(|name| name == workload::NAME)
}

/// The recording that the words behind `replay` name, for a machine of so many CPUs with `hz` ticks each
/// second.
///
/// # Errors
/// One sentence about the options, or about the file and its line.
pub(crate) fn open(args: &[String], nr_cpus: usize, hz: u32) -> Result<Recorded, Failure> {
    let (file, mut options) = workload::parse(args).map_err(Failure::input)?;
    let bytes = source::bytes(Path::new(file), options.max_input)?;
    let trace = reader::read(&bytes).map_err(|e| Failure::Input(format!("{file}: {e}")))?;
    let hash = identity::hex(&bytes);
    drop(bytes);
    let history = History::of(&trace);
    let tick = 1_000_000_000 / u64::from(hz.max(1));
    options.tick = History::tick(&trace, tick);
    let (players, recording) = players(&trace, &history);
    let lives = players.iter().map(|ix| &history.lives[ix.0 as usize]);
    let infers = options.affinity == workload::Affinity::Inferred;
    let kept = lives.clone().map(|life| infers && life.kept).collect();
    let seen = lives.map(|life| life.seen).collect();
    let threads: Vec<Thread> = players.iter().map(|ix| trace.threads.get(*ix).clone()).collect();
    let machine = |thread: &&Thread| history::is_idle(thread) || history::is_stopper(thread);
    let left_out = trace.threads.all.iter().filter(machine).count();
    let replay = Replay::new(file, &recording, options, nr_cpus, tick)
        .map_err(|e| Failure::Input(format!("{file}: {e}")))?;
    let facts = Facts {
        format: trace.format,
        events: trace.told.len() as u64,
        other_events: trace.other_events,
        lost_events: trace.lost_events,
        gaps: history.gaps,
        nr_cpus: trace.nr_cpus,
        resolution: trace.resolution,
        left_out,
        idle: trace.threads.all.len() - left_out - threads.len(),
        real_time: threads.iter().filter(|thread| thread.prio < 100).count(),
        preempt: history.preempt,
        tick: options.tick,
    };
    Ok(Recorded { replay, hash, facts, seen, threads, kept, recording })
}
