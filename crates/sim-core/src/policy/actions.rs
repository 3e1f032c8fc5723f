//! `Actions`: what the calls of a policy have asked for and is to be made true.

use std::collections::VecDeque;

use simsched_topology::{CpuId, CpuSet};

use super::cx::When;
use super::trace::{PolicyEvent, Wants};
use crate::ids::TaskId;
use crate::names::{CallId, FuncId, LineId, TimerId};

/// What was done to a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Access {
    /// It was read: the reader needs a copy.
    Read,
    /// It was changed by an atomic operation: the writer needs it for itself.
    Write,
}

/// One access to one of the shared lines of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Which line.
    pub line: LineId,
    /// How.
    pub access: Access,
    /// By which function.
    pub what: FuncId,
}

/// A timer, and on which CPU and when it expires; `None` is never.
pub type TimerPlan = (TimerId, Option<(CpuId, When)>);

/// What the calls of a policy have asked for, until it is made true.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// Which kinds wait: nothing else is looked at where this is zero.
    pub(super) pending: u16,
    /// CPUs whose current task is to be rescheduled.
    pub(super) resched: CpuSet,
    /// Those where that can wait for its return to user mode.
    pub(super) lazy: CpuSet,
    /// A CPU that was to be rescheduled and that the machine does not have.
    pub(super) stray: Option<CpuId>,
    /// Sleepers that have left their runqueues, in the order in which they did.
    pub(super) blocked: Vec<TaskId>,
    /// Tasks that have something to do when they return to user mode.
    pub(super) work: Vec<TaskId>,
    /// Timers that are armed, or cancelled, in the order in which that was asked for.
    pub(super) timers: VecDeque<TimerPlan>,
    /// Functions to be called on other CPUs, oldest first.
    pub(super) calls_on: VecDeque<(CpuId, CallId)>,
    /// Tasks that are throttled, or unthrottled if false, in the order in which that was asked for.
    pub(super) throttled: VecDeque<(TaskId, bool)>,
    /// Accesses to shared lines, in their order.
    pub(super) touched: Vec<Touch>,
    /// Calls of each function.
    pub(super) calls: [u32; FuncId::MAX],
    /// A function that was called and that no policy can have.
    pub(super) unknown: Option<FuncId>,
    /// Why the policy cannot go on.
    pub(super) failed: Option<String>,
    /// Trace events that the observer has enabled.
    pub(super) wants: Wants,
    /// What was traced and has not been told, oldest first.
    pub(super) traced: Vec<PolicyEvent>,
}

impl Actions {
    pub(super) const RESCHED: u16 = 1;
    pub(super) const BLOCKED: u16 = 2;
    pub(super) const COSTS: u16 = 4;
    /// The observer has enabled [`Wants::UTIL_AVG`]: set for the whole run.
    pub(super) const WATCHED: u16 = 8;
    /// Something is to be done behind each event: set for the whole run.
    pub(super) const FOLLOWED: u16 = 16;
    pub(super) const WORK: u16 = 32;
    pub(super) const TIMERS: u16 = 64;
    pub(super) const CALLS: u16 = 128;
    pub(super) const THROTTLES: u16 = 256;
    pub(super) const LAZY: u16 = 512;
    pub(super) const FAILED: u16 = 1024;
    /// What is made true, or looked at, when a call has returned.
    const BEHIND_CALL: u16 = !(Actions::COSTS | Actions::FOLLOWED);

    /// No actions, with room for `nr_tasks` sleepers that leave at once.
    #[must_use]
    pub fn with_capacity(nr_tasks: usize) -> Actions {
        Actions { blocked: Vec::with_capacity(nr_tasks), ..Actions::default() }
    }

    /// Whether anything is to be done when a call has returned: something was asked for beside costs, or
    /// `util_avg` is watched.
    #[inline(always)]
    pub(crate) fn follow_call(&self) -> bool {
        self.pending & Actions::BEHIND_CALL != 0
    }

    /// This is wanted, for the whole run: said before the first call of the policy, which may remember it.
    pub fn set_wants(&mut self, wants: Wants) {
        self.wants = wants;
        if wants.has(Wants::UTIL_AVG) {
            self.pending |= Actions::WATCHED;
        }
        if wants != Wants::NOTHING {
            self.follow_events();
        }
    }

    /// From now on something is to be done behind each event.
    pub(crate) fn follow_events(&mut self) {
        self.pending |= Actions::FOLLOWED;
    }

    /// Whether anything is to be done behind an event: it has costs, or somebody watches or trusts nobody.
    #[inline(always)]
    pub(crate) fn follow_event(&self) -> bool {
        self.pending & (Actions::COSTS | Actions::FOLLOWED) != 0
    }

