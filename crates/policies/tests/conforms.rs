//! The exported test of policies: those of the crate pass it, and one that breaks a rule does not.

use std::sync::atomic::{AtomicUsize, Ordering};

use simsched_core::testkit::{EveryAction, RoundRobin};
use simsched_core::{
    Attached, Balancer, Cx, Dequeue, Dequeued, Enqueue, FifoQueues, Placement, Policy, Reason,
    Report, TaskId, Wakeup, World,
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
fn a_policy_that_asks_for_everything_conforms() {
    let reasons = &[ReasonInfo { name: "any", doc: "Any CPU where the task may run." }];
    let new: fn() -> Box<dyn Policy + Send> = || Box::<EveryAction>::default();
    let entry = PolicyEntry::plain("every_action", "asks for everything", reasons, new);
    assert_eq!(conformance(&entry, Effort::Thorough), Ok(()));
}

#[test]
fn a_policy_that_loses_tasks_is_found() {
    let new: fn() -> Box<dyn Policy + Send> = || {
        let mut policy = RoundRobin::default();
        policy.loses = true;
        Box::new(policy)
    };
    check_broken(REASONS, new, "picked nobody on CPU");
}

#[test]
fn a_policy_whose_reasons_are_others_is_found() {
    check_broken(&[], || Box::<RoundRobin>::default(), "its reasons are [\"prev\"]");
}

/// Moves each wakee on by so many CPUs, for the reason of this number.
struct Restless {
    queues: FifoQueues,
    by: usize,
    reason: u8,
}

impl Restless {
    fn boxed(by: usize, reason: u8) -> Box<dyn Policy + Send> {
        Box::new(Restless { queues: FifoQueues::default(), by, reason })
    }
}

static MADE: AtomicUsize = AtomicUsize::new(0);

impl Balancer for Restless {}
impl Report for Restless {}
impl Policy for Restless {
    fn attach(&mut self, world: &World) -> Attached {
        self.queues = FifoQueues::new(world);
        Attached { reasons: &["prev"], ..Attached::default() }
    }

    fn select_task_rq(&mut self, cx: Cx<'_>, wakeup: &Wakeup) -> Placement {
        let world = cx.world;
        let cpu = CpuId::new((wakeup.prev.idx() + self.by) % world.topology().nr_cpus());
        Placement::at(cpu, Reason(self.reason))
    }

    fn enqueue(&mut self, _: Cx<'_>, cpu: CpuId, task: TaskId, _: Enqueue) {
        self.queues.push(cpu, task);
    }

    fn dequeue(&mut self, _: Cx<'_>, cpu: CpuId, task: TaskId, _: Dequeue) -> Dequeued {
        self.queues.remove(cpu, task)
    }

    fn pick_next(&mut self, _: Cx<'_>, cpu: CpuId, _: Option<TaskId>) -> Option<TaskId> {
        self.queues.next(cpu)
    }

    fn put_prev_task(&mut self, _: Cx<'_>, cpu: CpuId, prev: TaskId) {
        self.queues.put(cpu, prev);
    }
}

#[test]
fn a_reason_that_is_not_in_the_list_is_found() {
    check_broken(REASONS, || Restless::boxed(0, 7), "it gave the reason 7 and has 1 of them");
}

#[test]
fn a_reason_without_a_sentence_is_found() {
    const SILENT: &[ReasonInfo] = &[ReasonInfo { name: "prev", doc: " " }];
    check_broken(SILENT, || Restless::boxed(0, 0), "has no sentence");
}

#[test]
fn a_policy_that_does_not_repeat_itself_is_found() {
    let new = || Restless::boxed(MADE.fetch_add(1, Ordering::Relaxed), 0);
    check_broken(REASONS, new, "the same run again has the digest");
}
