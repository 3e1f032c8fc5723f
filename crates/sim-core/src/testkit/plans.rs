//! `Plans`: what a policy was promised of its timers and calls, and whether that was kept.

use std::collections::BTreeMap;

use simsched_topology::CpuId;

use crate::names::{CallId, TimerId};
use crate::policy::When;
use crate::time::{Nanos, SimTime};

/// No timer expires sooner than this.
const SOONEST: Nanos = Nanos::from_micros(1);

/// An account of timers and calls, for a policy that notes in it all that it asks for and all that it hears of.
#[derive(Clone, Debug, Default)]
pub struct Plans {
    /// By timer that is armed: its CPU and the earliest instant of its expiry, which is exact unless it counts
    /// from the end of a `schedule()`.
    timers: BTreeMap<TimerId, Plan>,
    /// Calls that were asked for and have not arrived, and when that was.
    calls: BTreeMap<(CpuId, CallId), SimTime>,
    /// Timers that have fired: when they were handled, which and where.
    fired: Vec<(SimTime, TimerId, CpuId)>,
    /// How many calls have arrived.
    arrived: usize,
    /// The first promise that was broken.
    broken: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    cpu: CpuId,
    from: SimTime,
    exact: bool,
}

impl Plans {
    /// At `now` `timer` was armed.
    pub fn armed(&mut self, now: SimTime, timer: TimerId, cpu: CpuId, when: When) {
        let (at, exact) = match when {
            When::At(at) => (at, true),
            When::Near(at) => (SimTime(at.0.saturating_sub(When::NEAR.0)), false),
            When::AfterSchedule(delay) => {
                (now + Nanos(delay.0.saturating_sub(When::NEAR.0)), false)
            }
        };
        self.timers.insert(timer, Plan { cpu, from: at.max(now + SOONEST), exact });
    }

    /// `timer` was cancelled.
    pub fn cancelled(&mut self, timer: TimerId) {
        self.timers.remove(&timer);
    }

    /// `timer` has fired on `cpu`.
    pub fn fired(&mut self, now: SimTime, timer: TimerId, cpu: CpuId) {
        self.fired.push((now, timer, cpu));
        let Some(plan) = self.timers.remove(&timer) else {
            return self.broke(format!("timer {} fired and was not armed", timer.0));
        };
        if plan.cpu != cpu || now < plan.from {
            let Plan { cpu: on, from, .. } = plan;
            self.broke(format!(
                "timer {} fired at {now} on CPU {cpu}, and was armed for {from} on CPU {on}",
                timer.0
            ));
        }
        let earlier = |(other, due): (&TimerId, &Plan)| {
            due.exact && due.cpu == cpu && (due.from, *other) < (plan.from, timer)
        };
        if plan.exact && self.timers.iter().any(earlier) {
            self.broke(format!("timer {} fired before one that expired before it", timer.0));
        }
    }

    /// At `now` `what` was to be called on `cpu`; once, if it is to be already.
    pub fn called(&mut self, now: SimTime, cpu: CpuId, what: CallId) {
        self.calls.entry((cpu, what)).or_insert(now);
    }

    /// `what` was called on `cpu`.
    pub fn arrived(&mut self, cpu: CpuId, what: CallId) {
        self.arrived += 1;
        if self.calls.remove(&(cpu, what)).is_none() {
            self.broke(format!("call {} arrived on CPU {cpu} and was not asked for", what.0));
        }
    }

    /// Timers that have fired: when they were handled, which and where, in that order.
    #[must_use]
    pub fn fired_timers(&self) -> &[(SimTime, TimerId, CpuId)] {
        &self.fired
    }

    /// Calls that were asked for before `time`, and have not arrived.
    #[must_use]
    pub fn lost_calls(&self, time: SimTime) -> Vec<(CpuId, CallId)> {
        let lost = self.calls.iter().filter(|(_, asked)| **asked < time);
        lost.map(|(call, _)| *call).collect()
    }

    /// How many calls have arrived.
    #[must_use]
    pub fn arrived_calls(&self) -> usize {
        self.arrived
    }

    /// Timers that were to expire before `time`, and have not fired; those that count from the end of a
    /// `schedule()` left out.
    #[must_use]
    pub fn overdue(&self, time: SimTime) -> Vec<TimerId> {
        let due = self.timers.iter().filter(|(_, plan)| plan.exact && plan.from < time);
        due.map(|(timer, _)| *timer).collect()
    }

    /// Whether all promises were kept.
    ///
    /// # Errors
    /// The first that was broken.
    pub fn check(&self) -> Result<(), String> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// This promise was broken.
    pub fn broke(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }
}
