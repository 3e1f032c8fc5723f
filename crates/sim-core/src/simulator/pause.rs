//! Computing by pauses ([`Op::Pause`]) on a machine whose CPUs take turns.

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::Simulator;
use crate::ids::TaskId;
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::{Nanos, SimTime};
use crate::workload::{Op, Workload};

/// Up to so many turns between two looks at the counter of time stamps are taken for computing.
const COUNTED_TURNS: u64 = 4;

/// An interrupt between two looks of a task at the counter of time stamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct PauseGap {
    /// Whom it has interrupted.
    task: TaskId,
    /// When the task last looked.
    looked: SimTime,
    /// When the interrupt came.
    came: SimTime,
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Computes by pauses, each of which takes the rest of a turn, until less than half a turn is missing of `ns`.
    pub(super) fn pauses(&mut self, cpu: CpuId, ns: Nanos) {
        let half = Nanos(self.prices.quantum() / 2);
        self.begin(cpu, Stage::Op, Cost::User, Nanos(ns.0.saturating_sub(half.0)));
        if ns > half {
            self.agenda.ends_with_turn(cpu);
        }
    }

    /// An interrupt has come while the current task of `cpu` computes; it comes where a turn begins, so behind a pause
    /// and before the look that follows it.
    pub(super) fn interrupt_pause(&mut self, cpu: CpuId) {
        let row = &self.cpus[cpu.idx()];
        if let (Some(task), Op::Pause(_)) = (row.task, row.run.op) {
            let came = self.world.now();
            let looked = self.agenda.turn_before(came).max(row.debt_end.min(came));
            self.desk(cpu).pause_gap = Some(PauseGap { task, looked, came });
        }
    }

    /// Goes on computing by pauses, of which `remains` was left at the interrupt, or when the task lost the CPU. The
    /// first look finds how long it was away.
    pub(super) fn continue_pauses(&mut self, cpu: CpuId, remains: Nanos) {
        self.begin(cpu, Stage::Op, Cost::User, remains);
        let (now, quantum) = (self.world.now(), self.prices.quantum());
        let gap = self.desk(cpu).pause_gap.take();
        let row = &mut self.cpus[cpu.idx()];
        let looks = row.debt_end.max(now);
        let counted = match gap.filter(|gap| row.task == Some(gap.task)) {
            Some(gap) if looks.since(gap.looked).0 <= COUNTED_TURNS * quantum => {
                looks.since(gap.came).0
            }
            Some(gap) => quantum.saturating_sub(gap.came.since(gap.looked).0),
            None => 0,
        };
        let left = Nanos(remains.0.saturating_sub(counted));
        row.until = looks + left;
        self.arm_stage(cpu);
        if left > Nanos::ZERO {
            self.agenda.ends_with_turn(cpu);
        }
    }
}
