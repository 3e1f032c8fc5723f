//! The observers on whole runs: random programs of random tasks under the simplest policy.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use simsched_topology::{CpuId, CpuSet, Topology};

use super::{Digest, Invariants, Recorder, Stats, Step, lockstep};
use crate::config::Config;
use crate::error::SimError;
use crate::ids::{FutexId, LockId, MarkId, MaskId, PipeId, TaskId};
use crate::observer::{Cost, Observer};
use crate::policy::TtwuQueue;
use crate::rng::Seed;
use crate::simulator::{Simulator, Status};
use crate::testkit::{RoundRobin, Script};
use crate::time::{Nanos, SimTime};
use crate::workload::{Op, Setup};

/// A run before it starts.
#[derive(Clone, Debug)]
struct Plan {
    /// By task: where it starts, where its wakeups go, whether it may leave that CPU's LLC, and
    /// what it does.
    tasks: Vec<(u16, Option<u16>, bool, Vec<Op>)>,
    seed: u64,
    preempts: bool,
    ttwu_queue: TtwuQueue,
    /// Whether a balancer uses every chance.
    balances: bool,
}

type Run<O> = Simulator<RoundRobin, Script, O>;

fn op() -> impl Strategy<Value = Op> {
    let pipe = PipeId(0);
    let lock = LockId(0);
    let futex = FutexId(0);
    prop_oneof![
        4 => (1u64..400_000).prop_map(|ns| Op::Run(Nanos(ns))),
        3 => (1u64..9_000_000).prop_map(|ns| Op::Sleep(Nanos(ns))),
        4 => (1u32..5_000).prop_map(move |bytes| Op::Write { pipe, bytes }),
        4 => (1u32..5_000).prop_map(move |bytes| Op::Read { pipe, bytes }),
        1 => Just(Op::PollPipe(pipe)),
        1 => Just(Op::FutexWait { futex, value: 0 }),
        2 => Just(Op::FutexWake { futex, count: 2, sync: false }),
        2 => (1u64..200_000).prop_map(move |_| Op::Lock(lock)),
        1 => Just(Op::Yield),
        1 => Just(Op::Mark(MarkId(0))),
        1 => (-20i8..20).prop_map(Op::SetNice),
        1 => (0u32..12, 0u32..3).prop_map(|(task, mask)| {
            Op::SetAffinity { task: TaskId(task), mask: MaskId(mask) }
        }),
        1 => Just(Op::Exec),
    ]
}

