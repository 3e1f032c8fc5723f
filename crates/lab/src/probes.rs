//! `Probes`: what the lab has watched of a run beside the scheduler's events.

/// Which path of the kernel moved a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mover {
    /// `select_task_rq()` of its wakeup.
    Wake,
    /// The balancer of a CPU that becomes idle.
    NewIdle,
    /// The balancer in the softirq of an idle CPU, for itself or for other idle ones.
    IdlePeriodic,
    /// The balancer in the softirq of a CPU that executes a task.
    BusyPeriodic,
    /// The stopper of its CPU, for a balancer of another one (`active_load_balance_cpu_stop()`).
    Active,
    /// The stopper of its CPU, for a balancer that gathers the tasks of an LLC
    /// (`active_load_balance_llc_cpu_stop()`).
    ActiveLlc,
    /// It may not run on its CPU any more, or executes a new program.
    Affinity,
}

impl Mover {
    /// The name in the lab's metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mover::Wake => "wake",
            Mover::NewIdle => "newidle",
            Mover::IdlePeriodic => "idle_periodic",
            Mover::BusyPeriodic => "busy_periodic",
            Mover::Active => "active",
            Mover::ActiveLlc => "active_llc",
            Mover::Affinity => "affinity",
        }
    }
}

/// An entry of `task_cache_work()`, with what it finds there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// When, in µs of the tracer's clock.
    pub us: u64,
    /// The thread that enters it.
    pub pid: u32,
    /// The CPU that stands for the LLC that its process prefers so far.
    pub preferred: Option<u32>,
    /// The average number of running threads of its process so far (`nr_running_avg`).
    pub nr_running_avg: i64,
}

/// What was watched of a run beside the scheduler's events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// When the launcher is about to fork the first process, in µs of the tracer's clock (the mark `begin`).
    pub begun: u64,
    /// When the last event of the trace was, whatever it was.
    pub ended: u64,
    /// The path that moved the task, for each migration of the trace in order. That of a wakeup may be any: the
    /// metrics know it by its events.
    pub movers: Vec<Mover>,
    /// The entries of `task_cache_work()`, in order; none where the kernel has no such function.
    pub scans: Vec<Scan>,
}
