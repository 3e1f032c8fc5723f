//! The kernel's own functions as a policy, held against the fair class of the same release: two simulations of one
//! program, event by event.
//!
//! The libraries are built of Debian's sources (`common`); where there are none, the tests say so and pass.
//! `--nocapture` prints where the two part.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test prints where two runs part, and fails where a file or a machine is missing"
)]

#[path = "../common/mod.rs"]
mod common;
mod random;
mod shadows;
mod sides;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use simsched_core::{Seed, Workload};
use simsched_topology::Topology;
use simsched_workloads::hackbench::{Hackbench, THREADS_OVER_PIPES};
use simsched_workloads::lab::{self, Lab};

use crate::random::Plan;
use crate::sides::Scene;

/// The fair class of each version whose source Debian has.
const VERSIONS: [(&str, &str); 2] = [("6.1", "cfs@6.1"), ("6.12", "eevdf@6.12")];

fn compared<W: Workload>(
    machine: &str,
    expr: &str,
    library: &Path,
    work: &dyn Fn() -> W,
    ms: u64,
) -> Result<u64, String> {
    let topology = Arc::new(Topology::builtin(machine, None).unwrap());
    let irq_accounting = false;
    Scene { topology, expr, library, work, ms, irq_accounting, seed: Seed(1) }.compared()
}

fn the_lab(expr: &str, library: Option<PathBuf>) {
    let machines = [("t8", 8), ("t16", 16)].map(|(machine, cpus)| (machine, lab::names(cpus)));
    programs(expr, library, &machines);
}

/// The programs that ask where the threads of a process are, on machines of several last-level caches.
fn the_cache_set(expr: &str, library: Option<PathBuf>) {
    let names: Vec<String> = lab::cache_set().map(str::to_owned).collect();
    programs(expr, library, &["n2x8", "s2x8", "s2d2"].map(|machine| (machine, names.clone())));
}

fn programs(expr: &str, library: Option<PathBuf>, machines: &[(&str, Vec<String>)]) {
    let Some(library) = library else { return };
    let (mut runs, mut steps, mut differ) = (0, 0, Vec::new());
    for (machine, names) in machines {
        let topology = Topology::builtin(machine, None).unwrap();
        for name in names {
            let lab = Lab::new(name, topology.nr_cpus()).unwrap().on(&topology);
            let work = || lab.build(Seed(1)).unwrap();
            runs += 1;
            match compared(machine, expr, &library, &work, 1_000) {
                Ok(equal) => steps += equal,
                Err(parts) => {
                    println!("{machine} {name}: {parts}");
                    differ.push(format!("{machine} {name}"));
                }
            }
        }
    }
    println!("{expr}: {runs} runs, {steps} steps, {} differ", differ.len());
    assert!(differ.is_empty(), "{expr}: {differ:?}");
    assert!(steps > 1_000 * runs, "{steps} steps of {runs} programs");
}

/// The programs of the lab: their first second is that of the fair class to the nanosecond.
#[test]
fn the_lab_runs_as_it_does_under_cfs() {
    the_lab("cfs@6.1", common::library("6.1"));
}

#[test]
fn the_lab_runs_as_it_does_under_eevdf() {
    the_lab("eevdf@6.12", common::library("6.12"));
}

#[test]
fn the_lab_runs_as_it_does_under_eevdf_of_7_3() {
    the_lab("eevdf@7.3", common::library_if_any("7.3"));
}

#[test]
fn the_lab_runs_as_it_does_under_eevdf_of_7_2() {
    the_lab("eevdf@7.2", common::library_if_any("7.2"));
}

#[test]
fn the_lab_runs_as_it_does_with_cache_aware_scheduling() {
    the_lab("eevdf@7.3+cache_aware", common::library_if_any("7.3"));
}

#[test]
fn the_cache_set_runs_as_it_does_under_eevdf_of_7_3() {
    the_cache_set("eevdf@7.3", common::library_if_any("7.3"));
}

