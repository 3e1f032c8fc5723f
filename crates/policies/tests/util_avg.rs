//! What a watched policy tells of the utilization of CPUs: all changes of its own numbers, which follow
//! the series of PELT, and nothing that changes a run.

use std::sync::Arc;

use proptest::prelude::*;
use simsched_core::observe::Digest;
use simsched_core::testkit::Script;
use simsched_core::{
    Config, Nanos, Observer, Op, Setup, SimTime, Simulator, Status, Tracepoint, Wants, World,
};
use simsched_policies::catalog::build;
use simsched_topology::{CpuId, CpuSet, Topology};

/// A period of PELT in ns, and after how many of them a sum has halved.
const PERIOD: f64 = 1024.0 * 1024.0;
const HALF: f64 = 32.0;

/// The least unit in which a CPU's `util_avg` can be off the series: sums are truncated at each step,
/// and time counts in units of 1,024 ns.
const TRUNCATION: f64 = 4.0;

/// What was told: by CPU as of now, and all of it with its time.
#[derive(Debug)]
struct Told {
    now: Vec<u64>,
    all: Vec<(SimTime, CpuId, u64)>,
}

impl Told {
    fn of(topology: &Topology) -> Told {
        Told { now: vec![0; topology.nr_cpus()], all: Vec::new() }
    }
}

impl Observer for Told {
    fn wants(&self) -> Wants {
        Wants::UTIL_AVG
    }

    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if let Tracepoint::UtilAvg { cpu, util_avg } = tracepoint {
            assert_ne!(self.now[cpu.idx()], util_avg, "only changes are told");
            self.now[cpu.idx()] = util_avg;
            self.all.push((world.now(), cpu, util_avg));
        }
    }
}

fn topology(name: &str) -> Arc<Topology> {
    Arc::new(Topology::builtin(name, None).unwrap())
}

/// Tasks with these ops, on CPUs of the machine one after the other.
fn script(topology: &Topology, tasks: &[Vec<Op>]) -> Script {
    let mut script = Script::new(Setup { procs: vec!["p".to_owned()], ..Setup::default() });
    for (at, ops) in tasks.iter().enumerate() {
        script.task(CpuId::new(at * 3 % topology.nr_cpus()), ops);
    }
    script
}

/// All that is told while tasks do these ops, held against the policy after each event; the digest.
fn told_exactly(machine: &str, expr: &str, tasks: &[Vec<Op>]) -> (usize, u64) {
    let topology = topology(machine);
    let script = script(&topology, tasks);
    let policy = build(expr, &[]).unwrap();
    let watch = (Told::of(&topology), Digest::default());
    let mut run =
        Simulator::new(Arc::clone(&topology), policy, script, watch, Config::default()).unwrap();
    loop {
        let status = run.run_events(SimTime::NEVER, 1).unwrap();
        if status == Status::Finished {
            break;
        }
        for cpu in topology.cpus().iter() {
            let told = run.observer().0.now[cpu.idx()];
            assert_eq!(run.policy().util_avg(cpu), Some(told), "{expr}: CPU {cpu}");
        }
    }
    let (told, digest) = run.observer();
    (told.all.len(), digest.value())
}

fn digest_unwatched(machine: &str, expr: &str, tasks: &[Vec<Op>]) -> u64 {
    let topology = topology(machine);
    let script = script(&topology, tasks);
    let policy = build(expr, &[]).unwrap();
    let mut run =
        Simulator::new(topology, policy, script, Digest::default(), Config::default()).unwrap();
    run.run_until(SimTime::NEVER).unwrap();
    run.observer().value()
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1_000u64..8_000_000).prop_map(|ns| Op::Run(Nanos(ns))),
        4 => (1_000u64..8_000_000).prop_map(|ns| Op::Sleep(Nanos(ns))),
        1 => Just(Op::Yield),
        1 => (-20i8..20).prop_map(Op::SetNice),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn after_each_event_who_watches_knows_what_the_policy_knows_and_the_run_is_the_same(
        tasks in prop::collection::vec(prop::collection::vec(any_op(), 1..20), 1..40),
    ) {
        let policies = ["cfs@5.16", "cfs", "eevdf", "cfs+group=nested:2", "eevdf@7.0+cache_aware"];
        for expr in policies {
            let (count, digest) = told_exactly("t16", expr, &tasks);
            prop_assert!(count > 0, "{expr}: a task that has run leaves utilization");
            prop_assert_eq!(digest, digest_unwatched("t16", expr, &tasks), "{}", expr);
        }
    }
}

