//! Migrations leave `tg->load_avg` alone; `fair/tg_load.rs` is where it counts.

use super::Patch;
use super::tg_per_node::GROUP;

pub(super) static PATCH: Patch = Patch {
    more: &[
        "Of a task that leaves one queue of its group for another the sum does not change: neither \
         the queue that it leaves nor the one that it joins tells tg->load_avg.",
    ],
    source: "an idea of the discussion of \"sched/fair: Make tg->load_avg per node\", 2023: a migration does not \
             change the sum",
    needs: Some(GROUP),
    ..Patch::new(
        "tg_nomig",
        "a migration moves the task's part of its own group's load from queue to queue and writes \
         nothing; matters only in task groups",
    )
};
