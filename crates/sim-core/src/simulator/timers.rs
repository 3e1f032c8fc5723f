//! The timers of the policy (`struct hrtimer`): armed or cancelled, expired, and handled in an interrupt.

use simsched_topology::CpuId;

use super::cpu::{Deferred, Irq};
use super::irq::Expired;
use super::sleepers::MIN_DELTA;
use super::state::Simulator;
use crate::agenda::Event;
use crate::ids::TaskId;
use crate::names::{ReschedCause, TimerId};
use crate::observer::Observer;
use crate::policy::{Policy, When};
use crate::time::{Nanos, SimTime};
use crate::workload::Workload;

/// A timer of the policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyTimer {
    /// The CPU on which it expires.
    cpu: CpuId,
    state: TimerState,
    /// It is to be armed so long after the end of the `schedule()` in which its CPU is, and stays as it is until then.
    deferred: Option<Nanos>,
}

/// How far a timer of the policy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerState {
    /// It is not armed.
    Off,
    /// It is in the agenda, for this instant.
    Armed(SimTime),
    /// It has expired, and waits for its CPU to be open to interrupts.
    Expired,
    /// Its interrupt is being handled.
    Handled,
}

impl PolicyTimer {
    pub(super) const OFF: PolicyTimer =
        PolicyTimer { cpu: CpuId(0), state: TimerState::Off, deferred: None };
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Arms and cancels what calls of the policy have asked for.
    pub(super) fn change_timers(&mut self) {
        while let Some((timer, plan)) = self.actions.next_timer() {
            let count = self.timers.len();
            if timer.idx() >= count {
                let TimerId(nth) = timer;
                self.policy_broke(format!(
                    "armed its timer {nth}, and has attached {count} of them"
                ));
                continue;
            }
            match plan {
                None => self.stop_timer(timer),
                Some((cpu, when)) if self.is_cpu(cpu) => self.start_timer(timer, cpu, when),
                Some(_) => {}
            }
        }
    }

    fn start_timer(&mut self, timer: TimerId, cpu: CpuId, when: When) {
        let at = match when {
            When::At(at) => at,
            When::Near(at) if self.is_near(timer, cpu, at) => return,
            When::Near(at) => at,
            When::AfterSchedule(delay) if self.desks[cpu.idx()].in_schedule => {
                if self.timers[timer.idx()].cpu != cpu {
                    self.stop_timer(timer);
                    self.timers[timer.idx()].cpu = cpu;
                }
                self.timers[timer.idx()].deferred = Some(delay);
                self.desk(cpu).deferred_timers.push(timer);
                return;
            }
            When::AfterSchedule(delay) => self.world.now() + delay,
        };
        self.set_timer(timer, cpu, at);
        self.owe(self.world.this_cpu(), self.prices.list().hrtimer_start);
    }

    /// `cpu` takes `ns` longer for what it is doing.
    pub(super) fn owe(&mut self, cpu: CpuId, ns: u32) {
        if !self.is_paid(cpu) {
            self.cpus[cpu.idx()].debt += ns;
        }
    }

    /// Whether `timer` is armed on `cpu` for an instant within [`When::NEAR`] of `at`.
    fn is_near(&self, timer: TimerId, cpu: CpuId, at: SimTime) -> bool {
        let PolicyTimer { cpu: on, state, .. } = self.timers[timer.idx()];
        let TimerState::Armed(was) = state else { return false };
        on == cpu && at.0.abs_diff(was.0) <= When::NEAR.0
    }

    /// `timer` expires on `cpu` at `at`, and not before 1 us from now.
    fn set_timer(&mut self, timer: TimerId, cpu: CpuId, at: SimTime) {
        self.stop_timer(timer);
        let at = at.max(self.world.now() + MIN_DELTA);
        self.timers[timer.idx()] =
            PolicyTimer { cpu, state: TimerState::Armed(at), deferred: None };
        self.agenda.arm(Event::PolicyTimer(timer), at);
    }

