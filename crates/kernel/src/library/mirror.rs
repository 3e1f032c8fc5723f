//! The state of the simulation that the kernel's functions look at, brought there before a question.

use simsched_core::{TaskId, World};
use simsched_topology::CpuId;

use super::{Answer, Library, done, number};

/// What the library has of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mirrored {
    /// The stopper counts beside the tasks that are queued.
    stopper: bool,
    /// So does a task that has left.
    leaving: bool,
    /// Wakeups are on its list.
    pending: bool,
    /// The exit latency of its idle state, in us.
    latency: Option<u32>,
}

impl Library {
    /// The clocks of the runqueue of `cpu`, as the simulation has them, and the present.
    pub(crate) fn clock(&mut self, world: &World, cpu: CpuId) -> Answer {
        let rq = world.rq(cpu);
        done("clock", self.class.clock(number(cpu), rq.clock, rq.clock_task, world.jiffies()))?;
        // For the limit of writes to a group's load, which reads no clock of a runqueue.
        self.present(world)
    }

    /// The present, for those who read a clock and not that of a runqueue.
    pub(crate) fn present(&mut self, world: &World) -> Answer {
        done("time", self.class.time(world.sched_clock(), world.jiffies()))
    }

    /// Whether the current task of `cpu` is to be rescheduled.
    pub(crate) fn flag(&mut self, world: &World, cpu: CpuId) -> Answer {
        let rq = world.rq(cpu);
        let level = if rq.need_resched { 2 } else { i32::from(rq.need_resched_lazy) };
        done("flag", self.class.flag(number(cpu), level))
    }

    /// What idleness of `cpu` depends on, where it has changed.
    pub(crate) fn idleness(&mut self, world: &World, cpu: CpuId) -> Answer {
        let (rq, last) = (world.rq(cpu), &mut self.mirrored[cpu.idx()]);
        if last.stopper != rq.stopper {
            done("count", self.class.count(number(cpu), if rq.stopper { 1 } else { -1 }))?;
            last.stopper = rq.stopper;
        }
        if last.leaving != rq.leaving {
            done("leaving", self.class.leaving(number(cpu), if rq.leaving { 1 } else { -1 }))?;
            last.leaving = rq.leaving;
        }
        if last.pending != rq.pending {
            done("pending", self.class.pending(number(cpu), i32::from(rq.pending)))?;
            last.pending = rq.pending;
        }
        if last.latency != rq.exit_latency_us {
            last.latency = rq.exit_latency_us;
            let latency = last.latency.map_or(-1, |us| i32::try_from(us).unwrap_or(i32::MAX));
            done("idle_state", self.class.idle_state(number(cpu), latency))?;
        }
        Ok(())
    }

    /// What the idleness of all CPUs depends on, where it has changed since this was last called.
    pub(crate) fn all_idleness(&mut self, world: &World) -> Answer {
        let seen = std::mem::replace(&mut self.rq_changes, world.rq_changes());
        match world.rq_changed_since(seen) {
            Some(mut changed) => changed.try_for_each(|cpu| self.idleness(world, cpu)),
            None => world.topology().cpus().iter().try_for_each(|cpu| self.idleness(world, cpu)),
        }
    }

    /// How many tasks are queued on `cpu`, without those that count beside them.
    pub(crate) fn nr_tasks(&mut self, cpu: CpuId) -> i64 {
        let beside = &self.mirrored[cpu.idx()];
        let beside = i64::from(beside.stopper) + i64::from(beside.leaving);
        i64::from(self.class.cpu(number(cpu)).nr_running) - beside
    }

    /// `prev` was put, and its CPU has begun to switch away from it: until that is over, nobody may move it.
    pub(crate) fn leaves(&mut self, world: &World, prev: TaskId) -> Answer {
        if !world.task(prev).on_cpu {
            return Ok(());
        }
        if !self.leaving.contains(&prev) {
            self.leaving.push(prev);
        }
        let id = self.id(prev)?;
        done("on_cpu", self.class.on_cpu(id, 1))
    }

    /// Tasks that their CPUs have switched away from since this was last called.
    pub(crate) fn have_left(&mut self, world: &World) -> Answer {
        let mut at = 0;
        while let Some(&task) = self.leaving.get(at) {
            if world.task(task).on_cpu {
                at += 1;
                continue;
            }
            self.leaving.swap_remove(at);
            if let Ok(id) = self.id(task) {
                done("on_cpu", self.class.on_cpu(id, 0))?;
            }
        }
        Ok(())
    }

    /// Where all tasks may run, if that has changed since this was last called.
    pub(crate) fn affinities(&mut self, world: &World) -> Answer {
        let changes = world.tasks().affinity_changes();
        if std::mem::replace(&mut self.affinity_changes, changes) == changes {
            return Ok(());
        }
        let begun: Vec<TaskId> =
            (0..self.ids.len()).filter(|&task| self.ids[task].is_some()).map(TaskId::new).collect();
        begun.into_iter().try_for_each(|task| self.task_state(world, task))
    }

    /// Where `task` may run, and whether it dies, where that has changed.
    pub(crate) fn task_state(&mut self, world: &World, task: TaskId) -> Answer {
        let id = self.id(task)?;
        if world.task(task).exiting && !std::mem::replace(&mut self.exiting[task.idx()], true) {
            done("exiting", self.class.exiting(id))?;
        }
        let mask = *world.allowed(task).unwrap_or(world.topology().cpus());
        if self.masks[task.idx()] != Some(mask) {
            let mut words = vec![0; world.topology().nr_cpus().div_ceil(64)];
            for cpu in mask.iter() {
                words[cpu.idx() / 64] |= 1 << (cpu.idx() % 64);
            }
            done("affinity", self.class.affinity(id, &words))?;
            self.masks[task.idx()] = Some(mask);
        }
        Ok(())
    }
}
