//! `Watched`: a policy that also tells how utilized it holds each CPU to be.

use simsched_topology::{CpuId, CpuSet};

use super::{Attached, Cx, Dequeue, Dequeued, Enqueue, Placement, Policy, Preempt, Wakeup};
use crate::ids::TaskId;
use crate::policy::{BalanceStep, Look, Moves, SdCounts, Thought, Thoughts, Trigger};
use crate::world::World;

/// A policy, and all changes of its [`Policy::util_avg`], as thoughts.
///
/// It decides what the policy inside decides. After each call it looks at those CPUs whose runqueue the
/// kernel would have locked; so the policy itself pays nothing for being watched, nor for not being so.
pub struct Watched<P: ?Sized> {
    policy: Box<P>,
    /// By CPU: what was told last.
    told: Vec<u64>,
    /// By CPU: whose runqueue its balancer has locked with its last step.
    locked: Vec<Option<CpuId>>,
    thoughts: Thoughts,
}

impl<P: Policy + ?Sized> Watched<P> {
    /// Watches `policy`.
    pub fn new(policy: Box<P>) -> Watched<P> {
        Watched { policy, told: Vec::new(), locked: Vec::new(), thoughts: Thoughts::default() }
    }

    /// The runqueue of `cpu` was locked.
    fn look(&mut self, cpu: CpuId) {
        let Some(util_avg) = self.policy.util_avg(cpu) else { return };
        if std::mem::replace(&mut self.told[cpu.idx()], util_avg) != util_avg {
            self.thoughts.push(Thought::UtilAvg(cpu, util_avg));
        }
    }

    /// `answer`, of a call in which the runqueue of `cpu` was locked.
    fn looked<A>(&mut self, cpu: CpuId, answer: A) -> A {
        self.look(cpu);
        answer
    }
}

impl<P: Policy + ?Sized> Policy for Watched<P> {
    fn attach(&mut self, world: &World) -> Attached {
        let attached = self.policy.attach(world);
        let nr_cpus = world.topology().nr_cpus();
        self.told = vec![0; nr_cpus];
        self.locked = vec![None; nr_cpus];
        self.thoughts = Thoughts::with_capacity(nr_cpus);
        world.topology().cpus().iter().for_each(|cpu| self.look(cpu));
        attached
    }

    fn select_task_rq(&mut self, cx: Cx<'_>, wakeup: &Wakeup) -> Placement {
        self.policy.select_task_rq(cx, wakeup)
    }

    fn migrate_task_rq(&mut self, cx: Cx<'_>, task: TaskId, to: CpuId) {
        let cpu = cx.world.task(task).cpu;
        self.policy.migrate_task_rq(cx, task, to);
        self.look(cpu);
    }

    fn task_fork(&mut self, cx: Cx<'_>, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        self.policy.task_fork(cx, cpu, parent, child);
        self.look(cpu);
    }

    fn task_asleep(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        self.policy.task_asleep(cx, cpu, task);
        self.look(cpu);
    }

    fn enqueue(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.policy.enqueue(cx, cpu, task, why);
        self.look(cpu);
    }

    fn dequeue(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Dequeue) -> Dequeued {
        let dequeued = self.policy.dequeue(cx, cpu, task, why);
        self.looked(cpu, dequeued)
    }

    fn pick_next(&mut self, cx: Cx<'_>, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        let next = self.policy.pick_next(cx, cpu, prev);
        self.looked(cpu, next)
    }

    fn wakeup_preempt(&mut self, cx: Cx<'_>, cpu: CpuId, wakee: TaskId, why: Enqueue) -> Preempt {
        let preempt = self.policy.wakeup_preempt(cx, cpu, wakee, why);
        self.looked(cpu, preempt)
    }

    fn task_woken(&mut self, cx: Cx<'_>, cpu: CpuId) {
        self.policy.task_woken(cx, cpu);
        self.look(cpu);
    }

    fn task_tick(&mut self, cx: Cx<'_>, cpu: CpuId, curr: TaskId) -> Preempt {
        let preempt = self.policy.task_tick(cx, cpu, curr);
        self.looked(cpu, preempt)
    }

    fn has_task_work(&self, task: TaskId) -> bool {
        self.policy.has_task_work(task)
    }

    fn task_work_run(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) -> Look {
        let look = self.policy.task_work_run(cx, cpu, task);
        self.looked(cpu, look)
    }

    fn yield_task(&mut self, cx: Cx<'_>, cpu: CpuId, curr: TaskId) {
        self.policy.yield_task(cx, cpu, curr);
        self.look(cpu);
    }

    fn reweight_task(&mut self, cx: Cx<'_>, task: TaskId) -> Preempt {
        let cpu = cx.world.task(task).cpu;
        let preempt = self.policy.reweight_task(cx, task);
        self.looked(cpu, preempt)
    }

    fn task_dead(&mut self, cx: Cx<'_>, task: TaskId) {
        let cpu = cx.world.task(task).cpu;
        self.policy.task_dead(cx, task);
        self.look(cpu);
    }

    fn put_prev_task(&mut self, cx: Cx<'_>, cpu: CpuId, prev: TaskId) {
        self.policy.put_prev_task(cx, cpu, prev);
        self.look(cpu);
    }

    fn newly_idle(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let begins = self.policy.newly_idle(cx, cpu);
        self.looked(cpu, begins)
    }

    fn idle_entered(&mut self, cx: Cx<'_>, cpu: CpuId) {
        self.policy.idle_entered(cx, cpu);
        self.look(cpu);
    }

    fn trigger_load_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> Trigger {
        let trigger = self.policy.trigger_load_balance(cx, cpu);
        self.looked(cpu, trigger)
    }

    fn nohz_csd_func(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let raises = self.policy.nohz_csd_func(cx, cpu);
        self.looked(cpu, raises)
    }

    fn run_rebalance_domains(&mut self, cx: Cx<'_>, cpu: CpuId) {
        self.policy.run_rebalance_domains(cx, cpu);
        self.look(cpu);
    }

    fn nohz_run_idle_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let begins = self.policy.nohz_run_idle_balance(cx, cpu);
        self.looked(cpu, begins)
    }

    fn nohz_balance_enter_idle(&mut self, cx: Cx<'_>, cpu: CpuId) {
        self.policy.nohz_balance_enter_idle(cx, cpu);
        self.look(cpu);
    }

    fn balance_step(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) -> BalanceStep {
        let step = self.policy.balance_step(cx, cpu, moves);
        let locks = if let BalanceStep::Lock(other) = step { Some(other) } else { None };
        if let Some(other) = std::mem::replace(&mut self.locked[cpu.idx()], locks) {
            self.look(other);
        }
        self.looked(cpu, step)
    }

    fn active_load_balance_cpu_stop(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) {
        self.policy.active_load_balance_cpu_stop(cx, cpu, moves);
        self.look(cpu);
    }

    fn thoughts(&mut self) -> Option<&mut Thoughts> {
        if let Some(inner) = self.policy.thoughts() {
            self.thoughts.append(inner);
        }
        Some(&mut self.thoughts)
    }

    fn util_avg(&self, cpu: CpuId) -> Option<u64> {
        self.policy.util_avg(cpu)
    }

    fn metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        self.policy.metrics(emit);
    }

    fn domain_of(&self, from: CpuId, to: CpuId) -> u8 {
        self.policy.domain_of(from, to)
    }

    fn domains(&self, cpu: CpuId, emit: &mut dyn FnMut(&'static str, &CpuSet, &SdCounts)) {
        self.policy.domains(cpu, emit);
    }

    fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        self.policy.check(world, cpu)
    }
}
