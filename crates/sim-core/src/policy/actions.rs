//! `Cx`: what a call of a policy reads and asks for; `Actions`: what was asked for and is to be made true.

use simsched_topology::{CpuId, CpuSet, LlcId};

use crate::ids::{ProcId, TaskId};
use crate::names::{FuncId, LineId};
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

    /// The current task of `cpu` is to be rescheduled (`resched_curr()`). An idle task is not.
    #[inline]
    pub fn resched(&mut self, cpu: CpuId) {
        self.actions.pending |= Actions::RESCHED;
        self.actions.resched.insert(cpu);
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
            Some(calls) => *calls += times,
            None => self.actions.unknown = Some(what),
        }
    }
}

/// The trace events of a policy, as an observer enables them; one that is not enabled costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants(u8);

impl Wants {
    /// Nothing.
    pub const NOTHING: Wants = Wants(0);
    /// [`Tracepoint::UtilAvg`](crate::Tracepoint::UtilAvg): how utilized the policy holds each CPU to be.
    pub const UTIL_AVG: Wants = Wants(1);
    /// [`Tracepoint::Preferred`](crate::Tracepoint::Preferred): which LLC is the home of a process.
    pub const PREFERRED: Wants = Wants(2);

    /// All that is wanted by either.
    #[must_use]
    pub const fn or(self, other: Wants) -> Wants {
        Wants(self.0 | other.0)
    }

    /// Whether something of `what` is wanted.
    #[inline]
    #[must_use]
    pub const fn has(self, what: Wants) -> bool {
        self.0 & what.0 != 0
    }
}

/// What a policy traces itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyEvent {
    /// This LLC is the home of a process from now on, or none is.
    Preferred(ProcId, Option<LlcId>),
}

impl PolicyEvent {
    /// What an observer enables to get it.
    const fn kind(self) -> Wants {
        match self {
            PolicyEvent::Preferred(..) => Wants::PREFERRED,
        }
    }
}

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

/// What the calls of a policy have asked for, until it is made true.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// Which kinds wait: nothing else is looked at where this is zero.
    pending: u8,
    /// CPUs whose current task is to be rescheduled.
    resched: CpuSet,
    /// Sleepers that have left their runqueues, in the order in which they did.
    blocked: Vec<TaskId>,
    /// Tasks that have something to do when they return to user mode.
    work: Vec<TaskId>,
    /// Accesses to shared lines, in their order.
    touched: Vec<Touch>,
    /// Calls of each function.
    calls: [u32; FuncId::MAX],
    /// A function that was called and that no policy can have.
    unknown: Option<FuncId>,
    /// Trace events that the observer has enabled.
    wants: Wants,
    /// What was traced and has not been told, oldest first.
    traced: Vec<PolicyEvent>,
}

impl Actions {
    const RESCHED: u8 = 1;
    const BLOCKED: u8 = 2;
    const COSTS: u8 = 4;
    /// The observer has enabled [`Wants::UTIL_AVG`]: set for the whole run.
    const WATCHED: u8 = 8;
    /// Something is to be done behind each event: set for the whole run.
    const FOLLOWED: u8 = 16;
    const WORK: u8 = 32;
    /// What is made true, or looked at, when a call has returned.
    const BEHIND_CALL: u8 = Actions::RESCHED | Actions::BLOCKED | Actions::WORK | Actions::WATCHED;

    /// No actions, with room for `nr_tasks` sleepers that leave at once.
    #[must_use]
    pub fn with_capacity(nr_tasks: usize) -> Actions {
        Actions { blocked: Vec::with_capacity(nr_tasks), ..Actions::default() }
    }

    /// Whether anything is to be done when a call has returned: tasks have left, are to go or have something to
    /// do, or `util_avg` is watched.
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

    /// How often each function was called.
    #[inline]
    pub(crate) fn calls(&self) -> [u32; FuncId::MAX] {
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

    /// A task that has something to do when it returns to user mode.
    #[inline]
    pub fn next_work(&mut self) -> Option<TaskId> {
        let task = self.work.pop();
        if self.work.is_empty() {
            self.pending &= !Actions::WORK;
        }
        task
    }

    /// The lowest CPU whose current task is to be rescheduled, of those that have not been taken.
    #[inline]
    pub fn next_resched(&mut self) -> Option<CpuId> {
        if self.pending & Actions::RESCHED == 0 {
            return None;
        }
        let cpu = self.resched.first();
        match cpu {
            Some(cpu) => _ = self.resched.remove(cpu),
            None => self.pending &= !Actions::RESCHED,
        }
        cpu
    }
}
