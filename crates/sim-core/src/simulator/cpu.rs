//! What the simulator knows of each CPU and of each task's progress, beside the world.

use std::collections::VecDeque;

use simsched_topology::{CpuId, IdleState, NodeId};

use super::balance::Call;
pub(super) use super::flags::{Border, Deferred, NeedResched};
use super::irq::Expired;
use super::pause::PauseGap;
use super::stopper::StopWork;
pub(super) use super::task_run::{Phase, Progress, TaskRun};
use super::waitq::WaitQueue;
use crate::hardware::{FULL, IdleGovernor};
use crate::ids::TaskId;
use crate::ipc::Wake;
use crate::names::{Reason, TimerId};
use crate::observer::Cost;
use crate::policy::{Placement, Touch, WakeKind};
use crate::rng::Stream;
use crate::time::{Nanos, SimTime};
use crate::workload::Op;

/// What a CPU is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Waiting in an idle state; no end is planned.
    Idle,
    /// Coming out of an idle state.
    IdleExit,
    /// Executing the op of its current task.
    Op,
    /// Handling an interrupt.
    Irq(Irq),
    /// Working off what it did on the side, and nothing else.
    Debt,
    /// In a wakeup, before the choice of a CPU.
    Look,
    /// Waiting for another CPU to finish switching away from the wakee.
    Spin,
    /// In a wakeup, between the choice of a CPU and the lock of its runqueue, where CPUs take turns.
    Lock,
    /// In a wakeup, between the choice of a CPU and the queueing there.
    Wake,
    /// In `schedule()`, before the dequeue and the choice of the next task.
    Schedule,
    /// In `schedule()`, between the dequeue and the instant when that is counted.
    Dequeue,
    /// In `schedule()`, between the dequeue and the choice of the next task.
    Pick,
    /// Switching to the current task.
    Switch,
    /// On the way to what its current task does before it is in user mode again.
    TaskWork,
    /// In a step of the load balancer.
    Balance,
    /// The stopper is at work.
    Stopper,
}

/// In which place a CPU balances, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// It does not.
    No,
    /// In the balance softirq, open to interrupts.
    Softirq,
    /// In `schedule()`, because nobody is left; closed to interrupts.
    NewIdle,
    /// In the idle loop, open to interrupts.
    Idle,
}

/// Why a CPU was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Irq {
    /// A rescheduling interrupt, which also takes the hand-off list.
    Ipi,
    /// The same, while it queues the next wakee of what it has taken.
    Activate,
    /// The tick.
    Tick,
    /// A task's timer.
    Timer(TaskId),
    /// A timer of the policy.
    Policy(TimerId),
}

/// A wakeup between the choice of a CPU and the queueing there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waking {
    pub task: TaskId,
    pub placement: Placement,
    pub migrated: bool,
    pub fork: bool,
    /// The waker holds the lock of this CPU's runqueue.
    pub locked: Option<CpuId>,
}

/// A wakeup in a hand-off list.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandOff {
    pub task: TaskId,
    pub waker: CpuId,
    pub migrated: bool,
    pub reason: Reason,
    pub scanned: u16,
}

/// What a CPU is doing: all that the end of an op touches, in two cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Cpu {
    /// The current task; `None` is the idle task. The same as in the world's runqueue.
    pub task: Option<TaskId>,
    /// The current task is to be rescheduled. The same as in the world's runqueue.
    pub need_resched: NeedResched,
    /// How far the current task is.
    pub run: TaskRun,
    /// The jitter of what this CPU pays.
    pub rng: Stream,
    /// Up to when the CPU's time has been charged.
    pub charged: SimTime,
    /// When the stage proper begins: before that the CPU works off what it owed.
    pub debt_end: SimTime,
    /// When the stage ends.
    pub until: SimTime,
    /// Work done on the side that delays the next stage, in ns.
    pub debt: u32,
    /// How fast it runs, in thousandths.
    pub speed: u16,
    /// What is armed is its next errand, not yet the end of its stage.
    pub errand: bool,
    /// Of which rows of [`Cost::STALLS`] some time is not charged yet: one bit for each.
    pub stalled: u8,
    pub stage: Stage,
    /// What the stage's time is charged to.
    pub cost: Cost,
    /// Interrupts that came at a bad time.
    pub deferred: Deferred,
    /// The planned look at the flag is an interrupt, not only a line that a polling CPU sees.
    pub ipi_sent: bool,
    /// Its idle task watches the need-resched flag, from the choice of such a state until it goes to
    /// `schedule()`: no interrupt is needed.
    pub polling: bool,
    pub in_irq: bool,
    /// The pass of the load balancer that is under way.
    pub pass: Pass,
    /// The balance softirq is to run.
    pub softirq: bool,
}

