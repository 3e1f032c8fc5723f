//! `Ask`: one call of the policy, asked of the kernel's functions too; the answers are compared.

use simsched_core::{
    Dequeue, Dequeued, Enqueue, Placement, Preempt, TaskId, WakeKind, Wakeup, World,
};
use simsched_topology::CpuId;

use super::compare::{Comparison, Kind};
use super::follow::Followed;
use super::inside::Inside;
use crate::library::{Answer, Library, done, number};

/// A call that the policy has answered, and whom else to ask.
pub(super) struct Ask<'a, P> {
    pub(super) world: &'a World,
    pub(super) inner: &'a P,
    pub(super) library: &'a mut Library,
    pub(super) followed: &'a mut Followed,
    pub(super) seen: &'a mut Comparison,
}

impl<P: Inside> Ask<'_, P> {
    pub(super) fn begin(&mut self, cpu: CpuId, parent: Option<TaskId>, task: TaskId) -> Answer {
        self.library.begin(self.world, cpu, parent, task, self.inner.flips(task))
    }

    pub(super) fn asleep(&mut self, cpu: CpuId, task: TaskId) -> Answer {
        self.library.asleep(self.world, cpu, task, self.inner.flips(task))
    }

    pub(super) fn select(&mut self, wakeup: &Wakeup, placement: &Placement) -> Answer {
        let &Wakeup { wakee, prev, waker, kind } = wakeup;
        for cpu in [prev, waker] {
            self.idle_scan(cpu)?;
        }
        if matches!(kind, WakeKind::Fork | WakeKind::Exec) {
            self.imbalanced()?;
        }
        let to = self.library.select(self.world, wakeup)?;
        let what = match kind {
            WakeKind::Wake | WakeKind::WakeSync => Kind::Wakeup,
            WakeKind::Fork => Kind::Fork,
            WakeKind::Exec => Kind::Exec,
        };
        let curr = self.world.curr(waker);
        let both = [number(placement.cpu), to];
        let reason = placement.reason.0;
        self.compare(what, both, &[wakee], &[prev, waker, placement.cpu, cpu_of(to)], || {
            format!("{kind:?} of task {wakee} on CPU {prev} by {curr:?} on CPU {waker} (reason {reason})")
        });
        for task in curr.into_iter().chain([wakee]) {
            let id = self.library.id(task)?;
            if let Some(kernel) = self.library.class.task(id) {
                let both = [self.inner.flips(task).0, kernel.wakee_flips];
                self.compare(Kind::Flips, both, &[task], &[], || {
                    format!("task {task}, {kind:?} of task {wakee} on CPU {waker}")
                });
            }
        }
        Ok(())
    }

    pub(super) fn enqueue(&mut self, cpu: CpuId, task: TaskId, why: Enqueue) -> Answer {
        self.library.enqueue(self.world, cpu, task, why)?;
        self.numbers(cpu, Some(task));
        Ok(())
    }

    pub(super) fn dequeue(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        why: Dequeue,
        has: Dequeued,
    ) -> Answer {
        let both = [has, self.library.dequeue(self.world, cpu, task, why)?];
        if why == Dequeue::Sleep {
            let stays = both.map(|has| has == Dequeued::Delayed);
            self.compare(Kind::Delayed, stays, &[task], &[cpu], || {
                format!("{why:?} of task {task} on CPU {cpu}")
            });
        }
        self.numbers(cpu, Some(task));
        if both[0] != both[1] {
            return Err(format!(
                "a sleeper that stays queued, or does not, cannot be followed: task {task}"
            ));
        }
        Ok(())
    }

    pub(super) fn pick(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
    ) -> Answer {
        let both = [next, self.library.pick(self.world, cpu)?];
        self.library.class.forget_events();
        let tasks: Vec<TaskId> = prev.into_iter().chain(both[0]).chain(both[1]).collect();
        self.compare(Kind::Pick, both, &tasks, &[cpu], || format!("after {prev:?} on CPU {cpu}"));
        if both[0] != both[1] {
            return Err("another task was picked, which cannot be followed".to_owned());
        }
        self.numbers(cpu, next);
        Ok(())
    }

    pub(super) fn preempt(
        &mut self,
        cpu: CpuId,
        wakee: TaskId,
        why: Enqueue,
        answer: Preempt,
    ) -> Answer {
        let both = [answer, self.library.preempt(self.world, cpu, wakee, why)?];
        let curr = self.world.curr(cpu);
        let tasks: Vec<TaskId> = curr.into_iter().chain([wakee]).collect();
        self.resched(Kind::Preempt, cpu, both, &tasks, || {
            format!("{why:?} of task {wakee} on CPU {cpu} where {curr:?} runs")
        });
        self.numbers(cpu, curr);
        Ok(())
    }

    pub(super) fn woken(&mut self, cpu: CpuId) -> Answer {
        self.library.woken(self.world, cpu)?;
        let both =
            [self.inner.queue_numbers(cpu).avg_idle, self.library.class.cpu(number(cpu)).avg_idle];
        self.compare(Kind::AvgIdle, both, &[], &[cpu], || format!("a wakeup on CPU {cpu}"));
        self.library.idleness(self.world, cpu)?;
        self.running(cpu);
        Ok(())
    }

    pub(super) fn tick(&mut self, cpu: CpuId, curr: TaskId, answer: Preempt) -> Answer {
        let both = [answer, self.library.tick(self.world, cpu)?];
        self.resched(Kind::Tick, cpu, both, &[curr], || format!("task {curr} on CPU {cpu}"));
        self.running(cpu);
        self.numbers(cpu, Some(curr));
        Ok(())
    }

    pub(super) fn nice(&mut self, task: TaskId, answer: Preempt) -> Answer {
        let row = self.world.task(task);
        let both = [answer, self.library.nice(self.world, task)?];
        self.resched(Kind::Nice, row.cpu, both, &[task], || {
            format!("nice {} of task {task} on CPU {}", row.nice, row.cpu)
        });
        Ok(())
    }

    /// The limit of a search for an idle CPU behind the LLC of `cpu`, as the passes of the policy have left it.
    fn idle_scan(&mut self, cpu: CpuId) -> Answer {
        let limit = self.inner.idle_scan(self.world, cpu);
        let last = &mut self.followed.scans[self.world.topology().llc_of(cpu).idx()];
        if let (Some(nr), true) = (limit, *last != limit) {
            let nr = i32::try_from(nr).expect("not more than CPUs");
            done("idle_scan", self.library.class.idle_scan(number(cpu), nr))?;
            *last = limit;
        }
        Ok(())
    }
}

fn cpu_of(cpu: i32) -> CpuId {
    CpuId(u16::try_from(cpu).unwrap_or(0))
}
