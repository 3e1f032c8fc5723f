//! `sched_setaffinity`: who waits or runs where it may not any more, and who was on its way there.

use simsched_topology::CpuId;

use super::cpu::{HandOff, Waking};
use super::state::Simulator;
use super::stopper::{Migration, StopWork};
use crate::ids::{MaskId, TaskId};
use crate::names::{Cause, Reason};
use crate::observer::Observer;
use crate::policy::{Placement, Policy};
use crate::workload::Workload;
use crate::world::TaskState;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `sched_setaffinity()` by the current task of `cpu`, for `task`. Who waits on a CPU that is not
    /// allowed any more is moved at once, and who runs there by the stopper, for which the kernel's
    /// caller waits and ours does not. Who sleeps or is being woken is left to its wakeup.
    pub(super) fn set_affinity(&mut self, cpu: CpuId, task: TaskId, mask: MaskId) {
        self.world.tasks_mut().set_mask(task, mask);
        let row = self.world.task(task);
        let (on_cpu, on_rq, at) = (row.on_cpu, row.on_rq, row.cpu);
        if row.state == TaskState::New || self.world.is_allowed(task, at) {
            return;
        }
        if !on_cpu && !on_rq {
            return;
        }
        let to = self.any_and_distribute(cpu, task);
        let (cause, reason) = (Cause::Affinity, Reason::FALLBACK);
        let migration = Migration { task, to, cause, reason };
        if on_cpu {
            self.cpus[cpu.idx()].debt += self.prices.list().wakeup;
            self.stop(cpu, at, StopWork::Migration(migration));
        } else {
            self.cpus[cpu.idx()].debt += self.prices.move_tasks(1);
            self.move_queued_task(cpu, migration);
        }
    }

    /// `cpumask_any_and_distribute()`: the allowed CPU after the one that `cpu` gave out last.
    fn any_and_distribute(&mut self, cpu: CpuId, task: TaskId) -> CpuId {
        let after = CpuId(self.desks[cpu.idx()].distributed.0 + 1);
        let cpus = self.world.topology().cpus();
        let allowed = self.world.allowed(task).unwrap_or(cpus);
        let to = allowed.and_next_wrap(cpus, after).expect("a task may run somewhere");
        self.desk(cpu).distributed = to;
        to
    }

    /// The affinity of the wakee has changed since its CPU was chosen. In the kernel the change waits
    /// for the lock that the wakeup holds, or for the stopper; here the wakee goes elsewhere at once.
    pub(super) fn place_again(&mut self, waking: &mut Waking) {
        let (task, from) = (waking.task, waking.placement.cpu);
        let to = self.select_fallback_rq(task);
        let placement = Placement { cpu: to, reason: Reason::FALLBACK, ..waking.placement };
        if !waking.fork && waking.migrated {
            self.change_cpu(task, from, placement);
        } else if !waking.fork {
            self.set_task_cpu(task, from, placement);
        }
        *waking = Waking { placement, migrated: true, ..*waking };
    }

    /// What was handed over may not run here any more.
    pub(super) fn hand_on(&mut self, cpu: CpuId, hand_off: HandOff) {
        let HandOff { task, waker, migrated, reason, scanned } = hand_off;
        let placement = Placement { scanned, ..Placement::at(cpu, reason) };
        let mut waking = Waking { task, placement, migrated, fork: false, locked: None };
        self.place_again(&mut waking);
        let Placement { cpu: to, reason, .. } = waking.placement;
        self.world.update_rq_clock(to);
        self.ttwu_do_activate(cpu, to, HandOff { task, waker, migrated: true, reason, scanned });
    }
}
