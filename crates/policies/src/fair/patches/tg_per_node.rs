//! A counter of `tg->load_avg` for each NUMA node; `fair/tg_load.rs` is where it counts.

use super::{Need, Patch};
use crate::fair::features::Grouping;

pub(super) static PATCH: Patch = Patch {
    more: &[
        "Without it a group has one number, tg->load_avg, in one cache line that all its queues \
         write and read.",
        "With it there are as many as NUMA nodes, each in a line of its own; whose is written says \
         tg_node.",
    ],
    source: "\"sched/fair: Make tg->load_avg per node\", A. Lu, 2023",
    needs: Some(GROUP),
    ..Patch::new(
        "tg_per_node",
        "each NUMA node has its own counter of a group's load: writers stay on their node, readers sum \
         over all; matters only in task groups",
    )
};

/// Without a task group there is no `tg->load_avg`.
pub(super) const GROUP: Need = Need {
    what: "group=container or deeper",
    is_met: |features, _| features.grouping != Grouping::ROOT,
};
