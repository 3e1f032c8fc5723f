//! Every policy of the catalog, and random subsets of features, in whole runs: no broken invariant
//! of the machine or of the policy, no lost task, and the same run twice.

use std::sync::Arc;

use proptest::prelude::*;
use simsched_core::observe::{Digest, Invariants};
use simsched_core::testkit::Script;
use simsched_core::{
    Config, Nanos, Op, Outcome, PipeId, Policy, SchedPolicy, Setup, SimTime, Simulator, Status,
    TaskId,
};
use simsched_policies::catalog::{build, features, policies};
use simsched_topology::{CpuId, CpuSet, Topology};

#[derive(Clone, Debug)]
struct Task {
    cpu: u16,
    nice: i8,
    policy: SchedPolicy,
    pinned: Option<[u16; 2]>,
    ops: Vec<Op>,
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1_000u64..8_000_000).prop_map(|ns| Op::Run(Nanos(ns))),
        4 => (1_000u64..8_000_000).prop_map(|ns| Op::Sleep(Nanos(ns))),
        1 => Just(Op::Yield),
        1 => (-20i8..20).prop_map(Op::SetNice),
    ]
}

fn any_task() -> impl Strategy<Value = Task> {
    let policy = prop_oneof![
        5 => Just(SchedPolicy::Normal),
        1 => Just(SchedPolicy::Batch),
        1 => Just(SchedPolicy::Idle),
    ];
    let pinned = prop::option::weighted(0.2, [0u16..8, 0u16..8]);
    (0u16..8, -20i8..20, policy, pinned, prop::collection::vec(any_op(), 1..25))
        .prop_map(|(cpu, nice, policy, pinned, ops)| Task { cpu, nice, policy, pinned, ops })
}

const WRITE: Op = Op::Write { pipe: PipeId(0), bytes: 64 };
const READ: Op = Op::Read { pipe: PipeId(0), bytes: 64 };
const BACK: Op = Op::Write { pipe: PipeId(1), bytes: 64 };
const WAIT: Op = Op::Read { pipe: PipeId(1), bytes: 64 };

/// The tasks, each of which forks a short child at its end, beside a ping-pong pair.
fn script(tasks: &[Task]) -> Script {
    let setup = Setup { procs: vec!["p".to_owned()], pipes: 2, ..Setup::default() };
    let mut script = Script::new(setup);
    script.task(CpuId(0), &[WRITE, WAIT].repeat(40));
    script.task(CpuId(5), &[READ, BACK].repeat(40));
    for (idx, task) in tasks.iter().enumerate() {
        let child = TaskId::new(2 + tasks.len() + idx);
        let mut ops = task.ops.clone();
        ops.extend([Op::Spawn(child), Op::Run(Nanos(200_000)), Op::Join(child)]);
        let start = task.pinned.map_or(task.cpu, |[cpu, _]| cpu);
        let id = script.task(CpuId(start), &ops);
        let spec = script.spec(id);
        (spec.nice, spec.policy) = (task.nice, task.policy);
        spec.allowed = task.pinned.map(|cpus| cpus.into_iter().map(CpuId).collect::<CpuSet>());
    }
    for _ in tasks {
        script.spawned(&[Op::Run(Nanos(300_000)), Op::Sleep(Nanos(100_000))]);
    }
    script
}

/// Runs to the end, with every check there is; the digest of the run.
fn run(machine: &str, expr: &str, tasks: &[Task]) -> u64 {
    let topology = Arc::new(Topology::builtin(machine, None).unwrap());
    let script = script(tasks);
    let nr_tasks = 2 + 2 * tasks.len();
    let watch = (Digest::default(), Invariants::new(topology.nr_cpus(), nr_tasks));
    let policy: Box<dyn Policy + Send> = build(expr, &[]).unwrap();
    let mut sim = Simulator::new(topology, policy, script, watch, Config::default()).unwrap();
    sim.set_paranoid();
    let status = sim.run_until(SimTime(60_000_000_000));
    assert_eq!(status, Ok(Status::Finished), "{expr} on {machine}");
    let (world, _, script, (digest, mut invariants)) = sim.into_parts();
    if let Err(violation) = invariants.finish(&world) {
        panic!("{expr} on {machine}: {violation}");
    }
    let started =
        |log: &Vec<(SimTime, Outcome)>| log.first().is_some_and(|(_, o)| *o == Outcome::Started);
    assert!(script.log.iter().all(started));
    digest.value()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_policy_keeps_the_rules(tasks in prop::collection::vec(any_task(), 1..30)) {
        for policy in policies() {
            let versions = policy.versions.iter().map(|version| format!("{}@{version}", policy.name));
            let patches = features(policy.name).into_iter().filter(|feature| feature.is_patch);
            let patches = patches.map(|feature| feature.key.to_owned());
            let plain = [policy.name.to_owned()];
            for expr in versions.chain(patches).chain(plain) {
                let first = run("t16", &expr, &tasks);
                prop_assert_eq!(first, run("t16", &expr, &tasks), "the same run twice");
            }
        }
    }

    #[test]
    fn every_subset_of_features_keeps_the_rules(
        tasks in prop::collection::vec(any_task(), 1..20),
        switches: u64,
    ) {
        for (policy, topo) in
            [("cfs", "t32"), ("cfs", "genoa"), ("eevdf", "t32"), ("eevdf@7.2", "t32"), ("eevdf@7.3", "t32")] {
            let name = policy.split_once("@").map_or(policy, |(name, _)| name);
            let keyed = features(name).into_iter().enumerate();
            let set = keyed.map(|(bit, feature)| {
                let on = if switches >> bit & 1 == 1 { "on" } else { "off" };
                format!("+{}={on}", feature.key)
            });
            run(topo, &format!("{policy}{}", set.collect::<String>()), &tasks);
        }
    }
}
