//! The trait `Observer` and `Tracepoint`: what happens in a run, for those that watch it.

use simsched_topology::{CpuId, LlcId};

use crate::ids::{MarkId, ProcId, TaskId};
use crate::names::{Cause, FuncId, Reason, ReschedCause};
use crate::policy::{CostedFunction, Wants};
use crate::time::Nanos;
use crate::world::World;

/// Whoever watches. One method and one closed enum: the variant is a constant where it is
/// emitted, so an inlined observer keeps only the arm it needs, and `()` keeps nothing.
pub trait Observer {
    /// Is told of `tracepoint`, which happened in `world` at `world.now()`.
    fn on(&mut self, world: &World, tracepoint: Tracepoint);

    /// Whether the run is to pause before its next event: it is asked behind each one, and
    /// [`Simulator::run_events`](crate::Simulator::run_events) returns [`Status::Paused`](crate::Status::Paused).
    /// It is asked again when the run goes on, so an observer that has made it pause once says no by then.
    #[inline(always)]
    fn pauses(&self) -> bool {
        false
    }

    /// Which trace events of the policy it enables; asked before the run, and for all of it.
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }
}

/// What simulated CPU time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cost {
    /// Computing of the task itself.
    User,
    /// System calls, copies and waits inside them.
    Syscall,
    /// Waking others: bookkeeping, selection, queueing.
    Wakeup,
    /// Switching tasks.
    ContextSwitch,
    /// Handlers of interprocessor interrupts.
    Ipi,
    /// The tick.
    Tick,
    /// Handlers of timers.
    Timer,
    /// Balancing load, and the stopper.
    Balance,
    /// Leaving an idle state.
    IdleExit,
    /// Nothing to do.
    Idle,
    /// Waiting for the lock of a runqueue, and for its cache lines.
    RqLock,
    /// The first function of the policy that is accounted under its own name
    /// ([`Attached::functions`](crate::Attached::functions)), and waiting for the lines that it touches; in the
    /// same way those that follow.
    Function0,
    /// The second function of the policy.
    Function1,
    /// The third function of the policy.
    Function2,
    /// The fourth function of the policy.
    Function3,
    /// The fifth function of the policy.
    Function4,
    /// Fetching what a task needs into cold caches.
    Refill,
    /// Moving the lines of pipes, sockets and messages between cores.
    Message,
    /// Loading from memory and storing there, where the task is bound by that.
    Memory,
}

impl Cost {
    /// How many costs there are: as long is a table by cost.
    pub const ROWS: usize = Cost::Memory as usize + 1;

    /// The functions of a policy, by [`FuncId`].
    const FUNCTIONS: [Cost; FuncId::MAX] =
        [Cost::Function0, Cost::Function1, Cost::Function2, Cost::Function3, Cost::Function4];

    /// The time of a function of the policy.
    #[inline]
    #[must_use]
    pub const fn of_function(what: FuncId) -> Cost {
        Cost::FUNCTIONS[what.idx()]
    }

    /// The names of the costs, by discriminant, where these are the functions of the policy; the empty name
    /// where it has none.
    #[must_use]
    pub fn names(functions: &[CostedFunction]) -> [&'static str; Cost::ROWS] {
        let mut names = [
            "user",
            "syscall",
            "wakeup",
            "context_switch",
            "ipi",
            "tick",
            "timer",
            "balance",
            "idle_exit",
            "idle",
            "rq_lock",
            "",
            "",
            "",
            "",
            "",
            "refill",
            "message",
            "memory",
        ];
        for (cost, function) in Cost::FUNCTIONS.into_iter().zip(functions) {
            names[cost as usize] = function.name;
        }
        names
    }

    /// Costs that are stalls inside other work: what the CPU waits for is a cache line.
    pub(crate) const STALLS: [Cost; 3 + FuncId::MAX] = {
        let mut stalls = [Cost::RqLock; 3 + FuncId::MAX];
        let mut function = 0;
        while function < FuncId::MAX {
            stalls[1 + function] = Cost::FUNCTIONS[function];
            function += 1;
        }
        stalls[1 + FuncId::MAX] = Cost::Refill;
        stalls[2 + FuncId::MAX] = Cost::Message;
        stalls
    };

    /// The row of [`Cost::STALLS`] that this is in.
    #[inline]
    pub(crate) const fn stall_row(self) -> usize {
        let mut row = 0;
        while Cost::STALLS[row] as usize != self as usize {
            row += 1;
        }
        row
    }
}