    /// `timer` does not expire. If it has, and its interrupt has not begun, that never comes.
    fn stop_timer(&mut self, timer: TimerId) {
        let was = std::mem::replace(&mut self.timers[timer.idx()], PolicyTimer::OFF);
        if was.state == TimerState::Expired {
            let waiting = &mut self.desks[was.cpu.idx()].timers;
            waiting.retain(|expired| *expired != Expired::Policy(timer));
            if waiting.is_empty() {
                self.cpu(was.cpu).deferred.take(Deferred::TIMER);
            }
        }
        self.agenda.disarm(Event::PolicyTimer(timer));
    }

    /// What the end of `schedule()` on `cpu`, in `later` ns, takes longer since timers are armed there.
    #[inline]
    pub(super) fn arms_timers(&self, cpu: CpuId, later: u32) -> u32 {
        if self.desks[cpu.idx()].deferred_timers.is_empty() { 0 } else { self.arms(cpu, later) }
    }

    #[cold]
    fn arms(&self, cpu: CpuId, later: u32) -> u32 {
        let end = self.world.now() + Nanos(u64::from(later));
        let is_armed = |timer: &&TimerId| {
            let PolicyTimer { cpu: on, deferred, .. } = self.timers[timer.idx()];
            on == cpu && deferred.is_some_and(|delay| !self.is_near(**timer, cpu, end + delay))
        };
        // One that was asked for twice is armed once.
        let asked = &self.desks[cpu.idx()].deferred_timers;
        let once = asked.iter().enumerate().filter(|(nth, timer)| !asked[..*nth].contains(timer));
        let armed = once.map(|(_, timer)| timer).filter(is_armed).count();
        u32::try_from(armed).map_or(0, |armed| armed * self.prices.list().hrtimer_start_deferred)
    }

    /// The end of `schedule()` on `cpu`: what was to be armed from there is (`hrtick_schedule_exit()`).
    #[cold]
    pub(super) fn start_deferred_timers(&mut self, cpu: CpuId) {
        while let Some(timer) = self.desk(cpu).deferred_timers.pop() {
            // It may have been cancelled, or armed anew, meanwhile.
            let PolicyTimer { cpu: on, deferred, .. } = self.timers[timer.idx()];
            let Some(delay) = deferred.filter(|_| on == cpu) else {
                continue;
            };
            self.timers[timer.idx()].deferred = None;
            let at = self.world.now() + delay;
            if !self.is_near(timer, cpu, at) {
                self.set_timer(timer, cpu, at);
            }
        }
    }

    /// `timer` expires on the CPU for which it was armed.
    pub(super) fn policy_timer_arrives(&mut self, timer: TimerId) {
        let PolicyTimer { cpu, .. } = self.timers[timer.idx()];
        self.world.set_this_cpu(cpu);
        self.timers[timer.idx()].state = TimerState::Expired;
        self.desk(cpu).timers.push_back(Expired::Policy(timer));
        self.cpu(cpu).deferred.add(Deferred::TIMER);
        self.interrupt(cpu);
    }

    /// The interrupt of `timer`, which has expired, begins.
    pub(super) fn begin_policy_timer(&mut self, timer: TimerId) -> Irq {
        self.timers[timer.idx()].state = TimerState::Handled;
        Irq::Policy(timer)
    }

    /// The interrupt of `timer` takes effect, unless it was cancelled or armed anew meanwhile.
    pub(super) fn end_policy_timer(&mut self, cpu: CpuId, timer: TimerId) {
        let found = &mut self.timers[timer.idx()];
        if found.cpu == cpu && found.state == TimerState::Handled {
            found.state = TimerState::Off;
            self.world.update_rq_clock(cpu);
            self.resched_cause = ReschedCause::Timer;
            self.policy_timer(cpu, timer);
            self.resched_cause = ReschedCause::Other;
        }
    }

    /// Whether the policy throttles a task that it can still unthrottle: in a timer, or in the tick of an idle CPU.
    pub(super) fn policy_may_let_go(&self) -> bool {
        let holds = |idx| {
            let row = self.world.task(TaskId::new(idx));
            row.on_rq && row.throttled
        };
        let is_called = self
            .timers
            .iter()
            .any(|timer| timer.state != TimerState::Off || timer.deferred.is_some())
            || self.desks.iter().any(|desk| !desk.tick_stopped);
        is_called && (0..self.tasks.len()).any(holds)
    }
}
