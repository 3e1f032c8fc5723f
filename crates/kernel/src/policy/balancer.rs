//! `KernelPolicy` as a [`Balancer`]: each question begins a pass of the library, or takes its next step.

use simsched_core::{BalanceStep, Balancer, Cause, Cx, Moves, Trigger};
use simsched_topology::CpuId;

use super::passes::IDLE_ENTER;
use super::{KernelPolicy, number};
use crate::library::done;

impl Balancer for KernelPolicy {
    fn newidle_balance(&mut self, mut cx: Cx<'_>, cpu: CpuId) -> bool {
        self.ask(&mut cx, false, |kernel, cx| kernel.newidle(cx, cpu))
    }

    fn trigger_load_balance(&mut self, mut cx: Cx<'_>, cpu: CpuId) -> Trigger {
        self.ask(&mut cx, Trigger::default(), |kernel, cx| kernel.trigger(cx, cpu))
    }

    fn nohz_csd_func(&mut self, mut cx: Cx<'_>, cpu: CpuId) -> bool {
        self.ask(&mut cx, false, |kernel, cx| kernel.kicked(cx, cpu))
    }

    fn run_rebalance_domains(&mut self, mut cx: Cx<'_>, cpu: CpuId) {
        self.ask(&mut cx, (), |kernel, cx| kernel.softirq(cx, cpu));
    }

    fn nohz_run_idle_balance(&mut self, mut cx: Cx<'_>, cpu: CpuId) -> bool {
        self.ask(&mut cx, false, |kernel, cx| kernel.begin(cx, cpu, IDLE_ENTER, Cause::Nohz))
    }

    fn nohz_balance_enter_idle(&mut self, mut cx: Cx<'_>, cpu: CpuId) {
        self.ask(&mut cx, (), |kernel, cx| {
            kernel.library.present(cx.world)?;
            done("tick_stopped", kernel.library.class.tick_stopped(number(cpu)))
        });
    }

    fn balance_step(&mut self, mut cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) -> BalanceStep {
        let step = self.ask(&mut cx, BalanceStep::Done, |kernel, cx| kernel.step(cx, cpu, moves));
        if step == BalanceStep::Move {
            moves.domain = self.domains.common(moves.to, moves.from);
        }
        step
    }

    fn active_load_balance_cpu_stop(&mut self, mut cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) {
        moves.tasks.clear();
        self.ask(&mut cx, (), |kernel, cx| kernel.stop(cx, cpu, moves));
        moves.domain = self.domains.common(moves.to, moves.from);
    }

    fn domain_of(&self, from: CpuId, to: CpuId) -> u8 {
        self.domains.common(from, to)
    }
}
