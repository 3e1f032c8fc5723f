//! The questions of a simulation, asked of the kernel's functions.

use simsched_core::{
    Dequeue, Dequeued, Enqueue, Preempt, TaskId, TaskState, WakeKind, Wakeup, World,
};
use simsched_topology::CpuId;

use super::{Answer, IDLE, Library, done, number};

/// Numbers of `simsched_kernel.h`: what a choice of a CPU is for,
const FORK: i32 = 1;
const EXEC: i32 = 2;
const SYNC: i32 = 4;
const IRQ: i32 = 8;
/// and why a task leaves its queue.
const SLEEP: i32 = 0;
const EXIT: i32 = 1;
const MOVED: i32 = 2;

impl Library {
    /// The CPU for a wakee.
    pub(crate) fn select(&mut self, world: &World, wakeup: &Wakeup) -> Answer<i32> {
        let &Wakeup { wakee, waker, kind, .. } = wakeup;
        self.all_idleness(world)?;
        self.task_state(world, wakee)?;
        let curr = world.curr(waker);
        if let Some(curr) = curr {
            self.task_state(world, curr)?;
        }
        self.present(world)?;
        let flags = match kind {
            WakeKind::Wake => 0,
            WakeKind::WakeSync => SYNC,
            WakeKind::Fork => FORK,
            WakeKind::Exec => EXEC,
        };
        let flags = flags | if curr.is_none() { IRQ } else { 0 };
        let id = self.id(wakee)?;
        let to = self.class.select(number(waker), id, flags);
        done("select", to)?;
        Ok(to)
    }

    /// A task that is not queued goes to another CPU.
    pub(crate) fn migrate(&mut self, world: &World, task: TaskId, to: CpuId) -> Answer {
        let id = self.id(task)?;
        let from = self.at[task.idx()];
        self.clock(world, from)?;
        let this = number(world.this_cpu());
        done("migrate", self.class.migrate(this, id, number(to)))?;
        self.at[task.idx()] = to;
        Ok(())
    }

    /// A task begins, as a child of `parent` or of nobody. Whom nobody has forked inherits from who started the program
    /// how often it has changed whom it wakes, and the tick in which that was halved last (`flips`).
    pub(crate) fn begin(
        &mut self,
        world: &World,
        cpu: CpuId,
        parent: Option<TaskId>,
        task: TaskId,
        flips: (u32, u64),
    ) -> Answer {
        self.clock(world, cpu)?;
        let id = self.fork(world, cpu, task)?;
        if parent.is_none() {
            done("flips", self.class.flips(number(cpu), id, flips.0, flips.1))?;
        }
        Ok(())
    }

    /// A task that is older than the run sleeps on `cpu`.
    pub(crate) fn asleep(
        &mut self,
        world: &World,
        cpu: CpuId,
        task: TaskId,
        flips: (u32, u64),
    ) -> Answer {
        self.begin(world, cpu, None, task, flips)?;
        let id = self.id(task)?;
        done("asleep", self.class.asleep(number(cpu), id))
    }

    /// A task is put on the runqueue of `cpu`.
    pub(crate) fn enqueue(
        &mut self,
        world: &World,
        cpu: CpuId,
        task: TaskId,
        why: Enqueue,
    ) -> Answer {
        let id = self.id(task)?;
        if self.at[task.idx()] != cpu {
            self.migrate(world, task, cpu)?;
        }
        self.clock(world, cpu)?;
        self.flag(world, cpu)?;
        let why = match why {
            Enqueue::Wakeup { .. } => 0,
            Enqueue::New => 1,
            Enqueue::Moved => 2,
            Enqueue::Delayed => 3,
        };
        let from = number(world.this_cpu());
        done("enqueue", self.class.enqueue(number(cpu), id, why, from))
    }

    /// A task is taken from the runqueue of `cpu`.
    pub(crate) fn dequeue(
        &mut self,
        world: &World,
        cpu: CpuId,
        task: TaskId,
        why: Dequeue,
    ) -> Answer<Dequeued> {
        self.clock(world, cpu)?;
        self.flag(world, cpu)?;
        let id = self.id(task)?;
        let how = match why {
            Dequeue::Moved => {
                // The stopper counts when it is asked whether only tasks of `SCHED_IDLE` stay.
                self.idleness(world, cpu)?;
                MOVED
            }
            Dequeue::Sleep if world.task(task).state == TaskState::Dead => {
                self.task_state(world, task)?;
                EXIT
            }
            Dequeue::Sleep => SLEEP,
        };
        let stays = self.class.dequeue(number(cpu), id, how);
        done("dequeue", stays)?;
        Ok(if stays == 0 { Dequeued::Left } else { Dequeued::Delayed })
    }

    /// The next task of `cpu`; none if there is nothing to run.
    pub(crate) fn pick(&mut self, world: &World, cpu: CpuId) -> Answer<Option<TaskId>> {
        self.clock(world, cpu)?;
        let picked = self.class.pick(number(cpu), 0);
        if picked == IDLE {
            return Ok(None);
        }
        done("pick", picked)?;
        let task = self.task_of(picked);
        task.map(Some).ok_or_else(|| format!("pick: found task {picked}, which has not begun"))
    }

