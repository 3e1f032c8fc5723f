//! `Setup`: all that a workload declares before the run.

use simsched_topology::{CpuId, CpuSet};

use crate::ids::{MarkId, ProcId};
use crate::time::{Nanos, SimTime};

/// The scheduling policies of the fair class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchedPolicy {
    /// `SCHED_NORMAL`.
    #[default]
    Normal,
    /// `SCHED_BATCH`: never preempts on wakeup.
    Batch,
    /// `SCHED_IDLE`: weight 3, preempted by all others.
    Idle,
}

/// When a task starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// When another task spawns it.
    #[default]
    Spawned,
    /// At the start of the run, on this CPU.
    AtZero(CpuId),
    /// At the start of the run it has slept for long on this CPU: its first op is the sleep that it is in
    /// ([`Op::Sleep`](crate::Op::Sleep), [`Op::SleepUntil`](crate::Op::SleepUntil) or
    /// [`Op::FutexWait`](crate::Op::FutexWait)).
    Asleep(CpuId),
    /// It belongs to the machine, like a thread of the kernel: since long before the run it has
    /// slept on `cpu`, and at `until` its timer expires. The run does not wait for its end, nor for
    /// its timers.
    Background {
        /// Where it has slept.
        cpu: CpuId,
        /// When it wakes up for the first time.
        until: SimTime,
        /// Its timers do not wake an idle CPU whose tick is stopped: they wait for a tick of it
        /// (`TIMER_DEFERRABLE`).
        deferrable: bool,
    },
}

/// A task before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSpec {
    /// Its name (`comm`).
    pub name: String,
    /// The process whose address space it shares.
    pub proc: ProcId,
    /// -20..=19.
    pub nice: i8,
    /// Its policy within the fair class.
    pub policy: SchedPolicy,
    /// Where it may run; `None` is everywhere.
    pub allowed: Option<CpuSet>,
    /// When it starts.
    pub start: Start,
}

/// A socket pair before the run: of which kind it is, and what its ends buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketSpec {
    /// AF_UNIX stream sockets.
    Unix {
        /// The send buffer of each end in bytes (`SO_SNDBUF`, default 212992).
        sndbuf_bytes: u32,
        /// What one small message is accounted at, on top of its data, in bytes.
        overhead_bytes: u32,
    },
    /// UDP over loopback: datagrams, which are lost where the receiver has no room.
    Udp {
        /// The receive buffer of each end in bytes (`SO_RCVBUF`, default 212992).
        rcvbuf_bytes: u32,
        /// What one small datagram is accounted at, on top of its data, in bytes.
        overhead_bytes: u32,
    },
    /// TCP over loopback: a stream with a window.
    Tcp {
        /// The send buffer of each end in bytes.
        sndbuf_bytes: u32,
        /// The receive buffer of each end at first, in bytes.
        rcvbuf_bytes: u32,
        /// The most to which the receive buffer grows, in bytes.
        max_rcvbuf_bytes: u32,
        /// The largest segment, in bytes.
        mss_bytes: u32,
    },
}

/// What storing to memory does where no cache has the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stores {
    /// The line is fetched first and written back later.
    #[default]
    Allocate,
    /// It is written without being fetched (non-temporal stores).
    NonTemporal,
}

/// A part of memory before the run: nobody has touched its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionSpec {
    /// Its size in KiB.
    pub kib: u32,
    /// How it is stored to.
    pub stores: Stores,
}

/// Times that were measured on a real machine, from the switch to a task to the switch away from it.
///
/// They hold what the kernel did on a CPU whose task was current: that takes no time of its own. What an
/// idle CPU does before it switches to a task is in no task's time. Timers have no slack, as it is known
/// when they expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedTimes {
    /// From the call for a task to the switch to it, on a CPU that was idle. It holds where the hardware
    /// is free, or [`RecordedTimes::here`] does; else that takes what it takes on the machine.
    pub dispatch: Nanos,
    /// They were measured on the simulated machine: what the kernel's paths, cache lines and ways out of idle
    /// states took is in them, and only a busy sibling and the clock still change how long something takes.
    pub here: bool,
    /// From the instant at which the current task has to go to the switch away from it: so long it goes
    /// on with what it computes, for that is in its time.
    pub preempt: Nanos,
}

/// All that a run consists of, declared before it starts: tables have their final size, ids are
/// fixed, and a fork allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Processes by [`ProcId`]: their names.
    pub procs: Vec<String>,
    /// Tasks by [`TaskId`](crate::TaskId).
    pub tasks: Vec<TaskSpec>,
    /// How many pipes there are.
    pub pipes: u32,
    /// Socket pairs; pair `k` has the ends `2k` and `2k + 1`.
    pub sockets: Vec<SocketSpec>,
    /// How many mutexes there are.
    pub locks: u32,
    /// How many semaphores of the kernel there are.
    pub sems: u32,
    /// Barriers by [`BarrierId`](crate::BarrierId): how many tasks meet there.
    pub barriers: Vec<u32>,
    /// How many futex words there are; all start at 0.
    pub futexes: u32,
    /// Sets of CPUs by [`MaskId`](crate::MaskId), of which the machine must have some.
    pub masks: Vec<CpuSet>,
    /// Working sets by [`TaskId`](crate::TaskId), in bytes; tasks beyond the end of the list have none that matters.
    pub footprints: Vec<u32>,
    /// Parts of memory by [`RegionId`](crate::RegionId), for loops that are bound by memory.
    pub regions: Vec<RegionSpec>,
    /// How fast a thread of this workload computes beside a busy sibling, in thousandths, where that is
    /// known; else as the machine says. It depends on what is computed.
    pub smt_milli: Option<u16>,
    /// What the tasks compute was measured on a real machine, from switch to switch.
    pub recorded: Option<RecordedTimes>,
    /// Marks by [`MarkId`]: their names.
    pub marks: Vec<String>,
    /// What is to be measured: for each task the time from passing the first mark of a pair to
    /// passing the second.
    pub spans: Vec<(MarkId, MarkId)>,
}

impl Setup {
    /// What each process has in memory once all of it is in use, in bytes: the working sets of its tasks,
    /// and for the first one all declared parts of memory.
    #[must_use]
    pub fn resident_bytes(&self) -> Vec<u64> {
        let mut resident = vec![0; self.procs.len().max(1)];
        for (task, bytes) in self.tasks.iter().zip(&self.footprints) {
            if let Some(all) = resident.get_mut(task.proc.idx()) {
                *all += u64::from(*bytes);
            }
        }
        resident[0] += self.regions.iter().map(|region| u64::from(region.kib) << 10).sum::<u64>();
        resident
    }
}
