//! `Asked`: what the class asks of the simulator beside the answer of a call, until the call ends.

use simsched_core::{
    Access, Charge, CostedFunction, Cx, FuncId, LineId, Nanos, Preempt, TaskId, Touch,
};
use simsched_topology::{CpuId, CpuSet};

use super::slices::Slices;
use super::{EntityId, Hierarchy};

/// `update_cfs_group()`: the readers of `tg->load_avg`.
pub const UPDATE_CFS_GROUP: FuncId = FuncId(0);
/// `update_load_avg()`: the writers of `tg->load_avg`.
pub const UPDATE_LOAD_AVG: FuncId = FuncId(1);

/// What an enqueue, a dequeue or a choice of a task does at each level of groups above the root, on top of what it
/// does without groups.
pub const GROUP_LEVEL: FuncId = FuncId(2);
/// What a tick does at each level of groups above the root, on top of what it does without groups.
pub const TICK_GROUP_LEVEL: FuncId = FuncId(3);
/// `account_mm_sched()`: cache-aware scheduling accounts the runtime of the current task where it ran.
pub const ACCOUNT_MM_SCHED: FuncId = FuncId(4);

/// The functions of the class that are accounted under their own names, by [`FuncId`].
pub const FUNCTIONS: &[CostedFunction] = &[
    CostedFunction { name: "update_cfs_group", item: "update_cfs_group", charge: Charge::Inside },
    CostedFunction { name: "update_load_avg", item: "update_load_avg", charge: Charge::Inside },
    CostedFunction { name: "group_level", item: "group_level", charge: Charge::Extra },
    CostedFunction { name: "tick_group_level", item: "tick_group_level", charge: Charge::Extra },
    CostedFunction { name: "account_mm_sched", item: "cache_aware_account", charge: Charge::Extra },
];

/// How many of them may be called where there are no task groups and nothing knows of caches: the first ones.
const ALWAYS: usize = 2;

/// What the functions of [`Hierarchy`](super::Hierarchy), which have no context of the call, ask for.
///
/// The one that answers the call hands it over at its end ([`Hierarchy::tell`](super::Hierarchy)).
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Something is below, or somebody watches the homes of processes.
    any: bool,
    /// CPUs whose current task is to be rescheduled (`resched_curr()` in `update_curr()`).
    resched: CpuSet,
    /// Those where that can wait for its return to user mode (`resched_curr_lazy()`, 7.2 and later).
    lazy: CpuSet,
    /// The slice timers.
    pub(super) slices: Slices,
    /// Sleepers that have left their runqueues (`__block_task()`).
    blocked: Vec<TaskId>,
    /// Only tasks of `SCHED_IDLE` stayed when one of them did.
    left_sched_idle: bool,
    /// Accesses to the lines of groups.
    touched: Vec<Touch>,
    /// How often each of [`FUNCTIONS`] was called.
    calls: [u32; FUNCTIONS.len()],
}

impl Asked {
    /// Nothing but the question whether anybody watches, with room for `nr_tasks` sleepers that leave at once.
    pub(super) fn with_capacity(nr_tasks: usize, nr_cpus: u32) -> Asked {
        let (blocked, slices) = (Vec::with_capacity(nr_tasks), Slices::new(nr_cpus));
        Asked { any: true, blocked, slices, ..Asked::default() }
    }

    /// The current task of `cpu` is to be rescheduled.
    #[inline]
    pub(super) fn resched(&mut self, cpu: CpuId) {
        self.any = true;
        self.resched.insert(cpu);
    }

    /// The current task of `cpu` is to be rescheduled when it returns to user mode.
    #[inline]
    pub(super) fn resched_lazy(&mut self, cpu: CpuId) {
        self.any = true;
        self.lazy.insert(cpu);
    }

    /// How the current task of `cpu` is to be rescheduled; the requests are gone with the answer.
    #[inline]
    pub(super) fn take_due(&mut self, cpu: CpuId) -> Preempt {
        if !self.any {
            return Preempt::No;
        }
        match (self.resched.remove(cpu), self.lazy.remove(cpu)) {
            (true, _) => Preempt::Hard,
            (false, true) => Preempt::Lazy,
            (false, false) => Preempt::No,
        }
    }

