//! A control beside `cache_aware_wakeup`: its guard knows the numbers of this moment.

use super::Patch;
use super::cache_aware_wakeup::GUARD;

pub(super) static PATCH: Patch = Patch {
    more: &[
        "At each enqueue the numbers of the LLC of that CPU, and of the LLC that the process prefers, \
         are those of this moment; that takes no time.",
    ],
    source: "a control: it tells what stale numbers do",
    needs: Some(GUARD),
    ..Patch::new(
        "refresh_at_enqueue",
        "what cache_aware_wakeup knows of an LLC is new at each enqueue, not at periodic balances only",
    )
};
