//! What happens to the load and the statistics of CPUs that idle, and what is looked at to find one.

use std::sync::Arc;

use simsched_core::testkit::{PolicyHost, Script, WorldKit};
use simsched_core::{
    BOOT_CLOCK, Config, Far, FutexId, Nanos, Observer, Op, PipeId, Reason, Setup, SimTime,
    Simulator, Status, TaskId, Tracepoint, WakeKind, Wakeup, World,
};
use simsched_policies::fair::features::Version;
use simsched_policies::fair::{Fair, Features, Overrides};
use simsched_topology::{CpuId, CpuSet, Topology};

const WAIT: Op = Op::FutexWait { futex: FutexId(0), value: 0 };
const WAKE: Op = Op::FutexWake { futex: FutexId(0), count: 9, sync: false };

/// All tracepoints.
#[derive(Default)]
struct Log(Vec<Tracepoint>);

impl Observer for Log {
    fn on(&mut self, _: &World, tracepoint: Tracepoint) {
        self.0.push(tracepoint);
    }
}

fn run(ms: u64) -> Op {
    Op::Run(Nanos::from_millis(ms))
}

fn script() -> Script {
    Script::new(Setup { procs: vec!["p".to_owned()], futexes: 1, pipes: 1, ..Setup::default() })
}

fn simulate(
    machine: &str,
    script: Script,
    features: Features,
    until_ms: u64,
) -> Simulator<Fair, Script, Log> {
    let topology = Arc::new(Topology::builtin(machine, None).unwrap());
    let policy = Fair::new(features, Overrides::default());
    let config = Config { jitter_1024: 0, ..Config::default() };
    let mut sim =
        Simulator::new(topology, Box::new(policy), script, Log::default(), config).unwrap();
    assert_eq!(sim.run_until(SimTime(until_ms * 1_000_000)), Ok(Status::Horizon));
    sim
}

/// `util_avg` of a task that ran 50 ms, slept 160 ms on an idle CPU and was pulled to another socket
/// by a synchronous wakeup; with a hog beside it, whose ticks age the idle CPUs of the LLC.
fn util_after_migration(hog: bool) -> u64 {
    let mut script = script();
    let pipe = PipeId(0);
    let sleeper = script.task(CpuId(0), &[run(50), Op::Read { pipe, bytes: 1 }, run(1_000)]);
    let write = Op::Write { pipe, bytes: 1 };
    script.task(CpuId(60), &[Op::Sleep(Nanos::from_millis(212)), write, run(1_000)]);
    if hog {
        let hog = script.task(CpuId(1), &[run(1_000)]);
        script.spec(hog).allowed = Some(CpuSet::single(CpuId(1)));
    }
    let sim = simulate("spr", script, Features::default(), 213);
    let cpu = sim.world().task(sleeper).cpu;
    assert_eq!(sim.world().topology().package_of(cpu).0, 1, "CPU {cpu}");
    sim.policy().entity(sleeper).avg.util_avg
}

/// Spec 04 section 7: a task that leaves an idle CPU is aged by the time that CPU has idled, whether
/// or not somebody has aged the queue in between.
#[test]
fn what_leaves_an_idle_cpu_is_aged_alike_with_and_without_a_busy_neighbour() {
    let (alone, beside_a_hog) = (util_after_migration(false), util_after_migration(true));
    // 160 ms are five half-lives of at most 1024.
    assert!(alone < 60, "{alone}");
    assert!(beside_a_hog.abs_diff(alone) <= 5, "{alone} {beside_a_hog}");
}

/// The load of an idle CPU decays in every version, with or without a scan hint.
#[test]
fn an_idle_cpu_forgets_its_load_with_and_without_sis_util() {
    for version in [Version::V6_1, Version::V5_16] {
        let mut script = script();
        script.task(CpuId(0), &[run(100), WAIT]);
        let hog = script.task(CpuId(2), &[run(1_000)]);
        script.spec(hog).allowed = Some(CpuSet::single(CpuId(2)));
        let sim = simulate("t16", script, Features::of(version), 900);
        let util = sim.policy().cfs_rq(CpuId(0)).avg.util_avg;
        assert!(util <= 1, "{version:?}: {util}");
    }
}

