//! The calls of the policy that have a context, under the names that they have in `kernel/sched`. What they ask for is
//! made true behind each (`actions`).

use simsched_topology::CpuId;

use super::state::Simulator;
use super::watch::Locked;
use crate::ids::TaskId;
use crate::names::{CallId, TimerId};
use crate::observer::Observer;
use crate::policy::{
    BalanceStep, Cx, Dequeue, Dequeued, Enqueue, Look, Placement, Policy, Preempt, Trigger, Wakeup,
};
use crate::workload::Workload;

/// Calls in the world as it is, which ask for the actions of the simulator.
macro_rules! calls {
    ($($name:ident = $method:ident($($arg:ident: $kind:ty),*) $(-> $answer:ty)?, $locked:expr;)*) => {
        impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
            $(
                #[doc = concat!("`", stringify!($method), "` of the policy.")]
                #[inline]
                pub(super) fn $name(&mut self, $($arg: $kind),*) $(-> $answer)? {
                    let cx = Cx::new(&self.world, &mut self.actions);
                    let answer = self.policy.$method(cx, $($arg),*);
                    self.after_call($locked);
                    answer
                }
            )*
        }
    };
}

calls! {
    select_task_rq = select_task_rq(wakeup: &Wakeup) -> Placement, Locked::No;
    migrate_task_rq = migrate_task_rq(task: TaskId, to: CpuId), Locked::Of(task);
    task_fork = task_fork(cpu: CpuId, parent: Option<TaskId>, child: TaskId), Locked::Cpu(cpu);
    task_asleep = task_asleep(cpu: CpuId, task: TaskId), Locked::Cpu(cpu);
    enqueue_task = enqueue(cpu: CpuId, task: TaskId, why: Enqueue), Locked::Cpu(cpu);
    dequeue_task = dequeue(cpu: CpuId, task: TaskId, why: Dequeue) -> Dequeued, Locked::Cpu(cpu);
    pick_next_task = pick_next(cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId>, Locked::Cpu(cpu);
    put_prev_task = put_prev_task(cpu: CpuId, prev: TaskId), Locked::Cpu(cpu);
    wakeup_preempt = wakeup_preempt(cpu: CpuId, wakee: TaskId, why: Enqueue) -> Preempt, Locked::Cpu(cpu);
    task_woken = task_woken(cpu: CpuId), Locked::Cpu(cpu);
    task_tick = task_tick(cpu: CpuId, curr: TaskId) -> Preempt, Locked::Cpu(cpu);
    policy_timer = timer(cpu: CpuId, timer: TimerId), Locked::Cpu(cpu);
    called = called(cpu: CpuId, what: CallId), Locked::Cpu(cpu);
    task_work = task_work(cpu: CpuId, task: TaskId) -> Look, Locked::Cpu(cpu);
    yield_task = yield_task(cpu: CpuId, curr: TaskId), Locked::Cpu(cpu);
    reweight_task = reweight_task(task: TaskId) -> Preempt, Locked::Of(task);
    exit_mm = exit_mm(cpu: CpuId, task: TaskId), Locked::Cpu(cpu);
    exec_mmap = exec_mmap(cpu: CpuId, task: TaskId), Locked::Cpu(cpu);
    task_dead = task_dead(task: TaskId), Locked::Of(task);
    idle_entered = idle_entered(cpu: CpuId), Locked::Cpu(cpu);
    idle_left = idle_left(cpu: CpuId), Locked::Cpu(cpu);
    newidle_balance = newidle_balance(cpu: CpuId) -> bool, Locked::Cpu(cpu);
    trigger_load_balance = trigger_load_balance(cpu: CpuId) -> Trigger, Locked::Cpu(cpu);
    nohz_csd_func = nohz_csd_func(cpu: CpuId) -> bool, Locked::Cpu(cpu);
    run_rebalance_domains = run_rebalance_domains(cpu: CpuId), Locked::Cpu(cpu);
    nohz_run_idle_balance = nohz_run_idle_balance(cpu: CpuId) -> bool, Locked::Cpu(cpu);
    nohz_balance_enter_idle = nohz_balance_enter_idle(cpu: CpuId), Locked::Cpu(cpu);
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// [`Balancer::balance_step`](crate::Balancer::balance_step), into the moves of the simulator.
    pub(super) fn balance_step(&mut self, cpu: CpuId) -> BalanceStep {
        self.moves.tasks.clear();
        let cx = Cx::new(&self.world, &mut self.actions);
        let step = self.policy.balance_step(cx, cpu, &mut self.moves);
        self.after_call(Locked::Step(cpu, step));
        step
    }

    /// [`Balancer::active_load_balance_cpu_stop`](crate::Balancer::active_load_balance_cpu_stop), into the
    /// moves of the simulator.
    pub(super) fn active_load_balance_cpu_stop(&mut self, cpu: CpuId) {
        self.moves.tasks.clear();
        let cx = Cx::new(&self.world, &mut self.actions);
        self.policy.active_load_balance_cpu_stop(cx, cpu, &mut self.moves);
        self.after_call(Locked::Cpu(cpu));
    }

    /// Makes true what a call has asked for as soon as it has returned, in the name of the CPU that made it:
    /// later another CPU would find it, send an interrupt and pay for it.
    #[inline(always)]
    fn after_call(&mut self, locked: Locked) {
        if self.actions.follow_call() {
            self.look_at_util(locked);
            self.make_true();
        }
    }
}
