//! The time of a CPU: where a stage begins and ends, and to what its time is charged.

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::Simulator;
use crate::hardware::{FULL, at_speed};
use crate::observer::{Cost, Observer, Tracepoint};
use crate::policy::Policy;
use crate::time::Nanos;
use crate::workload::Workload;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Starts a stage that takes `ns` beside what the CPU still owes. Stages of one cost that follow
    /// each other are charged in one sum.
    #[inline(never)]
    pub(super) fn begin(&mut self, cpu: CpuId, stage: Stage, cost: Cost, ns: Nanos) {
        if self.actions.has_costs() {
            self.pay_costs();
        }
        let row = &mut self.cpus[cpu.idx()];
        row.stage = stage;
        let ns = if row.speed == FULL || row.is_steady() { ns } else { at_speed(ns, row.speed) };
        self.plan_stage(cpu, cost, ns);
    }

    /// Starts a stage that waits for something by pauses, on a machine whose CPUs take turns: it takes `ns`, and the
    /// rest of the turn.
    pub(super) fn begin_pause(&mut self, cpu: CpuId, stage: Stage, cost: Cost, ns: u32) {
        self.begin(cpu, stage, cost, Nanos(u64::from(ns.max(1))));
        self.agenda.ends_with_turn(cpu);
    }

    /// Starts a stage that takes `ns` at the CPU's present speed, when nothing was asked of the policy.
    #[inline(never)]
    pub(super) fn begin_for(&mut self, cpu: CpuId, stage: Stage, cost: Cost, ns: Nanos) {
        self.cpus[cpu.idx()].stage = stage;
        self.plan_stage(cpu, cost, ns);
    }

    /// The stage of `cpu`, which has just begun, ends `ns` behind what the CPU owes. This is done for nearly every
    /// event: what the row says is read as long as it is at hand.
    #[inline(always)]
    fn plan_stage(&mut self, cpu: CpuId, cost: Cost, ns: Nanos) {
        let now = self.world.now();
        let mut row = &mut self.cpus[cpu.idx()];
        if row.is_to_be_charged(cost) {
            let what = std::mem::replace(&mut row.cost, cost);
            let owed = u64::from(std::mem::take(&mut row.debt));
            let owed = if self.recorded && row.task.is_some() { 0 } else { owed };
            let (side, amount) = row.spent(now);
            row.debt_end = now + Nanos(owed);
            // Most stages are without stalls: they are charged while the row is at hand.
            if row.stalled == 0 {
                let mut emit = |what, amount: Nanos| {
                    if amount.0 > 0 {
                        self.observer.on(&self.world, Tracepoint::Charge { cpu, what, amount });
                    }
                };
                emit(Cost::Wakeup, side);
                emit(what, amount);
            } else {
                self.charge_with_stalls(cpu, what, side, amount);
                row = &mut self.cpus[cpu.idx()];
            }
        }
        row.until = row.debt_end.max(now) + ns;
        let has_errand = self.nr_lines > 0 && !self.desks[cpu.idx()].errands.is_empty();
        self.agenda.arm_stage(cpu, row.due(has_errand, now));
    }

    /// Charges the CPU's time from the last charge to now: first to what it did on the side, then
    /// to its present stage.
    #[inline(never)]
    pub(super) fn charge(&mut self, cpu: CpuId) {
        let now = self.world.now();
        let row = &mut self.cpus[cpu.idx()];
        let what = row.cost;
        let (side, amount) = row.spent(now);
        self.charge_with_stalls(cpu, what, side, amount);
    }

    /// Charges what `cpu` has done on the side and in a stage, less its stalls, which are charged by name.
    #[inline(always)]
    fn charge_with_stalls(&mut self, cpu: CpuId, what: Cost, mut side: Nanos, mut amount: Nanos) {
        if self.cpus[cpu.idx()].stalled != 0 {
            (side, amount) = self.charge_stalls(cpu, side, amount);
        }
        if side.0 > 0 {
            self.emit(Tracepoint::Charge { cpu, what: Cost::Wakeup, amount: side });
        }
        if amount.0 > 0 {
            self.emit(Tracepoint::Charge { cpu, what, amount });
        }
    }

    /// Charges the stalls of a CPU out of the time that it has spent on the side and in its stage;
    /// what is left of both.
    #[inline(always)]
    pub(super) fn charge_stalls(
        &mut self,
        cpu: CpuId,
        mut side: Nanos,
        mut stage: Nanos,
    ) -> (Nanos, Nanos) {
        let (row, owed) = (&mut self.cpus[cpu.idx()], &mut self.desks[cpu.idx()].stalls);
        let mut rows = std::mem::take(&mut row.stalled);
        while rows != 0 {
            let nth = rows.trailing_zeros() as usize;
            rows &= rows - 1;
            let amount = Nanos(owed[nth].min((side + stage).0));
            owed[nth] -= amount.0;
            row.stalled |= u8::from(owed[nth] > 0) << nth;
            let from_side = amount.0.min(side.0);
            side = Nanos(side.0 - from_side);
            stage = Nanos(stage.0 - (amount.0 - from_side));
            if amount.0 > 0 {
                let what = Cost::STALLS[nth];
                self.observer.on(&self.world, Tracepoint::Charge { cpu, what, amount });
            }
        }
        (side, stage)
    }

    /// Arms the end of the stage of `cpu`, or its next errand, which is due before the stage proper.
    #[inline(always)]
    pub(super) fn arm_stage(&mut self, cpu: CpuId) {
        let now = self.world.now();
        let row = &mut self.cpus[cpu.idx()];
        let has_errand = self.nr_lines > 0 && !self.desks[cpu.idx()].errands.is_empty();
        self.agenda.arm_stage(cpu, row.due(has_errand, now));
    }
}
