//! What each tracepoint of the simulation is to the recorder.

use simsched_core::{Cost, Observer, SimTime, TaskState, Tracepoint, Wants, World};

use super::Recorder;
use crate::event::{PrevState, What};

impl Observer for Recorder {
    fn wants(&self) -> Wants {
        if self.keeps { Wants::CACHE_WORK } else { Wants::NOTHING }
    }

    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        match tracepoint {
            Tracepoint::Waking { wakee, waker, .. } => self.waking(world, wakee, waker),
            Tracepoint::Wakeup { wakee, cpu, .. } => self.wakeup(world, wakee, cpu),
            Tracepoint::Switch { cpu, prev, next, preempted } => {
                let state = match prev.map(|task| world.task(task)) {
                    Some(row) if row.state == TaskState::Dead => PrevState::Dead('Z'),
                    Some(row) if !preempted => PrevState::asleep(row.uninterruptible),
                    _ => PrevState::Runnable,
                };
                self.switched(world, cpu, [prev, next], state);
                self.switch(world, cpu, prev, next);
            }
            Tracepoint::Stopper { cpu, begins } => self.stopper(cpu, begins),
            Tracepoint::Running { task, .. } => self.rows[task.idx()].named = true,
            Tracepoint::Migrate { task, from, to, cause, reason, .. } => {
                self.migrate(world, task, [from, to], cause, reason);
            }
            Tracepoint::CacheWork { task, home, nr_running_avg } => {
                self.cache_work(world, task, home, nr_running_avg);
            }
            Tracepoint::Fork { parent, child } => {
                self.rows[child.idx()].parent = parent;
                if let Some(parent) = parent {
                    let (cpu, parent) = (world.task(parent).cpu, self.task(world, parent));
                    let child = self.task(world, child);
                    self.add(world, cpu, What::Fork { parent, child });
                }
            }
            Tracepoint::Exit { task } => {
                let row = &mut self.rows[task.idx()].times;
                row.exec_at_exit = Some(row.exec);
                let (cpu, task) = (world.task(task).cpu, self.task(world, task));
                self.add(world, cpu, What::Exit { task });
            }
            Tracepoint::Charge { cpu, what: Cost::Tick, amount } => {
                let tick = SimTime(world.now().get().saturating_sub(amount.0));
                self.update_curr(cpu, tick);
            }
            Tracepoint::Mark { task, mark } => self.mark(world, task, mark),
            _ => {}
        }
    }
}
