//! Whole runs of threads that compute, on machines without prices.

use std::sync::Arc;

use simsched_core::observe::{Digest, Stats};
use simsched_core::testkit::Script;
use simsched_core::{
    Config, Cost, HardwareModel, Nanos, Observer, Op, Report, Seed, Setup, SimTime, Simulator,
    Status, TaskId, Tracepoint, World,
};
use simsched_policies::PolicySpec;
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::CacheAwareVersion;
use simsched_policies::fair::{Fair, Features, LlcIds, Version};
use simsched_topology::{CpuId, CpuSet, OsCosts, Topology};

use crate::cache_aware::{features, two_llcs};
use crate::common::machine;
use crate::common::patched;

/// How often each task has gone to another LLC.
struct Moves {
    llcs: LlcIds,
    by_task: Vec<u32>,
}

impl Observer for Moves {
    fn on(&mut self, _: &World, tracepoint: Tracepoint) {
        if let Tracepoint::Migrate { task, from, to, .. } = tracepoint {
            self.by_task[task.idx()] += u32::from(!self.llcs.shares_cache(from, to));
        }
    }
}

/// Threads of one process that compute, in turns of which every other one they may sleep for a while.
fn threads(cpus: &[u16], ms: u64, sleep_us: u64) -> Script {
    let setup = Setup { procs: vec!["p".to_owned()], ..Setup::default() };
    let mut script = Script::new(setup);
    let turn = [Op::Run(Nanos::from_millis(3)), Op::Sleep(Nanos::from_micros(sleep_us))];
    let ops: Vec<Op> = match sleep_us {
        0 => vec![Op::Run(Nanos::from_millis(ms))],
        _ => turn.repeat(usize::try_from(ms * 1000 / (3000 + sleep_us)).unwrap()),
    };
    for &cpu in cpus {
        script.task(CpuId(cpu), &ops);
    }
    script
}

fn policy(class: impl Into<FairSpec>, settings: &[(&str, u64)]) -> Fair {
    let mut class = class.into();
    for (key, value) in settings {
        class.set(key, &value.to_string()).unwrap();
    }
    class.fair_class()
}

fn run<O: Observer>(
    topology: Topology,
    policy: Fair,
    script: Script,
    observer: O,
    hz: u32,
) -> Simulator<Fair, Script, O> {
    run_seed(topology, policy, script, observer, hz, 1)
}

fn run_seed<O: Observer>(
    topology: Topology,
    policy: Fair,
    script: Script,
    observer: O,
    hz: u32,
    seed: u64,
) -> Simulator<Fair, Script, O> {
    let config =
        Config { hardware: HardwareModel::Free, hz, seed: Seed(seed), ..Config::default() };
    let mut sim =
        Simulator::new(Arc::new(topology), Box::new(policy), script, observer, config).unwrap();
    sim.set_paranoid();
    assert_eq!(sim.run_until(SimTime(60_000_000_000)), Ok(Status::Finished));
    sim
}

fn metric(fair: &Fair, name: &str) -> u64 {
    let mut found = 0;
    fair.metrics(&mut |key, value| found += if key == name { value } else { 0 });
    found
}

const MERGED: CacheAwareVersion = CacheAwareVersion::Merged;

/// Invariant 4: of threads that compute, so many begin in one LLC of 16 CPUs and so many in the other. They come together up
/// to the limit, nobody goes to and fro, and what is above the limit already stays where it is.
#[test]
fn threads_come_as_far_as_the_limit_and_do_not_go_to_and_fro() {
    let any_size = [("llc_balancing.aggr_tolerance", 100)];
    let moves = |first: &[u16], second: &[u16], seed: u64| {
        let cpus = [first, second].concat();
        let moves = Moves { llcs: LlcIds::new(&two_llcs()), by_task: vec![0; cpus.len()] };
        let (fair, script) = (policy(features(MERGED), &any_size), threads(&cpus, 10_000, 0));
        let sim = run_seed(two_llcs(), fair, script, moves, 250, seed);
        let by_task = &sim.observer().by_task;
        assert!(by_task.iter().all(|&moves| moves <= 1), "{by_task:?}");
        by_task.iter().sum::<u32>()
    };
    for seed in [1, 2, 3] {
        assert_eq!(moves(&[0, 1, 2, 3, 4, 5], &[8, 9, 10, 11, 12, 13], seed), 3);
        assert_eq!(moves(&[0, 1, 2, 3, 4, 5, 6, 7], &[8, 9, 10, 11], seed), 1);
        assert_eq!(moves(&[0, 1, 2, 3, 4, 5, 6, 7, 16, 17], &[8, 9, 10, 11], seed), 0);
    }
}

/// Invariant 8: an epoch is 8 ms at 250 Hz, since 2.5 ticks are 2, and 10 ms at 1000 Hz.
#[test]
fn scans_of_a_process_are_an_epoch_apart_and_in_version_4_may_be_closer() {
    for (hz, epoch_ms) in [(250, 8), (1000, 10)] {
        let script = || threads(&[0, 1, 2, 3], 2000, 700);
        let scans = |version| {
            let sim = run(two_llcs(), policy(features(version), &[]), script(), (), hz);
            let ms = sim.elapsed().0 / 1_000_000;
            (metric(sim.policy(), "llc_scans"), ms)
        };
        let (merged, ms) = scans(MERGED);
        assert!(merged <= ms / epoch_ms + 1, "{merged} scans in {ms} ms at {hz} Hz");
        assert!(merged > ms / epoch_ms / 2, "{merged} scans in {ms} ms at {hz} Hz");
    }
}

