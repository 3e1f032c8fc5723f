//! `resched_curr`: marks the current task of a CPU, and makes that CPU look.

use simsched_topology::CpuId;

use super::cpu::{NeedResched, Stage};
use super::state::Simulator;
use crate::agenda::Event;
use crate::names::ReschedCause;
use crate::observer::{Observer, Tracepoint};
use crate::policy::{Policy, Preempt};
use crate::time::{Nanos, SimTime};
use crate::workload::Workload;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// `resched_curr()`: marks the current task of `cpu`, and makes that CPU look.
    pub(super) fn resched_curr(&mut self, from: CpuId, cpu: CpuId, cause: ReschedCause) {
        if self.world.rq(cpu).need_resched {
            return;
        }
        self.set_need_resched(cpu, NeedResched::HARD);
        if self.world.curr(cpu).is_some() {
            self.emit(Tracepoint::SetNeedResched { cpu, cause, lazy: false });
        }
        if self.preempt > Nanos::ZERO {
            self.desk(cpu).lingers_until = self.world.now() + self.preempt;
        }
        if from != cpu {
            self.kick(from, cpu);
        }
    }

    /// `resched_curr_lazy()`: marks the current task of `cpu`, and sends no interrupt. An idle task goes at once.
    #[cold]
    fn resched_curr_lazy(&mut self, from: CpuId, cpu: CpuId, cause: ReschedCause) {
        if self.world.curr(cpu).is_none() {
            self.resched_curr(from, cpu, cause);
        } else if !self.cpus[cpu.idx()].need_resched.any() {
            self.set_need_resched(cpu, NeedResched::LAZY);
            self.emit(Tracepoint::SetNeedResched { cpu, cause, lazy: true });
        }
    }

    /// Makes an answer of the policy true that was given on the CPU `from`.
    #[inline]
    pub(super) fn resched_as(
        &mut self,
        from: CpuId,
        cpu: CpuId,
        preempt: Preempt,
        cause: ReschedCause,
    ) {
        match preempt {
            Preempt::No => {}
            Preempt::Lazy => self.resched_curr_lazy(from, cpu, cause),
            Preempt::Hard => self.resched_curr(from, cpu, cause),
        }
    }

    /// Whether the current task of `cpu` is to be rescheduled: for all to see, and beside that task's progress.
    #[inline]
    pub(super) fn set_need_resched(&mut self, cpu: CpuId, need_resched: NeedResched) {
        let rq = self.world.rq_mut(cpu);
        rq.need_resched = need_resched.is_hard();
        rq.need_resched_lazy = need_resched == NeedResched::LAZY;
        self.cpus[cpu.idx()].need_resched = need_resched;
    }

    /// Makes `cpu` look: by an interrupt, or by nothing but the need-resched flag where its idle
    /// task is polling (`set_nr_if_polling()`).
    pub(super) fn kick(&mut self, from: CpuId, cpu: CpuId) {
        let distance = self.world.topology().distance_class(from, cpu);
        let row = &mut self.cpus[cpu.idx()];
        if row.polling {
            let asleep = row.stage == Stage::Idle;
            self.set_need_resched(cpu, NeedResched::HARD);
            // On its way out of the idle state it sees the flag by itself.
            if asleep {
                let notice = self.prices.poll_notice(distance);
                let slower = u32::try_from(self.slower(cpu, notice).0).unwrap_or(0);
                self.plan_kick(from, cpu, notice + slower);
            }
        } else {
            row.ipi_sent = true;
            self.cpus[from.idx()].debt += self.prices.list().ipi_send;
            self.plan_kick(from, cpu, self.prices.ipi_delivery(distance));
            self.cpus[from.idx()].debt += self.prices.list().ipi_return;
        }
    }

    fn plan_kick(&mut self, from: CpuId, cpu: CpuId, delay: u32) {
        let at = self.world.now() + Nanos(u64::from(self.cpus[from.idx()].debt + delay));
        self.plan_resched(cpu, self.prices.on_grid(at));
    }

    /// Plans that `cpu` looks at its flag and its hand-off list at `at`, if not earlier.
    pub(super) fn plan_resched(&mut self, cpu: CpuId, at: SimTime) {
        let event = Event::Resched(cpu);
        match self.agenda.planned(event) {
            Some(planned) if planned <= at => {}
            Some(_) => self.agenda.arm(event, at),
            None => {
                self.counters.in_flight += 1;
                self.agenda.arm(event, at);
            }
        }
    }

    /// Whether the current task, which has to go, goes on as long as it did in the recording.
    pub(super) fn lingers(&mut self, cpu: CpuId) -> bool {
        let until = self.desks[cpu.idx()].lingers_until;
        let lingers = self.preempt > Nanos::ZERO && self.world.now() < until;
        if lingers {
            self.cpu(cpu).ipi_sent = true;
            self.plan_resched(cpu, until);
        }
        lingers
    }
}
