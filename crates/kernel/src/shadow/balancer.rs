//! `Shadow` as a [`Balancer`] and a [`Report`]: all of it is the policy's inside, and the library follows.

use simsched_core::{BalanceStep, Balancer, Cx, Moves, Report, SdCounts, Trigger, World};
use simsched_topology::{CpuId, CpuSet};

use super::Shadow;
use super::inside::Inside;

impl<P: Inside> Balancer for Shadow<P> {
    fn newidle_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let world = cx.world;
        let begins = self.inner.newidle_balance(cx, cpu);
        self.ask(world, |ask| ask.newidle(cpu, begins));
        begins
    }

    fn trigger_load_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> Trigger {
        self.inner.trigger_load_balance(cx, cpu)
    }

    fn nohz_csd_func(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        self.inner.nohz_csd_func(cx, cpu)
    }

    fn run_rebalance_domains(&mut self, cx: Cx<'_>, cpu: CpuId) {
        let world = cx.world;
        self.inner.run_rebalance_domains(cx, cpu);
        self.ask(world, |ask| ask.pass(cpu));
    }

    fn nohz_run_idle_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let world = cx.world;
        let begins = self.inner.nohz_run_idle_balance(cx, cpu);
        self.ask(world, |ask| ask.pass(cpu));
        begins
    }

    fn nohz_balance_enter_idle(&mut self, cx: Cx<'_>, cpu: CpuId) {
        self.inner.nohz_balance_enter_idle(cx, cpu);
    }

    fn balance_step(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) -> BalanceStep {
        let world = cx.world;
        let locked = self.followed.as_ref().and_then(|followed| followed.passes[cpu.idx()].locked);
        let before = locked.map(|locked| self.inner.queue_numbers(locked));
        let step = self.inner.balance_step(cx, cpu, moves);
        self.ask(world, |ask| ask.step(cpu, before, moves, step));
        step
    }

    fn active_load_balance_cpu_stop(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) {
        let world = cx.world;
        self.inner.active_load_balance_cpu_stop(cx, cpu, moves);
        self.ask(world, |ask| ask.moved(moves));
    }

    fn domain_of(&self, from: CpuId, to: CpuId) -> u8 {
        self.inner.domain_of(from, to)
    }
}

impl<P: Inside> Report for Shadow<P> {
    fn util_avg(&self, cpu: CpuId) -> Option<u64> {
        self.inner.util_avg(cpu)
    }

    fn metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        self.inner.metrics(emit);
    }

    fn domains(&self, cpu: CpuId, emit: &mut dyn FnMut(&'static str, &CpuSet, &SdCounts)) {
        self.inner.domains(cpu, emit);
    }

    fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        self.inner.check(world, cpu)
    }
}
