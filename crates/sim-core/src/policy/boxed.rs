//! A policy in a box is a policy: for those who choose it at run time.

use simsched_topology::{CpuId, CpuSet};

use super::{Attached, Dequeue, Enqueue, Placement, Policy, Preempt, Wakeup};
use crate::balance::{BalanceStep, Look, Moves, SdCounts, Trigger};
use crate::effects::Effects;
use crate::ids::TaskId;
use crate::thoughts::Thoughts;
use crate::touched::Touched;
use crate::world::World;

impl<T: Policy + ?Sized> Policy for Box<T> {
    fn attach(&mut self, world: &World) -> Attached {
        (**self).attach(world)
    }

    fn select_task_rq(&mut self, world: &World, wakeup: &Wakeup) -> Placement {
        (**self).select_task_rq(world, wakeup)
    }

    fn migrate_task_rq(&mut self, world: &World, task: TaskId, to: CpuId) {
        (**self).migrate_task_rq(world, task, to);
    }

    fn task_fork(&mut self, world: &World, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        (**self).task_fork(world, cpu, parent, child);
    }

    fn task_asleep(&mut self, world: &World, cpu: CpuId, task: TaskId) {
        (**self).task_asleep(world, cpu, task);
    }

    fn enqueue(&mut self, world: &World, cpu: CpuId, task: TaskId, why: Enqueue) {
        (**self).enqueue(world, cpu, task, why);
    }

    fn dequeue(&mut self, world: &World, cpu: CpuId, task: TaskId, why: Dequeue) {
        (**self).dequeue(world, cpu, task, why);
    }

    fn pick_next(&mut self, world: &World, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        (**self).pick_next(world, cpu, prev)
    }

    fn wakeup_preempt(
        &mut self,
        world: &World,
        cpu: CpuId,
        wakee: TaskId,
        why: Enqueue,
    ) -> Preempt {
        (**self).wakeup_preempt(world, cpu, wakee, why)
    }

    fn task_woken(&mut self, world: &World, cpu: CpuId) {
        (**self).task_woken(world, cpu);
    }

    fn task_tick(&mut self, world: &World, cpu: CpuId, curr: TaskId) -> Preempt {
        (**self).task_tick(world, cpu, curr)
    }

    fn has_task_work(&self, task: TaskId) -> bool {
        (**self).has_task_work(task)
    }

    fn task_work_run(&mut self, world: &World, cpu: CpuId, task: TaskId) -> Look {
        (**self).task_work_run(world, cpu, task)
    }

    fn yield_task(&mut self, world: &World, cpu: CpuId, curr: TaskId) {
        (**self).yield_task(world, cpu, curr);
    }

    fn reweight_task(&mut self, world: &World, task: TaskId) -> Preempt {
        (**self).reweight_task(world, task)
    }

    fn task_dead(&mut self, world: &World, task: TaskId) {
        (**self).task_dead(world, task);
    }

    fn put_prev_task(&mut self, world: &World, cpu: CpuId, prev: TaskId) {
        (**self).put_prev_task(world, cpu, prev);
    }

    fn newly_idle(&mut self, world: &World, cpu: CpuId) -> bool {
        (**self).newly_idle(world, cpu)
    }

    fn idle_entered(&mut self, world: &World, cpu: CpuId) {
        (**self).idle_entered(world, cpu);
    }

    fn trigger_load_balance(&mut self, world: &World, cpu: CpuId) -> Trigger {
        (**self).trigger_load_balance(world, cpu)
    }

    fn nohz_csd_func(&mut self, world: &World, cpu: CpuId) -> bool {
        (**self).nohz_csd_func(world, cpu)
    }

    fn run_rebalance_domains(&mut self, world: &World, cpu: CpuId) {
        (**self).run_rebalance_domains(world, cpu);
    }

    fn nohz_run_idle_balance(&mut self, world: &World, cpu: CpuId) -> bool {
        (**self).nohz_run_idle_balance(world, cpu)
    }

    fn nohz_balance_enter_idle(&mut self, world: &World, cpu: CpuId) {
        (**self).nohz_balance_enter_idle(world, cpu);
    }

    fn balance_step(&mut self, world: &World, cpu: CpuId, moves: &mut Moves) -> BalanceStep {
        (**self).balance_step(world, cpu, moves)
    }

    fn active_load_balance_cpu_stop(&mut self, world: &World, cpu: CpuId, moves: &mut Moves) {
        (**self).active_load_balance_cpu_stop(world, cpu, moves);
    }

    fn touched(&mut self) -> Option<&mut Touched> {
        (**self).touched()
    }

    fn effects(&mut self) -> Option<&mut Effects> {
        (**self).effects()
    }

    fn thoughts(&mut self) -> Option<&mut Thoughts> {
        (**self).thoughts()
    }

    fn util_avg(&self, cpu: CpuId) -> Option<u64> {
        (**self).util_avg(cpu)
    }

    fn is_delayed(&self, task: TaskId) -> bool {
        (**self).is_delayed(task)
    }

    fn metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        (**self).metrics(emit);
    }

    fn domain_of(&self, from: CpuId, to: CpuId) -> u8 {
        (**self).domain_of(from, to)
    }

    fn domains(&self, cpu: CpuId, emit: &mut dyn FnMut(&'static str, &CpuSet, &SdCounts)) {
        (**self).domains(cpu, emit);
    }

    fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        (**self).check(world, cpu)
    }
}
