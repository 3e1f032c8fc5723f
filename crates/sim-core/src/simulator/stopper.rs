//! The stopper of a CPU (`migration/N`), which runs before every task and moves tasks that others
//! cannot move: for active balance, a new affinity (`affinity`) and a new program.

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::{Simulator, Step};
use crate::ids::TaskId;
use crate::names::{Cause, Reason, ReschedCause};
use crate::observer::{Cost, Observer, Tracepoint};
use crate::policy::{Dequeue, Dequeued, Policy, WakeKind, Wakeup};
use crate::workload::Workload;

/// What a stopper is to do (`struct cpu_stop_work`).
#[derive(Clone, Copy, Debug)]
pub(super) enum StopWork {
    /// `active_load_balance_cpu_stop()`.
    ActiveBalance,
    /// `migration_cpu_stop()`.
    Migration(Migration),
}

/// A task that is to leave its CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Migration {
    pub task: TaskId,
    pub to: CpuId,
    pub cause: Cause,
    pub reason: Reason,
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `stop_one_cpu_nowait()`: gives `work` to the stopper of `cpu`. It is queued there at once,
    /// also where a task would be handed over.
    pub(super) fn stop(&mut self, from: CpuId, cpu: CpuId, work: StopWork) {
        self.desk(cpu).works.push_back(work);
        if self.world.rq(cpu).stopper {
            return;
        }
        self.world.update_rq_clock(cpu);
        self.world.rq_update(cpu, |rq| {
            rq.nr_running += 1;
            rq.stopper = true;
        });
        self.resched_curr(from, cpu, ReschedCause::Other);
        self.skip_clock_update_if_resched(cpu);
        self.task_woken(cpu);
    }

    /// In `schedule()`: nobody comes before the stopper. `prev` is put, even if it was dequeued.
    pub(super) fn switch_to_stopper(&mut self, cpu: CpuId, prev: Option<TaskId>, runnable: bool) {
        match prev {
            Some(prev) => self.put_prev_task(cpu, prev),
            None if self.world.rq(cpu).stopping => {}
            None => self.idle_left(cpu),
        }
        let ns = self.stopper_prices().0;
        self.world.rq_update(cpu, |rq| {
            rq.curr = None;
            rq.stopping = true;
        });
        if let Some(prev) = prev {
            self.leaves_caches(cpu, prev);
        }
        self.change_task(cpu, None);
        let preempted = runnable && prev.is_some();
        self.emit(Tracepoint::Switch { cpu, prev, next: None, preempted });
        self.emit(Tracepoint::Stopper { cpu, begins: true });
        self.desk(cpu).prev = prev;
        let ns = self.jittered(cpu, ns);
        self.begin(cpu, Stage::Switch, Cost::ContextSwitch, ns);
    }

    /// The switch to the stopper, and its work: the price of a stopper includes its two switches.
    fn stopper_prices(&self) -> (u32, u32) {
        let list = self.prices.list();
        let switch = list.context_switch_idle.min(list.stopper / 2);
        (switch, list.stopper - 2 * switch)
    }

    /// The switch is over; the stopper is closed to interrupts.
    pub(super) fn begin_stopper(&mut self, cpu: CpuId) {
        let ns = self.stopper_prices().1;
        let ns = self.jittered(cpu, ns);
        self.begin(cpu, Stage::Stopper, Cost::Balance, ns);
    }

    /// A work of the stopper has taken its time: now it takes effect. After the last the stopper
    /// sleeps, and the CPU goes through `schedule()`.
    pub(super) fn stopper_done(&mut self, cpu: CpuId) -> Step {
        self.world.update_rq_clock(cpu);
        match self.desk(cpu).works.pop_front().expect("a stopper has work") {
            StopWork::ActiveBalance => {
                self.moves.cause = Cause::Active;
                self.active_load_balance_cpu_stop(cpu);
                if !self.moves.tasks.is_empty() {
                    self.move_tasks(cpu)?;
                }
            }
            StopWork::Migration(migration) => self.migration_cpu_stop(cpu, migration),
        }
        if !self.desks[cpu.idx()].works.is_empty() {
            self.begin_stopper(cpu);
            return Ok(());
        }
        self.world.rq_update(cpu, |rq| {
            rq.nr_running -= 1;
            rq.stopper = false;
        });
        self.desk(cpu).in_schedule = true;
        self.schedule(cpu)
    }

    /// The CPU switches away from its stopper.
    pub(super) fn stopper_ends(&mut self, cpu: CpuId) {
        self.emit(Tracepoint::Stopper { cpu, begins: false });
        self.world.rq_update(cpu, |rq| rq.stopping = false);
    }

    /// `migration_cpu_stop()`: moves the task, if it still waits here and still has to go.
    fn migration_cpu_stop(&mut self, cpu: CpuId, migration: Migration) {
        let Migration { task, cause, .. } = migration;
        let row = self.world.task(task);
        let stays = cause == Cause::Affinity && self.world.is_allowed(task, cpu);
        if row.on_rq && row.cpu == cpu && !stays && self.world.is_allowed(task, migration.to) {
            self.move_queued_task(cpu, migration);
        }
    }

    /// `move_queued_task()`.
    pub(super) fn move_queued_task(&mut self, mover: CpuId, migration: Migration) {
        let Migration { task, to, cause, reason } = migration;
        let from = self.world.task(task).cpu;
        self.world.update_rq_clock(from);
        if self.dequeue_task(from, task, Dequeue::Moved) == Dequeued::Delayed {
            self.policy_broke(format!("delayed task {task}, which is moved"));
        }
        if !self.world.task(task).on_rq {
            self.policy_broke(format!("let task {task} leave, which is moved"));
            return;
        }
        self.count_task(task, -1);
        self.world.task_mut(task).migrating = true;
        self.migrate_task_rq(task, to);
        self.world.task_mut(task).cpu = to;
        let domain = self.policy.domain_of(from, to);
        self.emit(Tracepoint::Migrate { task, from, to, cause, reason, domain });
        self.world.update_rq_clock(to);
        self.attach_task(mover, to, task);
    }

    /// `sched_exec()`: before it loads a new program, a task has little in the caches to lose; if the
    /// policy wants it elsewhere, the stopper takes it there.
    pub(super) fn sched_exec(&mut self, cpu: CpuId, task: TaskId) {
        let wakeup = Wakeup { wakee: task, prev: cpu, waker: cpu, kind: WakeKind::Exec };
        let placement = self.select_task_rq(&wakeup);
        self.cpus[cpu.idx()].debt += self.prices.scan(&placement);
        if placement.cpu == cpu || !self.world.is_allowed(task, placement.cpu) {
            return;
        }
        self.cpus[cpu.idx()].debt += self.prices.list().wakeup;
        let (to, reason) = (placement.cpu, placement.reason);
        let migration = Migration { task, to, cause: Cause::Exec, reason };
        self.stop(cpu, cpu, StopWork::Migration(migration));
    }
}
