//! The timers of sleeping tasks: which CPU has them, and when they expire.

use simsched_topology::CpuId;

use super::cpu::Progress;
use super::state::Simulator;
use crate::agenda::Event;
use crate::ids::TaskId;
use crate::observer::Observer;
use crate::policy::Policy;
use crate::time::{Nanos, SimTime};
use crate::workload::Workload;
use crate::world::TaskState;

/// No timer interrupt comes sooner than this after it was asked for, so that a sleep until an instant
/// that has passed is one nevertheless: the shortest span of a clock event device
/// (`cev_delta2ns()`, all versions).
pub(super) const MIN_DELTA: Nanos = Nanos::from_micros(1);

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `task` on `cpu` sleeps until its timer expires on the CPU `on`.
    pub(super) fn sleep_until(&mut self, cpu: CpuId, task: TaskId, at: SimTime, on: CpuId) {
        let run = &mut self.cpu(cpu).run;
        (run.progress, run.timer_cpu) = (Progress::Timed, on);
        let row = self.world.task_mut(task);
        (row.state, row.uninterruptible) = (TaskState::Sleeping, false);
        self.arm_timer(task, at);
    }

    /// Sets the timer of a sleeping task.
    pub(super) fn arm_timer(&mut self, task: TaskId, at: SimTime) {
        self.counters.timers += u32::from(!self.world.tasks().is_background(task));
        let slack = Nanos(u64::from(self.prices.list().timer_slack));
        let at = (at + slack).max(self.world.now() + MIN_DELTA);
        self.agenda.arm(Event::Timer(task), at);
        self.count_in_wheel(task, 1);
    }

    /// A timer of a thread of the kernel enters the wheel of its CPU, or leaves it. Those that may wait
    /// for the end of an idle time do not count (`get_next_timer_interrupt()`).
    pub(super) fn count_in_wheel(&mut self, task: TaskId, by: i32) {
        let tasks = self.world.tasks();
        if tasks.is_background(task) && !tasks.is_deferrable(task) {
            let cpu = self.tasks[task.idx()].timer_cpu;
            let wheel = &mut self.desk(cpu).wheel;
            *wheel = wheel.saturating_add_signed(by);
        }
    }

    /// The timer of a sleeper expires earlier, and on this CPU.
    pub(super) fn rouse(&mut self, cpu: CpuId, sleeper: TaskId, at: SimTime) {
        let event = Event::Timer(sleeper);
        let slack = Nanos(u64::from(self.prices.list().timer_slack));
        let at = (at + slack).max(self.world.now() + MIN_DELTA);
        if self.agenda.planned(event).is_some_and(|planned| at < planned) {
            self.count_in_wheel(sleeper, -1);
            self.tasks[sleeper.idx()].timer_cpu = cpu;
            self.count_in_wheel(sleeper, 1);
            self.agenda.arm(event, at);
        }
    }
}
