//! The timers of a policy, its calls on other CPUs, and requests that can wait: when they take effect, and that a
//! policy which asks for everything at random gets what it was promised.

use proptest::prelude::*;
use simsched_core::observe::{Digest, Invariants};
use simsched_core::testkit::{EveryAction, Plans, RoundRobin, Script};
use simsched_core::{
    Config, Cost, MaskId, Nanos, Op, Policy, ReschedCause, Seed, Setup, SimTime, Simulator, Status,
    TaskId, Tracepoint, Workload,
};
use simsched_topology::CpuId;

use super::rig::{Log, READ, WRITE, objects, simulate_on, steady, topology};

const HORIZON: SimTime = SimTime(20_000_000_000);

/// Six tasks on three CPUs that compute, sleep, yield, confine each other to one CPU or another, write and read,
/// as `rolls` says.
fn program(rolls: &[(u64, u64)]) -> Script {
    let masks = [0_u16, 1, 2].map(|cpu| [CpuId(cpu), CpuId(cpu + 3)].into_iter().collect());
    let mut script = Script::new(Setup { masks: masks.to_vec(), ..objects() });
    for nth in 0..6_u32 {
        let ops = rolls.iter().map(|&(kind, ns)| match (kind + u64::from(nth)) % 5 {
            0 | 1 => Op::Run(Nanos(ns)),
            2 => Op::Sleep(Nanos(ns)),
            3 => Op::SetAffinity { task: TaskId((nth + 1) % 6), mask: MaskId((ns % 3) as u32) },
            _ => Op::Yield,
        });
        let ops = ops.chain([if nth % 2 == 0 { WRITE } else { READ }]);
        script.task(CpuId(u16::try_from(nth % 3).unwrap()), &ops.collect::<Vec<_>>());
    }
    script
}

/// What a run of the policy comes to: its digest, its end and its account.
fn run<P: Policy + ?Sized>(
    policy: Box<P>,
    script: Script,
    portion: u64,
    plans: impl Fn(&P) -> Plans,
) -> (u64, SimTime, Plans) {
    let topology = topology();
    let rules = Invariants::new(topology.nr_cpus(), script.setup().tasks.len());
    let config = Config { seed: Seed(3), ..Config::default() };
    let observer = (Digest::default(), rules);
    let mut run = Simulator::new(topology, policy, script, observer, config).unwrap();
    run.set_paranoid();
    let mut status = Status::Paused;
    while status == Status::Paused {
        status = run.run_events(HORIZON, portion).unwrap();
    }
    assert_eq!(status, Status::Finished);
    let end = run.world().now();
    let (world, policy, _, (digest, mut rules)) = run.into_parts();
    rules.finish(&world).unwrap();
    (digest.value(), end, plans(&policy))
}

fn rolls() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..8_u64, 1_000..4_000_000_u64), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Each timer fires once, on its CPU, in the order of expiry, also with pauses; whatever is asked for, the
    /// machine's own rules are kept; and a policy whose type is known at run time only takes the same way.
    #[test]
    fn a_policy_that_asks_for_everything_gets_it_once(rolls in rolls(), portion in 1..200_u64) {
        let script = || program(&rolls);
        let whole = run(Box::<EveryAction>::default(), script(), u64::MAX, |p| p.plans().clone());
        let parts = run(Box::<EveryAction>::default(), script(), portion, |p| p.plans().clone());
        let boxed: Box<dyn Policy + Send> = Box::<EveryAction>::default();
        let boxed = run(boxed, script(), u64::MAX, |_| Plans::default());
        let (digest, end, plans) = whole;
        prop_assert_eq!((digest, end), (parts.0, parts.1));
        prop_assert_eq!(plans.fired_timers(), parts.2.fired_timers());
        prop_assert_eq!(plans.arrived_calls(), parts.2.arrived_calls());
        prop_assert_eq!((digest, end), (boxed.0, boxed.1));
        // A handler and the way out of an idle state take less than this.
        let settled = SimTime(end.0.saturating_sub(1_000_000));
        prop_assert_eq!(plans.overdue(settled), vec![]);
        prop_assert_eq!(plans.lost_calls(settled), vec![]);
    }
}

/// So that the property above is not one of runs in which nothing happens.
#[test]
fn a_policy_that_asks_for_everything_uses_it_all() {
    let rolls: Vec<(u64, u64)> = (0..40).map(|n| (n, 100_000 * n + 5_000)).collect();
    let (_, _, plans) =
        run(Box::<EveryAction>::default(), program(&rolls), u64::MAX, |p| p.plans().clone());
    assert!(plans.fired_timers().len() > 50, "{} timers", plans.fired_timers().len());
    assert!(plans.arrived_calls() > 20, "{} calls", plans.arrived_calls());
}

/// The requests to reschedule on `cpu` from `begin` to `end`, each with its cause and whether it is lazy.
fn requests(log: &Log, cpu: CpuId, begin: SimTime, end: SimTime) -> Vec<(ReschedCause, bool)> {
    let request = |(at, point): &(SimTime, Tracepoint)| match *point {
        Tracepoint::SetNeedResched { cpu: of, cause, lazy }
            if of == cpu && (begin..=end).contains(at) =>
        {
            Some((cause, lazy))
        }
        _ => None,
    };
    log.0.iter().filter_map(request).collect()
}

