//! How far a task is in its program.

use simsched_topology::CpuId;

use super::flags::Border;
use crate::time::Nanos;
use crate::workload::{Op, Outcome};

/// The progress of one task that is not current on a CPU; of a current one the copy beside its CPU
/// counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskRun {
    pub op: Op,
    pub outcome: Outcome,
    /// What is left of an interrupted op, or of its end.
    pub remains: Nanos,
    pub progress: Progress,
    /// On which CPU its timer runs.
    pub timer_cpu: CpuId,
    /// It has slept in its op and was woken.
    pub retry: bool,
    /// The stage under way only looks whether the op can be done.
    pub look: bool,
    /// The part of an op on a pipe that is under way, where CPUs take turns.
    pub phase: Phase,
    /// Other tasks have its process, and so its files.
    pub is_thread: bool,
    /// What it does before it is in user space again.
    pub border: Border,
}

/// The parts of an op on a pipe. The task is in its op ([`Progress::Under`]), or asleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// CPUs take no turns: the op takes effect at the end of the stage.
    None,
    /// On its way to the mutex of the pipe, from user space.
    Enter,
    /// On its way to the mutex again.
    Again,
    /// Spinning at the mutex.
    Spin,
    /// It has given up spinning.
    Slow,
    /// Asleep on the mutex.
    Sleep,
    /// Back from there.
    Woken,
    /// It has the mutex, and copies.
    Hold,
    /// It has the mutex, and has found the pipe empty, or full.
    Unready,
    /// At the wait queue: it looks for the last time before it sleeps, or for the first time behind.
    Look,
}

/// Where a task is between two of its ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has to ask for its next op.
    Next,
    /// Its op is under way; `remains` tells how long.
    Under,
    /// Its op could not be done: it sleeps or will, and looks again when it is woken.
    Blocked,
    /// It sleeps until its timer expires, then its op is done.
    Timed,
    /// It has ended.
    Ended,
}

impl TaskRun {
    pub(super) fn new() -> TaskRun {
        TaskRun {
            op: Op::Yield,
            outcome: Outcome::Started,
            remains: Nanos::ZERO,
            progress: Progress::Next,
            timer_cpu: CpuId(0),
            retry: false,
            look: false,
            phase: Phase::None,
            is_thread: false,
            border: Border::default(),
        }
    }
}