/// A lock that is taken is released at once: a held lock at an exit is another story.
fn program() -> impl Strategy<Value = Vec<Op>> {
    vec(op(), 1..25).prop_map(|ops| {
        let released = |op: Op| match op {
            Op::Lock(lock) => vec![op, Op::Run(Nanos(50_000)), Op::Unlock(lock)],
            _ => vec![op],
        };
        ops.into_iter().flat_map(released).collect()
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let task = (0u16..16, proptest::option::of(0u16..16), any::<bool>(), program());
    let rule = prop_oneof![
        Just(TtwuQueue::Off),
        Just(TtwuQueue::CrossLlc),
        Just(TtwuQueue::CrossLlcOrIdle)
    ];
    let rest = (any::<u64>(), any::<bool>(), rule, any::<bool>());
    (vec(task, 1..12), rest).prop_map(|(tasks, (seed, preempts, ttwu_queue, balances))| Plan {
        tasks,
        seed,
        preempts,
        ttwu_queue,
        balances,
    })
}

/// Every second task is started by the one before it.
fn script(plan: &Plan) -> Script {
    let marks = vec!["mark".to_owned()];
    let procs = vec!["proc".to_owned()];
    let masks = [&[3][..], &[0, 1, 9, 14], &[4, 5, 6, 7, 8]];
    let single = |cpu: &u16| CpuSet::single(CpuId(*cpu));
    let mask = |cpus: &[u16]| cpus.iter().fold(CpuSet::new(), |all, cpu| all.or(&single(cpu)));
    let masks = masks.map(mask).to_vec();
    let objects = Setup { procs, pipes: 1, locks: 1, futexes: 1, marks, masks, ..Setup::default() };
    let mut script = Script::new(objects);
    for (idx, (cpu, _, stays, ops)) in plan.tasks.iter().enumerate() {
        let has_child = idx % 2 == 0 && idx + 1 < plan.tasks.len();
        let child = has_child.then(|| Op::Spawn(TaskId::new(idx + 1)));
        let nr_tasks = u32::try_from(plan.tasks.len()).unwrap();
        let known = |op: Op| match op {
            Op::SetAffinity { task, mask } => {
                Op::SetAffinity { task: TaskId(task.0 % nr_tasks), mask }
            }
            _ => op,
        };
        let ops: Vec<Op> = child.into_iter().chain(ops.iter().copied().map(known)).collect();
        let task = if idx % 2 == 0 { script.task(CpuId(*cpu), &ops) } else { script.spawned(&ops) };
        if *stays {
            let mut allowed = CpuSet::new();
            for k in 0..4 {
                allowed.insert(CpuId(cpu / 4 * 4 + k));
            }
            script.spec(task).allowed = Some(allowed);
        }
    }
    script.task(CpuId(0), &feeding());
    script
}

/// Who wakes the others now and then, so that most runs come to an end.
fn feeding() -> Vec<Op> {
    let sleep = Op::Sleep(Nanos(1_000_000));
    let write = Op::Write { pipe: PipeId(0), bytes: 100 };
    let wake = Op::FutexWake { futex: FutexId(0), count: 9, sync: false };
    [sleep, write, wake].repeat(60)
}

fn topology() -> Arc<Topology> {
    Arc::new(Topology::builtin("t16", None).unwrap())
}

fn start<O: Observer>(plan: &Plan, observer: O) -> Run<O> {
    start_with(plan, observer, Config::default())
}

fn start_with<O: Observer>(plan: &Plan, observer: O, config: Config) -> Run<O> {
    let mut policy = RoundRobin::default();
    policy.target = plan.tasks.iter().map(|task| task.1.map(CpuId)).collect();
    policy.preempts = plan.preempts;
    policy.ttwu_queue = Some(plan.ttwu_queue);
    policy.balancer.greedy = plan.balances;
    let config = Config { seed: Seed(plan.seed), ..config };
    Simulator::new(topology(), Box::new(policy), script(plan), observer, config).unwrap()
}

const HORIZON: SimTime = SimTime(1_000_000_000);

fn observers(plan: &Plan) -> (Stats, (Digest, Invariants)) {
    let nr_tasks = plan.tasks.len() + 1;
    (Stats::new(&topology(), nr_tasks, 1), (Digest::default(), Invariants::new(16, nr_tasks)))
}

/// Runs in portions of `events` and hands out the steps of each.
fn portions(plan: &Plan, events: u64) -> impl FnMut(&mut Vec<Step>) {
    let mut run = start(plan, Recorder::default());
    let mut going = true;
    move |steps| {
        while going && steps.is_empty() {
            going = run.run_events(HORIZON, events) == Ok(Status::Paused);
            run.observer_mut().drain_into(steps);
        }
    }
}

/// What a program can do wrong, and what it cannot.
fn is_the_programs_fault(error: &SimError) -> bool {
    matches!(error, SimError::Deadlock { .. })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Spec 09, invariant 2, among others: no clock is ahead of time, and none runs backwards.
    #[test]
    fn whole_runs_break_no_invariant(plan in plan()) {
        let mut run = start(&plan, observers(&plan));
        let ended = run.run_until(HORIZON);
        let (world, _, _, (_, (_, mut rules))) = run.into_parts();
        prop_assert_eq!(rules.violation(), None);
        match ended {
            Ok(_) => prop_assert_eq!(rules.finish(&world), Ok(())),
            Err(error) => prop_assert!(is_the_programs_fault(&error), "{}", error),
        }
    }

    /// Spec 09, invariant 1: the times of all CPUs add up to CPUs times elapsed.
    #[test]
    fn parts_equal_their_sums(plan in plan()) {
        let mut run = start(&plan, observers(&plan));
        let ended = run.run_until(HORIZON);
        let stats = &run.observer().0;
        prop_assert_eq!(stats.migrations(), stats.migrations_by_distance().iter().sum::<u64>());
        prop_assert_eq!(stats.migrations(), stats.migrations_by_reason().iter().flatten().sum::<u64>());
        prop_assert!(stats.wakeup_latency().count() <= stats.wakeups());
        if let Ok(status) = ended {
            let elapsed = run.world().now().get();
            let all: u64 = stats.total_cpu_time().iter().sum();
            prop_assert_eq!(all, 16 * elapsed, "16 CPUs are charged for all the time");
            let busy: u64 = (0..16).map(|cpu| stats.busy(CpuId(cpu)).get()).sum();
            prop_assert_eq!(all - busy, stats.total_cpu_time()[Cost::Idle as usize]);
            if status == Status::Finished {
                prop_assert_eq!(stats.exits(), plan.tasks.len() as u64 + 1);
                prop_assert_eq!(stats.forks(), plan.tasks.len() as u64 / 2);
            }
        }
    }

    /// Spec 09, invariant 5.
    #[test]
    fn observers_and_pauses_change_nothing(plan in plan()) {
        let mut watched = start(&plan, observers(&plan));
        let mut alone = start(&plan, Digest::default());
        let first = watched.run_until(HORIZON);
        let second = loop {
            match alone.run_events(HORIZON, 7) {
                Ok(Status::Paused) => {}
                ended => break ended,
            }
        };
        prop_assert_eq!(first, second);
        prop_assert_eq!(watched.observer().1.0, *alone.observer());
        let divergence = lockstep(&mut portions(&plan, 11), &mut portions(&plan, 1_000));
        prop_assert!(divergence.is_none(), "{:?}", divergence);
    }

    /// Most ops on pipes take a short way through the simulator; in a paranoid run, and without
    /// `batch_ops`, none does.
    #[test]
    fn the_short_way_of_an_op_on_a_pipe_leads_where_the_long_one_does(
        plan in plan(),
        is_paranoid in any::<bool>(),
    ) {
        let mut short = start(&plan, observers(&plan));
        let mut long = start_with(&plan, observers(&plan), Config { batch_ops: is_paranoid, ..Config::default() });
        if is_paranoid {
            long.set_paranoid();
        }
        prop_assert_eq!(short.run_until(HORIZON), long.run_until(HORIZON));
        prop_assert_eq!(short.observer().1.0, long.observer().1.0);
        prop_assert_eq!(short.observer().0.total_cpu_time(), long.observer().0.total_cpu_time());
        prop_assert_eq!(short.events(), long.events());
    }
}

#[test]
fn another_seed_is_another_run() {
    let ops = vec![Op::Run(Nanos(1_000)), Op::Sleep(Nanos(1_000))];
    let tasks = vec![(1, None, false, ops)];
    let (preempts, ttwu_queue, balances) = (false, TtwuQueue::Off, false);
    let plan = Plan { tasks, seed: 1, preempts, ttwu_queue, balances };
    let other = Plan { seed: 2, ..plan.clone() };
    let divergence = lockstep(&mut portions(&plan, 10), &mut portions(&other, 10)).unwrap();
    assert!(divergence.first.unwrap().at > SimTime::ZERO, "{divergence}");
}
