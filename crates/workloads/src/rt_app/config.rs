//! What an rt-app file asks for, after its checks.

use simsched_core::SchedPolicy;
use simsched_topology::CpuSet;

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Config {
    pub(super) global: Global,
    pub(super) tasks: Vec<Task>,
    pub(super) mutexes: Vec<String>,
    pub(super) conds: Vec<String>,
    pub(super) sems: Vec<String>,
    /// Names and how many threads meet there.
    pub(super) barriers: Vec<(String, i64)>,
    /// Names and whether the timer goes on from its own time when it was late (`absolute`).
    pub(super) timers: Vec<(String, bool)>,
    /// Which tasks are forked, each once, by name.
    pub(super) forks: Vec<String>,
    /// What the file says and what has no effect here.
    pub(super) notes: Vec<String>,
}

impl Config {
    /// Whether some task that is started goes on for ever, and nothing stops it.
    pub(super) fn is_endless(&self) -> bool {
        let goes_on = |task: &Task| {
            let phases = task.phases.iter().any(|phase| phase.loops <= 0);
            task.instances > 0 && task.loops != 0 && (task.loops < 0 || phases)
        };
        self.global.duration_s <= 0 && self.tasks.iter().any(goes_on)
    }
}

/// The global object, as far as it matters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Global {
    /// In seconds; 0 and below is no limit.
    pub(super) duration_s: i32,
    /// How long a loop takes where the file says it, in ns.
    pub(super) ns_per_loop: Option<u32>,
    /// The CPU that would be calibrated.
    pub(super) calibrated_cpu: u32,
    pub(super) policy: SchedPolicy,
    pub(super) lock_pages: bool,
    pub(super) io_device: String,
    /// The buffer of `mem` and `iorun`, in bytes.
    pub(super) mem_buffer: u32,
    pub(super) cumulative_slack: bool,
}

impl Default for Global {
    /// What holds when there is no global object.
    fn default() -> Global {
        Global {
            duration_s: -1,
            ns_per_loop: None,
            calibrated_cpu: 0,
            policy: SchedPolicy::Normal,
            lock_pages: true,
            io_device: "/dev/null".to_owned(),
            mem_buffer: 4 * 1024 * 1024,
            cumulative_slack: false,
        }
    }
}

/// A task: what its threads do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Task {
    pub(super) name: String,
    pub(super) instances: u32,
    /// How often all phases are done; below 0 is without end.
    pub(super) loops: i32,
    pub(super) delay_us: u32,
    pub(super) policy: SchedPolicy,
    pub(super) nice: i8,
    pub(super) cpus: Option<CpuSet>,
    pub(super) phases: Vec<Phase>,
    /// Timers that each thread has for itself, as in [`Config::timers`].
    pub(super) timers: Vec<(String, bool)>,
    /// Whether it stores to its buffer.
    pub(super) uses_memory: bool,
}

/// A phase: events in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phase {
    /// How often it is done before the next; 0 and below is without end.
    pub(super) loops: i32,
    pub(super) cpus: Option<CpuSet>,
    /// What it changes the nice value to.
    pub(super) nice: Option<i8>,
    pub(super) events: Vec<Event>,
}

/// A condition and its mutex: rows of [`Config::conds`] and [`Config::mutexes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cond {
    pub(super) cond: usize,
    pub(super) mutex: usize,
}

/// A timer: a row of the file's or of the task's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerRef {
    Shared(usize),
    Own(usize),
}

/// An event; lengths are in us, objects are rows of the tables of [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Run(u32),
    Runtime(u32),
    Sleep(u32),
    Timer {
        timer: TimerRef,
        period_us: u32,
    },
    Lock(usize),
    Unlock(usize),
    Wait(Cond),
    Signal(usize),
    Broad(usize),
    Sync(Cond),
    Suspend(Cond),
    Resume(Cond),
    Barrier(usize),
    SemPost(usize),
    SemWait(usize),
    Fork(usize),
    Yield,
    /// Stores to so many bytes of the task's buffer.
    Mem(u32),
    /// Writes so many bytes to `/dev/null`.
    Io(u32),
}

/// The row of `name`, which is added if it is new.
pub(super) fn row_of(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}