const _: () = assert!(size_of::<Cpu>() == 128, "two cache lines");
const _: () = assert!(Cost::STALLS.len() <= 8, "a bit for each in `stalled`");

/// What waits for a CPU, and what it needs less often.
pub(super) struct Desk {
    /// Whom the system call under way has to wake still.
    pub wakes: VecDeque<Wake>,
    /// The wait queue of those, as long as there are some: it is locked.
    pub waitq: Option<WaitQueue>,
    /// What the system call takes, in ns, when they are awake.
    pub behind_wakes: u32,
    /// How many bytes of its page in the tracer's buffer are filled.
    pub traced: u32,
    /// The wakeup that the CPU is in the middle of.
    pub waking: Option<Waking>,
    /// Who holds the lock of its runqueue to queue a wakee, where CPUs take turns.
    pub rq_holder: Option<CpuId>,
    /// The wakee for which no CPU is chosen yet.
    pub wakee: Option<(TaskId, WakeKind)>,
    /// The interrupt of who computed by pauses here last.
    pub pause_gap: Option<PauseGap>,
    /// Since when the CPU has been handling interrupts, or its softirq.
    pub irq_since: SimTime,
    /// Who was queued here last, where recorded times are replayed.
    pub woken: Option<TaskId>,
    /// Up to when its current task goes on although it has to go, where recorded times are replayed.
    pub lingers_until: SimTime,
    /// The task that the CPU is switching away from.
    pub prev: Option<TaskId>,
    /// Timers that have expired and are not handled yet, in order of expiry.
    pub timers: VecDeque<Expired>,
    /// It is in `schedule()`, from its entry to the end of the switch.
    pub in_schedule: bool,
    /// Timers of the policy that are armed at the end of the `schedule()` under way.
    pub deferred_timers: Vec<TimerId>,
    /// The interrupt under way is that of timers, and sets the next one at its end.
    pub rearms: bool,
    /// The hand-off list (`rq->wake_list`), in order of arrival.
    pub inbox: VecDeque<HandOff>,
    /// What an interrupt has taken off that list and not queued yet.
    pub taken: VecDeque<HandOff>,
    /// How many timers of the kernel's threads are in its timer wheel.
    pub wheel: u32,
    /// What it was asked to call, in order of arrival: in one list with the hand-offs, and before them.
    pub calls: VecDeque<Call>,
    /// The runqueue whose clock the balancer's step under way brings to the present.
    pub locking: Option<CpuId>,
    /// What is left of an interrupted step of the balancer.
    pub remains: Nanos,
    /// What its stopper is to do, in order of arrival.
    pub works: VecDeque<StopWork>,
    /// The CPU that it last gave to a task which had to leave its own (`distribute_cpu_mask_prev`).
    pub distributed: CpuId,
    pub governor: IdleGovernor,
    pub tick_stopped: bool,
    /// When it was stopped last.
    pub tick_stopped_at: SimTime,
    /// A tick has woken the idle loop, which has not looked yet whether to stop the tick.
    pub idle_ticked: bool,
    /// The idle task has just come from `schedule()`.
    pub idle_begins: bool,
    /// It is not in its loop yet.
    pub to_idle_state: bool,
    /// Shared lines that it touches one after the other before it goes on.
    pub errands: VecDeque<Touch>,
    /// Stalls that are not charged yet, by [`Cost::STALLS`], in ns.
    pub stalls: [u64; Cost::STALLS.len()],
    /// Up to when it has callbacks that wait for a grace period of RCU.
    pub callbacks_until: SimTime,
}

impl Cpu {
    pub(super) fn new(polling: bool, rng: Stream) -> Cpu {
        Cpu {
            task: None,
            need_resched: NeedResched::NO,
            run: TaskRun::new(),
            rng,
            charged: SimTime::ZERO,
            debt_end: SimTime::ZERO,
            until: SimTime::NEVER,
            debt: 0,
            speed: FULL,
            errand: false,
            stalled: 0,
            stage: Stage::Idle,
            cost: Cost::Idle,
            deferred: Deferred::default(),
            ipi_sent: false,
            polling,
            in_irq: false,
            pass: Pass::No,
            softirq: false,
        }
    }

