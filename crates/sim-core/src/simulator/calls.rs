//! All calls of the policy, under the names that they have in `kernel/sched`, and what they ask for beside
//! their answers.

use simsched_topology::CpuId;

use super::state::Simulator;
use crate::ids::TaskId;
use crate::observer::Observer;
use crate::policy::{
    BalanceStep, Cx, Dequeue, Dequeued, Enqueue, Look, Placement, Policy, Preempt, Trigger, Wakeup,
};
use crate::workload::Workload;

/// Calls in the world as it is, which ask for the actions of the simulator.
macro_rules! calls {
    ($($name:ident = $method:ident($($arg:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {
        impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
            $(
                #[doc = concat!("[`Policy::", stringify!($method), "`].")]
                #[inline]
                pub(super) fn $name(&mut self, $($arg: $kind),*) $(-> $answer)? {
                    let cx = Cx::new(&self.world, &mut self.actions);
                    let answer = self.policy.$method(cx, $($arg),*);
                    self.after_call();
                    answer
                }
            )*
        }
    };
}

calls! {
    select_task_rq = select_task_rq(wakeup: &Wakeup) -> Placement;
    migrate_task_rq = migrate_task_rq(task: TaskId, to: CpuId);
    task_fork = task_fork(cpu: CpuId, parent: Option<TaskId>, child: TaskId);
    task_asleep = task_asleep(cpu: CpuId, task: TaskId);
    enqueue_task = enqueue(cpu: CpuId, task: TaskId, why: Enqueue);
    dequeue_task = dequeue(cpu: CpuId, task: TaskId, why: Dequeue) -> Dequeued;
    pick_next_task = pick_next(cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId>;
    put_prev_task = put_prev_task(cpu: CpuId, prev: TaskId);
    wakeup_preempt = wakeup_preempt(cpu: CpuId, wakee: TaskId, why: Enqueue) -> Preempt;
    task_woken = task_woken(cpu: CpuId);
    task_tick = task_tick(cpu: CpuId, curr: TaskId) -> Preempt;
    task_work_run = task_work_run(cpu: CpuId, task: TaskId) -> Look;
    yield_task = yield_task(cpu: CpuId, curr: TaskId);
    reweight_task = reweight_task(task: TaskId) -> Preempt;
    task_dead = task_dead(task: TaskId);
    idle_entered = idle_entered(cpu: CpuId);
    newidle_balance = newly_idle(cpu: CpuId) -> bool;
    trigger_load_balance = trigger_load_balance(cpu: CpuId) -> Trigger;
    nohz_csd_func = nohz_csd_func(cpu: CpuId) -> bool;
    run_rebalance_domains = run_rebalance_domains(cpu: CpuId);
    nohz_run_idle_balance = nohz_run_idle_balance(cpu: CpuId) -> bool;
    nohz_balance_enter_idle = nohz_balance_enter_idle(cpu: CpuId);
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// [`Policy::balance_step`], into the moves of the simulator.
    pub(super) fn balance_step(&mut self, cpu: CpuId) -> BalanceStep {
        self.moves.tasks.clear();
        let cx = Cx::new(&self.world, &mut self.actions);
        let step = self.policy.balance_step(cx, cpu, &mut self.moves);
        self.after_call();
        step
    }

    /// [`Policy::active_load_balance_cpu_stop`], into the moves of the simulator.
    pub(super) fn active_load_balance_cpu_stop(&mut self, cpu: CpuId) {
        self.moves.tasks.clear();
        let cx = Cx::new(&self.world, &mut self.actions);
        self.policy.active_load_balance_cpu_stop(cx, cpu, &mut self.moves);
        self.after_call();
    }

    /// Makes true what a call has asked for as soon as it has returned, in the name of the CPU that made it:
    /// later another CPU would find it, send an interrupt and pay for it.
    #[inline(always)]
    fn after_call(&mut self) {
        if self.actions.changes_tasks() {
            self.change_tasks();
        }
    }

    /// Sleepers leave before anybody is told to go, and who is told is told in the order of the CPUs: each
    /// interrupt is paid by the CPU that made the call, and delays the next.
    #[inline(never)]
    fn change_tasks(&mut self) {
        let cpu = self.world.this_cpu();
        while let Some(task) = self.actions.next_blocked() {
            let row = self.world.task_mut(task);
            (row.on_rq, row.delayed) = (false, false);
            let at = row.cpu;
            self.world.rq_update(at, |rq| rq.nr_running -= 1);
        }
        while let Some(at) = self.actions.next_resched() {
            if self.world.curr(at).is_some() {
                self.resched_curr(cpu, at);
            }
        }
    }
}
