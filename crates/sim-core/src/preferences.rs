//! `Preferences`: which LLC a policy now holds to be the home of a process.

use simsched_topology::LlcId;

use crate::ids::ProcId;

/// What a policy has changed its mind about since the list was last taken.
///
/// Whoever watches the run is told ([`crate::Tracepoint::Preferred`]); nothing else follows from it.
#[derive(Clone, Debug, Default)]
pub struct Preferences {
    changed: Vec<(ProcId, Option<LlcId>)>,
}

impl Preferences {
    /// An empty list with room for one change of each of `nr_procs` processes.
    #[must_use]
    pub fn with_capacity(nr_procs: usize) -> Preferences {
        Preferences { changed: Vec::with_capacity(nr_procs) }
    }

    /// Notes that `proc` prefers `llc` from now on, or none.
    #[inline]
    pub fn push(&mut self, proc: ProcId, llc: Option<LlcId>) {
        self.changed.push((proc, llc));
    }

    /// The latest change that was not taken yet.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(ProcId, Option<LlcId>)> {
        // Few can have changed at one event, so the order costs nothing.
        (!self.changed.is_empty()).then(|| self.changed.remove(0))
    }
}
