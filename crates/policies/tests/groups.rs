//! Task groups in whole runs: what a group knows of its load, who writes and reads it, and what the
//! patches of `tg->load_avg` change.

#[allow(dead_code, reason = "each test uses a part of it")]
use std::collections::BTreeMap;
use std::sync::Arc;

use simsched_core::observe::Digest;
use simsched_core::testkit::{PolicyHost, Script, WorldKit};
use simsched_core::{
    Config, Dequeue, Enqueue, FuncId, HardwareModel, Nanos, Op, PipeId, Seed, Setup, SimTime,
    Simulator, Status, TaskId,
};
use simsched_policies::{catalog, fair::GROUP_LEVEL, fair::TICK_GROUP_LEVEL};
use simsched_topology::{CpuId, Topology};

use crate::machine::Machine;

/// Two nodes with two LLCs each, of two cores with two threads.
fn topology() -> Arc<Topology> {
    Machine { sockets: 2, llcs: 2, cores: 2, threads: 2, numbering: "smt_split", free: false }
        .topology()
}

/// Pairs that pass a byte to and fro, now and then compute for long, and are started by task 0.
fn pairs(nr_pairs: u32, rounds: usize) -> Script {
    let objects = Setup { pipes: 2 * nr_pairs, ..Setup::default() };
    let mut script = Script::new(objects);
    let spawns: Vec<Op> = (1..=2 * nr_pairs).map(|task| Op::Spawn(TaskId(task))).collect();
    script.task(CpuId(0), &spawns);
    for pair in 0..nr_pairs {
        let [there, back] = [2 * pair, 2 * pair + 1].map(PipeId);
        let run = |ns| Op::Run(Nanos(ns));
        let (write, read) =
            (|pipe| Op::Write { pipe, bytes: 100 }, |pipe| Op::Read { pipe, bytes: 100 });
        let ping: Vec<Op> = (0..rounds)
            .flat_map(|n| {
                [run(if n % 5 == 0 { 900_000 } else { 40_000 }), write(there), read(back)]
            })
            .collect();
        let pong: Vec<Op> =
            (0..rounds).flat_map(|_| [read(there), run(60_000), write(back)]).collect();
        script.spawned(&ping);
        script.spawned(&pong);
    }
    script
}

struct Ran {
    metrics: BTreeMap<&'static str, u64>,
    digest: Digest,
    /// How long the run lasted, in whole ms.
    millis: u64,
}

impl Ran {
    fn get(&self, name: &str) -> u64 {
        self.metrics.get(name).copied().unwrap_or(0)
    }

    fn sum(&self, prefix: &str) -> u64 {
        let sources = ["attach", "detach", "decay", "blocked"];
        sources.iter().map(|source| self.get(&format!("{prefix}_{source}"))).sum()
    }
}

/// The program under this policy; the policy's invariants are asked after each event.
fn run_paranoid(expr: &str, script: Script, paranoid: bool) -> Ran {
    let policy = catalog::build(expr, &[]).unwrap();
    // What lines cost is not the subject, and would tell the policies apart.
    let config = Config { seed: Seed(1), hardware: HardwareModel::Free, ..Config::default() };
    let digest = Digest::default();
    let mut run = Simulator::new(topology(), policy, script, digest, config).unwrap();
    if paranoid {
        run.set_paranoid();
    }
    assert_eq!(run.run_until(SimTime(60_000_000_000)).unwrap(), Status::Finished);
    let millis = run.world().now().0 / 1_000_000;
    let (_, policy, _, digest) = run.into_parts();
    let mut metrics = BTreeMap::new();
    policy.metrics(&mut |name, value| {
        metrics.insert(name, value);
    });
    Ran { metrics, digest, millis }
}

fn run(expr: &str) -> Ran {
    run_paranoid(expr, pairs(12, 150), false)
}

/// Spec 04, invariant 3, after each event: `Report::check` compares what the queues have told with
/// what the group knows, also under each patch and at each level.
#[test]
fn what_queues_have_told_is_what_their_group_knows() {
    for patch in ["", "+tg_per_node", "+tg_per_node+tg_node=runqueue", "+tg_ratelimit", "+tg_nomig"]
    {
        for group in ["container", "nested:3"] {
            let ran = run_paranoid(&format!("cfs+group={group}{patch}"), pairs(12, 25), true);
            assert!(ran.sum("tg_writes") > 50, "{patch} {group}: {:?}", ran.metrics);
        }
    }
    let all = "cfs+group=nested:2+tg_per_node+tg_ratelimit+tg_nomig";
    assert!(run_paranoid(all, pairs(12, 25), true).sum("tg_calls") > 100);
}

/// Spec 04, invariant 5, last sentence; nothing is touched.
#[test]
fn the_root_group_has_no_load_to_share() {
    let ran = run("cfs");
    assert!(ran.metrics.keys().all(|name| !name.starts_with("tg_")), "{:?}", ran.metrics);
    let kit = WorldKit::new(Topology::clone(&topology()), 250);
    let host = PolicyHost::boxed(kit, catalog::build("cfs", &[]).unwrap());
    assert!(host.attached.lines.is_empty());
}

