//! The trait `Policy`, its questions and its answers: the interface to the scheduler.

mod actions;
mod attached;
mod balancer;
mod cx;
mod queues;
mod report;
mod trace;

pub use self::actions::{Access, Actions, TimerPlan, Touch};
pub use self::attached::{Attached, Charge, CostedFunction, KernelRules, TtwuQueue};
pub use self::balancer::{BalanceStep, Balancer, Look, Moves, SdCounts, Trigger};
pub use self::cx::{Cx, When};
pub use self::queues::FifoQueues;
pub use self::report::Report;
pub use self::trace::{PolicyEvent, Wants};

use simsched_topology::{CpuId, Distance};

use crate::ids::TaskId;
use crate::names::{CallId, Reason, TimerId};
use crate::world::World;

/// Every decision a scheduler makes, and nothing a machine does.
///
/// A policy reads the world and answers. It never changes the world, never sees a cost in
/// nanoseconds, and plans nothing but its own timers: the simulator makes its answers true.
/// The calls mirror `struct sched_class` and the places in `kernel/sched/core.c` that call it;
/// before each call on a runqueue the simulator has updated that runqueue's clock, unless said
/// otherwise.
///
/// Six methods are required: [`attach`](Policy::attach), [`select_task_rq`](Policy::select_task_rq),
/// [`enqueue`](Policy::enqueue), [`dequeue`](Policy::dequeue), [`pick_next`](Policy::pick_next) and
/// [`put_prev_task`](Policy::put_prev_task); [`FifoQueues`] answers the last four for a policy whose subject
/// is where tasks run. All others do nothing, or answer no, unless a policy has something to say.
pub trait Policy: Balancer + Report {
    /// Sizes the policy's own tables, and says what of it never changes. Called once, before the first
    /// event.
    fn attach(&mut self, world: &World) -> Attached;

