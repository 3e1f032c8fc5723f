//! Any bytes are a recording that can be written, read again and replayed, or refused with one sentence that
//! names the line or the offset.
#![no_main]

#[path = "../support/run.rs"]
mod run;
#[path = "../support/mod.rs"]
mod support;

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use simsched_cli::fuzzing::recording;
use simsched_core::HardwareModel;
use simsched_topology::Topology;
use simsched_trace::history::History;
use simsched_trace::reader::{ReadError, Trace, read};
use simsched_trace::{Ftrace, Sink, Thread};
use simsched_workloads::catalog::Benchmark;
use simsched_workloads::replay::{self, Replay};

static MACHINE: LazyLock<Arc<Topology>> = LazyLock::new(|| Arc::new(run::machine()));

/// From one tick to the next, in ns.
const TICK: u64 = 4_000_000;

fn is_placed(error: &ReadError, lines: usize) -> bool {
    match error {
        ReadError::Line { line, .. } => (1..=lines).contains(line),
        ReadError::Binary { .. } => error.to_string().contains("offset"),
        _ => true,
    }
}

/// Whether a name is none that could be taken for something else of a line.
fn is_plain(thread: &Thread) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '/';
    thread.pid >= 0 && !thread.comm.is_empty() && thread.comm.chars().all(is_plain)
}

/// What is written is read back.
fn write_and_read(trace: &Trace) {
    let mut target = Vec::new();
    let mut written = Ftrace::new(&mut target, trace.nr_cpus as usize);
    for told in &trace.told {
        assert!(told.event.cpu < trace.nr_cpus);
        written.event(&trace.threads, &told.event).expect("a buffer takes everything");
    }
    if trace.threads.all.iter().all(is_plain) {
        let again = read(&target).expect("what was written is a recording");
        assert_eq!((again.told.len(), again.nr_cpus), (trace.told.len(), trace.nr_cpus));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let trace = match read(bytes) {
        Err(error) => {
            support::one_line(&error.to_string());
            let lines = bytes.split(|byte| *byte == b'\n').count();
            assert!(is_placed(&error, lines), "{error}");
            return;
        }
        Ok(trace) => trace,
    };
    write_and_read(&trace);
    let history = History::of(&trace);
    let recording = recording(&trace, &history);
    let (file, which) = ("t.txt".to_owned(), ["known", "seen"][bytes.len() % 2]);
    let argv = [file, format!("--affinity={which}")];
    let named = replay::parse(&argv).expect("options that there are");
    let mut options = named.options;
    options.tick = History::tick(&trace, TICK);
    match Replay::new(named, &recording, options, MACHINE.nr_cpus(), TICK) {
        Err(error) => support::one_line(&error.to_string()),
        Ok(replay) => {
            support::one_line(&replay.banner());
            run::a_little(replay.workload(), &MACHINE, HardwareModel::Free);
        }
    }
});
