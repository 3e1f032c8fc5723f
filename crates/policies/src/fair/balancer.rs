//! `Fair` as a [`Balancer`]: what the simulator asks of the load balancer, and who answers.

use simsched_core::{BalanceStep, Balancer, Cx, Moves, NO_DOMAIN, Trigger};
use simsched_topology::CpuId;

use super::Fair;

impl Balancer for Fair {
    #[inline]
    fn newidle_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let answer = self.begin_newidle(cx.world, cpu);
        self.all.tell(cx);
        answer
    }

    fn trigger_load_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> Trigger {
        let answer = self.tick_balance(cx.world, cpu);
        self.all.tell(cx);
        answer
    }

    fn nohz_csd_func(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let answer = self.take_kick(cx.world, cpu);
        self.all.tell(cx);
        answer
    }

    fn run_rebalance_domains(&mut self, cx: Cx<'_>, cpu: CpuId) {
        self.begin_softirq(cx.world, cpu);
        self.all.tell(cx);
    }

    #[inline]
    fn nohz_run_idle_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let answer = self.begin_idle_balance(cx.world, cpu);
        self.all.tell(cx);
        answer
    }

    fn nohz_balance_enter_idle(&mut self, cx: Cx<'_>, cpu: CpuId) {
        self.enter_nohz(cx.world, cpu);
        self.all.tell(cx);
    }

    fn balance_step(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) -> BalanceStep {
        self.all.enter(cx.world, cpu);
        let step = self.next_step(cx.world, cpu, moves);
        self.all.tell(cx);
        step
    }

    fn active_load_balance_cpu_stop(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) {
        self.all.enter(cx.world, cpu);
        self.stop(cx.world, cpu, moves);
        self.all.tell(cx);
    }

    fn domain_of(&self, from: CpuId, to: CpuId) -> u8 {
        let mut domains = Fair::domains(self).of(from).iter();
        let at = domains.position(|sd| sd.span.contains(to));
        at.and_then(|at| u8::try_from(at).ok()).unwrap_or(NO_DOMAIN)
    }
}