    /// Chooses a CPU for a task that wakes up, is forked or executes a new program. No runqueue
    /// is locked: other CPUs' clocks may be stale.
    /// An answer that the task's affinity does not allow is replaced, and counted under
    /// [`Reason::FALLBACK`], as in the kernel.
    fn select_task_rq(&mut self, cx: Cx<'_>, wakeup: &Wakeup) -> Placement;

    /// A task is about to leave its CPU for `to`; its row still names the old one. Called for a
    /// sleeping task by a wakeup, and for a queued one between its dequeue and enqueue.
    fn migrate_task_rq(&mut self, cx: Cx<'_>, task: TaskId, to: CpuId) {
        let _ = (cx, task, to);
    }

    /// A new task gets its first state from its parent's runqueue, before a CPU is chosen.
    fn task_fork(&mut self, cx: Cx<'_>, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        let _ = (cx, cpu, parent, child);
    }

    /// A task that is older than the run sleeps on `cpu`, where it wakes up later: whatever it was
    /// born with has been forgotten.
    fn task_asleep(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        self.task_fork(cx, cpu, None, task);
    }

    /// Puts `task` on the runqueue of `cpu`. `RqRow::nr_running` of that CPU is raised afterwards.
    fn enqueue(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Enqueue);

    /// Takes `task` from the runqueue of `cpu`. `RqRow::nr_running` is lowered afterwards, unless the answer
    /// to [`Dequeue::Sleep`] is [`Dequeued::Delayed`].
    fn dequeue(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Dequeue) -> Dequeued;

    /// Puts `prev` back (if it is still queued) and takes the next task to run off the queue. `None`:
    /// nothing is runnable; `prev` is put by [`Policy::put_prev_task`] later. `prev` is `None` when the
    /// idle task or the stopper ran. Asked a second time, with the same `prev`, if a newly idle CPU has
    /// got tasks.
    fn pick_next(&mut self, cx: Cx<'_>, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId>;

    /// Whether `wakee`, which was just enqueued on `cpu`, should run in place of its current task.
    /// Not asked while the idle task is current: that one always yields.
    fn wakeup_preempt(&mut self, cx: Cx<'_>, cpu: CpuId, wakee: TaskId, why: Enqueue) -> Preempt {
        let _ = (cx, cpu, wakee, why);
        Preempt::No
    }

    /// A wakeup has put a task on `cpu` and the preemption check is done (the end of
    /// `ttwu_do_activate`).
    fn task_woken(&mut self, cx: Cx<'_>, cpu: CpuId) {
        let _ = (cx, cpu);
    }

    /// The tick, while `curr` runs on `cpu`.
    fn task_tick(&mut self, cx: Cx<'_>, cpu: CpuId, curr: TaskId) -> Preempt {
        let _ = (cx, cpu, curr);
        Preempt::No
    }

    /// `task` returns to user mode on `cpu` and does what [`Cx::add_task_work`] has left it
    /// (`task_work_run()`): what that reads. It is done at once; the time that reading takes is the task's, in
    /// the system. The clock of the runqueue is as it was. A task that is to be throttled here is
    /// throttled ([`Cx::throttle`]) and its CPU rescheduled ([`Cx::resched`]): it goes to `schedule()` before
    /// it is in user mode, and [`Policy::pick_next`] leaves it out.
    fn task_work(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) -> Look {
        let _ = (cx, cpu, task);
        Look::default()
    }

    /// `timer` has expired on `cpu`, for which it was armed ([`Cx::arm`]), in an interrupt.
    fn timer(&mut self, cx: Cx<'_>, cpu: CpuId, timer: TimerId) {
        let _ = (cx, cpu, timer);
    }

    /// `cpu` was asked to call this ([`Cx::call_on`]), by another CPU or by itself.
    fn called(&mut self, cx: Cx<'_>, cpu: CpuId, what: CallId) {
        let _ = (cx, cpu, what);
    }

    /// `curr` asks to let others run first.
    fn yield_task(&mut self, cx: Cx<'_>, cpu: CpuId, curr: TaskId) {
        let _ = (cx, cpu, curr);
    }

    /// The nice value of `task` has changed; its row already holds the new one.
    fn reweight_task(&mut self, cx: Cx<'_>, task: TaskId) -> Preempt {
        let _ = (cx, task);
        Preempt::No
    }

    /// `task`, which is current on `cpu`, has begun to exit: it has left its address space (`exit_mm`) and its process,
    /// and is queued until it is dequeued for good.
    fn exit_mm(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        let _ = (cx, cpu, task);
    }

    /// `task`, which is current on `cpu`, has taken a new image: it has left its address space for that of the process
    /// which its row already holds (`exec_mmap`). It goes on and stays queued.
    fn exec_mmap(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        let _ = (cx, cpu, task);
    }

    /// `task` has ended and its CPU has switched away from it (`task_dead`): what it leaves behind
    /// on its runqueue can go.
    fn task_dead(&mut self, cx: Cx<'_>, task: TaskId) {
        let _ = (cx, task);
    }

    /// `prev` leaves `cpu` to the stopper or to the idle task (`put_prev_task`). It is still runnable
    /// (to the stopper only), or has been dequeued before; between [`Policy::pick_next`] and this call a
    /// newly idle CPU has tried to get tasks. After the stopper or the idle task,
    /// [`Policy::pick_next`] is called without a previous task.
    fn put_prev_task(&mut self, cx: Cx<'_>, cpu: CpuId, prev: TaskId);

    /// The idle task has become current on `cpu`, or was picked again after itself (`set_next_task_idle`).
    fn idle_entered(&mut self, cx: Cx<'_>, cpu: CpuId) {
        let _ = (cx, cpu);
    }

    /// The idle task is about to leave `cpu` to a task or to the stopper, and is current still
    /// (`put_prev_task_idle`). Not called where it is picked again after itself.
    fn idle_left(&mut self, cx: Cx<'_>, cpu: CpuId) {
        let _ = (cx, cpu);
    }
}

/// What a wakeup is for: which domain flag the slow path looks for, and whether the waker is about
/// to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeKind {
    /// A wakeup (`WF_TTWU`).
    Wake,
    /// A wakeup by a waker that is about to sleep (`WF_TTWU | WF_SYNC`).
    WakeSync,
    /// The first wakeup of a new task (`WF_FORK`).
    Fork,
    /// A running task that executes a new program (`WF_EXEC`).
    Exec,
}

/// The question of a wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// Who is woken.
    pub wakee: TaskId,
    /// Where it ran last.
    pub prev: CpuId,
    /// Where the waking code runs; in interrupt context the interrupted CPU.
    pub waker: CpuId,
    /// What it is for.
    pub kind: WakeKind,
}

/// Its answer: a CPU, why that one, and how many CPUs were looked at to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Where the wakee shall be queued.
    pub cpu: CpuId,
    /// Why there.
    pub reason: Reason,
    /// How many CPUs' state was read on the way.
    pub scanned: u16,
    /// Which of these are nearer than the waker's LLC, or farther.
    pub far: Far,
    /// How many groups of CPUs were summed up on the way (`update_sg_wakeup_stats()`).
    pub groups: u16,
    /// Whether waker's and previous CPU were compared (`wake_affine` was called).
    pub affine: bool,
}

