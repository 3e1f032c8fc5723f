//! The shadow of the fair class: small programs on which the kernel's functions give the answers that ours give.
//!
//! The libraries are built of Debian's sources (`common`); where there are none, the tests say so and pass.
//! `--nocapture` prints their tables.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test prints its tables, and fails where a file or a machine is missing"
)]

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use simsched_core::observe::Digest;
use simsched_core::testkit::Script;
use simsched_core::{
    Config, Nanos, Op, PipeId, Policy, Seed, Setup, SimTime, Simulator, Status, TaskId, Workload,
};
use simsched_kernel::shadow::{Comparison, Kind, Shadow, ShadowSpec};
use simsched_policies::PolicySpec;
use simsched_policies::fair::features::{Grouping, Version};
use simsched_policies::fair::{Fair, Features, Overrides};
use simsched_topology::{CpuId, CpuSet, Topology};
use simsched_workloads::catalog as workloads;
use simsched_workloads::hackbench::{Hackbench, THREADS_OVER_PIPES};
use simsched_workloads::lab;

fn library(version: Version) -> Option<PathBuf> {
    match version {
        Version::V6_1 => common::library("6.1"),
        Version::V7_2 => common::library_if_any("7.2"),
        Version::V7_3 => common::library_if_any("7.3"),
        _ => common::library("6.12"),
    }
}

fn fair(version: Version) -> Fair {
    Fair::new(Features::of(version), Overrides::default())
}

/// With all tasks in groups below the root.
fn grouped(version: Version, grouping: &str) -> Fair {
    let grouping = Grouping::from_name(grouping).unwrap();
    Fair::new(Features { grouping, ..Features::of(version) }, Overrides::default())
}

fn simulate<P: Policy, W: Workload>(
    machine: &str,
    policy: P,
    work: W,
    ms: u64,
) -> (u64, Simulator<P, W, Digest>) {
    simulate_boxed(machine, Box::new(policy), work, ms)
}

fn simulate_boxed<P: Policy + ?Sized, W: Workload>(
    machine: &str,
    policy: Box<P>,
    work: W,
    ms: u64,
) -> (u64, Simulator<P, W, Digest>) {
    let topology = Topology::builtin(machine, None).unwrap();
    let config = Config { irq_accounting: false, ..Config::default() };
    let mut sim =
        Simulator::new(Arc::new(topology), policy, work, Digest::default(), config).unwrap();
    let status = sim.run_until(SimTime(ms * 1_000_000)).unwrap();
    assert!(matches!(status, Status::Horizon | Status::Finished));
    (sim.observer().value(), sim)
}

fn compared<W: Workload>(
    machine: &str,
    version: Version,
    make: impl Fn() -> W,
    ms: u64,
) -> Option<Comparison> {
    beside(machine, version, || fair(version), make, ms)
}

fn beside<W: Workload>(
    machine: &str,
    version: Version,
    fair: impl Fn() -> Fair,
    make: impl Fn() -> W,
    ms: u64,
) -> Option<Comparison> {
    let path = library(version)?;
    let (digest, sim) = simulate(machine, Shadow::new(fair(), path), make(), ms);
    let (alone, _) = simulate(machine, fair(), make(), ms);
    assert_eq!(digest, alone, "the shadow changes nothing");
    Some(sim.policy().comparison().clone())
}

fn script() -> Script {
    Script::new(Setup { procs: vec!["p".to_owned()], futexes: 4, pipes: 8, ..Setup::default() })
}

fn run(us: u64) -> Op {
    Op::Run(Nanos(us * 1_000))
}

/// A parent forks `n` tasks that compute, and waits.
fn hogs(n: usize) -> Script {
    let mut script = script();
    let spawns: Vec<Op> =
        (1..=n).flat_map(|child| [Op::Spawn(TaskId::new(child)), run(50)]).collect();
    script.task(CpuId(0), &spawns);
    for _ in 0..n {
        script.spawned(&[run(1_000_000)]);
    }
    script
}

fn ping_pong() -> Script {
    let mut script = script();
    let (a, b) = (PipeId(0), PipeId(1));
    let one =
        [Op::Write { pipe: a, bytes: 1 }, Op::Read { pipe: b, bytes: 1 }, run(3)].repeat(2_000);
    let two =
        [Op::Read { pipe: a, bytes: 1 }, run(5), Op::Write { pipe: b, bytes: 1 }].repeat(2_000);
    script.task(CpuId(0), &one);
    script.task(CpuId(1), &two);
    script
}

/// Sleepers with timers of their own, all born on one CPU.
fn herd(n: u64) -> Script {
    let mut script = script();
    for at in 0..n {
        let turn = [Op::Sleep(Nanos(900_000 + at * 13_000)), run(300 + 37 * at)];
        script.task(CpuId(0), &turn.repeat(200));
    }
    script
}

