//! The end of a task, where others wait for its CPU.

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{Nanos, Op, Status, TaskId, Tracepoint};
use simsched_topology::CpuId;

use super::rig::{objects, simulate};

/// Whether the second of two tasks on a CPU runs before the first, which ends half a millisecond behind its begin, has
/// ended.
fn second_runs_before(exit_resched: bool) -> bool {
    let mut script = Script::new(objects());
    let [first, second] =
        [500_000, 2_000_000].map(|ns| script.task(CpuId(0), &[Op::Run(Nanos(ns))]));
    let mut policy = RoundRobin::default();
    policy.exit_resched = exit_resched;
    let (status, sim) = simulate(script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let log = sim.observer();
    let ends = |task: TaskId| {
        log.find(|it| matches!(it, Tracepoint::Exit { task: ended } if *ended == task)).unwrap()
    };
    let begins = log
        .find(|it| matches!(it, Tracepoint::Switch { next, .. } if *next == Some(second)))
        .unwrap();
    assert!(ends(first) < ends(second));
    begins < ends(first)
}

/// `do_exit()` comes to `exit_notify()` only when it is picked again.
#[test]
fn who_ends_gives_way_before_its_parent_is_told() {
    assert!(!second_runs_before(false));
    assert!(second_runs_before(true));
}