#[test]
fn a_level_more_is_read_and_written_more() {
    let [one, two] = ["container", "nested:2"].map(|group| run(&format!("cfs+group={group}")));
    assert_eq!(one.get("tg_writes_level1"), one.sum("tg_writes"));
    assert_eq!(one.get("tg_reads_level1"), one.get("tg_reads"));
    assert_eq!(one.get("tg_calls_level2"), 0);
    let levels = ["tg_writes_level1", "tg_writes_level2"].map(|name| two.get(name));
    assert!(levels.iter().all(|&writes| writes > 100), "{levels:?}");
    assert_eq!(levels.iter().sum::<u64>(), two.sum("tg_writes"));
    // A task joins or leaves the lowest group only; the upper one hears of it by propagation.
    assert!(two.get("tg_writes_attach") <= two.get("tg_writes_level2"), "{:?}", two.metrics);
    let reads = ["tg_reads_level1", "tg_reads_level2"].map(|name| two.get(name));
    assert!(reads[0].abs_diff(reads[1]) * 10 < reads[0], "{reads:?}");
}

/// Spec 04, invariant 8: what nodes know sums up to what a single counter knows, so nothing else
/// changes.
#[test]
fn counters_by_node_change_no_decision() {
    for group in ["container", "nested:2"] {
        let single = run(&format!("cfs+group={group}"));
        for rule in ["executing", "runqueue"] {
            let nodes = run(&format!("cfs+group={group}+tg_per_node+tg_node={rule}"));
            assert_eq!(nodes.digest, single.digest, "{group} {rule}");
            assert_eq!(nodes.metrics, single.metrics, "{group} {rule}");
        }
    }
}

/// Spec 04, invariant 5: at most one write per queue and ms; readers are not limited.
#[test]
fn the_rate_limit_lets_a_queue_write_once_per_ms() {
    let [plain, limited] =
        ["", "+tg_ratelimit"].map(|patch| run(&format!("cfs+group=container{patch}")));
    let millis = limited.millis + 1;
    assert!(limited.sum("tg_writes") <= 16 * millis, "{:?} in {millis} ms", limited.metrics);
    assert!(limited.get("tg_limited") > limited.sum("tg_writes"), "{:?}", limited.metrics);
    assert_eq!(plain.get("tg_limited"), 0);
    assert!(3 * limited.sum("tg_writes") < plain.sum("tg_writes"), "{:?}", plain.metrics);
    let ratio = |ran: &Ran| ran.get("tg_reads") / ran.sum("tg_writes");
    assert!(ratio(&limited) > 3 * ratio(&plain));
}

/// Nothing is written because a task changes its CPU: what is written comes from time passing, and
/// from the first queue of each task.
#[test]
fn a_migration_that_writes_nothing_leaves_only_births_and_decay() {
    let [plain, nomig] = ["", "+tg_nomig"].map(|patch| run(&format!("cfs+group=container{patch}")));
    assert!(plain.get("tg_writes_attach") > 300, "{:?}", plain.metrics);
    let born = 2 * 12 + 1;
    assert!(nomig.get("tg_calls_attach") <= born, "{:?}", nomig.metrics);
    assert_eq!(nomig.get("tg_calls_detach"), 0);
    assert!(nomig.sum("tg_writes") < plain.sum("tg_writes"), "{:?}", nomig.metrics);
}

/// How many levels of groups are walked for a task: when it is queued, picked, found by a tick, and dequeued.
fn levels(policy: &str) -> [u32; 4] {
    let mut kit = WorldKit::new(Topology::clone(&topology()), 250);
    let task = kit.add_task(0);
    kit.task(task).cpu = CpuId(1);
    let mut host = PolicyHost::boxed(kit, catalog::build(policy, &[]).unwrap());
    host.task_fork(CpuId(1), None, task);
    let calls = |host: &mut PolicyHost<_>, what: FuncId| {
        let calls = host.actions.calls();
        host.actions.forget_costs();
        let other = [GROUP_LEVEL, TICK_GROUP_LEVEL].into_iter().find(|other| *other != what);
        assert_eq!(calls[other.unwrap().idx()], 0);
        calls[what.idx()]
    };
    host.enqueue(CpuId(1), task, Enqueue::New);
    let queued = calls(&mut host, GROUP_LEVEL);
    assert_eq!(host.pick_next(CpuId(1), None), Some(task));
    let picked = calls(&mut host, GROUP_LEVEL);
    host.kit.run_on(CpuId(1), Some(task));
    host.task_tick(CpuId(1), task);
    let ticked = calls(&mut host, TICK_GROUP_LEVEL);
    host.dequeue(CpuId(1), task, Dequeue::Sleep);
    [queued, picked, ticked, calls(&mut host, GROUP_LEVEL)]
}

#[test]
fn each_level_of_groups_above_the_root_is_walked_once_in_each_call() {
    for order in ["cfs", "eevdf"] {
        assert_eq!(levels(order), [0; 4]);
        assert_eq!(levels(&format!("{order}+group=container")), [1; 4]);
        assert_eq!(levels(&format!("{order}+group=nested:3")), [3; 4]);
    }
}
