//! Cache-aware scheduling by the functions of 7.3, held against recordings of that kernel: threads of one process that
//! compute, on virtual machines whose lines cost nothing.
//!
//! The library is built of Debian's source (`common`); where there is none, the test says so and passes.
//! `--nocapture` prints each run.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test prints its runs, and fails where a machine is missing"
)]

mod common;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use simsched_core::testkit::Script;
use simsched_core::{
    Config, Nanos, Observer, Op, ProcId, Seed, Setup, SimTime, Simulator, TaskId, Tracepoint,
    Wants, World,
};
use simsched_kernel::{KernelPolicy, KernelSettings};
use simsched_topology::{CpuId, LlcId, Topology};

/// The library; nothing, and a sentence, where the source is not installed: only some suites of Debian have its package.
fn library() -> Option<PathBuf> {
    let package = Path::new("/usr/src/linux-source-7.3.tar.xz");
    if package.exists() {
        return common::library("7.3");
    }
    println!("skipped: there is no {}", package.display());
    None
}

/// Two LLCs of eight CPUs on one node, and two of sixteen on two nodes: sockets, LLCs of each, their cores, threads.
const MACHINES: [(&str, [u16; 4]); 2] = [("n2x8", [1, 2, 8, 1]), ("s2x8", [2, 1, 8, 2])];

/// The virtual machine of the recordings with another shape.
fn machine(name: &str) -> Arc<Topology> {
    let (_, [sockets, llcs, cores, threads]) =
        MACHINES.into_iter().find(|it| it.0 == name).unwrap();
    let text = include_str!("../../../topologies/t16.toml")
        .replace("sockets = 2", &format!("sockets = {sockets}"))
        .replace("llcs_per_socket = 2", &format!("llcs_per_socket = {llcs}"))
        .replace("cores_per_llc = 2", &format!("cores_per_llc = {cores}"))
        .replace("threads_per_core = 2", &format!("threads_per_core = {threads}"));
    Arc::new(Topology::parse(&text, "lab.toml", Some("untraced")).unwrap())
}

/// A program that forks a process after `wait`, whose first thread forks the others and computes like them, as the
/// recorded one does: 180 us and then 65 us apart.
fn hogs(threads: usize, wait: Nanos) -> Script {
    let procs = vec!["lab".to_owned(), "hogs".to_owned()];
    let mut script = Script::new(Setup { procs, ..Setup::default() });
    let spawn = |nth| Op::Spawn(TaskId::new(nth));
    let mut first = vec![Op::Run(Nanos(180_000))];
    for nth in 1..threads {
        first.extend([spawn(nth), Op::Run(Nanos(65_000))]);
    }
    let compute = Op::Run(Nanos(1_500_000_000));
    first.push(compute);
    for nth in 0..threads {
        let task = script.spawned(if nth == 0 { &first } else { std::slice::from_ref(&compute) });
        script.spec(task).proc = ProcId(1);
    }
    script.task(CpuId(6), &[Op::Sleep(wait), spawn(0)]);
    script
}

/// What happened to the process.
#[derive(Debug, Default)]
struct Seen {
    begin: u64,
    threads: usize,
    /// Where each thread is.
    llcs: Vec<LlcId>,
    /// When each preference began, in ns since the fork.
    preferred: Vec<(u64, Option<LlcId>)>,
    /// When a thread went to another LLC, once they were born.
    moves: Vec<u64>,
    /// Threads in each LLC once all were born.
    born: Option<[usize; 2]>,
}

impl Seen {
    fn split(&self) -> [usize; 2] {
        [0, 1].map(|llc| self.llcs.iter().filter(|at| **at == LlcId(llc)).count())
    }
}

