//! From a herd on one CPU every machine comes to rest where the rules of its domains allow it, in the
//! time that the intervals allow; and no balancer takes a runqueue's last task.

use proptest::prelude::*;
use simsched_core::testkit::Script;
use simsched_core::{
    Cause, Config, MaskId, Nanos, Observer, Op, Policy, Seed, Setup, SimTime, Simulator, TaskId,
    Tracepoint, World,
};
use simsched_policies::catalog;
use simsched_topology::{CpuId, CpuSet, Domains, Kernel, NumaImbalance};

use crate::machine::{Machine, machine};

/// Counts what balancers move, and notes when one leaves a runqueue empty.
#[derive(Debug, Default)]
struct Moves {
    pulled: u64,
    emptied: u64,
}

impl Observer for Moves {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if let Tracepoint::Migrate { from, cause, .. } = tracepoint
            && matches!(cause, Cause::Periodic | Cause::NewIdle | Cause::Nohz)
        {
            self.pulled += 1;
            self.emptied += u64::from(world.rq(from).nr_running == 0);
        }
    }
}

/// When the herd is let go.
const RELEASE: SimTime = SimTime(20_000_000);

type Run = Simulator<dyn Policy + Send, Script, Moves>;

/// `nr_hogs` that compute without end, born on one CPU and allowed everywhere after a while.
fn herd(machine: &Machine, policy: &str, nr_hogs: usize, seed: u64) -> Run {
    let topology = machine.topology();
    let masks = vec![*topology.cpus()];
    let procs = vec!["proc".to_owned()];
    let mut script = Script::new(Setup { procs, masks, ..Setup::default() });
    let hog = [Op::Run(Nanos(1_000_000_000_000))];
    for _ in 0..nr_hogs {
        let task = script.task(CpuId(0), &hog);
        script.spec(task).allowed = Some([CpuId(0)].into_iter().collect::<CpuSet>());
    }
    let release = (0..nr_hogs).map(|at| Op::SetAffinity { task: TaskId::new(at), mask: MaskId(0) });
    let ops: Vec<Op> = std::iter::once(Op::SleepUntil(RELEASE)).chain(release).collect();
    script.task(CpuId(0), &ops);
    let policy = catalog::build(policy, &[]).unwrap();
    let config = Config { seed: Seed(seed), ..Config::default() };
    Simulator::new(topology, policy, script, Moves::default(), config).unwrap()
}

/// How long it may take at most: each hog may have to climb each domain, and there wait for as many
/// balances by an idle CPU as may fail before even a hot task goes.
fn time_to_rest(machine: &Machine, nr_hogs: usize) -> Nanos {
    let topology = machine.topology();
    let domains = Domains::build(&topology, Kernel::V6_1, NumaImbalance::Merged);
    let one = |sd: &simsched_topology::SchedDomain| {
        let tick_ms = 4;
        u64::from(sd.cache_nice_tries + 3) * u64::from(sd.max_interval.max(tick_ms) + tick_ms)
    };
    let climb_ms: u64 = domains.of(CpuId(0)).iter().map(one).sum();
    Nanos::from_millis(climb_ms * nr_hogs as u64)
}

fn versions() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("cfs@5.16"), Just("cfs@6.1"), Just("cfs@6.5")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_herd_spreads_until_no_cpu_is_idle_while_tasks_wait(
        machine in machine(),
        part in 1_usize..9,
        policy in versions(),
        seed in any::<u64>(),
    ) {
        let nr_cpus = usize::from(machine.nr_cpus());
        let nr_hogs = (nr_cpus * part).div_ceil(4);
        let mut run = herd(&machine, policy, nr_hogs, seed);
        run.run_until(RELEASE + time_to_rest(&machine, nr_hogs)).unwrap();
        let world = run.world();
        let nr_running = |cpu| world.rq(CpuId::new(cpu)).nr_running as usize;
        let running: Vec<usize> = (0..nr_cpus).map(nr_running).collect();
        prop_assert_eq!(running.iter().sum::<usize>(), nr_hogs, "{:?}", running);
        let busy = running.iter().filter(|&&nr| nr > 0).count();
        prop_assert_eq!(busy, nr_hogs.min(nr_cpus), "{:?}", running);
        prop_assert_eq!(run.observer().emptied, 0);
        prop_assert!(run.observer().pulled + 1 >= busy as u64);
    }
}
