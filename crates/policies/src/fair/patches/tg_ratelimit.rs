//! At most one write of `tg->load_avg` by a queue in a millisecond, as Linux has since 6.7; `fair/tg_load.rs` is where
//! it counts.

use super::Patch;
use super::tg_per_node::GROUP;
use crate::fair::features::Version;

pub(super) static PATCH: Patch = Patch {
    more: &[
        "A queue that wrote tg->load_avg less than 1 ms ago leaves it as it is; policy_metrics \
         counts that as tg_limited.",
    ],
    source: "\"sched/fair: Ratelimit update to tg->load_avg\", 6.7",
    // Of the versions here it is the first one behind 6.7.
    since: Some(Version::V6_12),
    needs: Some(GROUP),
    ..Patch::new(
        "tg_ratelimit",
        "a queue writes its group's load at most once per ms; matters only in task groups",
    )
};
