//! `schedule`: dequeue, pick, context switch.

use simsched_topology::CpuId;

use super::cpu::{Border, NeedResched, Progress, Stage};
use super::state::{Simulator, Step};
use crate::error::SimError;
use crate::ids::TaskId;
use crate::observer::{Cost, Observer, Tracepoint};
use crate::policy::Policy;
use crate::workload::Workload;
use crate::world::TaskState;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Enters `schedule()`: between here and the dequeue a sleeper can still be woken where it is.
    pub(super) fn enter_schedule(&mut self, cpu: CpuId) {
        self.cpu(cpu).polling = false;
        self.desk(cpu).in_schedule = true;
        let list = self.prices.list();
        let leaves = self.world.curr(cpu).is_some_and(|task| self.is_leaving(task));
        let ns = if leaves { list.sleep_entry } else { list.sleep_entry + list.pick };
        if let Some(usual) = self.dispatch.filter(|_| self.cpus[cpu.idx()].task.is_none()) {
            let woken = self.desks[cpu.idx()].woken.take();
            let ns = woken.and_then(|task| self.workload.dispatch(task)).unwrap_or(usual);
            // It was measured at the speed that the CPU had.
            if self.actions.has_costs() {
                self.pay_costs();
            }
            self.begin_for(cpu, Stage::Schedule, Cost::ContextSwitch, ns);
            return;
        }
        let ns = self.jittered(cpu, ns);
        self.begin(cpu, Stage::Schedule, Cost::ContextSwitch, ns);
    }

    /// `__schedule()`: the current task leaves if it sleeps, and the policy picks the next.
    pub(super) fn schedule(&mut self, cpu: CpuId) -> Step {
        if self.desks[cpu.idx()].rq_holder.is_some() {
            // Spins at the lock of its runqueue.
            self.begin_pause(cpu, Stage::Schedule, Cost::ContextSwitch, 0);
            return Ok(());
        }
        self.world.rq_mut(cpu).sched_count += 1;
        self.world.update_rq_clock_unless_skipped(cpu);
        let locked = self.lock_rq(cpu, cpu, 0);
        self.stall(cpu, Cost::RqLock, locked);
        let prev = self.world.curr(cpu);
        let Some(task) = prev.filter(|&task| self.is_leaving(task)) else {
            return self.pick(cpu, prev, true);
        };
        if !self.deactivate(cpu, task) {
            return self.uncounted(cpu);
        }
        let leave = if self.recorded { self.workload.leave(task) } else { None };
        match (leave, self.prices.list().dequeue_count) {
            (None, 0) => self.uncounted(cpu),
            (leave, ns) => {
                let ns = leave.unwrap_or_else(|| self.jittered(cpu, ns));
                self.begin(cpu, Stage::Dequeue, Cost::ContextSwitch, ns);
                Ok(())
            }
        }
    }

    /// Who was current has left its runqueue, as of the clock of that instant: now the next is chosen.
    pub(super) fn pick_done(&mut self, cpu: CpuId) -> Step {
        let prev = self.world.curr(cpu);
        self.pick(cpu, prev, self.is_back(prev))
    }

    /// `pick_next_task()`, and the switch; `stays` is whether `prev` is still queued.
    fn pick(&mut self, cpu: CpuId, prev: Option<TaskId>, stays: bool) -> Step {
        self.set_need_resched(cpu, NeedResched::NO);
        if self.world.rq(cpu).stopper {
            self.switch_to_stopper(cpu, prev, stays);
            return Ok(());
        }
        if self.stays_idle(cpu, prev) {
            return self.idle_again(cpu);
        }
        let next = self.pick_next_task(cpu, prev);
        if let Some(task) = next {
            self.check_pick(cpu, task)?;
        } else {
            self.check_idle(cpu)?;
            if self.newidle_begins(cpu) {
                return self.balance(cpu);
            }
        }
        self.context_switch(cpu, prev, next, stays)
    }

    /// Whether `cpu`, which is idle, has nothing to choose from (`__schedule(SM_IDLE)`).
    fn stays_idle(&self, cpu: CpuId, prev: Option<TaskId>) -> bool {
        let rq = self.world.rq(cpu);
        self.rules.sm_idle && prev.is_none() && !rq.stopping && rq.nr_running == 0
    }

    /// The idle task goes on, without having been put or picked: its CPU has not become idle.
    fn idle_again(&mut self, cpu: CpuId) -> Step {
        let desk = self.desk(cpu);
        (desk.idle_begins, desk.idle_ticked) = (true, false);
        self.schedule_ends(cpu);
        self.back_in(cpu)
    }

    /// The newly idle CPU has tried to get work: the rest of `schedule()`. Whoever was put here
    /// meanwhile has asked for the CPU in vain.
    pub(super) fn newidle_done(&mut self, cpu: CpuId) -> Step {
        let prev = self.world.curr(cpu);
        // Who is throttled is off the CPU and runnable.
        let stays = self.is_back(prev);
        self.set_need_resched(cpu, NeedResched::NO);
        if self.world.rq(cpu).stopper {
            self.switch_to_stopper(cpu, prev, stays);
            return Ok(());
        }
        if self.world.rq(cpu).nr_running == 0 {
            return self.context_switch(cpu, prev, None, stays);
        }
        let next = self.pick_next_task(cpu, prev);
        match next {
            Some(task) => self.check_pick(cpu, task)?,
            None => self.check_idle(cpu)?,
        }
        self.context_switch(cpu, prev, next, stays)
    }

    /// The choice is made: switches, unless it is who ran before.
    #[inline]
    fn context_switch(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
        runnable: bool,
    ) -> Step {
        if prev == next && !self.world.rq(cpu).stopping {
            if next.is_none() {
                self.idle_begins(cpu);
            }
            self.owe(cpu, self.arms_timers(cpu, 0));
            self.schedule_ends(cpu);
            return self.back_in(cpu);
        }
        self.switch_to(cpu, prev, next, runnable);
        Ok(())
    }

    fn idle_begins(&mut self, cpu: CpuId) {
        self.world.rq_mut(cpu).sched_goidle += 1;
        self.idle_entered(cpu);
        let desk = self.desk(cpu);
        (desk.idle_begins, desk.idle_ticked) = (true, false);
    }

    fn is_leaving(&self, task: TaskId) -> bool {
        matches!(self.world.task(task).state, TaskState::Sleeping | TaskState::Dead)
    }

    fn check_pick(&self, cpu: CpuId, task: TaskId) -> Step {
        let row = self.world.task(task);
        let elsewhere = row.on_cpu && self.world.curr(cpu) != Some(task);
        if row.on_rq && row.cpu == cpu && !elsewhere && !row.throttled {
            return Ok(());
        }
        let why = if row.throttled { "although it is throttled" } else { "where it is not queued" };
        let contract = format!("picked task {task} on CPU {cpu}, {why}");
        Err(SimError::PolicyBroke { at: self.world.now(), contract }.into())
    }

    fn check_idle(&self, cpu: CpuId) -> Step {
        let waiting = self.world.rq(cpu).nr_running;
        if waiting == 0 {
            return Ok(());
        }
        let contract = format!("picked nobody on CPU {cpu}, where {waiting} tasks are runnable");
        Err(SimError::PolicyBroke { at: self.world.now(), contract }.into())
    }

    fn switch_to(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
        runnable: bool,
    ) {
        let proc = |task: TaskId| self.world.task(task).proc;
        let ns = self.prices.switch(prev.map(proc), next.map(proc));
        if self.world.rq(cpu).stopping {
            self.stopper_ends(cpu);
        } else if prev.is_none() {
            self.idle_left(cpu);
        } else if let (Some(prev), None) = (prev, next) {
            self.put_prev_task(cpu, prev);
        }
        self.world.rq_update(cpu, |rq| rq.curr = next);
        if let Some(prev) = prev {
            self.leaves_caches(cpu, prev);
        }
        self.change_task(cpu, next);
        if let Some(task) = next {
            self.world.task_mut(task).on_cpu = true;
        } else {
            self.idle_begins(cpu);
        }
        let preempted = runnable && prev.is_some();
        self.emit(Tracepoint::Switch { cpu, prev, next, preempted });
        self.desk(cpu).prev = prev;
        let ns = ns + self.arms_timers(cpu, ns);
        let ns = self.jittered(cpu, ns);
        self.begin(cpu, Stage::Switch, Cost::ContextSwitch, ns);
    }

    /// The progress of the current task goes back to the table, that of the next comes from there.
    pub(super) fn change_task(&mut self, cpu: CpuId, next: Option<TaskId>) {
        let row = &mut self.cpus[cpu.idx()];
        if let Some(prev) = std::mem::replace(&mut row.task, next) {
            self.tasks[prev.idx()] = row.run;
        }
        if let Some(next) = next {
            row.run = self.tasks[next.idx()];
        }
    }

    /// `finish_task_switch()`: the previous task is free to run elsewhere.
    pub(super) fn finish_switch(&mut self, cpu: CpuId) -> Step {
        if let Some(prev) = self.desk(cpu).prev.take() {
            self.world.task_mut(prev).on_cpu = false;
            if self.world.task(prev).state == TaskState::Dead {
                self.task_dead(prev);
            }
        }
        self.schedule_ends(cpu);
        if let Some(task) = self.world.curr(cpu) {
            self.refill(cpu, task);
            self.emit(Tracepoint::Running { cpu, task });
            self.cpu(cpu).run.border.add(Border::SWITCHED);
        } else if self.world.rq(cpu).stopping {
            self.begin_stopper(cpu);
            return Ok(());
        } else {
            // Interrupts that have waited come before the way to the idle state.
            self.desk(cpu).to_idle_state = self.prices.list().idle_entry > 0;
        }
        self.back_in(cpu)
    }

    /// `__schedule()` is over on `cpu`: timers count from here that were armed in it.
    #[inline]
    fn schedule_ends(&mut self, cpu: CpuId) {
        let desk = self.desk(cpu);
        desk.in_schedule = false;
        if !desk.deferred_timers.is_empty() {
            self.start_deferred_timers(cpu);
        }
    }

    /// The CPU is open to interrupts again, with its current task or its idle task.
    pub(super) fn back_in(&mut self, cpu: CpuId) -> Step {
        let row = &self.cpus[cpu.idx()];
        if row.deferred.any() {
            self.take_deferred(cpu);
            return Ok(());
        }
        match row.task {
            None => self.idle_loop(cpu),
            Some(_) if !self.desks[cpu.idx()].wakes.is_empty() => self.run_wakes(cpu),
            Some(task) => self.resume_task(cpu, task),
        }
    }

    /// Goes on with the current task where it was: its system call is over or has to wait, it comes
    /// back from an interrupt, or it has just got the CPU.
    pub(super) fn resume_task(&mut self, cpu: CpuId, task: TaskId) -> Step {
        let row = &self.cpus[cpu.idx()];
        let (progress, goes) = (row.run.progress, row.goes());
        let goes = goes && !self.lingers(cpu);
        match progress {
            Progress::Next if goes && self.in_turns() && self.pipe_op_ends(cpu) => {}
            Progress::Next | Progress::Under if goes => self.enter_schedule(cpu),
            Progress::Next => return self.next_op(cpu, task),
            Progress::Under if self.is_in_user(cpu) && self.task_work_begins(cpu, task) => {}
            Progress::Under => self.continue_op(cpu),
            Progress::Ended => {
                if !self.end_exit(cpu) {
                    self.world.task_mut(task).state = TaskState::Dead;
                    self.enter_schedule(cpu);
                }
            }
            Progress::Blocked | Progress::Timed => {
                if self.world.task(task).state == TaskState::Sleeping {
                    self.enter_schedule(cpu);
                } else {
                    self.retry_op(cpu);
                }
            }
        }
        Ok(())
    }
}
