//! Random small machines under random programs and policies: no contract broken, no invariant violated,
//! and the same run twice.

use proptest::collection::vec;
use proptest::prelude::*;
use simsched_core::observe::{Digest, Invariants};
use simsched_core::testkit::Script;
use simsched_core::{
    Config, FutexId, LockId, MarkId, Nanos, Observer, Op, PipeId, Policy, SchedPolicy, Seed, Setup,
    SimError, SimTime, Simulator, TaskId,
};
use simsched_policies::catalog;
use simsched_topology::{CpuId, CpuSet};

use crate::machine::{Machine, machine};

/// A task: where it starts, which LLC-sized part of the CPUs it may use, how it is weighed, and
/// what it does.
#[derive(Clone, Debug)]
struct Task {
    cpu: u16,
    part: Option<u16>,
    nice: i8,
    policy: SchedPolicy,
    ops: Vec<Op>,
}

#[derive(Clone, Debug)]
struct Plan {
    machine: Machine,
    tasks: Vec<Task>,
    /// The policy, as a user would write it.
    expr: String,
    seed: u64,
}

fn op() -> impl Strategy<Value = Op> {
    let (pipe, lock, futex) = (PipeId(0), LockId(0), FutexId(0));
    prop_oneof![
        4 => (1u64..6_000_000).prop_map(|ns| Op::Run(Nanos(ns))),
        3 => (1u64..9_000_000).prop_map(|ns| Op::Sleep(Nanos(ns))),
        4 => (1u32..5_000).prop_map(move |bytes| Op::Write { pipe, bytes }),
        4 => (1u32..5_000).prop_map(move |bytes| Op::Read { pipe, bytes }),
        1 => Just(Op::PollPipe(pipe)),
        1 => Just(Op::FutexWait { futex, value: 0 }),
        2 => Just(Op::FutexWake { futex, count: 2, sync: false }),
        2 => Just(Op::Lock(lock)),
        1 => Just(Op::Yield),
        1 => Just(Op::Mark(MarkId(0))),
        1 => (-20i8..20).prop_map(Op::SetNice),
    ]
}

/// A lock that is taken is released after a while.
fn program() -> impl Strategy<Value = Vec<Op>> {
    vec(op(), 1..25).prop_map(|ops| {
        let released = |op: Op| match op {
            Op::Lock(lock) => vec![op, Op::Run(Nanos(50_000)), Op::Unlock(lock)],
            _ => vec![op],
        };
        ops.into_iter().flat_map(released).collect()
    })
}

fn task() -> impl Strategy<Value = Task> {
    let policy = prop_oneof![
        6 => Just(SchedPolicy::Normal),
        1 => Just(SchedPolicy::Batch),
        2 => Just(SchedPolicy::Idle),
    ];
    let part = proptest::option::of(any::<u16>());
    (any::<u16>(), part, -20i8..20, policy, program())
        .prop_map(|(cpu, part, nice, policy, ops)| Task { cpu, part, nice, policy, ops })
}

/// A base of the catalog at one of its versions, with any of its features turned over.
fn expr() -> impl Strategy<Value = String> {
    let bases = catalog::policies().into_iter().flat_map(|info| {
        let versions = info.versions.iter().map(move |version| format!("{}@{version}", info.name));
        std::iter::once(info.name.to_owned()).chain(versions)
    });
    let base = prop::sample::select(bases.collect::<Vec<_>>());
    let groups = prop::sample::select(vec!["root", "container", "nested:2", "nested:3"]);
    (base, any::<u32>(), any::<u32>(), groups).prop_map(|(base, mask, values, group)| {
        let name = base.split('@').next().unwrap();
        let base = if name == "cfs" { format!("{base}+group={group}") } else { base.clone() };
        let features = catalog::features(name).into_iter().enumerate();
        let turned = features.filter(|(idx, _)| mask >> (idx % 32) & 3 == 3).map(|(idx, info)| {
            let value = if values >> (idx % 32) & 1 == 1 { "on" } else { "off" };
            format!("+{}={value}", info.key)
        });
        turned.fold(base, |expr, part| expr + &part)
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    (machine(), vec(task(), 1..14), expr(), any::<u64>())
        .prop_map(|(machine, tasks, expr, seed)| Plan { machine, tasks, expr, seed })
}

/// Every second task is started by the one before it.
fn script(plan: &Plan) -> Script {
    let marks = vec!["mark".to_owned()];
    let procs = vec!["proc".to_owned()];
    let objects = Setup { procs, pipes: 1, locks: 1, futexes: 1, marks, ..Setup::default() };
    let mut script = Script::new(objects);
    let nr_cpus = plan.machine.nr_cpus();
    for (idx, task) in plan.tasks.iter().enumerate() {
        let has_child = idx % 2 == 0 && idx + 1 < plan.tasks.len();
        let child = has_child.then(|| Op::Spawn(TaskId::new(idx + 1)));
        let ops: Vec<Op> = child.into_iter().chain(task.ops.iter().copied()).collect();
        let cpu = CpuId(task.cpu % nr_cpus);
        let id = if idx % 2 == 0 { script.task(cpu, &ops) } else { script.spawned(&ops) };
        let spec = script.spec(id);
        (spec.nice, spec.policy) = (task.nice, task.policy);
        spec.allowed = task.part.map(|part| {
            let mut allowed: CpuSet =
                (0..nr_cpus).filter(|cpu| (part >> (cpu % 16)) & 1 == 1).map(CpuId).collect();
            allowed.insert(cpu);
            allowed
        });
    }
    let sleep = Op::Sleep(Nanos(1_000_000));
    let write = Op::Write { pipe: PipeId(0), bytes: 100 };
    let wake = Op::FutexWake { futex: FutexId(0), count: 9, sync: false };
    script.task(CpuId(0), &[sleep, write, wake].repeat(60));
    script
}

type Run<O> = Simulator<dyn Policy + Send, Script, O>;

fn start<O: Observer>(plan: &Plan, observer: O) -> Run<O> {
    let policy = catalog::build(&plan.expr, &[]).unwrap();
    let config = Config { seed: Seed(plan.seed), ..Config::default() };
    Simulator::new(plan.machine.topology(), policy, script(plan), observer, config).unwrap()
}

const HORIZON: SimTime = SimTime(1_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_worlds_break_no_invariant_of_world_or_policy(plan in plan()) {
        let nr_cpus = usize::from(plan.machine.nr_cpus());
        let rules = Invariants::new(nr_cpus, plan.tasks.len() + 1);
        let mut run = start(&plan, (rules, Digest::default()));
        run.set_paranoid();
        let ended = run.run_until(HORIZON);
        let (world, _, _, (mut rules, digest)) = run.into_parts();
        prop_assert_eq!(rules.violation(), None);
        match &ended {
            Ok(_) => prop_assert_eq!(rules.finish(&world), Ok(())),
            Err(SimError::Deadlock { .. }) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
        let mut again = start(&plan, Digest::default());
        prop_assert_eq!(again.run_until(HORIZON), ended);
        prop_assert_eq!(*again.observer(), digest);
    }
}
