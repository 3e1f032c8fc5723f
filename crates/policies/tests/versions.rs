//! What the kernels differ in on one runqueue.

use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Preempt, TaskId};
use simsched_policies::fair::weight::LoadWeight;
use simsched_policies::fair::{Fair, Features, Overrides, Version};
use simsched_topology::CpuId;

use crate::common::machine;

const CURR: TaskId = TaskId(0);

/// Whether the tick ends the turn of a task of nice 0 that has run for `ran_ms` beside `others`
/// tasks of nice 19, on a machine whose latency is 24 ms and whose granularity is 3 ms.
fn is_over(version: Version, others: u32, ran_ms: u64) -> bool {
    let mut kit = WorldKit::new(machine([1, 1, 8, 1], "", "nodes_per_socket = 1"), 250);
    kit.add_task(0);
    let mut host = PolicyHost::new(kit, Fair::new(Features::of(version), Overrides::default()));
    assert_eq!(
        [host.policy.tunables().latency_ns, host.policy.tunables().min_granularity_ns],
        [24_000_000, 3_000_000]
    );
    let rq = host.policy.cfs_rq_mut(CpuId(0));
    (rq.nr_running, rq.h_nr_running) = (others + 1, others + 1);
    // The kernel's weights have ten bits more than those of the nice levels.
    rq.load = LoadWeight::new((1024 + 15 * u64::from(others)) << 10);
    let entity = host.policy.entity_mut(CURR);
    entity.on_rq = true;
    entity.prev_sum_exec_runtime = 5_000_000;
    entity.sum_exec_runtime = 5_000_000 + 1_000_000 * ran_ms;
    host.policy.check_preempt_tick(CURR) == Preempt::Hard
}

#[test]
fn since_6_3_a_slice_is_one_latency_period_at_most() {
    for version in [Version::V5_16, Version::V6_1] {
        // 20 tasks of 3 ms are 60 ms, of which 1024 / (1024 + 19 * 15) fall to the heavy one: 46.9.
        assert!(!is_over(version, 19, 46), "{version:?}");
        assert!(is_over(version, 19, 47), "{version:?}");
    }
    assert!(!is_over(Version::V6_5, 19, 24));
    assert!(is_over(Version::V6_5, 19, 25));
    // A slice within the period is the same in all: 4 tasks share 24 ms, 23 for the heavy one.
    for &version in Version::CFS {
        assert!(!is_over(version, 3, 22) && is_over(version, 3, 24), "{version:?}");
    }
}
