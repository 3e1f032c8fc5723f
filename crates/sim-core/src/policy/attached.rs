//! `Attached`: what of a policy never changes during a run.

use simsched_topology::NodeId;

use crate::ipc::IpcVersion;

/// What a policy says of itself once, when it is attached to a machine: it never changes during the run.
///
/// A policy names what it has and takes the rest from `Attached::default()`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// What of the kernel around the scheduler depends on its version.
    pub rules: KernelRules,
    /// The names of the reasons for a choice of a CPU, indexed by [`Reason`](crate::Reason).
    pub reasons: &'static [&'static str],
    /// The cache lines of the policy that CPUs share and that are worth a price, by
    /// [`LineId`](crate::LineId): the node where the memory of each is.
    pub lines: Vec<NodeId>,
    /// The functions that are accounted under their own names, by [`FuncId`](crate::FuncId); at most
    /// [`FuncId::MAX`](crate::FuncId::MAX).
    pub functions: &'static [CostedFunction],
    /// How many timers it has ([`Cx::arm`](crate::Cx::arm)); at most [`TimerId::MAX`](crate::TimerId::MAX).
    pub timers: u32,
}

/// A function of a policy that is accounted under its own name, apart from the call in which it runs
/// ([`Cx::did`](crate::Cx::did), [`Cx::touch`](crate::Cx::touch)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostedFunction {
    /// Its name, as a profile would show it: the key of its time in reports.
    pub name: &'static str,
    /// What one call of it takes: an item of the machine's costs (`simsched_topology::OsCosts::NAMES`).
    pub item: &'static str,
    /// Whether that is part of what the kernel's paths cost.
    pub charge: Charge,
}

/// Whether the time of a function is part of what the call takes anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// It is: the items of the kernel's paths were measured with it.
    Inside,
    /// It comes on top of them.
    Extra,
}

/// What of the kernel around the scheduler depends on its version. The default is that of Linux 6.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelRules {
    /// How a wakee is queued on another CPU.
    pub ttwu_queue: TtwuQueue,
    /// Whether `rq->ttwu_pending` stays set until all that was handed over is queued (6.2 and later),
    /// or ends before (`sched_ttwu_pending()`): then a CPU that queues its first wakee looks idle.
    pub ttwu_pending_stays: bool,
    /// Whether an idle CPU that enters `schedule()` with nothing queued is idle again at once (`SM_IDLE`, 6.12 and
    /// later), or picks, balances and becomes idle as any other.
    pub sm_idle: bool,
    /// Whether a CPU whose tick runs expires the timers of idle CPUs that are not pinned (`tmigr`, 6.9 and later). Of a
    /// run these are the timers of background tasks that may run on several CPUs.
    pub tmigr: bool,
    /// Whether a task that ends asks for a reschedule of its CPU before `exit_notify()` wakes its parent, so that a queued
    /// task that the policy picks first runs first (`sched_autogroup_exit_task()`, with autogroups on or off: 7.0 and
    /// later; 6.12 asks, too, but protects the slice of a current task that is put back).
    pub exit_resched: bool,
    /// The rules of pipes; of one of them [`Config::spurious_writer_wakeups`](crate::Config::spurious_writer_wakeups)
    /// may say otherwise.
    pub ipc: IpcVersion,
}

/// Whether a wakee is handed to another CPU's list, or queued there by the waker
/// (`ttwu_queue_cond()`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TtwuQueue {
    /// Always queued by the waker (feature `TTWU_QUEUE` off).
    Off,
    /// Handed over to CPUs of another LLC, and to the wakee's own CPU while that switches away from
    /// it and has at most one other task (5.8 to 5.19).
    CrossLlc,
    /// Handed over to CPUs of another LLC, and to any other CPU on which nothing is runnable (6.0 and
    /// later).
    #[default]
    CrossLlcOrIdle,
}
