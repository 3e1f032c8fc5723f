//! `Cx`: what a call of a policy reads, and what it asks for beside its answer.

use simsched_topology::CpuId;

use super::actions::{Actions, Touch};
use super::trace::{PolicyEvent, Wants};
use crate::ids::TaskId;
use crate::names::{CallId, FuncId, TimerId};
use crate::time::{Nanos, SimTime};
use crate::world::World;

/// The context of a call of a policy: the world to read, and the actions to ask for beside the answer.
///
/// A policy changes nothing itself. What it asks for here the simulator makes true after the call, in the
/// name of the CPU that made it ([`World::this_cpu`]).
///
/// ```
/// # use simsched_core::{Actions, Cx, testkit::WorldKit};
/// # use simsched_topology::{CpuId, Topology};
/// let kit = WorldKit::new(Topology::builtin("t8", None).unwrap(), 250);
/// let mut actions = Actions::default();
/// let mut cx = Cx::new(kit.world(), &mut actions);
/// cx.resched(CpuId(3));
/// assert_eq!((actions.next_resched(), actions.next_resched()), (Some(CpuId(3)), None));
/// ```
#[derive(Debug)]
pub struct Cx<'a> {
    /// The world as it is; a copy of the reference outlives a borrow of the context.
    pub world: &'a World,
    actions: &'a mut Actions,
}

