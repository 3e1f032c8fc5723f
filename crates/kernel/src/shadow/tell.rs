//! What happens to a task or a CPU beside the questions: a task begins, is queued, goes to another CPU, ends; a CPU goes
//! to its stopper or its idle task. The kernel's functions are told.

use simsched_core::{Enqueue, SchedPolicy, TaskId};
use simsched_topology::CpuId;

use super::ask::Ask;
use super::inside::Inside;
use super::library::{Answer, IDLE, done, number};

impl<P: Inside> Ask<'_, P> {
    pub(super) fn migrate(&mut self, task: TaskId, to: CpuId) -> Answer {
        let id = self.library.id(task)?;
        let from = self.library.at[task.idx()];
        self.library.clock(self.world, from)?;
        self.library.present(self.world)?;
        let this = number(self.world.this_cpu());
        done("migrate", self.library.class.migrate(this, id, number(to)))?;
        self.library.at[task.idx()] = to;
        Ok(())
    }

    /// A task begins, as a child of `parent` or of nobody.
    pub(super) fn begin(&mut self, cpu: CpuId, parent: Option<TaskId>, task: TaskId) -> Answer {
        if self.world.task(task).policy != SchedPolicy::Normal {
            return Err(format!("task {task} has a policy that is not followed"));
        }
        self.library.clock(self.world, cpu)?;
        let id = self.library.fork(self.world, cpu, task)?;
        if parent.is_none() {
            // It inherits from who started the program.
            let (flips, since) = self.inner.flips(task);
            done("flips", self.library.class.flips(number(cpu), id, flips, since))?;
        }
        Ok(())
    }

    /// A task that is older than the run sleeps on `cpu`.
    pub(super) fn asleep(&mut self, cpu: CpuId, task: TaskId) -> Answer {
        self.begin(cpu, None, task)?;
        let id = self.library.id(task)?;
        done("asleep", self.library.class.asleep(number(cpu), id))
    }

    pub(super) fn enqueue(&mut self, cpu: CpuId, task: TaskId, why: Enqueue) -> Answer {
        let id = self.library.id(task)?;
        if self.library.at[task.idx()] != cpu {
            self.migrate(task, cpu)?;
        }
        self.library.clock(self.world, cpu)?;
        self.library.flag(self.world, cpu)?;
        let why = match why {
            Enqueue::Wakeup { .. } => 0,
            Enqueue::New => 1,
            Enqueue::Moved => 2,
            Enqueue::Delayed => 3,
        };
        done("enqueue", self.library.class.enqueue(number(cpu), id, why))?;
        self.numbers(cpu, Some(task));
        Ok(())
    }

    pub(super) fn dead(&mut self, task: TaskId) -> Answer {
        let id = self.library.id(task)?;
        let cpu = self.world.task(task).cpu;
        done("dead", self.library.class.dead(number(cpu), id))?;
        self.library.forget(task);
        Ok(())
    }

    /// `prev`, or the idle task, has left `cpu` to the stopper.
    pub(super) fn stopper(&mut self, cpu: CpuId) -> Answer {
        self.library.clock(self.world, cpu)?;
        done("stopper", self.library.class.stopper(number(cpu)))
    }

    /// The idle task leaves `cpu`: if that is to the stopper, no task was picked.
    pub(super) fn idle_left(&mut self, cpu: CpuId) -> Answer {
        if self.world.rq(cpu).stopper && self.library.class.curr(number(cpu)) == IDLE {
            return self.stopper(cpu);
        }
        Ok(())
    }

    pub(super) fn idle(&mut self, cpu: CpuId) -> Answer {
        self.library.clock(self.world, cpu)?;
        self.library.all_idleness(self.world)?;
        done("idle", self.library.class.idle(number(cpu)))
    }
}
