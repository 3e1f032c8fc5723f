//! `Fifo`: first in, first out, and no task is ever moved: a lower bound for what scheduling is worth.

use simsched_core::{
    Attached, Balancer, Cx, Dequeue, Dequeued, Enqueue, FifoQueues, KernelRules, Placement, Policy,
    Reason, Report, TaskId, TtwuQueue, Wakeup, World,
};
use simsched_topology::CpuId;

use crate::catalog::{PolicyInfo, ReasonInfo};
use crate::registry::PolicyEntry;

/// Tasks run in the order of their wakeups, until they sleep or yield, where they ran before.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    queues: FifoQueues,
}

/// The names of the reasons, by index.
const REASONS: &[&str] = &["prev", "allowed"];

/// What each means, by index.
const REASON_INFOS: &[ReasonInfo] = &[
    ReasonInfo { name: REASONS[0], doc: "The task may run where it was." },
    ReasonInfo { name: REASONS[1], doc: "It may not: the first CPU on which it may." },
];

/// The entry of `fifo`.
pub(crate) fn entry() -> PolicyEntry {
    let doc = "first in, first out, and no task is ever moved: a lower bound to compare with";
    let entry = PolicyEntry::plain("fifo", doc, REASON_INFOS, || Box::<Fifo>::default());
    PolicyEntry { info: PolicyInfo { source: "no kernel", ..entry.info }, ..entry }
}

/// The task may run where it was.
const PREV: Reason = Reason(0);
/// It may not: the first CPU on which it may.
const ALLOWED: Reason = Reason(1);

impl Policy for Fifo {
    fn attach(&mut self, world: &World) -> Attached {
        self.queues = FifoQueues::new(world);
        let rules = KernelRules { ttwu_queue: TtwuQueue::Off, ..KernelRules::default() };
        Attached { rules, reasons: REASONS, ..Attached::default() }
    }

    fn select_task_rq(&mut self, cx: Cx<'_>, wakeup: &Wakeup) -> Placement {
        let world = cx.world;
        let stays = world.is_allowed(wakeup.wakee, wakeup.prev);
        let first = world.allowed(wakeup.wakee).and_then(|allowed| allowed.first());
        let (cpu, reason) = match first {
            Some(first) if !stays => (first, ALLOWED),
            _ => (wakeup.prev, PREV),
        };
        Placement::at(cpu, reason)
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

impl Balancer for Fifo {}

impl Report for Fifo {
    fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        self.queues.check(world, cpu)
    }
}
