//! The one tree of a CPU, as the rows of several files describe it.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::Value;
use simsched_core::TaskId;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_policies::fair::{EntityId, Fair, Features, GroupId, Overrides, Request, Version};
use simsched_topology::CpuId;

use crate::common::machine;

pub(super) const CPU: CpuId = CpuId(0);

/// A class on eight CPUs, for the tunables of such a machine.
pub(super) fn fair(nr_tasks: usize) -> Fair {
    let mut kit = WorldKit::new(machine([1, 1, 8, 1], "", "nodes_per_socket = 1"), 250);
    for _ in 0..nr_tasks {
        kit.add_task(0);
    }
    let host = PolicyHost::new(kit, Fair::new(Features::of(Version::V7_3), Overrides::default()));
    assert_eq!(host.policy.tunables().base_slice_ns, 2_800_000);
    *host.policy
}

/// The tree of a row, whose entities wait in their order but for the one that runs and the one that is `absent`; and
/// one task more. What they weigh alone is of no account: that stays as it is.
pub(super) fn tree(row: &Value, absent: Option<usize>) -> Fair {
    let entities = row["entities"].as_array().unwrap();
    let mut fair = fair(entities.len() + 1);
    let curr = row["curr"].as_u64().map(task);
    fair.eevdf_rq_mut(CPU).zero_vruntime = row["zero_vruntime"].as_u64().unwrap();
    fair.eevdf_rq_mut(CPU).curr = curr.map(EntityId::of);
    for (at, entity) in entities.iter().enumerate() {
        let [weight, vruntime, deadline, slice] = bits(entity)[..] else { panic!("{entity}") };
        let id = TaskId::new(at);
        *fair.request_mut(id) = Request { deadline, slice, weight, ..Request::default() };
        fair.entity_mut(id).vruntime = vruntime;
        if curr == Some(id) {
            fair.entity_mut(id).on_rq = row["curr_on_rq"] != 0;
        } else if absent != Some(at) {
            fair.entity_mut(id).on_rq = true;
            fair.wait(CPU, id);
        }
    }
    fair
}

/// The task in this row of the list of entities.
pub(super) fn task(at: u64) -> TaskId {
    TaskId(u32::try_from(at).unwrap())
}

/// A list of signed and unsigned numbers, as the bits of the latter.
pub(super) fn bits(value: &Value) -> Vec<u64> {
    let bits = |int: &Value| int.as_u64().unwrap_or_else(|| int.as_i64().unwrap().cast_unsigned());
    value.as_array().unwrap().iter().map(bits).collect()
}

/// The reference of the tree, the sum of weighted distances from it, and the weight of those who wait are those of
/// these columns.
#[track_caller]
pub(super) fn expect_sums(fair: &Fair, row: &Value, [zero, sum, load]: [Option<&str>; 3]) {
    let eevdf = fair.eevdf_rq(GroupId::ROOT, CPU).unwrap();
    if let Some(column) = zero {
        assert_eq!(row[column], eevdf.zero_vruntime, "{column} of {row}");
    }
    for (column, value) in [(sum, eevdf.avg_vruntime), (load, eevdf.avg_load)] {
        if let Some(column) = column {
            assert_eq!(row[column], value, "{column} of {row}");
        }
    }
}
