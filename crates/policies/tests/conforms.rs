//! The exported test of policies: those of the crate pass it, and one that breaks a rule does not.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::sync::atomic::{AtomicUsize, Ordering};

use simsched_core::testkit::RoundRobin;
use simsched_core::{
    Attached, Dequeue, Enqueue, FifoQueues, Placement, Policy, Reason, TaskId, Wakeup, World,
};
use simsched_policies::catalog::ReasonInfo;
use simsched_policies::{Effort, PolicyEntry, Registry, conformance};
use simsched_topology::CpuId;

const REASONS: &[ReasonInfo] = &[ReasonInfo { name: "prev", doc: "Where it was." }];

#[test]
fn the_policies_of_the_crate_conform() {
    for entry in Registry::builtin().entries() {
        assert_eq!(conformance(entry, Effort::Quick), Ok(()));
    }
}

#[track_caller]
fn check_broken(reasons: &'static [ReasonInfo], new: fn() -> Box<dyn Policy + Send>, part: &str) {
    let broken = PolicyEntry::plain("broken", "breaks a rule", reasons, new);
    let said = conformance(&broken, Effort::Quick).unwrap_err();
    assert!(said.starts_with("policy `broken`: ") && said.contains(part), "{said}");
}

#[test]
fn a_policy_that_loses_tasks_does_not() {
    let new: fn() -> Box<dyn Policy + Send> = || {
        let mut policy = RoundRobin::default();
        policy.loses = true;
        Box::new(policy)
    };
    check_broken(REASONS, new, "program 0");
}

#[test]
fn a_policy_whose_reasons_are_others_does_not() {
    check_broken(&[], || Box::<RoundRobin>::default(), "its reasons are [\"prev\"]");
}

/// Places wakees by how many policies of its kind there have been: two runs differ.
struct Restless(FifoQueues, usize);

static MADE: AtomicUsize = AtomicUsize::new(0);

impl Policy for Restless {
    fn attach(&mut self, world: &World) -> Attached {
        self.0 = FifoQueues::new(world);
        Attached { reasons: &["prev"], ..Attached::default() }
    }

    fn select_task_rq(&mut self, world: &World, wakeup: &Wakeup) -> Placement {
        let cpu = CpuId::new((wakeup.prev.idx() + self.1) % world.topology().nr_cpus());
        Placement::at(cpu, Reason(0))
    }

    fn enqueue(&mut self, _: &World, cpu: CpuId, task: TaskId, _: Enqueue) {
        self.0.push(cpu, task);
    }

    fn dequeue(&mut self, _: &World, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.0.remove(cpu, task);
    }

    fn pick_next(&mut self, _: &World, cpu: CpuId, _: Option<TaskId>) -> Option<TaskId> {
        self.0.next(cpu)
    }

    fn put_prev_task(&mut self, _: &World, cpu: CpuId, prev: TaskId) {
        self.0.put(cpu, prev);
    }
}

#[test]
fn a_policy_that_does_not_repeat_itself_does_not() {
    let new: fn() -> Box<dyn Policy + Send> =
        || Box::new(Restless(FifoQueues::default(), MADE.fetch_add(1, Ordering::Relaxed)));
    check_broken(REASONS, new, "the same run again has the digest");
}