/// Forks and exits, nice values, yields and a new affinity.
fn mixed() -> Script {
    let mut setup = Setup { procs: vec!["p".to_owned()], futexes: 4, pipes: 8, ..Setup::default() };
    setup.masks = vec![CpuSet::single(CpuId(3)), (0..8).map(CpuId).collect()];
    let mut script = Script::new(setup);
    let mask = simsched_core::MaskId;
    let mut main = Vec::new();
    for child in 1..=40 {
        main.extend([Op::Spawn(TaskId::new(child)), run(400)]);
    }
    main.push(Op::SetAffinity { task: TaskId(1), mask: mask(0) });
    for child in 1..=40 {
        main.push(Op::Join(TaskId::new(child)));
    }
    script.task(CpuId(0), &main);
    for child in 1..=40_i8 {
        let mut ops = vec![Op::Exec, run(60), Op::SetNice(child % 11 - 5)];
        ops.extend([run(1_500), Op::Yield, Op::Sleep(Nanos(700_000)), run(2_500)].repeat(12));
        ops.extend([Op::SetNice(0), run(4_000)]);
        script.spawned(&ops);
    }
    script
}

fn all(version: Version) {
    let mut worst = Vec::new();
    for machine in ["t8", "t16"] {
        let mut show = |name: String, seen: Option<Comparison>| {
            let Some(seen) = seen else { return };
            println!("== {machine} {name} {}\n{seen}", seen.release);
            worst.push(seen);
        };
        for n in [8, 17, 24] {
            show(format!("hogs {n}"), compared(machine, version, || hogs(n), 1_500));
        }
        show("ping-pong".to_owned(), compared(machine, version, ping_pong, 500));
        show("herd".to_owned(), compared(machine, version, || herd(40), 400));
        show("mixed".to_owned(), compared(machine, version, mixed, 1_000));
    }
    judge(&worst);
    often(&worst);
}

/// Nothing differs, and all is compared to the end.
fn judge(seen: &[Comparison]) {
    total(seen);
    for one in seen {
        for &kind in Kind::ALL {
            let (asked, differ) = one.of(kind);
            assert_eq!(differ, 0, "{}: {differ} of {asked}\n{one}", kind.name());
        }
        assert_eq!(one.ended, None);
    }
}

/// Programs of all kinds ask for many answers of these kinds.
fn often(seen: &[Comparison]) {
    for kind in [Kind::Pick, Kind::Wakeup, Kind::Tick, Kind::TaskUtil, Kind::QueueLoad] {
        let asked: u64 = seen.iter().map(|one| one.of(kind).0).sum();
        assert!(seen.is_empty() || asked > 10_000, "{}: {asked} answers", kind.name());
    }
}

/// A specification keeps what its runs have compared, and builds the policy that it names.
#[test]
fn a_specification_keeps_its_comparisons() {
    let Some(path) = library(Version::V6_1) else { return };
    let fair = simsched_policies::catalog::parse("cfs+NO_WA_BIAS", &[]).unwrap().fair().unwrap();
    let spec = ShadowSpec::new(fair, &path).unwrap();
    assert_eq!(spec.name(), "cfs@6.1+WA_BIAS=off");
    drop(simulate_boxed("t8", spec.boxed().build(), herd(40), 100));
    drop(simulate_boxed("t8", spec.build(), herd(40), 200));
    let asked: Vec<u64> = spec.comparisons().iter().map(|one| one.of(Kind::Pick).0).collect();
    assert!(asked.len() == 2 && 0 < asked[0] && asked[0] < asked[1], "{asked:?}");
    assert!(spec.comparisons().iter().all(Comparison::is_clean));
    let missing = ShadowSpec::new(
        simsched_policies::catalog::parse("cfs", &[]).unwrap().fair().unwrap(),
        &path.join("x"),
    );
    assert!(missing.is_err());
}

/// EEVDF is not what 6.1 does: the comparison sees that.
#[test]
fn a_class_of_another_kernel_differs() {
    let Some(path) = library(Version::V6_1) else { return };
    let policy = Shadow::new(fair(Version::V6_12), path);
    let (_, sim) = simulate("t8", policy, herd(40), 400);
    let first = sim.policy().comparison().first();
    assert!(first.is_some(), "EEVDF answers like 6.1");
}

fn messages(
    version: Version,
    machine: &str,
    groups: u32,
    fds: u32,
    loops: u32,
) -> Option<Comparison> {
    let bench = Hackbench { groups, fds, loops, ..THREADS_OVER_PIPES };
    let seen = compared(machine, version, || bench.build(Seed(1)).unwrap(), 3_000)?;
    println!("== {machine} hackbench -g {groups} -f {fds} -l {loops}\n{seen}");
    Some(seen)
}