/// The counts of each queue are compared with its tasks after every event (`set_paranoid`), delayed ones among them.
#[test]
fn counts_are_those_of_queued_tasks_under_each_class() {
    for version in [Version::V7_0, Version::V7_2, Version::V7_3] {
        let fair = policy(patched(Features::of(version), &["cache_aware"]), &[]);
        let script = threads(&[0, 0, 0, 1, 8, 8, 8, 9], 300, 900);
        let sim = run(two_llcs(), fair, script, (), 250);
        assert!(metric(sim.policy(), "llc_preferred") > 0, "{version:?}");
    }
}

/// The trace of a run, as a number.
fn digest(topology: Topology, fair: Fair) -> u64 {
    let script = threads(&[0, 1, 2, 2, 2, 8, 9, 9], 300, 900);
    run(topology, fair, script, Digest::default(), 250).observer().value()
}

/// Invariant 2.
#[test]
fn switched_off_or_without_several_llcs_it_leaves_every_event_as_it_is() {
    let plain = || policy(Features::of(Version::V7_0), &[]);
    let off = [("llc_balancing.enabled", 0)];
    for version in [MERGED, CacheAwareVersion::V4] {
        let on = || policy(features(version), &[]);
        assert_eq!(
            digest(two_llcs(), policy(features(version), &off)),
            digest(two_llcs(), plain())
        );
        let one_llc = || machine([1, 1, 16, 2], "", "nodes_per_socket = 1");
        assert_eq!(digest(one_llc(), on()), digest(one_llc(), plain()));
    }
    // Not so where it is on, of course.
    assert_ne!(digest(two_llcs(), policy(features(MERGED), &[])), digest(two_llcs(), plain()));
}

/// Several nodes of one LLC each are several LLCs to Linux 7.2, and were not meant by version 4.
#[test]
fn version_4_wants_several_llcs_in_one_node() {
    let nodes = || machine([2, 1, 8, 2], "", "nodes_per_socket = 1\ncross_socket = 20");
    let is_on = |version, topology: Topology| {
        let script = threads(&[0, 1], 1, 0);
        run(topology, policy(features(version), &[]), script, (), 250)
            .policy()
            .cache_aware()
            .is_some()
    };
    assert!(is_on(MERGED, nodes()) && !is_on(CacheAwareVersion::V4, nodes()));
    assert!(is_on(MERGED, two_llcs()) && is_on(CacheAwareVersion::V4, two_llcs()));
}

/// With tolerance 0 no process is gathered, and nothing is different but the time of the accounts and of the way to
/// the scans.
#[test]
fn without_any_tolerance_no_process_has_a_preference() {
    let none = [("llc_balancing.aggr_tolerance", 0)];
    let plain = policy(Features::of(Version::V7_0), &[]);
    let patched = || policy(features(MERGED), &none);
    let costs = OsCosts { cache_aware_account: 0, task_work: 0, ..*two_llcs().costs() };
    let unaccounted = digest(two_llcs().with_costs(costs), patched());
    assert_eq!(unaccounted, digest(two_llcs(), plain));
    assert_ne!(digest(two_llcs(), patched()), unaccounted);
}

/// A scan reads all CPUs: 16 behind its LLC, for 60 ns each, and 16 behind the other one of the socket, whose lines
/// take 60 ns more. The thread that comes back from its tick pays, in the system, and 150 ns for the way there, also
/// where the scan stops at once.
#[test]
fn a_scan_takes_its_thread_the_time_to_read_all_cpus() {
    let syscalls = |class: FairSpec| {
        let mut script = threads(&[0, 1, 8], 500, 0);
        for (task, cpu) in [(0, 0), (1, 1), (2, 8)] {
            script.spec(TaskId(task)).allowed = Some(CpuSet::single(CpuId(cpu)));
        }
        let (topology, stats) = (two_llcs(), Stats::new(&two_llcs(), 3, 0));
        let hardware = HardwareModel::Free;
        let config = Config { hardware, jitter_1024: 0, ..Config::default() };
        let policy = policy(class, &[]);
        let mut sim =
            Simulator::new(Arc::new(topology), Box::new(policy), script, stats, config).unwrap();
        assert_eq!(sim.run_until(SimTime(60_000_000_000)), Ok(Status::Finished));
        let scans = metric(sim.policy(), "llc_scans");
        let entries = scans + metric(sim.policy(), "llc_scans_stopped");
        (sim.observer().total_cpu_time()[Cost::Syscall as usize], scans, entries)
    };
    let (plain, ..) = syscalls(Features::of(Version::V7_0).into());
    let (patched, scans, entries) = syscalls(features(MERGED));
    assert!(scans > 50, "{scans} in half a second");
    assert_eq!(patched - plain, scans * (16 * 60 + 16 * 120) + entries * 150);
}
