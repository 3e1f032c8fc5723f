//! What a call of the policy did beyond its answer: sleepers that stay queued and leave later, and
//! tasks that have to go although nobody asked.

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::{Simulator, Step};
use crate::ids::TaskId;
use crate::observer::{Cost, Observer, Tracepoint};
use crate::policy::{Dequeue, Enqueue, Policy, Thought, Thoughts};
use crate::workload::Workload;
use crate::world::TaskState;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `deactivate_task()` of a task that sleeps or has ended; false if it stays queued, being delayed.
    pub(super) fn deactivate(&mut self, cpu: CpuId, task: TaskId) -> bool {
        self.world.task_mut(task).on_rq = false;
        self.policy.dequeue(&self.world, cpu, task, Dequeue::Sleep);
        let stays = self.has_effects && self.policy.is_delayed(task);
        if stays {
            self.world.task_mut(task).on_rq = true;
        }
        !stays
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

    /// Tells whoever watches about what the policy has changed its mind.
    pub(super) fn tell_thoughts(&mut self) {
        while let Some(thought) = self.policy.thoughts().and_then(Thoughts::pop) {
            match thought {
                Thought::Preferred(proc, llc) => self.emit(Tracepoint::Preferred { proc, llc }),
                Thought::UtilAvg(cpu, util_avg) => {
                    self.emit(Tracepoint::UtilAvg { cpu, util_avg });
                }
            }
        }
    }

    /// Makes true what the last call did besides, which `cpu` made.
    #[inline]
    pub(super) fn settle(&mut self, cpu: CpuId) {
        if self.has_effects {
            self.settle_all(cpu);
        }
    }

    #[inline(never)]
    fn settle_all(&mut self, cpu: CpuId) {
        while let Some(task) = self.policy.effects().and_then(|effects| effects.blocked.pop()) {
            let at = self.world.task(task).cpu;
            self.world.task_mut(task).on_rq = false;
            self.world.rq_update(at, |rq| rq.nr_running -= 1);
        }
        while let Some(at) = self.policy.effects().and_then(|effects| effects.resched.first()) {
            self.policy.effects().map(|effects| effects.take_resched(at));
            if self.world.curr(at).is_some() {
                self.resched_curr(cpu, at);
            }
        }
    }

    /// Whether `task`, which is woken, sleeps on its runqueue: then it is queued anew, where it is
    /// (`ttwu_runnable()` of 6.12).
    pub(super) fn requeue_delayed(&mut self, cpu: CpuId, task: TaskId) {
        if self.has_effects && self.policy.is_delayed(task) {
            self.world.update_rq_clock(cpu);
            self.policy.enqueue(&self.world, cpu, task, Enqueue::Delayed);
        }
    }

    /// Whether `prev`, which was dequeued, has been woken where it was before the next was chosen.
    pub(super) fn is_back(&self, prev: Option<TaskId>) -> bool {
        let row = prev.map(|prev| self.world.task(prev));
        row.is_some_and(|row| row.on_rq && row.state == TaskState::Running)
    }
}
