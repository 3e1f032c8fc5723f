//! `FifoQueues`: runqueues in the order of arrival, for policies whose subject is where tasks run.

use std::collections::VecDeque;

use simsched_topology::CpuId;

use super::Dequeued;
use crate::ids::TaskId;
use crate::world::World;

/// A runqueue for each CPU, whose tasks run in the order in which they came. The current task of a CPU runs
/// until it sleeps or yields, or until its policy answers [`Preempt::Hard`](crate::Preempt::Hard).
///
/// A policy has it as a field and answers [`enqueue`](crate::Policy::enqueue) with
/// [`push`](FifoQueues::push), [`dequeue`](crate::Policy::dequeue) with [`remove`](FifoQueues::remove),
/// [`pick_next`](crate::Policy::pick_next) with [`next`](FifoQueues::next) and
/// [`put_prev_task`](crate::Policy::put_prev_task) with [`put`](FifoQueues::put). It knows the current
/// task of each CPU.
///
/// # Panics
/// All methods but [`new`](FifoQueues::new) panic for a CPU that is not of its machine; that of
/// `FifoQueues::default()` has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FifoQueues {
    /// By CPU.
    queues: Vec<Queue>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    /// The task that runs, as long as it is runnable.
    curr: Option<TaskId>,
    waiting: VecDeque<TaskId>,
}

impl FifoQueues {
    /// Empty queues for the CPUs of this machine.
    #[must_use]
    pub fn new(world: &World) -> FifoQueues {
        FifoQueues { queues: vec![Queue::default(); world.topology().nr_cpus()] }
    }

    /// Puts `task` at the end of the queue of `cpu`.
    pub fn push(&mut self, cpu: CpuId, task: TaskId) {
        self.queues[cpu.idx()].waiting.push_back(task);
    }

    /// Takes `task`, which runs or waits on `cpu`, from its queue; the answer is that of
    /// [`Policy::dequeue`](crate::Policy::dequeue).
    pub fn remove(&mut self, cpu: CpuId, task: TaskId) -> Dequeued {
        let queue = &mut self.queues[cpu.idx()];
        if queue.curr == Some(task) {
            queue.curr = None;
        } else {
            queue.waiting.retain(|&waiting| waiting != task);
        }
        Dequeued::Left
    }

    /// Puts the task that runs on `cpu` at the end of its queue, if it is still runnable, and returns the
    /// first one, which runs from now on.
    pub fn next(&mut self, cpu: CpuId) -> Option<TaskId> {
        let queue = &mut self.queues[cpu.idx()];
        queue.waiting.extend(queue.curr.take());
        queue.curr = queue.waiting.pop_front();
        queue.curr
    }

    /// Puts `prev`, which leaves `cpu` to the stopper or to the idle task, at the head of its queue if it
    /// is still runnable.
    pub fn put(&mut self, cpu: CpuId, prev: TaskId) {
        let queue = &mut self.queues[cpu.idx()];
        if queue.curr.take().is_some() {
            queue.waiting.push_front(prev);
        }
    }

    /// How many tasks run or wait on `cpu`.
    #[must_use]
    pub fn len(&self, cpu: CpuId) -> usize {
        let queue = &self.queues[cpu.idx()];
        queue.waiting.len() + usize::from(queue.curr.is_some())
    }

    /// Whether the queue of `cpu` is as long as the simulator counts it: an answer to
    /// [`Report::check`](crate::Report::check).
    ///
    /// # Errors
    /// Both lengths, when they differ.
    pub fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        let (queued, running) = (self.len(cpu), world.rq(cpu).nr_tasks() as usize);
        if queued == running {
            return Ok(());
        }
        Err(format!("cpu {cpu}: {queued} tasks are queued, {running} are runnable"))
    }
}