#[test]
fn the_cache_set_runs_as_it_does_with_cache_aware_scheduling() {
    the_cache_set("eevdf@7.3+cache_aware", common::library_if_any("7.3"));
}

fn messages(expr: &str, library: Option<PathBuf>) {
    let Some(library) = library else { return };
    for (machine, groups, setting) in
        [("spr", 8, ""), ("genoa", 16, ""), ("genoa", 16, "+group=container")]
    {
        let bench = Hackbench { groups, fds: 20, loops: 100, ..THREADS_OVER_PIPES };
        let work = || bench.build(Seed(1)).unwrap();
        match compared(machine, &format!("{expr}{setting}"), &library, &work, 200) {
            Ok(equal) => assert!(equal > 40_000, "{equal} steps of {expr}{setting}"),
            Err(parts) => panic!("{expr}{setting} on {machine}: {parts}"),
        }
    }
}

/// Messages on servers of 192 and 384 CPUs, also in a container, where the load of a group is read and written.
#[test]
fn messages_on_servers_run_as_they_do_under_the_fair_class() {
    VERSIONS.into_iter().for_each(|(version, expr)| messages(expr, common::library(version)));
}

#[test]
fn messages_on_servers_run_as_they_do_under_eevdf_of_7_3() {
    messages("eevdf@7.3", common::library_if_any("7.3"));
}

#[test]
fn messages_on_servers_run_as_they_do_under_eevdf_of_7_2() {
    messages("eevdf@7.2", common::library_if_any("7.2"));
}

#[test]
fn messages_on_servers_run_as_they_do_with_cache_aware_scheduling() {
    messages("eevdf@7.3+cache_aware", common::library_if_any("7.3"));
}

/// A message thread wakes workers that share CPUs with cache-aware scheduling: CPUs that queue a task elsewhere ask for the
/// start of the slice timer there while that CPU, in its `schedule()`, arms it itself.
#[test]
fn requests_run_as_they_do_with_cache_aware_scheduling() {
    let Some(library) = common::library_if_any("7.3") else { return };
    let argv = ["schbench", "-m", "2", "-t", "64", "-r", "0.1"].map(str::to_owned);
    let schbench = simsched_workloads::catalog::parse(&argv, 5, 1).unwrap();
    let topology = Arc::new(Topology::builtin("spr", None).unwrap());
    let scene = Scene {
        topology,
        expr: "eevdf@7.3+cache_aware",
        library: &library,
        work: &|| schbench.workload(),
        ms: 100,
        irq_accounting: false,
        seed: Seed(5),
    };
    let equal = scene.compared().unwrap();
    assert!(equal > 10_000, "{equal} steps");
}

/// The comparison sees which release it looks at: hogs that share CPUs are preempted at other times.
#[test]
fn another_release_runs_otherwise() {
    let Some(library) = common::library("6.1") else { return };
    let work = || lab::build("hogs-free-9", 8, Seed(1)).unwrap();
    let parts = compared("t8", "eevdf@6.12", &library, &work, 1_000).unwrap_err();
    assert!(parts.contains(" equal steps: ") && !parts.contains("the end"), "{parts}");
}

/// The kept results of random programs: a line for each program and version.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/random_programs.txt");
/// How many programs there are, and how many of them the ordinary tests run again.
const PROGRAMS: u64 = 500;
const SAMPLE: u64 = 50;

/// What a comparison of the program of this seed says, in a line.
fn line(seed: u64, version: &str, library: &Path) -> String {
    let plan = Plan::new(seed, version);
    let scene = Scene {
        topology: plan.topology(),
        expr: &plan.expr,
        library,
        work: &|| plan.script(),
        ms: 300,
        irq_accounting: false,
        seed: plan.seed(),
    };
    let result = match scene.compared() {
        Ok(equal) => format!("{equal} steps equal"),
        Err(parts) => format!("DIFFER {parts}"),
    };
    format!("{seed} {version} {plan}: {result}")
}

