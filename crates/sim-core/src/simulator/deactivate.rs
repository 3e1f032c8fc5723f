//! How a task leaves its runqueue in `schedule()`, at once or later, and how one that has stayed is queued anew.

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::{Simulator, Step};
use crate::ids::TaskId;
use crate::observer::{Cost, Observer};
use crate::policy::{Dequeue, Dequeued, Enqueue, Policy};
use crate::workload::Workload;
use crate::world::TaskState;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `deactivate_task()` of a task that sleeps or has ended; false if nothing is to be counted: it stays queued,
    /// being delayed, or was throttled.
    pub(super) fn deactivate(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let row = self.world.task_mut(task);
        let counted = !row.throttled;
        row.on_rq = false;
        let has_left = self.dequeue_task(cpu, task, Dequeue::Sleep) == Dequeued::Left;
        if !has_left && self.world.task(task).state == TaskState::Dead {
            self.policy_broke(format!("delayed task {task}, which has ended"));
        }
        let row = self.world.task_mut(task);
        if has_left {
            // Whether it counts was decided before this call, whatever that has asked for.
            row.throttled = false;
            self.world.rq_update(cpu, |rq| rq.leaving = counted);
            return counted;
        }
        (row.on_rq, row.delayed) = (true, true);
        let counts = !row.throttled;
        if counted != counts {
            let by = if counts { 1 } else { -1 };
            self.world.rq_update(cpu, |rq| rq.nr_running = rq.nr_running.wrapping_add_signed(by));
        }
        false
    }

    /// Who was current counts no more (`sub_nr_running()`): up to here wakers find it off its runqueue,
    /// and that one still busy.
    pub(super) fn uncounted(&mut self, cpu: CpuId) -> Step {
        let list = self.prices.list();
        let (mut ns, counts) = (list.dequeue + list.pick, list.dequeue_count);
        // Who is delayed leaves no count, and takes no time to do so.
        if self.world.rq(cpu).leaving {
            self.world.rq_update(cpu, |rq| {
                rq.leaving = false;
                rq.nr_running -= 1;
            });
            ns = ns.saturating_sub(counts);
        }
        match ns {
            0 => self.pick_done(cpu),
            ns => {
                let ns = self.jittered(cpu, ns);
                self.begin(cpu, Stage::Pick, Cost::ContextSwitch, ns);
                Ok(())
            }
        }
    }

    /// Queues `task`, which is woken, anew where it is, if it sleeps on its runqueue (`ttwu_runnable()` of
    /// 6.12).
    pub(super) fn requeue_delayed(&mut self, cpu: CpuId, task: TaskId) {
        if self.world.task(task).delayed {
            self.world.update_rq_clock(cpu);
            self.enqueue_task(cpu, task, Enqueue::Delayed);
            self.world.task_mut(task).delayed = false;
        }
    }

    /// Whether `prev`, which was dequeued, has been woken where it was before the next was chosen.
    pub(super) fn is_back(&self, prev: Option<TaskId>) -> bool {
        let row = prev.map(|prev| self.world.task(prev));
        row.is_some_and(|row| row.on_rq && row.state == TaskState::Running)
    }
}