impl Observer for Seen {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        let now = world.now().0;
        match tracepoint {
            Tracepoint::Preferred { proc: ProcId(1), llc } => {
                self.preferred.push((now - self.begin, llc));
            }
            Tracepoint::Switch { next: Some(next), cpu, .. } if next.idx() < self.threads => {
                if self.begin == 0 {
                    self.begin = now;
                }
                let llc = world.topology().llc_of(cpu);
                match self.llcs.get_mut(next.idx()) {
                    Some(at) if *at != llc => {
                        *at = llc;
                        self.moves.push(now - self.begin);
                    }
                    Some(_) => {}
                    None => {
                        self.llcs.push(llc);
                        if self.llcs.len() == self.threads {
                            self.born = Some(self.split());
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::PREFERRED
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: u64| format!("{}.{}", ns / 1_000_000, ns / 100_000 % 10);
        write!(f, "{:?} to {:?}, moves at", self.born.unwrap_or_default(), self.split())?;
        self.moves.iter().try_for_each(|&at| write!(f, " {}", ms(at)))?;
        write!(f, "; preferred")?;
        self.preferred.iter().try_for_each(|(at, llc)| match llc {
            Some(llc) => write!(f, " {}@{}", llc.0, ms(*at)),
            None => write!(f, " -1@{}", ms(*at)),
        })
    }
}

/// 900 ms of so many threads, three times, with the fork at another time after a tick.
fn runs(library: &Path, name: &str, threads: usize, knobs: &[(&str, u32)]) -> Vec<Seen> {
    let one = |nth: u64| {
        let knobs = knobs.iter().map(|&(key, value)| (key.to_owned(), value)).collect();
        let settings = KernelSettings { knobs, ..KernelSettings::default() };
        let policy = KernelPolicy::new(library, settings);
        let work = hogs(threads, Nanos(50_000_000 + nth * 1_300_000));
        let seen = Seen { threads, ..Seen::default() };
        let config = Config { seed: Seed(nth), ..Config::default() };
        let mut sim = Simulator::new(machine(name), Box::new(policy), work, seen, config).unwrap();
        sim.set_paranoid();
        sim.run_until(SimTime(950_000_000)).unwrap();
        let seen = std::mem::take(sim.observer_mut());
        println!("{name} {threads}: {seen}");
        seen
    };
    (0..3).map(one).collect()
}

/// Threads of the LLC with more of them, and of the other.
fn sorted([a, b]: [usize; 2]) -> [usize; 2] {
    [a.max(b), a.min(b)]
}

const MS: u64 = 1_000_000;

/// Recorded: 2,2 and 3,3 and 1,2 become 4,0 and 6,0 and 3,0, one thread in a pass, and so does 4,4 in LLCs of 16 CPUs;
/// the scan behind the second tick finds a preference that the first one has set. Passes with LLCs of 8 come 16 or 32 ms
/// apart.
#[test]
fn threads_that_compute_gather_in_one_llc() {
    let Some(library) = library() else { return };
    for (name, threads) in
        [("n2x8", 3), ("n2x8", 4), ("n2x8", 6), ("s2x8", 3), ("s2x8", 4), ("s2x8", 6), ("s2x8", 8)]
    {
        for seen in runs(&library, name, threads, &[]) {
            assert_eq!(sorted(seen.split()), [threads, 0]);
            let [(at, Some(home))] = seen.preferred[..] else { panic!("one preference: {seen}") };
            assert!(at < 4 * MS && seen.llcs.iter().all(|llc| *llc == home), "{seen}");
            if name == "n2x8" {
                let outside = threads - seen.born.unwrap()[usize::from(home.0)];
                assert_eq!(seen.moves.len(), outside, "each moves once: {seen}");
                for pair in seen.moves.windows(2) {
                    let apart = (pair[1] - pair[0] + MS / 2) / MS;
                    assert!(apart == 16 || apart == 32, "{seen}");
                }
            }
        }
    }
}

/// Recorded: eight threads with LLCs of eight CPUs, and twelve anywhere, lose the preference within 40 ms and are spread
/// again.
#[test]
fn too_many_threads_for_an_llc_stay_spread() {
    let Some(library) = library() else { return };
    for (name, threads) in [("n2x8", 8), ("n2x8", 12), ("s2x8", 12)] {
        for seen in runs(&library, name, threads, &[]) {
            let [(_, Some(_)), (end, None)] = seen.preferred[..] else { panic!("{seen}") };
            assert!(end < 40 * MS, "{seen}");
            assert_eq!(seen.split(), [threads / 2; 2]);
        }
    }
}

/// Recorded: no thread leaves the LLC in which it was born.
#[test]
fn without_cache_aware_scheduling_threads_stay_where_they_were_born() {
    let Some(library) = library() else { return };
    let off = ("llc_balancing.enabled", 0);
    for (name, threads) in
        [("n2x8", 4), ("n2x8", 6), ("n2x8", 8), ("s2x8", 4), ("s2x8", 6), ("s2x8", 8)]
    {
        for seen in runs(&library, name, threads, &[off]) {
            assert!(seen.moves.is_empty() && seen.preferred.is_empty(), "{seen}");
            assert_eq!(seen.split(), [threads / 2; 2]);
        }
    }
}

/// Recorded, with LLCs of eight CPUs: nothing is gathered with a tolerance of 0; with one of 2 eight threads are not too
/// many, and one stays outside; an LLC that may be filled to 25 % takes a fourth thread and no fifth.
#[test]
fn the_numbers_of_llc_balancing_decide_who_gathers() {
    let Some(library) = library() else { return };
    let ends = |threads, knob| {
        let seen = runs(&library, "n2x8", threads, &[knob]);
        seen.into_iter().map(|seen| sorted(seen.split())).collect::<Vec<_>>()
    };
    let (tolerance, filled) = ("llc_balancing.aggr_tolerance", "llc_balancing.overaggr_pct");
    for (threads, knob, end) in [
        (4, (tolerance, 0), [2, 2]),
        (6, (tolerance, 0), [3, 3]),
        (8, (tolerance, 0), [4, 4]),
        (4, (tolerance, 2), [4, 0]),
        (6, (tolerance, 2), [6, 0]),
        (8, (tolerance, 2), [7, 1]),
        (4, (filled, 25), [4, 0]),
        (6, (filled, 25), [4, 2]),
        (8, (filled, 25), [4, 4]),
    ] {
        assert_eq!(ends(threads, knob), [end; 3], "{threads} threads, {knob:?}");
    }
}
