//! Every workload by name, with its options and text; a command line becomes a `Benchmark`.

use simsched_topology::{Topology, nearest};

pub use crate::args::OptionInfo;
pub use crate::benchmark::{BenchResult, Benchmark, LeastPart, MarkTimes, Ran, SpanTimes, Teams};
use crate::error::WorkloadError;
use crate::{
    hackbench, lab, netperf, replay, rt_app, schbench, schbench_old, stream, stress_ng, sysbench,
    tbench, verilator,
};

/// A workload as it is listed for users.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, which is the name of the real program.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Its options.
    pub options: &'static [OptionInfo],
    /// What its name may look like, with what that means; empty if it has one name only.
    pub names: &'static [(&'static str, &'static str)],
    parse: Parse,
}

/// Reads the name and the options behind it, for a run with this seed on so many CPUs.
type Parse = fn(&str, &[String], u64, usize) -> Result<Box<dyn Benchmark>, WorkloadError>;

/// All workloads.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: hackbench::NAME,
        doc: "groups of senders and receivers of small messages (rt-tests 2.4)",
        options: hackbench::OPTIONS,
        names: &[],
        parse: |_, args, seed, _| {
            Ok(Box::new(hackbench::Run { hackbench: hackbench::parse(args)?, seed }))
        },
    },
    Entry {
        name: netperf::NAME,
        doc: "pairs that stream, or exchange a byte, over TCP or UDP on loopback (netperf 2.7)",
        options: netperf::OPTIONS,
        names: &[],
        parse: |_, args, seed, _| {
            Ok(Box::new(netperf::Run { netperf: netperf::parse(args)?, seed }))
        },
    },
    Entry {
        name: tbench::NAME,
        doc: "clients and servers that exchange a file server's messages over TCP (dbench 4.0)",
        options: tbench::OPTIONS,
        names: &[],
        parse: |_, args, seed, _| Ok(Box::new(tbench::Run { tbench: tbench::parse(args)?, seed })),
    },
    Entry {
        name: sysbench::NAME,
        doc: "oltp_read_write: transactions on a database with a server for each client (sysbench 1.1)",
        options: sysbench::OPTIONS,
        names: &[],
        parse: |_, args, seed, _| {
            Ok(Box::new(sysbench::Run { sysbench: sysbench::parse(args)?, seed }))
        },
    },
    Entry {
        name: stream::NAME,
        doc: "loops over arrays larger than the caches: the bandwidth of memory (STREAM 5.10)",
        options: stream::OPTIONS,
        names: &[],
        parse: |_, args, seed, nr_cpus| {
            Ok(Box::new(stream::Run { stream: stream::parse(args, nr_cpus)?, seed }))
        },
    },
    Entry {
        name: rt_app::NAME,
        doc: "tasks, phases and events from a JSON file (rt-app 1.0 and its head of 2026)",
        options: rt_app::OPTIONS,
        names: &[],
        parse: |name, args, _, _| {
            let what = format!("the file {} was not read", rt_app::file(args)?);
            Err(WorkloadError::Program { program: name.to_owned(), what })
        },
    },
    Entry {
        name: schbench::NAME,
        doc: "message threads that wake workers, which sleep and compute; latencies (schbench of 2025)",
        options: schbench::OPTIONS,
        names: &[],
        parse: |_, args, seed, nr_cpus| {
            Ok(Box::new(schbench::Run { seed, ..schbench::parse(args, nr_cpus)? }))
        },
    },
    Entry {
        name: schbench_old::NAME,
        doc: "message threads that wake workers in batches, which spin (schbench of 2016 to 2020)",
        options: schbench_old::OPTIONS,
        names: &[],
        parse: |_, args, seed, _| Ok(Box::new(schbench_old::parse(args)?.seeded(seed))),
    },
    Entry {
        name: stress_ng::NAME,
        doc: "--cpu: processes that compute and share nothing (stress-ng 0.15)",
        options: stress_ng::OPTIONS,
        names: &[],
        parse: |_, args, seed, nr_cpus| {
            Ok(Box::new(stress_ng::Run { stress: stress_ng::parse(args, nr_cpus)?, seed }))
        },
    },
    Entry {
        name: verilator::NAME,
        doc: "a simulator of a circuit: threads that meet in every cycle, and spin until they do",
        options: verilator::OPTIONS,
        names: &[],
        parse: |_, args, seed, _| {
            Ok(Box::new(verilator::Run { verilator: verilator::parse(args)?, seed }))
        },
    },
    Entry {
        name: replay::NAME,
        doc: "a schedule that a kernel recorded, or a simulation: FILE is text of perf script or ftrace",
        options: replay::OPTIONS,
        names: &[],
        // What stands in files is for the command to read.
        parse: |_, args, _, _| {
            replay::parse(args)?;
            Err(WorkloadError::NeedsFile { program: replay::NAME })
        },
    },
    Entry {
        name: lab::NAME,
        doc: "a scenario of the kernel lab, such as lab:hogs-herd-16, beside the kernel's threads",
        options: &[],
        names: lab::SCENARIOS,
        parse: |name, args, seed, nr_cpus| {
            Ok(Box::new(lab::Run { lab: lab::parse(name, args, nr_cpus)?, seed }))
        },
    },
];

/// The workload of this name.
///
/// # Errors
/// When there is none; the message names the nearest.
pub fn find(name: &str) -> Result<&'static Entry, WorkloadError> {
    let known = if name.starts_with(lab::PREFIX) { lab::NAME } else { name };
    ENTRIES.iter().find(|entry| entry.name == known).ok_or_else(|| WorkloadError::UnknownProgram {
        name: name.to_owned(),
        known: ENTRIES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
        nearest: nearest(name, ENTRIES.iter().map(|entry| entry.name))
            .into_iter()
            .map(str::to_owned)
            .collect(),
    })
}

/// The file that the command line `argv` names, where its program reads one: [`parse_file`] takes its
/// text. `-` is the standard input.
///
/// # Errors
/// One sentence that names the option or the value.
pub fn file(argv: &[String]) -> Result<Option<&str>, WorkloadError> {
    match argv.split_first() {
        Some((name, args)) if name == rt_app::NAME => rt_app::file(args).map(Some),
        _ => Ok(None),
    }
}

/// The benchmark that the command line `argv` means on this machine, where the file that it names has this
/// text.
///
/// # Errors
/// One sentence that names the option, or the line and column of the file.
pub fn parse_file(
    argv: &[String],
    text: &str,
    topology: &Topology,
) -> Result<Box<dyn Benchmark>, WorkloadError> {
    rt_app::parse(argv.get(1..).unwrap_or_default(), text, topology)
}

/// The benchmark that the command line `argv` means on a machine of so many CPUs: the program's name
/// and its options, as one would type them on a real machine. An empty one is `hackbench` with
/// threads over pipes and its other defaults.
///
/// # Errors
/// One sentence that names the program, the option or the value, and the nearest names.
pub fn parse(
    argv: &[String],
    seed: u64,
    nr_cpus: usize,
) -> Result<Box<dyn Benchmark>, WorkloadError> {
    let Some((name, args)) = argv.split_first() else {
        return Ok(Box::new(hackbench::Run { hackbench: hackbench::THREADS_OVER_PIPES, seed }));
    };
    (find(name)?.parse)(name, args, seed, nr_cpus)
}
