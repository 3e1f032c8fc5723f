//! The slice timers of the CPUs (`rq->hrtick_timer`): with them a slice ends when it is used up, not at the next tick.
//!
//! They are there where the feature `HRTICK` is on, as it is by default from 7.2.

use simsched_core::{CallId, Cx, Nanos, TimerId, When, World};
use simsched_topology::CpuId;

use super::passes::cpu_of;
use super::{Kernel, event};
use crate::library::{Answer, Library};
use crate::sys::RawEvent;

/// The call by which a CPU asks another one to start its slice timer (`rq->hrtick_csd`).
pub(super) const START_SLICE: CallId = CallId(0);

/// The slice timers of all CPUs.
#[derive(Clone, Debug)]
pub(super) struct Slices {
    /// How many: none where the feature is off.
    timers: u32,
    /// By CPU: calls that started its timer have found that it was to balance for the idle CPUs, too.
    kicked: Vec<bool>,
}

impl Slices {
    /// Those of the machine of `world`.
    pub(super) fn new(library: &mut Library, world: &World) -> Slices {
        let cpus = world.topology().nr_cpus();
        let timers = if library.class.slices() == 1 { u32::try_from(cpus).unwrap_or(0) } else { 0 };
        Slices { timers, kicked: vec![false; cpus] }
    }

    pub(super) fn timers(&self) -> u32 {
        self.timers
    }

    pub(super) fn are_used(&self) -> bool {
        self.timers > 0
    }

    /// A timer is armed.
    pub(super) fn arm(&self, cx: &mut Cx<'_>, event: &RawEvent) {
        let delay = Nanos(event.when);
        let when = match event.arg {
            0 => When::At(cx.world.now() + delay),
            _ => When::AfterSchedule(delay),
        };
        let cpu = cpu_of(event.cpu);
        cx.arm(TimerId(u32::from(cpu.0)), cpu, when);
    }

    /// A timer is cancelled. Those behind the slice timers are of quotas, which no run sets.
    pub(super) fn cancel(&self, cx: &mut Cx<'_>, event: &RawEvent) {
        if let Some(nth) = u32::try_from(event.arg - 1).ok().filter(|&nth| nth < self.timers) {
            cx.cancel(TimerId(nth));
        }
    }
}

impl Kernel {
    /// What was queued on another CPU may have asked that one to start its timer.
    pub(super) fn slices_afar(&mut self, cx: &mut Cx<'_>) -> Answer {
        if self.slices.are_used() {
            self.take_events(cx)?;
            for event in &self.events {
                if matches!(event.kind, event::CALL | event::POLL) {
                    cx.call_on(cpu_of(event.cpu), START_SLICE);
                }
            }
        }
        Ok(())
    }

    /// The slice timer of `cpu` has expired.
    pub(super) fn slice_ends(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Answer {
        self.raises(cx, cpu, |library, world| library.slice(world, cpu))
    }

    /// `cpu` starts its slice timer, as another CPU has asked.
    pub(super) fn slice_starts(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Answer {
        let softirq = self.calls(cx, cpu)?;
        self.slices.kicked[cpu.idx()] |= softirq;
        Ok(())
    }

    /// `cpu` was asked to balance for the idle CPUs, and whether it does.
    pub(super) fn kicked(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Answer<bool> {
        let softirq = self.calls(cx, cpu)?;
        Ok(std::mem::take(&mut self.slices.kicked[cpu.idx()]) | softirq)
    }

    /// All that other CPUs have asked `cpu` to call, and whether that raised the balance softirq.
    fn calls(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Answer<bool> {
        self.take_events(cx)?;
        if self.slices.are_used() {
            self.library.clock(cx.world, cpu)?;
        }
        self.library.calls(cx.world, cpu)?;
        Ok(self.take_events(cx)?.iter().any(|event| event.kind == event::SOFTIRQ))
    }
}
