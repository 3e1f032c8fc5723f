//! Functions of a policy that are accounted under their names: inside what a call takes, or on top of it.

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{Charge, Cost, CostedFunction, FuncId, Nanos, Op, SimTime, TaskId};
use simsched_topology::CpuId;

use super::rig::{Log, objects, simulate_on, steady};

/// A task that forks another one, under a policy with such a function, called at each enqueue: when the run
/// ends, and what it was charged.
fn run(functions: &'static [CostedFunction]) -> (SimTime, u64, u64) {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Run(Nanos(50_000)), Op::Spawn(TaskId(1)), Op::Run(Nanos(50_000))]);
    script.spawned(&[]);
    let mut policy = RoundRobin::default();
    policy.functions = functions;
    let machine = steady("genoa");
    let tick = u64::from(machine.costs().tick);
    let (_, run) = simulate_on(machine, script, policy);
    let log: &Log = run.observer();
    (run.world().now(), log.charged(0, Cost::of_function(FuncId(0))), tick)
}

const INSIDE: &[CostedFunction] =
    &[CostedFunction { name: "f", item: "tick", charge: Charge::Inside }];
const EXTRA: &[CostedFunction] =
    &[CostedFunction { name: "f", item: "tick", charge: Charge::Extra }];

#[test]
fn what_is_inside_is_accounted_and_takes_no_time_of_its_own() {
    let (without, none, tick) = run(&[]);
    let (with, told, _) = run(INSIDE);
    assert_eq!((none, told), (0, tick));
    assert_eq!(with, without);
}

/// The child is queued in the run, which takes its time; the first task before, which takes none.
#[test]
fn what_is_extra_makes_the_run_longer_by_itself() {
    let (without, _, tick) = run(&[]);
    let (with, told, _) = run(EXTRA);
    assert_eq!(told, tick);
    assert_eq!(with.0 - without.0, tick);
}