    /// Whether a task that was just queued on `cpu` preempts the current one.
    pub(crate) fn preempt(
        &mut self,
        world: &World,
        cpu: CpuId,
        wakee: TaskId,
        why: Enqueue,
    ) -> Answer<Preempt> {
        self.clock(world, cpu)?;
        self.flag(world, cpu)?;
        let id = self.id(wakee)?;
        let how = if why == Enqueue::New { FORK } else { 0 };
        let level = self.class.preempt(number(cpu), id, how);
        done("preempt", level)?;
        Ok(answer_of(level))
    }

    /// A wakeup on `cpu` is done.
    pub(crate) fn woken(&mut self, world: &World, cpu: CpuId) -> Answer {
        self.clock(world, cpu)?;
        done("woken", self.class.woken(number(cpu), 0))
    }

    /// The tick of `cpu`.
    pub(crate) fn tick(&mut self, world: &World, cpu: CpuId) -> Answer<Preempt> {
        self.clock(world, cpu)?;
        self.flag(world, cpu)?;
        let level = self.class.tick(number(cpu));
        done("tick", level)?;
        Ok(answer_of(level))
    }

    /// The slice timer of `cpu` has expired (`hrtick()`).
    pub(crate) fn slice(&mut self, world: &World, cpu: CpuId) -> Answer {
        self.clock(world, cpu)?;
        done("slice", self.class.slice(number(cpu)))
    }

    /// What other CPUs have asked `cpu` to call (`flush_smp_call_function_queue()`): its slice timer starts, it balances for
    /// the idle CPUs.
    pub(crate) fn calls(&mut self, world: &World, cpu: CpuId) -> Answer {
        self.idleness(world, cpu)?;
        self.flag(world, cpu)?;
        self.present(world)?;
        done("calls", self.class.calls(number(cpu)))
    }

    /// The current task of `cpu` lets others run first (`yield_task_fair()`).
    pub(crate) fn yields(&mut self, world: &World, cpu: CpuId) -> Answer {
        self.clock(world, cpu)?;
        self.idleness(world, cpu)?;
        done("yield", self.class.yield_task(number(cpu)))
    }

    /// The nice value of a task has changed.
    pub(crate) fn nice(&mut self, world: &World, task: TaskId) -> Answer<Preempt> {
        let row = world.task(task);
        let id = self.id(task)?;
        self.clock(world, row.cpu)?;
        self.flag(world, row.cpu)?;
        let level = self.class.nice(number(world.this_cpu()), id, i32::from(row.nice));
        done("nice", level)?;
        Ok(answer_of(level))
    }

    /// The current task of `cpu` returns to user mode, and does its task work first.
    pub(crate) fn work(&mut self, world: &World, cpu: CpuId) -> Answer {
        self.clock(world, cpu)?;
        done("work", self.class.work(number(cpu)))
    }

    /// A task has ended, and its CPU has switched away from it.
    pub(crate) fn dead(&mut self, world: &World, task: TaskId) -> Answer {
        let id = self.id(task)?;
        done("dead", self.class.dead(number(world.task(task).cpu), id))?;
        self.ids[task.idx()] = None;
        Ok(())
    }

    /// The stopper is current on `cpu`; the task that was is put.
    pub(crate) fn stopper(&mut self, world: &World, cpu: CpuId) -> Answer {
        self.clock(world, cpu)?;
        done("stopper", self.class.stopper(number(cpu)))
    }

    /// The idle task leaves `cpu`: if that is to the stopper, no task was picked.
    pub(crate) fn idle_left(&mut self, world: &World, cpu: CpuId) -> Answer {
        if world.rq(cpu).stopper && self.class.curr(number(cpu)) == IDLE {
            return self.stopper(world, cpu);
        }
        Ok(())
    }

    /// The idle task runs on `cpu`. Whether its core is idle depends on the other threads.
    pub(crate) fn idle(&mut self, world: &World, cpu: CpuId) -> Answer {
        self.clock(world, cpu)?;
        let core = world.topology().smt_mask(cpu);
        core.iter().try_for_each(|thread| self.idleness(world, thread))?;
        done("idle", self.class.idle(number(cpu)))
    }

    /// Tasks leave the queue of `from` for that of `to`, as a pass of another balancer has decided; each is enqueued there
    /// later.
    pub(crate) fn detach(
        &mut self,
        world: &World,
        tasks: &[TaskId],
        from: CpuId,
        to: CpuId,
    ) -> Answer {
        for &task in tasks {
            self.clock(world, from)?;
            self.flag(world, from)?;
            let id = self.id(task)?;
            done("dequeue", self.class.dequeue(number(from), id, MOVED))?;
            self.migrate(world, task, to)?;
        }
        Ok(())
    }
}

pub(crate) fn answer_of(level: i32) -> Preempt {
    match level {
        0 => Preempt::No,
        1 => Preempt::Lazy,
        _ => Preempt::Hard,
    }
}
