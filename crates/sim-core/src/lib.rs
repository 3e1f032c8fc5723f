//! The event loop, the state of the simulated machine, and the interfaces of what it is made of.
//!
//! A workload yields the system calls and the computing of its tasks ([`Workload`] yields [`Op`]s). A
//! policy answers the questions of the scheduler core with values ([`Policy`]). The machine says how long
//! everything takes (the costs of `simsched-topology`). An observer gets every tracepoint ([`Observer`]).
//! In the middle stands one plain state, the [`World`], which all of them may read and only the simulator
//! writes. Time is an integer, ids are integers, and a run is a pure function of machine, policy, workload
//! and seed.

#![deny(clippy::float_arithmetic)]

pub mod ipc;
pub mod observe;
pub mod pelt;

mod agenda;
mod config;
mod error;
mod hardware;
mod ids;
mod launcher;
mod names;
mod observer;
mod policy;
mod rng;
mod simulator;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod time;
mod workload;
mod world;

pub use agenda::{Agenda, Event};
pub use config::{Config, HardwareModel, SETTINGS, SettingInfo};
pub use error::{Blocked, SimError};
pub use hardware::{FULL as FULL_SPEED, Speed};
pub use ids::{
    BarrierId, FutexId, LockId, MarkId, MaskId, PipeId, ProcId, RegionId, SemId, SocketId, TaskId,
};
pub use launcher::{Inherited, Launcher};
pub use names::{CallId, Cause, FuncId, LineId, NO_DOMAIN, Reason, ReschedCause, TimerId};
pub use observer::{Cost, Observer, Tracepoint};
pub use policy::{
    Access, Actions, Attached, BalanceStep, Balancer, Charge, CostedFunction, Cx, Dequeue,
    Dequeued, Enqueue, Far, FifoQueues, KernelRules, Look, Moves, Placement, Policy, PolicyEvent,
    Preempt, Report, SdCounts, TimerPlan, Touch, Trigger, TtwuQueue, WakeKind, Wakeup, Wants, When,
};
pub use rng::{Seed, Stream};
pub use simulator::{Simulator, Status};
pub use time::{Nanos, SimTime};
pub use workload::{
    Notes, Op, Outcome, RecordedTimes, RegionSpec, RousedBy, SchedPolicy, Setup, SocketSpec, Start,
    Stores, TaskSpec, Workload,
};
pub use world::{BOOT_CLOCK, RqRow, TaskRow, TaskState, Tasks, World};