/// What can be watched; the names are those of the kernel's `sched:` events where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracepoint {
    /// Somebody has called for `wakee` (`sched_waking`): a task on `waker`, or an interrupt there.
    Waking {
        /// Who is woken.
        wakee: TaskId,
        /// Where the waking code runs.
        waker: CpuId,
        /// Whether the waker says that it is about to sleep (`WF_SYNC`), as in wakeups of pipes and sockets.
        sync: bool,
    },
    /// `wakee` is runnable on `cpu` (`sched_wakeup`).
    Wakeup {
        /// Who was woken.
        wakee: TaskId,
        /// Where it is queued.
        cpu: CpuId,
        /// Why there.
        reason: Reason,
        /// How many CPUs were looked at.
        scanned: u16,
    },
    /// `cpu` has chosen `next` in place of `prev` (`sched_switch`); `None` is the idle task, or the
    /// stopper: then [`Tracepoint::Stopper`] follows if `next` is the stopper, and has just preceded
    /// if `prev` is.
    Switch {
        /// The CPU.
        cpu: CpuId,
        /// Who ran.
        prev: Option<TaskId>,
        /// Who runs.
        next: Option<TaskId>,
        /// Whether `prev` is still runnable.
        preempted: bool,
    },
    /// The stopper of `cpu` becomes the current task, or stops to be it.
    Stopper {
        /// The CPU.
        cpu: CpuId,
        /// Whether it begins.
        begins: bool,
    },
    /// The current task of `cpu` is to be rescheduled, and was not before (`sched_set_need_resched_tp`); not emitted
    /// where the idle task or the stopper is current.
    SetNeedResched {
        /// The CPU.
        cpu: CpuId,
        /// What asks for it.
        cause: ReschedCause,
        /// Whether that may wait until the task returns to user mode (`TIF_NEED_RESCHED_LAZY`).
        lazy: bool,
    },
    /// The switch is over: `task` executes its first instruction on `cpu`.
    Running {
        /// The CPU.
        cpu: CpuId,
        /// Who runs.
        task: TaskId,
    },
    /// `task` changes its CPU (`sched_migrate_task`).
    Migrate {
        /// Who moves.
        task: TaskId,
        /// Where it was.
        from: CpuId,
        /// Where it goes.
        to: CpuId,
        /// Who moved it.
        cause: Cause,
        /// Why there.
        reason: Reason,
        /// The sched domain in which a balancer moved it, or else the lowest that has both CPUs, by
        /// its place from the bottom; [`NO_DOMAIN`](crate::NO_DOMAIN) outside all of them.
        domain: u8,
    },
    /// `parent` has started `child` (`sched_process_fork`).
    Fork {
        /// Who forked; `None` at the start of the run.
        parent: Option<TaskId>,
        /// The new task.
        child: TaskId,
    },
    /// `task` has ended (`sched_process_exit`).
    Exit {
        /// Who ended.
        task: TaskId,
    },
    /// `cpu` has spent `amount` on `what`, up to now.
    Charge {
        /// Whose time.
        cpu: CpuId,
        /// What for.
        what: Cost,
        /// How much.
        amount: Nanos,
    },
    /// `task` has reached a point that its workload wants measured.
    Mark {
        /// Who.
        task: TaskId,
        /// Which point.
        mark: MarkId,
    },
    /// The policy has chosen another LLC as the home of a process, or none. Told only where the observer wants it
    /// ([`Wants::PREFERRED`]).
    Preferred {
        /// Whose home.
        proc: ProcId,
        /// Where it is.
        llc: Option<LlcId>,
    },
    /// `task`, which returns to user mode, enters the scan that chooses the home of its process
    /// (`task_cache_work()`); the values are those before the scan. Emitted only where the observer wants it
    /// ([`Wants::CACHE_WORK`]).
    CacheWork {
        /// Who scans.
        task: TaskId,
        /// The home of its process.
        home: Option<LlcId>,
        /// The average number of running threads of its process (`nr_running_avg`).
        nr_running_avg: u64,
    },
    /// The utilization of `cpu` has changed in its policy's books (`pelt_cfs` of its root queue). Told behind the
    /// event in which it did, and only where the observer wants it ([`Wants::UTIL_AVG`]).
    UtilAvg {
        /// Whose.
        cpu: CpuId,
        /// 1024 times the share of time running.
        util_avg: u64,
    },
}

const _: () = assert!(size_of::<Tracepoint>() <= 24, "a tracepoint travels in registers");

impl Observer for () {
    #[inline(always)]
    fn on(&mut self, _: &World, _: Tracepoint) {}
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline(always)]
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        self.0.on(world, tracepoint);
        self.1.on(world, tracepoint);
    }

    #[inline(always)]
    fn pauses(&self) -> bool {
        self.0.pauses() || self.1.pauses()
    }

    fn wants(&self) -> Wants {
        self.0.wants().or(self.1.wants())
    }
}

impl<O: Observer> Observer for Option<O> {
    #[inline(always)]
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if let Some(observer) = self {
            observer.on(world, tracepoint);
        }
    }

    #[inline(always)]
    fn pauses(&self) -> bool {
        self.as_ref().is_some_and(Observer::pauses)
    }

    fn wants(&self) -> Wants {
        self.as_ref().map_or(Wants::NOTHING, Observer::wants)
    }
}

impl<O: Observer + ?Sized> Observer for Box<O> {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        (**self).on(world, tracepoint);
    }

    fn pauses(&self) -> bool {
        (**self).pauses()
    }

    fn wants(&self) -> Wants {
        (**self).wants()
    }
}