fn hackbench_on(version: Version) {
    let mut seen: Vec<Comparison> = Vec::new();
    for machine in ["t8", "t16"] {
        seen.extend(messages(version, machine, 4, 10, 60));
    }
    seen.extend(messages(version, "spr", 8, 20, 15));
    seen.extend(messages(version, "genoa", 16, 20, 15));
    judge(&seen);
}

#[test]
fn hackbench_under_6_1() {
    hackbench_on(Version::V6_1);
}

#[test]
fn hackbench_under_6_12() {
    hackbench_on(Version::V6_12);
}

#[test]
fn hackbench_under_7_2() {
    hackbench_on(Version::V7_2);
}

#[test]
fn hackbench_under_7_3() {
    hackbench_on(Version::V7_3);
}

fn total(worst: &[Comparison]) {
    println!("== all");
    for &kind in Kind::ALL {
        let sum = worst
            .iter()
            .fold((0, 0), |sum, seen| (sum.0 + seen.of(kind).0, sum.1 + seen.of(kind).1));
        println!("{:24}{:>10}{:>8}", kind.name(), sum.0, sum.1);
    }
    println!(
        "{} runs, {} ended early",
        worst.len(),
        worst.iter().filter(|seen| seen.ended.is_some()).count()
    );
}

#[test]
fn small_programs_under_6_1() {
    all(Version::V6_1);
}

#[test]
fn small_programs_under_6_12() {
    all(Version::V6_12);
}

#[test]
fn small_programs_under_7_2() {
    all(Version::V7_2);
}

#[test]
fn small_programs_under_7_3() {
    all(Version::V7_3);
}

fn labs(version: Version) {
    let mut seen = Vec::new();
    for (machine, cpus) in [("t8", 8), ("t16", 16)] {
        for name in lab::names(cpus) {
            if name.starts_with("hackbench") {
                continue;
            }
            let make = || lab::build(&name, cpus, Seed(1)).unwrap();
            let Some(one) = compared(machine, version, make, 3_000) else { return };
            println!("== {machine} {name}\n{one}");
            seen.push(one);
        }
    }
    judge(&seen);
}

#[test]
fn the_lab_under_6_1() {
    labs(Version::V6_1);
}

#[test]
fn the_lab_under_6_12() {
    labs(Version::V6_12);
}

#[test]
fn the_lab_under_7_2() {
    labs(Version::V7_2);
}

#[test]
fn the_lab_under_7_3() {
    labs(Version::V7_3);
}

fn in_groups(version: Version) {
    let mut seen: Vec<Comparison> = Vec::new();
    for grouping in ["container", "nested:3"] {
        let fair = || grouped(version, grouping);
        for machine in ["t8", "t16"] {
            seen.extend(beside(machine, version, fair, || hogs(24), 1_000));
            seen.extend(beside(machine, version, fair, ping_pong, 300));
            seen.extend(beside(machine, version, fair, || herd(40), 400));
            seen.extend(beside(machine, version, fair, mixed, 1_000));
        }
        let bench = Hackbench { groups: 4, fds: 10, loops: 60, ..THREADS_OVER_PIPES };
        seen.extend(beside("t16", version, fair, || bench.build(Seed(1)).unwrap(), 3_000));
        let bench = Hackbench { groups: 8, fds: 20, loops: 15, ..THREADS_OVER_PIPES };
        seen.extend(beside("spr", version, fair, || bench.build(Seed(1)).unwrap(), 3_000));
    }
    for one in &seen {
        println!("== groups\n{one}");
    }
    judge(&seen);
}

#[test]
fn groups_under_6_1() {
    in_groups(Version::V6_1);
}

#[test]
fn groups_under_6_12() {
    in_groups(Version::V6_12);
}

#[test]
fn groups_under_7_2() {
    in_groups(Version::V7_2);
}

#[test]
fn groups_under_7_3() {
    in_groups(Version::V7_3);
}

/// With cache-aware scheduling, whose wakeups to a busy CPU ask that CPU to start its slice timer.
#[test]
fn cache_aware_scheduling_under_7_3() {
    let parsed = simsched_policies::catalog::parse("cache_aware", &[]).unwrap().fair().unwrap();
    let fair = || parsed.fair_class();
    let seen: Vec<Comparison> = ["spr", "genoa"]
        .into_iter()
        .filter_map(|machine| {
            let argv = ["schbench", "-m", "2", "-t", "64", "-r", "0.1"].map(str::to_owned);
            let schbench = workloads::parse(&argv, 1, 1).unwrap();
            beside(machine, Version::V7_3, fair, || schbench.workload(), 100)
        })
        .collect();
    judge(&seen);
}