    /// Whether what it does has a length that its speed does not change: the way out of an idle state
    /// is no work of the core, nor is waiting for another one; and what a pipe's mutex is held for is
    /// fixed when it is taken. What is bound by memory has a speed of its own.
    #[inline]
    pub(super) fn is_steady(&self) -> bool {
        match self.stage {
            Stage::Idle | Stage::IdleExit | Stage::Spin => true,
            Stage::Op => {
                matches!(self.run.op, Op::Write { .. } | Op::Read { .. }) || self.run.op.is_memory()
            }
            _ => false,
        }
    }

    /// When something is to be done for it: at the end of its stage, or at its next errand, which comes before the
    /// stage proper.
    #[inline(always)]
    pub(super) fn due(&mut self, has_errand: bool, now: SimTime) -> SimTime {
        self.errand = has_errand;
        if has_errand { self.debt_end.max(now) } else { self.until }
    }

    /// Whether its time is to be charged before a stage of this cost: stages of one cost that follow each other are
    /// charged in one sum.
    #[inline(always)]
    pub(super) fn is_to_be_charged(&self, cost: Cost) -> bool {
        self.cost != cost || self.debt != 0 || self.debt_end > self.charged
    }

    /// What it has done on the side, and in its stage, from the last charge to now: up to now it is charged.
    #[inline(always)]
    pub(super) fn spent(&mut self, now: SimTime) -> (Nanos, Nanos) {
        let since = std::mem::replace(&mut self.charged, now);
        let side = self.debt_end.min(now).since(since);
        (side, now.since(since) - side)
    }

    /// Whether the end of its stage may be that of an op on a pipe behind which the next one follows.
    #[inline(always)]
    pub(super) fn may_be_plain(&self) -> bool {
        matches!(self.run.op, Op::Write { .. } | Op::Read { .. }) && self.ends_op_undisturbed()
    }

    /// Whether the end of its stage is that of the first attempt at an op, with nothing else to be done.
    #[inline(always)]
    pub(super) fn ends_op_undisturbed(&self) -> bool {
        matches!(self.stage, Stage::Op) && !self.is_disturbed()
    }

    /// Whether something is to be done before or behind the end of the op under way, or this is not its
    /// first attempt.
    #[inline]
    pub(super) fn is_disturbed(&self) -> bool {
        let flags = u8::from(self.errand) | u8::from(self.run.look) | u8::from(self.run.retry);
        let sets = self.need_resched.bits() | self.deferred.bits();
        (flags | sets | self.run.border.bits(Border::WORK)) != 0
    }

    /// Whether the current task sees a request to reschedule where its op ends: a lazy one only on its way out of the
    /// kernel (`exit_to_user_mode_loop()`), so that behind an op in user space its next system call or an interrupt has to
    /// end first.
    #[inline]
    pub(super) fn sees_request(&self) -> bool {
        self.need_resched.is_hard() || self.need_resched.any() && !self.run.op.is_user()
    }

    /// Whether the current task, which could go on, has to give way, by a lazy or a hard request: at the border
    /// of user space, or inside it. Kernel code is left at its end only (`PREEMPT_VOLUNTARY`).
    #[inline]
    pub(super) fn goes(&self) -> bool {
        self.need_resched.any() && (self.run.progress == Progress::Next || self.run.op.is_user())
    }
}

/// More lines than a CPU has ever had to go to at once; a longer list only costs an allocation.
const ERRANDS: usize = 512;

impl Desk {
    pub(super) fn new(states: &[IdleState], lines: &[NodeId]) -> Desk {
        Desk {
            wakes: VecDeque::with_capacity(4),
            waitq: None,
            behind_wakes: 0,
            traced: 0,
            waking: None,
            rq_holder: None,
            wakee: None,
            pause_gap: None,
            irq_since: SimTime::ZERO,
            woken: None,
            lingers_until: SimTime::ZERO,
            prev: None,
            timers: VecDeque::with_capacity(4),
            in_schedule: false,
            deferred_timers: Vec::with_capacity(4),
            rearms: false,
            inbox: VecDeque::with_capacity(32),
            taken: VecDeque::with_capacity(32),
            wheel: 0,
            calls: VecDeque::with_capacity(4),
            locking: None,
            remains: Nanos::ZERO,
            works: VecDeque::with_capacity(4),
            distributed: CpuId(0),
            governor: IdleGovernor::new(states),
            tick_stopped: true,
            tick_stopped_at: SimTime::ZERO,
            idle_ticked: false,
            idle_begins: false,
            to_idle_state: false,
            errands: VecDeque::with_capacity(if lines.is_empty() { 0 } else { ERRANDS }),
            stalls: [0; Cost::STALLS.len()],
            callbacks_until: SimTime::ZERO,
        }
    }
}