/// Spec 05 section 2, step 6: where no domain of the slow path reaches the allowed CPUs, another one
/// is taken.
#[test]
fn a_child_that_may_run_far_away_only_is_started_there() {
    let nr_cpus = 384;
    let mut script = script();
    script.task(CpuId(0), &[Op::Spawn(TaskId(1)), run(1_000)]);
    let child = script.spawned(&[run(1_000)]);
    let last: CpuSet = (nr_cpus - 2..nr_cpus).map(CpuId).collect();
    script.spec(child).allowed = Some(last);
    let sim = simulate("power10", script, Features::default(), 5);
    assert_eq!(sim.world().task(child).cpu, CpuId(nr_cpus - 2));
    let placed = |t: &Tracepoint| matches!(t, Tracepoint::Wakeup { wakee, reason: Reason::FALLBACK, .. } if *wakee == child);
    assert_eq!(sim.observer().0.iter().filter(|t| placed(t)).count(), 1);
}

/// Spec 06 section 10.1: `newidle_balance` ends before it notes the time when a wakeup is on its
/// way, so that wakeup adds no sample to the idle time.
#[test]
fn a_cpu_that_idles_with_a_hand_off_pending_takes_no_sample() {
    let kit = WorldKit::new(Topology::builtin("t16", None).unwrap(), 250);
    let mut host = PolicyHost::new(kit, Fair::new(Features::default(), Overrides::default()));
    host.task_woken(CpuId(0));
    let before = host.policy.idle_stats(CpuId(0)).avg_idle;
    host.kit.set_pending(CpuId(0), true);
    host.kit.set_clock(BOOT_CLOCK + 1_000_000);
    host.newidle_balance(CpuId(0));
    host.kit.set_clock(BOOT_CLOCK + 1_000_100);
    host.task_woken(CpuId(0));
    assert_eq!(host.policy.idle_stats(CpuId(0)).avg_idle, before);
}

/// `rq_clock_skip_update()`: the wakee that preempts is accounted from the moment it was queued.
#[test]
fn a_preempting_wakee_runs_on_the_clock_of_its_wakeup() {
    struct Clock(Vec<(SimTime, u64)>);
    impl Observer for Clock {
        fn on(&mut self, world: &World, tracepoint: Tracepoint) {
            match tracepoint {
                Tracepoint::Wakeup { wakee: TaskId(0), cpu, .. } => {
                    self.0.push((world.now(), world.rq(cpu).clock));
                }
                Tracepoint::Switch { cpu, next: Some(TaskId(0)), preempted: true, .. } => {
                    self.0.push((world.now(), world.rq(cpu).clock));
                }
                _ => {}
            }
        }
    }
    let mut script = script();
    let only = Some(CpuSet::single(CpuId(1)));
    let sleeper = script.task(CpuId(1), &[WAIT, run(1)]);
    script.spec(sleeper).allowed = only;
    let hog = script.task(CpuId(1), &[run(1_000)]);
    script.spec(hog).allowed = only;
    script.task(CpuId(0), &[run(102), WAKE]);
    let topology = Arc::new(Topology::builtin("t16", None).unwrap());
    let policy = Fair::new(Features::default(), Overrides::default());
    let clock = Clock(Vec::new());
    let mut sim =
        Simulator::new(topology, Box::new(policy), script, clock, Config::default()).unwrap();
    sim.run_until(SimTime(104_000_000)).unwrap();
    let seen = &sim.observer().0;
    let (woken, switched) = (seen[seen.len() - 2], seen[seen.len() - 1]);
    assert!(switched.0 > woken.0, "{seen:?}");
    assert_eq!(switched.1, woken.1, "{seen:?}");
}