/// Random programs on random machines, with random groups, features and numbers. All of them are run where
/// `UPDATE_GOLDEN` is set, two minutes, and else the first ones; what they say must be what is kept. Each release has a
/// thread, in which copies of its library come and go: nothing of one is seen in another.
#[test]
#[expect(clippy::disallowed_methods, reason = "as for all kept outputs")]
fn random_programs_run_as_they_do_under_the_fair_class() {
    let is_campaign = std::env::var_os("UPDATE_GOLDEN").is_some();
    let seeds = 0..if is_campaign { PROGRAMS } else { SAMPLE };
    let of = |version: &str, library: &Path| {
        let line = |seed| format!("{}\n", line(seed, version, library));
        seeds.clone().map(line).collect::<String>()
    };
    let Some(libraries) =
        VERSIONS.iter().map(|(version, _)| common::library(version)).collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let lines: String = thread::scope(|scope| {
        let started: Vec<_> = VERSIONS
            .iter()
            .zip(&libraries)
            .map(|((version, _), library)| scope.spawn(move || of(version, library)))
            .collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    print!("{lines}");
    if is_campaign {
        std::fs::write(KEPT, lines).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(KEPT).unwrap();
    for line in lines.lines() {
        assert!(kept.lines().any(|kept| kept == line), "not kept: {line}");
    }
}

/// The kept results of random programs of 7.2 and 7.3, and how many there are of each.
const KEPT_7: [(&str, &str); 3] = [
    ("7.2", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/random_programs_7_2.txt")),
    ("7.3", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/random_programs_7_3.txt")),
    (
        "7.3+cache_aware",
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/random_programs_cache_aware.txt"),
    ),
];
const PROGRAMS_7: u64 = 200;

#[test]
fn random_programs_of_7_2_run_as_they_do_under_the_fair_class() {
    random_programs_of(KEPT_7[0]);
}

#[test]
fn random_programs_of_7_3_run_as_they_do_under_the_fair_class() {
    random_programs_of(KEPT_7[1]);
}

#[test]
fn random_programs_run_as_they_do_with_cache_aware_scheduling() {
    random_programs_of(KEPT_7[2]);
}

/// As above, where the source of that version is installed; `UPDATE_GOLDEN` runs all of them, which takes a minute.
#[expect(clippy::disallowed_methods, reason = "as for all kept outputs")]
fn random_programs_of((version, kept): (&str, &str)) {
    let is_campaign = std::env::var_os("UPDATE_GOLDEN").is_some();
    let (release, _) = version.split_once('+').unwrap_or((version, ""));
    let Some(library) = common::library_if_any(release) else { return };
    let seeds = 0..if is_campaign { PROGRAMS_7 } else { SAMPLE };
    let lines: String = seeds.map(|seed| format!("{}\n", line(seed, version, &library))).collect();
    print!("{lines}");
    if is_campaign {
        std::fs::write(kept, lines).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(kept).unwrap();
    for line in lines.lines() {
        assert!(kept.lines().any(|kept| kept == line), "not kept: {line}");
    }
}

/// The one that does not: the load of its groups is written by two CPUs within 100 ns of each other, and one waits 11 ns
/// longer for the line; all decisions up to there are the same.
const KNOWN: &str = "191 7.3+cache_aware ";

/// Of the kept results all but one are of programs that ran alike.
#[test]
fn no_kept_program_differs() {
    let newer = KEPT_7.map(|(_, file)| (file, PROGRAMS_7));
    for (file, count) in newer.into_iter().chain([(KEPT, 2 * PROGRAMS)]) {
        let kept = std::fs::read_to_string(file).unwrap();
        assert_eq!(kept.lines().count() as u64, count);
        let is_alike = |line: &str| line.ends_with(" steps equal") || line.starts_with(KNOWN);
        assert!(kept.lines().all(is_alike));
    }
}
