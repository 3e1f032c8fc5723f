//! `Wants` and `PolicyEvent`: what an observer enables, and what a policy traces itself.

use simsched_topology::LlcId;

use crate::ids::{ProcId, TaskId};

/// The trace events of a policy, as an observer enables them; one that is not enabled costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants(u8);

impl Wants {
    /// Nothing.
    pub const NOTHING: Wants = Wants(0);
    /// [`Tracepoint::UtilAvg`](crate::Tracepoint::UtilAvg): how utilized the policy holds each CPU to be.
    pub const UTIL_AVG: Wants = Wants(1);
    /// [`Tracepoint::Preferred`](crate::Tracepoint::Preferred): which LLC is the home of a process.
    pub const PREFERRED: Wants = Wants(2);
    /// [`Tracepoint::CacheWork`](crate::Tracepoint::CacheWork): the scans that choose the home of a process.
    pub const CACHE_WORK: Wants = Wants(4);

    /// All that is wanted by either.
    #[must_use]
    pub const fn or(self, other: Wants) -> Wants {
        Wants(self.0 | other.0)
    }

    /// Whether something of `what` is wanted.
    #[inline]
    #[must_use]
    pub const fn has(self, what: Wants) -> bool {
        self.0 & what.0 != 0
    }
}

/// What a policy traces itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyEvent {
    /// This LLC is the home of a process from now on, or none is.
    Preferred(ProcId, Option<LlcId>),
    /// A thread enters `task_cache_work()`.
    CacheWork {
        /// The thread.
        task: TaskId,
        /// The home of its process so far.
        home: Option<LlcId>,
        /// The average number of running threads of its process so far.
        nr_running_avg: u64,
    },
}

impl PolicyEvent {
    /// What an observer enables to get it.
    pub(super) const fn kind(self) -> Wants {
        match self {
            PolicyEvent::Preferred(..) => Wants::PREFERRED,
            PolicyEvent::CacheWork { .. } => Wants::CACHE_WORK,
        }
    }
}