    /// The slice of the current task of `cpu` ends in `delay` ([`Slices::start`]).
    #[inline]
    pub(super) fn start_slice(&mut self, cpu: CpuId, delay: Nanos, schedules: bool) {
        self.any = true;
        self.slices.start(cpu, delay, schedules);
    }

    /// Whether this call has asked for a reschedule of `cpu`.
    #[inline]
    pub(super) fn has_resched(&self, cpu: CpuId) -> bool {
        self.any && self.resched.contains(cpu)
    }

    /// `task` has left its runqueue.
    #[inline]
    pub(super) fn block(&mut self, task: TaskId) {
        self.any = true;
        self.blocked.push(task);
    }

    /// A sleeper has left, and only tasks of `SCHED_IDLE` stayed, if only until the next one left.
    #[inline]
    pub(super) fn note_sched_idle(&mut self) {
        self.left_sched_idle = true;
    }

    /// Whether that has happened in this call.
    #[inline]
    pub(super) fn take_sched_idle(&mut self) -> bool {
        std::mem::take(&mut self.left_sched_idle)
    }

    /// Whether a sleeper has left its runqueue in this call.
    #[inline]
    pub(super) fn has_blocked(&self) -> bool {
        self.any && !self.blocked.is_empty()
    }

    /// `what` has read or written `line`.
    #[inline]
    pub(super) fn touch(&mut self, line: LineId, access: Access, what: FuncId) {
        self.any = true;
        self.touched.push(Touch { line, access, what });
    }

    /// `what` was called.
    #[inline]
    pub(super) fn did(&mut self, what: FuncId) {
        self.any = true;
        self.calls[what.idx()] += 1;
    }

    /// Whether the current task of `cpu` is to be rescheduled; the request is gone with the answer.
    #[inline]
    pub(super) fn take_resched(&mut self, cpu: CpuId) -> bool {
        self.any && self.resched.remove(cpu)
    }

    /// Asks the simulator for all of it.
    fn tell(&mut self, cx: &mut Cx<'_>) {
        self.blocked.drain(..).for_each(|task| cx.block(task));
        while let Some(cpu) = self.resched.first() {
            self.resched.remove(cpu);
            cx.resched(cpu);
        }
        while let Some(cpu) = self.lazy.first() {
            self.lazy.remove(cpu);
            cx.resched_lazy(cpu);
        }
        self.slices.tell(cx);
        self.touched.drain(..).for_each(|touch| cx.touch(touch));
        for (what, times) in (0..).map(FuncId).zip(std::mem::take(&mut self.calls)) {
            if times > 0 {
                cx.did(what, times);
            }
        }
    }
}

impl Hierarchy {
    /// Those of [`FUNCTIONS`] that may be called.
    pub(super) fn functions(&self) -> &'static [CostedFunction] {
        let has_more = self.groups.len() > 1 || self.llc.is_some() || self.cas.is_some();
        if has_more { FUNCTIONS } else { &FUNCTIONS[..ALWAYS] }
    }

    /// The levels of groups above the root have been walked for `se`, all of them.
    #[inline]
    pub(super) fn walked(&mut self, se: EntityId, what: FuncId) {
        let levels = self.entity(se).depth;
        if levels > 0 {
            self.asked.any = true;
            self.asked.calls[what.idx()] += u32::from(levels);
        }
    }

    /// A call ends: the simulator is asked for what the functions of this call want, and whoever watches the homes
    /// of processes is told. The first call of a run
    /// always comes here: it finds out whether [`simsched_core::Wants::PREFERRED`] is enabled.
    #[inline]
    pub(super) fn tell(&mut self, cx: Cx<'_>) {
        if self.asked.any {
            self.tell_all(cx);
        }
    }

    #[inline(never)]
    fn tell_all(&mut self, mut cx: Cx<'_>) {
        self.asked.tell(&mut cx);
        self.asked.any = self.tell_homes(&mut cx);
    }
}
