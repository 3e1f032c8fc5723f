//! Indices whose names somebody else has, and the causes of migrations: what all layers of a run pass on
//! without a look inside.

/// Why a task changed its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// A wakeup chose another CPU.
    Wakeup,
    /// A new task started on another CPU than its parent's.
    Fork,
    /// A task that executes a new program was moved.
    Exec,
    /// The periodic balancer moved it.
    Periodic,
    /// A CPU that ran out of work pulled it.
    NewIdle,
    /// The balancer that works for the idle CPUs moved it.
    Nohz,
    /// The stopper of its CPU pushed it while it ran.
    Active,
    /// It may not run on its CPU any more.
    Affinity,
}

impl Cause {
    /// The names of the causes, by discriminant.
    pub const NAMES: [&'static str; 8] =
        ["wakeup", "fork", "exec", "periodic", "newidle", "nohz", "active", "affinity"];
}

/// What asks for the current task of a CPU to be rescheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ReschedCause {
    /// A task that has been woken, created or moved to the CPU is to run before it (`wakeup_preempt`).
    Wakeup,
    /// The tick says so (`task_tick`).
    Tick,
    /// A tick has found a lazy request of before there, and makes it a hard one.
    Promoted,
    /// A timer of the policy says so, such as that of the end of a slice (`hrtick`).
    Timer,
    /// Any other call: a slice is seen to be used up where its runtime is accounted, a new nice level, a group that is
    /// throttled or let go, a task that ends (7.0 and later).
    Other,
}

impl ReschedCause {
    /// The names of the causes, by discriminant.
    pub const NAMES: [&'static str; 5] = ["wakeup", "tick", "promoted", "timer", "other"];
}

/// The `domain` of a migration outside all sched domains.
pub const NO_DOMAIN: u8 = u8::MAX;

/// An index into [`Attached::reasons`](crate::Attached::reasons): the core counts reasons without knowing one by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason(pub u8);

impl Reason {
    /// No placement: the wakee was still on its runqueue (`ttwu_runnable`).
    pub const STILL_QUEUED: Reason = Reason(255);
    /// No placement: the wakee's CPU was still switching away from it and took it back.
    pub const ON_CPU: Reason = Reason(254);
    /// No placement: the wakee may run on one CPU only.
    pub const PINNED: Reason = Reason(253);
    /// The policy's choice was not allowed: another CPU, in the same node if there is one
    /// (`select_fallback_rq`). Or the task's affinity has changed: the next CPU that is allowed.
    pub const FALLBACK: Reason = Reason(252);
    /// The names of the reasons above, from 255 downwards.
    pub const CORE_NAMES: [&'static str; 4] = ["still_queued", "on_cpu", "pinned", "fallback"];
}

/// A function of a policy that is accounted under its own name: an index into
/// [`Attached::functions`](crate::Attached::functions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId(pub u8);

impl FuncId {
    /// How many functions a policy can have at most.
    pub const MAX: usize = 5;

    /// Its place in the list.
    #[inline]
    #[must_use]
    pub const fn idx(self) -> usize {
        self.0 as usize
    }

    /// All of them, in order.
    pub(crate) fn all() -> impl Iterator<Item = FuncId> {
        (0..).map(FuncId).take(FuncId::MAX)
    }
}

/// A timer of a policy, numbered from 0 up to [`Attached::timers`](crate::Attached::timers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub u32);

impl TimerId {
    /// How many timers a policy can have at most.
    pub const MAX: usize = 1 << 20;

    /// Its place in a table of all timers.
    #[inline]
    #[must_use]
    pub const fn idx(self) -> usize {
        self.0 as usize
    }
}

/// A function that a policy calls on another CPU ([`Cx::call_on`](crate::Cx::call_on)), by a number that is
/// the policy's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// A cache line that CPUs share, by its row in [`crate::Attached::lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(pub u32);

impl LineId {
    /// The row.
    #[inline]
    #[must_use]
    pub const fn idx(self) -> usize {
        self.0 as usize
    }
}