/// Spec 05 section 5.2: of the idle CPUs of the idlest group the one in the shallowest state is taken,
/// among equals the one that became idle last, and that one where no state is known.
#[test]
fn a_fork_takes_the_idle_cpu_that_wakes_quickest_then_the_one_idle_last() {
    let mut kit = WorldKit::new(Topology::builtin("t16", None).unwrap(), 250);
    let (parent, child) = (kit.add_task(0), kit.add_task(0));
    kit.run_on(CpuId(0), Some(parent));
    let mut host = PolicyHost::new(kit, Fair::new(Features::default(), Overrides::default()));
    // CPUs 4 to 7, the LLC beside the parent's, became idle one after the other: 6 was last.
    for (order, cpu) in [4, 5, 7, 6].into_iter().enumerate() {
        host.kit.set_clock(BOOT_CLOCK + 1_000 * (1 + order as u64));
        host.newidle_balance(CpuId(cpu));
    }
    let kind = WakeKind::Fork;
    let ask = Wakeup { wakee: child, prev: CpuId(0), waker: CpuId(0), kind };
    assert_eq!(host.select_task_rq(&ask).cpu, CpuId(6), "nothing is known of states");
    for (cpu, latency) in [(4, 170), (5, 2), (6, 170), (7, 2)] {
        host.kit.set_exit_latency(CpuId(cpu), Some(latency));
    }
    assert_eq!(host.select_task_rq(&ask).cpu, CpuId(7), "5 and 7 are shallow, 7 became idle later");
}

/// `task_dead_fair()`: the load of a task that has ended leaves its runqueue at the next update; it
/// does not decay there for hundreds of milliseconds.
#[test]
fn the_load_of_a_dead_task_is_gone_at_once() {
    let only = Some(CpuSet::single(CpuId(0)));
    let mut script = script();
    let dead = script.task(CpuId(0), &[run(100)]);
    let next = script.task(CpuId(0), &[Op::Sleep(Nanos::from_millis(102)), run(1_000)]);
    script.spec(dead).allowed = only;
    script.spec(next).allowed = only;
    let sim = simulate("t16", script, Features::default(), 110);
    let queue = sim.policy().cfs_rq(CpuId(0)).avg.load_avg;
    let own = sim.policy().entity(next).avg.load_avg;
    assert!(queue.abs_diff(own) <= 10, "{queue} {own}");
}

/// A fork from CPU 0 of an idle t16, worked out: the NUMA domain looks at all 16 CPUs (4 in the LLC, 4
/// beside it, 8 across) and stays; the package at 8 (4 and 4), then at the 4 of the LLC beside it,
/// which has no busy CPU; from there MC at 4 and SMT at 2, all in that LLC.
#[test]
fn the_looks_of_a_fork_are_counted_by_distance() {
    let mut kit = WorldKit::new(Topology::builtin("t16", None).unwrap(), 250);
    let (parent, child) = (kit.add_task(0), kit.add_task(0));
    kit.run_on(CpuId(0), Some(parent));
    let mut host = PolicyHost::new(kit, Fair::new(Features::default(), Overrides::default()));
    let kind = WakeKind::Fork;
    let ask = Wakeup { wakee: child, prev: CpuId(0), waker: CpuId(0), kind };
    let found = host.select_task_rq(&ask);
    let far = Far { same_core: 2 + 2, same_socket: 4 + 4 + 4 + 4 + 2, cross_socket: 8 };
    assert_eq!((found.far, found.scanned), (far, 8 + 18 + 8));
}

/// A scan in the LLC of a target on the other socket is a look at CPUs over there.
#[test]
fn the_looks_of_a_wakeup_are_as_far_as_its_target() {
    let mut kit = WorldKit::new(Topology::builtin("t16", None).unwrap(), 250);
    let tasks: Vec<TaskId> = (0..5).map(|_| kit.add_task(0)).collect();
    for (task, cpu) in tasks.iter().zip([0, 12, 13]) {
        kit.run_on(CpuId(cpu), Some(*task));
    }
    let mut host = PolicyHost::new(kit, Fair::new(Features::default(), Overrides::default()));
    let kind = WakeKind::Wake;
    let ask = Wakeup { wakee: tasks[4], prev: CpuId(12), waker: CpuId(0), kind };
    let found = host.select_task_rq(&ask);
    assert!(found.scanned > 0, "{found:?}");
    assert_eq!(found.far, Far { cross_socket: found.scanned, ..Far::default() });
}
