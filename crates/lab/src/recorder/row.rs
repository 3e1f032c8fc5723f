//! `Row`: what the recorder knows of one task.

use simsched_core::{SimTime, Start, TaskId, TaskSpec};
use simsched_topology::CpuId;

use super::record::Counters;

/// What is known of one task.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub parent: Option<TaskId>,
    /// It has run, so it has its own name.
    pub named: bool,
    /// Its first wakeup is over.
    pub woken: bool,
    /// The CPU from which it was called for last.
    pub waker: CpuId,
    /// It has changed its CPU since it ran last.
    pub moved: bool,
    /// It is no task of the program's but one of the machine, whose counters nobody reads.
    pub background: bool,
    pub times: Times,
}

impl Row {
    pub(super) fn of(spec: &TaskSpec) -> Row {
        let background = matches!(spec.start, Start::Background { .. });
        Row { background, woken: background, ..Row::default() }
    }
}

/// The CPU time of one task.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// Since when it has its CPU.
    pub on_since: SimTime,
    /// Up to when its CPU time has been brought up to date (`update_curr()`).
    pub updated: SimTime,
    /// CPU time in ns as of then (`sum_exec_runtime`).
    pub exec: u64,
    /// What [`Times::exec`] was when it ended.
    pub exec_at_exit: Option<u64>,
    /// What counters show, with the CPU time up to its last switch.
    pub counters: Counters,
}