impl Placement {
    /// The CPU `cpu` for this reason, without a look at any other.
    #[must_use]
    pub fn at(cpu: CpuId, reason: Reason) -> Placement {
        Placement { cpu, reason, scanned: 0, far: Far::default(), groups: 0, affine: false }
    }
}

/// Of the CPUs that were looked at, those that are not other cores behind the reader's LLC, by distance:
/// reading the state of a thread of its own core takes less time than theirs, and of a CPU behind another
/// LLC more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Far {
    /// The reader itself and other threads of its core. Only a scan for an idle CPU is priced by it
    /// (`scan_same_core`): for a balancer and for task work these are CPUs behind the LLC.
    pub same_core: u16,
    /// Behind another LLC of the same package or node.
    pub same_socket: u16,
    /// In another package.
    pub cross_socket: u16,
}

impl Far {
    /// Of `scanned` CPUs of the LLC of a CPU that is at this distance from the reader's. In the reader's own
    /// LLC none of them is taken for a thread of its core: who knows better adds [`Far::same_core`].
    #[must_use]
    pub fn at(distance: Distance, scanned: u16) -> Far {
        match distance {
            Distance::SameCpu | Distance::SameCore | Distance::SameLlc => Far::default(),
            Distance::CrossSocket => Far { cross_socket: scanned, ..Far::default() },
            Distance::SameNode | Distance::SameSocket => {
                Far { same_socket: scanned, ..Far::default() }
            }
        }
    }
}

impl Far {
    /// One more CPU, at this distance from the reader.
    #[inline]
    pub fn count(&mut self, distance: Distance) {
        match distance {
            Distance::SameCpu | Distance::SameCore => self.same_core += 1,
            Distance::SameLlc => {}
            Distance::SameNode | Distance::SameSocket => self.same_socket += 1,
            Distance::CrossSocket => self.cross_socket += 1,
        }
    }
}

impl std::ops::AddAssign for Far {
    fn add_assign(&mut self, other: Far) {
        self.same_core += other.same_core;
        self.same_socket += other.same_socket;
        self.cross_socket += other.cross_socket;
    }
}

/// Why a task is put on a runqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueue {
    /// It woke up (`ENQUEUE_WAKEUP`), on another CPU than before if `migrated`
    /// (`ENQUEUE_MIGRATED`).
    Wakeup {
        /// Whether the wakeup chose another CPU than the previous one.
        migrated: bool,
    },
    /// It is new (`wake_up_new_task`).
    New,
    /// It was moved while queued, by a balancer or a change of its affinity.
    Moved,
    /// It woke up while it was queued still, see [`Dequeued::Delayed`] (`ENQUEUE_DELAYED`); it is counted
    /// already.
    Delayed,
}

/// Why a task is taken from a runqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeue {
    /// It goes to sleep or ends (`DEQUEUE_SLEEP`).
    Sleep,
    /// It is being moved while queued.
    Moved,
}

/// Whether a task that was to be taken from its runqueue has left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeued {
    /// It has.
    Left,
    /// It sleeps, and stays on its runqueue (`sched_delayed`) until [`Cx::block`] or the next
    /// [`Enqueue::Delayed`]. Not for a task that is moved or has ended.
    Delayed,
}

/// Whether the current task has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preempt {
    /// It may stay.
    No,
    /// It is to be rescheduled when it next returns to user mode; another CPU is sent no interrupt
    /// (`resched_curr_lazy()`). A tick that finds it there still makes the request a hard one.
    Lazy,
    /// It is to be rescheduled at the next preemption point (`resched_curr()`).
    Hard,
}