impl<'a> Cx<'a> {
    /// The context of a call that reads `world` and asks for `actions`: for those who call a policy.
    #[inline(always)]
    pub fn new(world: &'a World, actions: &'a mut Actions) -> Cx<'a> {
        Cx { world, actions }
    }

    /// The current task of `cpu` is to be rescheduled (`resched_curr()`); the idle task if there are runnable tasks.
    #[inline]
    pub fn resched(&mut self, cpu: CpuId) {
        self.actions.pending |= Actions::RESCHED;
        if self.has(cpu) {
            self.actions.resched.insert(cpu);
        }
    }

    /// The current task of `cpu` is to be rescheduled when it returns to user mode ([`Preempt::Lazy`],
    /// `resched_curr_lazy()`); the idle task as with [`Cx::resched`].
    ///
    /// [`Preempt::Lazy`]: crate::Preempt::Lazy
    #[inline]
    pub fn resched_lazy(&mut self, cpu: CpuId) {
        self.actions.pending |= Actions::LAZY;
        if self.has(cpu) {
            self.actions.lazy.insert(cpu);
        }
    }

    /// The policy cannot go on: the run ends behind the event under way, with this sentence
    /// ([`SimError::PolicyFailed`](crate::SimError::PolicyFailed)). What it answers until then must keep the rules of the
    /// trait still. The first sentence counts.
    #[cold]
    pub fn fail(&mut self, why: impl Into<String>) {
        self.actions.pending |= Actions::FAILED;
        self.actions.failed.get_or_insert_with(|| why.into());
    }

    /// Whether the machine has this CPU; one that it has not is kept, and ends the run.
    fn has(&mut self, cpu: CpuId) -> bool {
        let has = cpu.idx() < self.world.topology().nr_cpus();
        if !has {
            self.actions.pending |= Actions::RESCHED;
            self.actions.stray = Some(cpu);
        }
        has
    }

    /// `task`, which slept on its runqueue ([`Dequeued::Delayed`](crate::Dequeued::Delayed)), has left it
    /// (`__block_task()`).
    #[inline]
    pub fn block(&mut self, task: TaskId) {
        self.actions.pending |= Actions::BLOCKED;
        self.actions.blocked.push(task);
    }

    /// `task` has something to do when it returns to user mode (`task_work_add()`): then
    /// [`Policy::task_work`](crate::Policy::task_work) is called, once.
    #[inline]
    pub fn add_task_work(&mut self, task: TaskId) {
        self.actions.pending |= Actions::WORK;
        self.actions.work.push(task);
    }

    /// `timer` expires on `cpu` at `when`, in place of what was planned for it (`hrtimer_start()`): then
    /// [`Policy::timer`](crate::Policy::timer) is called there, in an interrupt, once. No timer expires sooner
    /// than 1 us from now.
    #[inline]
    pub fn arm(&mut self, timer: TimerId, cpu: CpuId, when: When) {
        self.actions.pending |= Actions::TIMERS;
        self.actions.timers.push_back((timer, Some((cpu, when))));
    }

    /// `timer` does not expire, unless it is armed again (`hrtimer_try_to_cancel()`). One that has expired, and
    /// whose interrupt has not been handled yet, is not heard of any more.
    #[inline]
    pub fn cancel(&mut self, timer: TimerId) {
        self.actions.pending |= Actions::TIMERS;
        self.actions.timers.push_back((timer, None));
    }

    /// `cpu` is to call [`Policy::called`](crate::Policy::called) (`smp_call_function_single_async()`): in an
    /// interrupt, or where its polling idle task sees the request, before the wakeups that were handed to it; or, if it
    /// is the CPU that makes this call, right behind the call. A call that it is still to make is not added again.
    #[inline]
    pub fn call_on(&mut self, cpu: CpuId, what: CallId) {
        self.actions.pending |= Actions::CALLS;
        if !self.actions.calls_on.contains(&(cpu, what)) {
            self.actions.calls_on.push_back((cpu, what));
        }
    }

    /// `task` is throttled (`throttle_cfs_rq()`): it stays runnable, but does not count in
    /// [`RqRow::nr_running`](crate::RqRow::nr_running) and may not be picked, until it is unthrottled
    /// ([`Cx::unthrottle`]), or sleeps. One that is current runs on to its next `schedule()`. One that is asleep is
    /// throttled when it is next queued, as is one for which this is asked in
    /// [`Policy::enqueue`](crate::Policy::enqueue).
    #[inline]
    pub fn throttle(&mut self, task: TaskId) {
        self.actions.pending |= Actions::THROTTLES;
        self.actions.throttled.push_back((task, true));
    }

    /// `task`, which was throttled, counts again (`unthrottle_cfs_rq()`). That does not reschedule its CPU
    /// ([`Cx::resched`]).
    #[inline]
    pub fn unthrottle(&mut self, task: TaskId) {
        self.actions.pending |= Actions::THROTTLES;
        self.actions.throttled.push_back((task, false));
    }

    /// A line of [`Attached::lines`](crate::Attached::lines) was read or written. The CPU that made the call
    /// waits for it where it has to come from elsewhere.
    #[inline]
    pub fn touch(&mut self, touch: Touch) {
        self.actions.pending |= Actions::COSTS;
        self.actions.touched.push(touch);
    }

    /// Whether the observer of the run has enabled this trace event.
    #[inline]
    #[must_use]
    pub fn wants(&self, what: Wants) -> bool {
        self.actions.wants.has(what)
    }

    /// Emits a trace event, if the observer has enabled it ([`Cx::wants`]); nothing else follows from it.
    #[inline]
    pub fn trace(&mut self, event: PolicyEvent) {
        if self.wants(event.kind()) {
            self.actions.traced.push(event);
        }
    }

    /// A function of [`Attached::functions`](crate::Attached::functions) was called so many times: the CPU that
    /// made the call pays for it, or the time is accounted under its name ([`Charge`](crate::Charge)).
    #[inline]
    pub fn did(&mut self, what: FuncId, times: u32) {
        self.actions.pending |= Actions::COSTS;
        match self.actions.calls.get_mut(what.idx()) {
            Some(calls) => *calls = calls.saturating_add(times),
            None => self.actions.unknown = Some(what),
        }
    }
}

/// When a timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At this instant.
    At(SimTime),
    /// At this instant; a timer that is armed for an instant within [`When::NEAR`] of it stays as it is
    /// (`hrtick_cond_restart()`).
    Near(SimTime),
    /// So long after the end of the `schedule()` in which the timer's CPU is, or after now if it is in none
    /// (`hrtick_start()`). A timer that is armed for an instant within [`When::NEAR`] of that stays as it is.
    AfterSchedule(Nanos),
}

impl When {
    /// A timer is not armed anew for an instant that is no farther than this from the one for which it is armed
    /// (`hrtick_needs_rearm()`).
    pub const NEAR: Nanos = Nanos(5_000);
}