/// Two tasks share a CPU: a slice counts from the end of the switch, and behind it come the handler of the timer,
/// `schedule()` and the switch to the other, each at its price.
#[test]
fn a_slice_counts_from_the_end_of_schedule() {
    let slice = Nanos(700_000);
    let mut script = Script::new(objects());
    for _ in 0..2 {
        script.task(CpuId(0), &[Op::Run(Nanos(5_000_000))]);
    }
    let mut policy = RoundRobin::default();
    policy.slice = Some(slice);
    let (status, run) = simulate_on(steady("t8"), script, policy);
    assert_eq!(status.unwrap(), Status::Finished);
    let began = |(at, point): &(SimTime, Tracepoint)| match point {
        Tracepoint::Running { task, .. } => Some((at.0, *task)),
        _ => None,
    };
    let began: Vec<_> = run.observer().0.iter().filter_map(began).collect();
    let end = run.world().now();
    let requests = requests(run.observer(), CpuId(0), SimTime(0), end);
    assert!(requests.len() > 10 && requests.iter().all(|&r| r == (ReschedCause::Timer, false)));
    let list = run.world().topology().costs();
    let [handler, entry] = [list.timer_handler, list.sleep_entry + list.pick].map(u64::from);
    let turn = slice.0 + handler + entry + u64::from(list.context_switch_thread);
    assert!(began.len() > 10);
    for pair in began.windows(2).take(10) {
        assert_ne!(pair[0].1, pair[1].1, "they take turns");
        assert_eq!(pair[1].0 - pair[0].0, turn, "from one first instruction to the next");
    }
}

/// A task does this on CPU 1, where another is woken after 1 ms by a waker on CPU 0: when the first
/// switches to the other, how long CPU 1 was in handlers of interrupts up to then, and the requests to reschedule there
/// from the wakeup on.
fn preempted(policy: &RoundRobin, does: &[Op]) -> (u64, u64, Vec<(ReschedCause, bool)>) {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Run(Nanos(1_000_000)), WRITE]);
    script.task(CpuId(1), &[READ]);
    let hog = script.task(CpuId(1), does);
    let mut policy = policy.clone();
    policy.preempts = true;
    let (status, run) = simulate_on(steady("t16"), script, policy);
    assert_eq!(status.unwrap(), Status::Finished);
    let woken = SimTime(1_000_000);
    let after = |at: SimTime| at > woken;
    let gone = run.observer().0.iter().find(|(at, point)| {
        let goes = matches!(point, Tracepoint::Switch { prev, .. } if *prev == Some(hog));
        after(*at) && goes
    });
    let (at, _) = gone.unwrap();
    let ipis =
        run.observer().0.iter().filter(|(when, _)| when <= at).map(|(_, point)| match point {
            Tracepoint::Charge { cpu: CpuId(1), what: Cost::Ipi, amount } => amount.0,
            _ => 0,
        });
    (at.0, ipis.sum(), requests(run.observer(), CpuId(1), woken, *at))
}

/// Another CPU is sent no interrupt for a lazy request: the task that computes there goes at the tick, which makes it a
/// hard one. For a hard one it is.
#[test]
fn a_lazy_request_waits_for_the_tick_of_its_cpu() {
    let computes = [Op::Run(Nanos(20_000_000))];
    let (at, ipis, requests) = preempted(&RoundRobin::default(), &computes);
    assert!(at < 1_020_000 && ipis > 0, "hard: {at} ns, {ipis} ns in handlers");
    assert_eq!(requests, [(ReschedCause::Wakeup, false)]);
    let (at, ipis, requests) = preempted(&lazy(), &computes);
    assert_eq!(requests, [(ReschedCause::Wakeup, true), (ReschedCause::Promoted, false)]);
    let tick = 4_000_000;
    assert!((tick..tick + 20_000).contains(&(at % (2 * tick))), "lazy: {at} ns");
    assert!(at < 5_100_000 && ipis == 0, "lazy: {at} ns, {ipis} ns in handlers");
}

/// A policy that asks lazily, and of which no timer comes between.
fn lazy() -> RoundRobin {
    let mut policy = RoundRobin::default();
    policy.slice = Some(Nanos(50_000_000));
    policy.lazy = true;
    policy
}

/// Where one computation ends and the next one begins the task is not on its way out of the kernel, and goes on; at the
/// end of its next system call it is. A hard request interrupts it where it is.
#[test]
fn a_lazy_request_is_seen_at_the_end_of_the_next_system_call() {
    let parts = [1_500_000, 300_000].map(|ns| Op::Run(Nanos(ns)));
    let does = [parts[0], parts[1], WRITE, Op::Run(Nanos(20_000_000))];
    let (at, ..) = preempted(&RoundRobin::default(), &does);
    assert!(at < 1_020_000, "hard: {at} ns");
    let (at, ipis, requests) = preempted(&lazy(), &does);
    assert_eq!((ipis, requests), (0, vec![(ReschedCause::Wakeup, true)]));
    assert!((1_800_000..1_820_000).contains(&at), "lazy: {at} ns");
}
