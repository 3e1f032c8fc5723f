//! `Fifo`: first in, first out, and nobody is ever moved: the floor.

use std::collections::VecDeque;

use simsched_core::{
    Dequeue, Enqueue, Placement, Policy, Preempt, Reason, TaskId, TtwuQueue, Wakeup, World,
};
use simsched_topology::CpuId;

/// Tasks run in the order of their wakeups, until they sleep or yield, where they ran before.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    /// By CPU.
    queues: Vec<Queue>,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    /// Who runs, if it is still runnable.
    curr: Option<TaskId>,
    waiting: VecDeque<TaskId>,
}

/// The names of the reasons, by index.
pub(crate) const REASONS: &[&str] = &["prev", "allowed"];

/// What each means, by index.
pub(crate) const REASON_DOCS: &[&str] =
    &["The task may run where it was.", "It may not: the first CPU on which it may."];

/// The task may run where it was.
const PREV: Reason = Reason(0);
/// It may not: the first CPU on which it may.
const ALLOWED: Reason = Reason(1);

impl Policy for Fifo {
    fn attach(&mut self, world: &World) {
        self.queues = vec![Queue::default(); world.topology().nr_cpus()];
    }

    fn select_task_rq(&mut self, world: &World, wakeup: &Wakeup) -> Placement {
        let stays = world.is_allowed(wakeup.wakee, wakeup.prev);
        let first = world.allowed(wakeup.wakee).and_then(|allowed| allowed.first());
        let (cpu, reason) = match first {
            Some(first) if !stays => (first, ALLOWED),
            _ => (wakeup.prev, PREV),
        };
        Placement::at(cpu, reason)
    }

    fn migrate_task_rq(&mut self, _: &World, _: TaskId, _: CpuId) {}

    fn task_fork(&mut self, _: &World, _: CpuId, _: Option<TaskId>, _: TaskId) {}

    fn enqueue(&mut self, _: &World, cpu: CpuId, task: TaskId, _: Enqueue) {
        self.queues[cpu.idx()].waiting.push_back(task);
    }

    fn dequeue(&mut self, _: &World, cpu: CpuId, task: TaskId, _: Dequeue) {
        let queue = &mut self.queues[cpu.idx()];
        if queue.curr == Some(task) {
            queue.curr = None;
        } else {
            queue.waiting.retain(|&waiting| waiting != task);
        }
    }

    fn pick_next(&mut self, _: &World, cpu: CpuId, _: Option<TaskId>) -> Option<TaskId> {
        let queue = &mut self.queues[cpu.idx()];
        queue.waiting.extend(queue.curr.take());
        queue.curr = queue.waiting.pop_front();
        queue.curr
    }

    fn wakeup_preempt(&mut self, _: &World, _: CpuId, _: TaskId, _: Enqueue) -> Preempt {
        Preempt::No
    }

    fn task_woken(&mut self, _: &World, _: CpuId) {}

    fn task_tick(&mut self, _: &World, _: CpuId, _: TaskId) -> Preempt {
        Preempt::No
    }

    fn yield_task(&mut self, _: &World, _: CpuId, _: TaskId) {}

    fn reweight_task(&mut self, _: &World, _: TaskId) -> Preempt {
        Preempt::No
    }

    fn put_prev_task(&mut self, _: &World, cpu: CpuId, prev: TaskId) {
        let queue = &mut self.queues[cpu.idx()];
        if queue.curr.take().is_some() {
            queue.waiting.push_front(prev);
        }
    }

    fn idle_entered(&mut self, _: &World, _: CpuId) {}

    fn ttwu_queue(&self) -> TtwuQueue {
        TtwuQueue::Off
    }

    fn reasons(&self) -> &'static [&'static str] {
        REASONS
    }

    fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        let queue = &self.queues[cpu.idx()];
        let queued = queue.waiting.len() + usize::from(queue.curr.is_some());
        let running = world.rq(cpu).nr_tasks() as usize;
        if queued == running {
            return Ok(());
        }
        Err(format!("cpu {cpu}: {queued} tasks are queued, {running} are runnable"))
    }
}
