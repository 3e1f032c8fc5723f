//! A counter of `tg->load_avg` for each NUMA node; `fair/tg_load.rs` is where it counts.

use super::{Need, Patch, PatchSetting, Patches};
use crate::fair::features::Grouping;
use crate::fair::tg_load::TgRules;

pub(super) static PATCH: Patch = Patch {
    more: &[
        "Without it a group has one number, tg->load_avg, in one cache line that all its queues \
         write and read.",
        "With it there are as many as NUMA nodes, each in a line of its own; whose is written says \
         tg_node.",
    ],
    source: "\"sched/fair: Make tg->load_avg per node\", A. Lu, 2023",
    settings: &[PatchSetting::word(
        TG_NODE,
        "whose node's counter tg_per_node adds to: of the CPU that executes, or of the runqueue's CPU",
        (&["executing", RUNQUEUE], "executing"),
        "\"sched/fair: Make tg->load_avg per node\", A. Lu, 2023, versions 2 and 1",
    )],
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

/// Which node's counter a write changes. `executing` is version 2: a writer touches memory of its own node only.
const TG_NODE: &str = "tg_node";
/// Version 1: a waker, or a balancer, on another node writes there.
const RUNQUEUE: &str = "runqueue";

/// What patches change of how `tg->load_avg` is kept.
pub(in crate::fair) fn rules(patches: &Patches) -> TgRules {
    TgRules {
        per_node: patches.is_on("tg_per_node"),
        by_runqueue: patches.word(TG_NODE) == RUNQUEUE,
        ratelimit: patches.is_on("tg_ratelimit"),
        nomig: patches.is_on("tg_nomig"),
    }
}
