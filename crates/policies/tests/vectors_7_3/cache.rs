//! The machines of the files on cache-aware load balancing, and what their rows say of processes.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use serde_json::Value;
use simsched_core::TaskId;
use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::{CacheAware, Fair, Features, Version};
use simsched_topology::{CpuId, NodeId, Topology};

use crate::common::patched;
use crate::common::vector_machine;

/// The tick at HZ=250, in ns.
pub(super) const TICK: u64 = 4_000_000;

/// The machine of this name.
pub(super) fn topology(name: &str) -> Topology {
    vector_machine(name)
}

/// A machine with cache-aware load balancing and so many tasks of one process, of which none has begun, at `jiffies`.
pub(super) fn host(topology: Topology, nr_tasks: usize, jiffies: u64) -> PolicyHost<Fair> {
    let mut kit = WorldKit::new(topology, 250);
    kit.set_clock(jiffies * TICK);
    for _ in 0..nr_tasks {
        kit.add_task(0);
    }
    PolicyHost::new(kit, class().fair_class())
}

/// 7.3 without its slice timer.
pub(super) fn class() -> FairSpec {
    let features = Features { hrtick: false, ..Features::of(Version::V7_3) };
    patched(features, &["cache_aware"])
}

/// What rows of several files say alike of the process of task 0, and of `task`; the epoch of the last request for a
/// scan and the jiffy of the next scan are given.
pub(super) fn set_process(
    llc: &mut CacheAware,
    row: &Value,
    task: TaskId,
    [epoch, next_scan]: [u64; 2],
) {
    let number = |name: &str| row[name].as_u64().unwrap();
    llc.set_process(task, cpu(&row["pcpu"]), [epoch, next_scan, number("avg")]);
    llc.set_nr_threads(task, u32::try_from(number("threads")).unwrap());
    llc.set_footprint(task, number("fp"));
    llc.set_llc_bytes(number("bytes"));
    llc.set_aggr_tolerance(number("tol"));
    llc.set_numa_balancing(number("numab") != 0);
    let node = row["nid"].as_u64().map(|node| NodeId(u16::try_from(node).unwrap()));
    llc.set_numa_preferred(task, node);
}

/// -1 is none.
pub(super) fn cpu(value: &Value) -> Option<CpuId> {
    value.as_u64().map(|cpu| CpuId(u16::try_from(cpu).unwrap()))
}

/// -1 is none.
pub(super) fn llc_id(value: &Value) -> Option<u16> {
    value.as_u64().map(|llc| u16::try_from(llc).unwrap())
}

/// None is -1.
pub(super) fn signed(value: Option<impl Into<i64>>) -> i64 {
    value.map_or(-1, Into::into)
}
