//! What happens on a simulated machine: the world, its clock and its four doors.
//!
//! simsched is a kernel with four doors. Userland knocks with system calls ([`Workload`] yields
//! [`Op`]s). The scheduler is asked questions and answers with values ([`Policy`]). The machine
//! puts a price on what was done (the price lists of `simsched-topology`). The tracer is told
//! ([`Observer`]). In the middle stands one plain state, the [`World`], which everybody may read
//! and only the simulator writes. Time is an integer, ids are integers, and a run is a pure
//! function of machine, policy, workload and seed.

#![deny(clippy::float_arithmetic)]

pub mod ipc;
pub mod observe;
pub mod pelt;

mod agenda;
mod balance;
mod config;
mod effects;
mod error;
mod hardware;
mod ids;
mod observer;
mod policy;
mod rng;
mod simulator;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod thoughts;
mod time;
mod touched;
mod workload;
mod world;

pub use agenda::{Agenda, Event};
pub use balance::{BalanceStep, Look, Moves, SdCounts, Trigger};
pub use config::{Config, HardwareModel, SETTINGS, SettingInfo};
pub use effects::Effects;
pub use error::{Blocked, SimError};
pub use ids::{
    BarrierId, FutexId, LockId, MarkId, MaskId, PipeId, ProcId, RegionId, SemId, SocketId, TaskId,
};
pub use observer::{Cause, Cost, NO_DOMAIN, Observer, Tracepoint};
pub use policy::{
    Attached, Dequeue, Enqueue, Far, FifoQueues, KernelRules, Placement, Policy, Preempt, Reason,
    TtwuQueue, WakeKind, Wakeup, Watched,
};
pub use rng::{Seed, Stream};
pub use simulator::{Simulator, Status};
pub use thoughts::{Thought, Thoughts};
pub use time::{Nanos, SimTime};
pub use touched::{Access, Function, LineId, Touch, Touched};
pub use workload::{
    Notes, Op, Outcome, RecordedTimes, RegionSpec, SchedPolicy, Setup, SocketSpec, Start, Stores,
    TaskSpec, Workload,
};
pub use world::{BOOT_CLOCK, RqRow, TaskRow, TaskState, Tasks, World};
