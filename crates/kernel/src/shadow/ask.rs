//! `Ask`: one call of the policy, asked of the kernel's functions too; the answers are compared.

use simsched_core::{
    Dequeue, Dequeued, Enqueue, Placement, Preempt, TaskId, TaskState, WakeKind, Wakeup, World,
};
use simsched_topology::CpuId;

use super::compare::{Comparison, Kind};
use super::inside::Inside;
use super::library::{Answer, IDLE, Library, done, number};

/// A call that the policy has answered, and whom else to ask.
pub(super) struct Ask<'a, P> {
    pub(super) world: &'a World,
    pub(super) inner: &'a P,
    pub(super) library: &'a mut Library,
    pub(super) seen: &'a mut Comparison,
}

/// Numbers of `simsched_kernel.h`: what a choice of a CPU is for,
const FORK: i32 = 1;
const EXEC: i32 = 2;
const SYNC: i32 = 4;
const IRQ: i32 = 8;
/// and why a task leaves its queue.
const SLEEP: i32 = 0;
const EXIT: i32 = 1;
pub(super) const MOVED: i32 = 2;

impl<P: Inside> Ask<'_, P> {
    pub(super) fn select(&mut self, wakeup: &Wakeup, placement: &Placement) -> Answer {
        let &Wakeup { wakee, prev, waker, kind } = wakeup;
        self.library.all_idleness(self.world)?;
        self.library.task_state(self.world, wakee)?;
        let curr = self.world.curr(waker);
        if let Some(curr) = curr {
            self.library.task_state(self.world, curr)?;
        }
        self.library.present(self.world)?;
        for cpu in [prev, waker] {
            self.library.idle_scan(self.world, self.inner, cpu)?;
        }
        let (flags, what) = match kind {
            WakeKind::Wake => (0, Kind::Wakeup),
            WakeKind::WakeSync => (SYNC, Kind::Wakeup),
            WakeKind::Fork => (FORK, Kind::Fork),
            WakeKind::Exec => (EXEC, Kind::Exec),
        };
        let flags = flags | if curr.is_none() { IRQ } else { 0 };
        let id = self.library.id(wakee)?;
        let to = self.library.class.select(number(waker), id, flags);
        done("select", to)?;
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

    pub(super) fn dequeue(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        why: Dequeue,
        has: Dequeued,
    ) -> Answer {
        self.library.clock(self.world, cpu)?;
        self.library.flag(self.world, cpu)?;
        let id = self.library.id(task)?;
        let (how, compared) = match why {
            Dequeue::Moved => (MOVED, false),
            Dequeue::Sleep if self.world.task(task).state == TaskState::Dead => (EXIT, true),
            Dequeue::Sleep => (SLEEP, true),
        };
        let stays = self.library.class.dequeue(number(cpu), id, how);
        done("dequeue", stays)?;
        let both = [has == Dequeued::Delayed, stays != 0];
        if compared {
            self.compare(Kind::Delayed, both, &[task], &[cpu], || {
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
        self.library.clock(self.world, cpu)?;
        let picked = self.library.class.pick(number(cpu), 0);
        if picked != IDLE {
            done("pick", picked)?;
        }
        self.library.class.forget_events();
        let both = [next, self.library.task_of(picked)];
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
        self.library.clock(self.world, cpu)?;
        self.library.flag(self.world, cpu)?;
        let id = self.library.id(wakee)?;
        let how = if why == Enqueue::New { FORK } else { 0 };
        let level = self.library.class.preempt(number(cpu), id, how);
        done("preempt", level)?;
        let curr = self.world.curr(cpu);
        let tasks: Vec<TaskId> = curr.into_iter().chain([wakee]).collect();
        self.resched(Kind::Preempt, cpu, [answer, answer_of(level)], &tasks, || {
            format!("{why:?} of task {wakee} on CPU {cpu} where {curr:?} runs")
        });
        self.numbers(cpu, curr);
        Ok(())
    }

    pub(super) fn woken(&mut self, cpu: CpuId) -> Answer {
        self.library.clock(self.world, cpu)?;
        done("woken", self.library.class.woken(number(cpu), 0))?;
        let both =
            [self.inner.queue_numbers(cpu).avg_idle, self.library.class.cpu(number(cpu)).avg_idle];
        self.compare(Kind::AvgIdle, both, &[], &[cpu], || format!("a wakeup on CPU {cpu}"));
        self.library.idleness(self.world, cpu)?;
        self.running(cpu);
        Ok(())
    }

    pub(super) fn tick(&mut self, cpu: CpuId, curr: TaskId, answer: Preempt) -> Answer {
        self.library.clock(self.world, cpu)?;
        self.library.flag(self.world, cpu)?;
        let level = self.library.class.tick(number(cpu));
        done("tick", level)?;
        self.resched(Kind::Tick, cpu, [answer, answer_of(level)], &[curr], || {
            format!("task {curr} on CPU {cpu}")
        });
        self.running(cpu);
        self.numbers(cpu, Some(curr));
        Ok(())
    }

    pub(super) fn yields(&mut self, cpu: CpuId) -> Answer {
        self.library.clock(self.world, cpu)?;
        self.library.idleness(self.world, cpu)?;
        done("yield", self.library.class.yield_task(number(cpu)))
    }

    pub(super) fn nice(&mut self, task: TaskId, answer: Preempt) -> Answer {
        let (row, cpu) = (self.world.task(task), self.world.task(task).cpu);
        let id = self.library.id(task)?;
        self.library.clock(self.world, cpu)?;
        self.library.flag(self.world, cpu)?;
        let level = self.library.class.nice(number(self.world.this_cpu()), id, i32::from(row.nice));
        done("nice", level)?;
        self.resched(Kind::Nice, cpu, [answer, answer_of(level)], &[task], || {
            format!("nice {} of task {task} on CPU {cpu}", row.nice)
        });
        Ok(())
    }
}

fn answer_of(level: i32) -> Preempt {
    match level {
        0 => Preempt::No,
        1 => Preempt::Lazy,
        _ => Preempt::Hard,
    }
}

fn cpu_of(cpu: i32) -> CpuId {
    CpuId(u16::try_from(cpu).unwrap_or(0))
}
