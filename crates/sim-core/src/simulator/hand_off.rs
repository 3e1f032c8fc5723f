//! Wakees that are handed over: a waker puts them on the list of another CPU, which queues them itself
//! (`rq->wake_list`, `rq->ttwu_pending`).

use simsched_topology::CpuId;

use super::cpu::HandOff;
use super::state::Simulator;
use crate::ids::TaskId;
use crate::observer::{Cost, Observer};
use crate::policy::{Policy, TtwuQueue};
use crate::workload::Workload;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `ttwu_queue_cond()`: whether the wakee goes to the hand-off list of `cpu`.
    pub(super) fn ttwu_queue_cond(
        &self,
        waker: CpuId,
        cpu: CpuId,
        task: TaskId,
        on_cpu: bool,
    ) -> bool {
        let rule = self.rules.ttwu_queue;
        if rule == TtwuQueue::Off || !self.world.is_allowed(task, cpu) {
            return false;
        }
        let topology = self.world.topology();
        if topology.llc_of(waker) != topology.llc_of(cpu) {
            return true;
        }
        let nr_running = self.world.rq(cpu).nr_running;
        cpu != waker
            && match rule {
                TtwuQueue::CrossLlcOrIdle => nr_running == 0,
                _ => on_cpu && nr_running <= 1,
            }
    }

    /// `__ttwu_queue_wakelist()`: the target will queue the wakee itself.
    pub(super) fn hand_over(&mut self, waker: CpuId, cpu: CpuId, hand_off: HandOff) {
        self.world.rq_update(cpu, |rq| rq.pending = true);
        let first = self.call_queue_is_empty(cpu);
        self.desk(cpu).inbox.push_back(hand_off);
        if first {
            self.kick(waker, cpu);
        }
    }

    /// The beginning of `sched_ttwu_pending()`: the CPU takes what was handed to it. Before 6.2 it
    /// looks idle from here until the first wakee is queued.
    pub(super) fn take_hand_offs(&mut self, cpu: CpuId) {
        let desk = self.desk(cpu);
        if desk.inbox.is_empty() {
            return;
        }
        desk.taken.append(&mut desk.inbox);
        self.world.update_rq_clock(cpu);
        if !self.rules.ttwu_pending_stays {
            self.world.rq_update(cpu, |rq| rq.pending = false);
        }
    }

    /// The rest of `sched_ttwu_pending()`.
    pub(super) fn activate_all_taken(&mut self, cpu: CpuId) {
        while !self.desks[cpu.idx()].taken.is_empty() {
            self.activate_taken(cpu);
        }
    }

    /// The same for one wakee: it is queued, in order of arrival.
    pub(super) fn activate_taken(&mut self, cpu: CpuId) {
        let Some(hand_off) = self.desk(cpu).taken.pop_front() else { return };
        let lines = self.taken_lines(hand_off.waker, cpu);
        // The handler that is done has its own time.
        self.charge(cpu);
        self.stall(cpu, Cost::RqLock, lines);
        if self.world.is_allowed(hand_off.task, cpu) {
            self.ttwu_do_activate(cpu, cpu, hand_off);
        } else {
            self.hand_on(cpu, hand_off);
        }
        if self.desks[cpu.idx()].taken.is_empty() && self.rules.ttwu_pending_stays {
            self.world.rq_update(cpu, |rq| rq.pending = false);
        }
    }
}
