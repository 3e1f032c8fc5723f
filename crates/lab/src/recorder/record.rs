//! `Record`: what has come out of a run that was watched.

use simsched_core::{MarkId, SimTime, TaskId};

use crate::event::Event;
use crate::probes::Probes;

/// A mark that a task has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Who.
    pub task: TaskId,
    /// Which.
    pub mark: MarkId,
    /// When.
    pub at: SimTime,
    /// What the counters of that task show then.
    pub counters: Counters,
}

/// The counters of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// CPU time in ns.
    pub clock: u64,
    /// How often it left a CPU alive.
    pub switches: u64,
    /// How often it ran on another CPU than before.
    pub migrations: u64,
}

/// A task of a run that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its pid in the events.
    pub pid: u32,
    /// Its nice value at its end.
    pub nice: i8,
    /// Its CPU time in ns as `/proc/self/schedstat` shows it at its end.
    pub exec_ns: u64,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Record {
    /// The tracer's events.
    pub events: Vec<Event>,
    /// What was watched beside them.
    pub probes: Probes,
    /// All marks that were passed, in order.
    pub passed: Vec<Passed>,
    /// When the mark `start` was passed.
    pub started: SimTime,
    /// From the mark `start` to the mark `stop`, in ns.
    pub elapsed_ns: u64,
    /// By task.
    pub tasks: Vec<TaskRecord>,
    /// How often tasks left a CPU alive.
    pub context_switches: u64,
    /// How often tasks ran on another CPU than before.
    pub cpu_migrations: u64,
    /// The CPU time of all tasks in ns.
    pub task_clock_ns: u64,
}
