//! `Homes`: changes of the LLC that processes prefer, for whoever watches.

use simsched_core::{Cx, PolicyEvent, ProcId, Wants};
use simsched_topology::LlcId;

/// What has changed in the call under way; nothing is noted where nobody watches.
#[derive(Clone, Debug, Default)]
pub(in crate::fair) struct Homes {
    changed: Vec<(ProcId, Option<LlcId>)>,
    /// Nobody watches: known from the first call on.
    muted: bool,
}

impl Homes {
    /// This LLC is the home of `proc` from now on, or none is.
    pub(super) fn changes(&mut self, proc: ProcId, llc: Option<LlcId>) {
        if !self.muted {
            self.changed.push((proc, llc));
        }
    }

    /// Nothing is noted any more.
    pub(in crate::fair) fn mute(&mut self) {
        self.muted = true;
        self.changed.clear();
    }

    /// The call ends: tells whoever watches. Whether there is anybody, who will be asked for the whole run.
    pub(in crate::fair) fn tell(&mut self, cx: &mut Cx<'_>) -> bool {
        self.muted = !cx.wants(Wants::PREFERRED);
        self.changed.drain(..).for_each(|(proc, llc)| cx.trace(PolicyEvent::Preferred(proc, llc)));
        !self.muted
    }
}