#[test]
fn a_policy_that_tracks_no_load_has_nothing_to_tell() {
    let topology = topology("t8");
    let script = script(&topology, &[vec![Op::Run(Nanos::from_millis(20))]]);
    let policy = build("fifo", &[]).unwrap();
    let watch = Told::of(&topology);
    let mut run = Simulator::new(topology, policy, script, watch, Config::default()).unwrap();
    run.run_until(SimTime::NEVER).unwrap();
    assert_eq!(run.observer().all, []);
}

/// What is told of the only CPU that runs anything, and when it has nobody to run or has somebody again.
#[derive(Debug, Default)]
struct Alone {
    told: Vec<(f64, f64)>,
    idle: Vec<f64>,
    woken: Vec<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
impl Observer for Alone {
    fn wants(&self) -> Wants {
        Wants::UTIL_AVG
    }

    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        let now = world.now().get() as f64;
        match tracepoint {
            Tracepoint::UtilAvg { cpu, util_avg } => {
                assert_eq!(cpu, CpuId(2), "the others never run anything");
                self.told.push((now, util_avg as f64));
            }
            Tracepoint::Switch { next: None, .. } => self.idle.push(now),
            Tracepoint::Wakeup { .. } => self.woken.push(now),
            _ => {}
        }
    }
}

/// A task that may run on CPU 2 only does these ops.
fn alone(expr: &str, ops: &[Op]) -> Alone {
    let topology = topology("t8");
    let mut script = Script::new(Setup { procs: vec!["p".to_owned()], ..Setup::default() });
    let task = script.task(CpuId(2), ops);
    script.spec(task).allowed = Some([CpuId(2)].into_iter().collect::<CpuSet>());
    let policy = build(expr, &[]).unwrap();
    let watch = Alone::default();
    let mut run = Simulator::new(topology, policy, script, watch, Config::default()).unwrap();
    run.run_until(SimTime::NEVER).unwrap();
    run.into_parts().3
}

/// What is left of a sum after so many ns.
#[expect(
    clippy::disallowed_methods,
    reason = "held against sums of the kernel, to far fewer digits"
)]
fn left(ns: f64) -> f64 {
    (-ns / PERIOD / HALF).exp2()
}

#[test]
fn the_utilization_of_a_cpu_that_always_runs_climbs_by_the_series() {
    for expr in ["cfs", "eevdf"] {
        let watched = alone(expr, &[Op::Run(Nanos::from_millis(600))]);
        let (start, first) = watched.told[0];
        let climb: Vec<_> = watched.told.iter().filter(|(at, _)| *at < 600e6).collect();
        for (at, util_avg) in &climb {
            let expected = 1024.0 - (1024.0 - first) * left(at - start);
            assert!((util_avg - expected).abs() <= TRUNCATION, "{expr}: {util_avg} at {at}");
        }
        let (_, most) = climb[climb.len() - 1];
        assert!(
            (1024.0 - TRUNCATION..=1024.0).contains(most),
            "{expr}: {most} after 18 half-lives"
        );
        // Ticks of 4 ms, each in a later period; less where the number stays the same.
        assert!(climb.len() > 50, "{expr}: told {} times", climb.len());
    }
}

#[test]
fn the_utilization_of_an_idle_cpu_halves_in_32_periods_when_it_is_updated() {
    let (busy, idle) = (Nanos::from_millis(300), Nanos(32 << 20));
    for expr in ["cfs", "eevdf"] {
        let ops = [Op::Run(busy), Op::Sleep(idle), Op::Run(Nanos::from_millis(40))];
        let Alone { told, idle, woken } = alone(expr, &ops);
        let (since, wakes) = (idle[0], woken[woken.len() - 1]);
        let (_, last) = *told.iter().rfind(|(at, _)| *at <= since).unwrap();
        let decay: Vec<_> = told.iter().filter(|(at, _)| *at > since && *at <= wakes).collect();
        for (at, util_avg) in &decay {
            let expected = last * left(at - since);
            assert!((util_avg - expected).abs() <= TRUNCATION, "{expr}: {util_avg} at {at}");
        }
        let (at, util_avg) = decay[decay.len() - 1];
        assert_eq!(*at, wakes, "{expr}: its wakeup updates it");
        assert!((util_avg - last / 2.0).abs() <= TRUNCATION, "{expr}: {last}, then {util_avg}");
    }
}