    /// What was traced since this was last taken.
    pub fn take_traced(&mut self) -> Vec<PolicyEvent> {
        std::mem::take(&mut self.traced)
    }

    /// Whether lines were touched or functions called.
    #[inline(always)]
    pub(crate) fn has_costs(&self) -> bool {
        self.pending & Actions::COSTS != 0
    }

    /// How often each function was called, by [`FuncId`], and has not been paid.
    #[inline]
    #[must_use]
    pub fn calls(&self) -> [u32; FuncId::MAX] {
        self.calls
    }

    /// An access to a line that is not among `lines`, or a function that is not among `functions`.
    pub(crate) fn stranger(&self, lines: usize, functions: usize) -> Option<String> {
        let is_known = |what: FuncId| what.idx() < functions;
        let called = FuncId::all().find(|what| self.calls[what.idx()] > 0 && !is_known(*what));
        let touched = self.touched.iter();
        let line = touched.clone().find(|touch| touch.line.idx() >= lines).map(|touch| touch.line);
        let toucher = touched.map(|touch| touch.what).find(|what| !is_known(*what));
        if let Some(LineId(line)) = line {
            return Some(format!("touched line {line}, and has attached {lines} of them"));
        }
        let FuncId(what) = self.unknown.or(called).or(toucher)?;
        Some(format!("called its function {what}, and has attached {functions} of them"))
    }

    /// The accesses to shared lines, oldest first.
    #[inline]
    #[must_use]
    pub fn touched(&self) -> &[Touch] {
        &self.touched
    }

    /// Forgets the accesses to lines and the calls of functions, which have been paid; the memory is kept.
    #[inline]
    pub fn forget_costs(&mut self) {
        self.pending &= !Actions::COSTS;
        self.touched.clear();
        self.calls = [0; FuncId::MAX];
        self.unknown = None;
    }

    /// The sleeper that was the last to leave its runqueue, of those that have not been taken from this list.
    #[inline]
    pub fn next_blocked(&mut self) -> Option<TaskId> {
        if self.pending & Actions::BLOCKED == 0 {
            return None;
        }
        let task = self.blocked.pop();
        if self.blocked.is_empty() {
            self.pending &= !Actions::BLOCKED;
        }
        task
    }

    /// The timer for which something was asked first, of those that have not been taken.
    #[inline]
    pub fn next_timer(&mut self) -> Option<TimerPlan> {
        first_of(&mut self.timers, &mut self.pending, Actions::TIMERS)
    }

    /// The task for which it was asked first that it be throttled (true) or unthrottled, of those that have not been
    /// taken.
    #[inline]
    pub fn next_throttle(&mut self) -> Option<(TaskId, bool)> {
        first_of(&mut self.throttled, &mut self.pending, Actions::THROTTLES)
    }

    /// The call on another CPU that was asked for first, of those that have not been taken.
    #[inline]
    pub fn next_call_on(&mut self) -> Option<(CpuId, CallId)> {
        first_of(&mut self.calls_on, &mut self.pending, Actions::CALLS)
    }

    /// A task that has something to do when it returns to user mode.
    #[inline]
    pub fn next_work(&mut self) -> Option<TaskId> {
        let task = self.work.pop();
        if self.work.is_empty() {
            self.pending &= !Actions::WORK;
        }
        task
    }

    /// Why the policy cannot go on, if it has said so and that was not taken.
    #[inline]
    pub fn take_failed(&mut self) -> Option<String> {
        self.pending &= !Actions::FAILED;
        self.failed.take()
    }

    /// The lowest CPU whose current task is to be rescheduled, of those that have not been taken.
    #[inline]
    pub fn next_resched(&mut self) -> Option<CpuId> {
        self.stray
            .take()
            .or_else(|| self.next_cpu(Actions::RESCHED, |actions| &mut actions.resched))
    }

    /// The lowest CPU whose current task is to be rescheduled when it returns to user mode, of those that have not
    /// been taken.
    #[inline]
    pub fn next_resched_lazy(&mut self) -> Option<CpuId> {
        self.next_cpu(Actions::LAZY, |actions| &mut actions.lazy)
    }

    #[inline(always)]
    fn next_cpu(&mut self, kind: u16, set: fn(&mut Actions) -> &mut CpuSet) -> Option<CpuId> {
        if self.pending & kind == 0 {
            return None;
        }
        let cpu = set(self).first();
        match cpu {
            Some(cpu) => _ = set(self).remove(cpu),
            None => self.pending &= !kind,
        }
        cpu
    }
}

/// Takes the oldest entry of a list; the kind is no longer pending once that is empty.
#[inline]
fn first_of<T>(list: &mut VecDeque<T>, pending: &mut u16, kind: u16) -> Option<T> {
    let first = list.pop_front();
    if list.is_empty() {
        *pending &= !kind;
    }
    first
}
