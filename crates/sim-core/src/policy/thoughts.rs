//! `Thoughts`: what a policy holds to be true, for those who watch.

use simsched_topology::{CpuId, LlcId};

use crate::ids::ProcId;

/// Something about which a policy has changed its mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thought {
    /// This LLC is the home of a process from now on, or none is.
    Preferred(ProcId, Option<LlcId>),
    /// The utilization of a CPU is another ([`crate::Policy::util_avg`]).
    UtilAvg(CpuId, u64),
}

/// What a policy has changed its mind about since the list was last taken.
///
/// Whoever watches the run is told ([`crate::Tracepoint::Preferred`], [`crate::Tracepoint::UtilAvg`]);
/// nothing else follows from it.
#[derive(Clone, Debug, Default)]
pub struct Thoughts {
    changed: Vec<Thought>,
    muted: bool,
}

impl Thoughts {
    /// An empty list with room for so many changes.
    #[must_use]
    pub fn with_capacity(changes: usize) -> Thoughts {
        Thoughts { changed: Vec::with_capacity(changes), muted: false }
    }

    /// Notes a change, if anybody asks.
    #[inline]
    pub fn push(&mut self, thought: Thought) {
        if !self.muted {
            self.changed.push(thought);
        }
    }

    /// Notes nothing from now on: nobody will take it.
    pub(crate) fn mute(&mut self) {
        self.muted = true;
        self.changed.clear();
    }

    /// Takes over all changes of another list.
    #[inline]
    pub(crate) fn append(&mut self, other: &mut Thoughts) {
        self.changed.append(&mut other.changed);
    }

    /// The earliest change that was not taken yet.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Thought> {
        // Few can have changed at one event, so the order costs nothing.
        (!self.changed.is_empty()).then(|| self.changed.remove(0))
    }
}
