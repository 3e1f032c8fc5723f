//! Computing by pauses ([`Op::Pause`]) on a machine whose CPUs take turns.

use rand::Rng;
use simsched_topology::CpuId;

use super::cpu::{Deferred, Stage};
use super::state::Simulator;
use crate::ids::TaskId;
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::{Nanos, SimTime};
use crate::workload::{Op, Workload};

/// Up to so many turns between two looks at the counter of time stamps are taken for computing.
const COUNTED_TURNS: u64 = 4;

/// A timer of a virtual machine expires up to 16 ns behind its instant, as the APIC counts 16 ns at a time. Where that
/// is a few ns behind the begin of a turn, the task has looked in that turn already, and not come to its next pause. Of
/// so many ticks in a hundred that is so, by what a program finds between two looks in 7.3.4 and 6.12.107: 62 where one
/// CPU is busy (594 ticks), 83 where all are (9,534).
const BEHIND_LOOK_PERCENT: u64 = 70;

/// An interrupt between two looks of a task at the counter of time stamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct PauseGap {
    /// Whom it has interrupted.
    task: TaskId,
    /// When the task last looked.
    looked: SimTime,
    /// When the interrupt came.
    came: SimTime,
    /// The task has to pause once more before it looks.
    pauses: bool,
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

    /// An interrupt has come while the current task of `cpu` computes. It comes where a turn begins, so behind a pause
    /// and before the look that follows it; that of a timer at times just behind that look.
    pub(super) fn interrupt_pause(&mut self, cpu: CpuId) {
        let (came, quantum) = (self.world.now(), self.prices.quantum());
        let row = &mut self.cpus[cpu.idx()];
        let (Some(task), Op::Pause(_)) = (row.task, row.run.op) else { return };
        let looked = self.agenda.turn_before(came).max(row.debt_end.min(came));
        let in_step = came.since(looked).0 == quantum && row.deferred.has(Deferred::TICK);
        let pauses = in_step && row.rng.next_u64() % 100 < BEHIND_LOOK_PERCENT;
        let looked = if pauses { came } else { looked };
        self.desk(cpu).pause_gap = Some(PauseGap { task, looked, came, pauses });
    }

    /// Goes on computing by pauses, of which `remains` was left at the interrupt, or when the task lost the CPU. The
    /// first look finds how long it was away.
    pub(super) fn continue_pauses(&mut self, cpu: CpuId, remains: Nanos) {
        self.begin(cpu, Stage::Op, Cost::User, remains);
        let (now, quantum) = (self.world.now(), self.prices.quantum());
        let gap = self.desk(cpu).pause_gap.take();
        let row = &self.cpus[cpu.idx()];
        let gap = gap.filter(|gap| row.task == Some(gap.task));
        let back = row.debt_end.max(now);
        let pauses = gap.is_some_and(|gap| gap.pauses);
        let looks = if pauses { self.agenda.next_turn(back) } else { back };
        let counted = match gap {
            Some(gap) if looks.since(gap.looked).0 <= COUNTED_TURNS * quantum => {
                looks.since(gap.came).0
            }
            Some(gap) => quantum.saturating_sub(gap.came.since(gap.looked).0),
            None => 0,
        };
        let left = Nanos(remains.0.saturating_sub(counted));
        self.cpus[cpu.idx()].until = looks + left;
        self.arm_stage(cpu);
        if pauses || left > Nanos::ZERO {
            self.agenda.ends_with_turn(cpu);
        }
    }
}
