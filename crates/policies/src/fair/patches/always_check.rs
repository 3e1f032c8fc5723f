//! The guard of `cache_aware_wakeup` for processes of few threads, too.

use super::Patch;
use super::cache_aware_wakeup::GUARD;

pub(super) static PATCH: Patch = Patch {
    more: &[
        "The discussion of the series asks for this: what other processes do in the LLC counts, too.",
    ],
    source: "the discussion of the RFC of 2025-04-21: the check as mandatory",
    needs: Some(GUARD),
    ..Patch::new(
        "always_check",
        "cache_aware_wakeup asks for room also for processes with fewer threads than the LLC has CPUs",
    )
};
