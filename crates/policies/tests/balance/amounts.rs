//! Which group is busiest and how much is to be moved from it.

use proptest::prelude::*;
use simsched_policies::fair::features::Version;
use simsched_policies::fair::{
    CpuIdleType, Features, GroupStats, GroupType, MigrationType, SgLbStats,
};
use simsched_topology::{CpuId, Topology};

use crate::balance::scene::{Busy, LIGHT, Scene, full};
use crate::common::{machine, vector_machine};

use CpuIdleType::{Idle, NewlyIdle, NotIdle};
use MigrationType::{Load, Task, Util};

/// One socket with two LLCs of 8 CPUs: CPUs 0 to 3 and their siblings 8 to 11, and the others.
fn two_llcs() -> Topology {
    machine([1, 2, 4, 2], "", "nodes_per_socket = 1")
}

fn some(cpus: &str, kind: MigrationType, amount: i64) -> Option<(String, MigrationType, i64)> {
    Some((cpus.to_owned(), kind, amount))
}

/// Spec 06, invariant 2.
#[test]
fn of_six_tasks_against_two_half_the_difference_is_moved() {
    let mut scene = Scene::new(two_llcs(), Features::default());
    for cpu in [1, 2, 4, 5, 6, 7, 12, 13] {
        scene.cpu(cpu, LIGHT);
    }
    assert_eq!(scene.find(0, "DIE", Idle).0, some("4-7,12-15", Task, 2));
    assert_eq!(scene.find(0, "DIE", NewlyIdle).0, some("4-7,12-15", Task, 2));
    // With one task more here and two less there it is not worth it.
    scene.cpu(3, LIGHT);
    scene.cpu(12, Busy::default());
    scene.cpu(13, Busy::default());
    assert_eq!(scene.find(0, "DIE", Idle).0, None);
}

/// Spec 06, invariant 3: on this machine two tasks may be too many in a node.
#[test]
fn a_pair_stays_in_its_node_and_a_third_task_leaves_it() {
    let mut scene = Scene::new(vector_machine("mini_2x4x2"), Features::default());
    let sd = scene.domain(0, "NUMA");
    assert_eq!(scene.host.policy.domains().of(CpuId(0))[sd].imb_numa_nr, 2);
    scene.cpu(4, LIGHT);
    scene.cpu(5, LIGHT);
    assert_eq!(scene.find(0, "NUMA", Idle).0, None);
    scene.cpu(6, LIGHT);
    assert_eq!(scene.find(0, "NUMA", Idle).0, some("4-7,12-15", Task, 1));
    // With two tasks here the nodes are no longer almost empty: a difference of two is corrected.
    scene.cpu(0, LIGHT);
    scene.cpu(1, LIGHT);
    scene.cpu(7, LIGHT);
    assert_eq!(scene.find(2, "NUMA", Idle).0, some("4-7,12-15", Task, 1));
}

/// Spec 06, invariant 13: the busiest group is below the average of the domain.
#[test]
fn a_busiest_group_below_the_average_does_not_limit_the_amount() {
    let mut scene =
        Scene::new(machine([1, 1, 4, 1], "", "nodes_per_socket = 1"), Features::default());
    scene.cpu(0, Busy { nr_running: 1, load: 8265, util: 10 });
    scene.cpu(1, Busy { nr_running: 1, load: 828, util: 1024 });
    scene.cpu(2, Busy { nr_running: 2, load: 2115, util: 1024 });
    scene.cpu(3, Busy { nr_running: 1, load: 718, util: 1024 });
    assert_eq!(scene.find(1, "MC", NotIdle).0, some("2", Load, 2153));
}

/// Two overloaded groups: 10,240 here and 30,720 there over 4 CPUs each make 2,560 and 7,680 per CPU,
/// 5,120 on average, so 2,560 for each of the 4 CPUs.
#[test]
fn overloaded_groups_meet_at_the_average() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    for cpu in 0..4 {
        scene.cpu(cpu, Busy { load: 2560, ..full(3) });
        scene.cpu(cpu + 4, Busy { load: 7680, ..full(3) });
    }
    assert_eq!(scene.find(0, "NUMA", NotIdle).0, some("4-7", Load, 10_240));
    // No more than 17 % is no imbalance.
    for (load, found) in [(3042, false), (3043, true)] {
        for cpu in 0..4 {
            scene.cpu(cpu, Busy { load: 2600, ..full(3) });
            scene.cpu(cpu + 4, Busy { load, ..full(3) });
        }
        assert_eq!(scene.find(0, "NUMA", NotIdle).0.is_some(), found, "{load}");
    }
}

#[test]
fn spare_capacity_takes_utilization_from_overload_but_only_across_caches() {
    let mut scene = Scene::new(two_llcs(), Features::default());
    for cpu in [4, 5, 6, 7, 12, 13, 14, 15] {
        scene.cpu(cpu, full(2));
    }
    scene.cpu(1, Busy { util: 692, ..LIGHT });
    assert_eq!(scene.find(0, "DIE", Idle).0, some("4-7,12-15", Util, 8 * 1024 - 692));
    // In the LLC it is the number of tasks: core 1 has 4 too many.
    scene.cpu(1, full(2));
    scene.cpu(9, full(2));
    assert_eq!(scene.find(0, "MC", Idle).0, some("1,9", Task, 2));
}

#[test]
fn an_idle_cpu_of_a_group_without_spare_utilization_takes_one_task() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    for cpu in 4..8 {
        scene.cpu(cpu, full(2));
    }
    for cpu in 1..4 {
        scene.cpu(cpu, full(1));
    }
    // What ran here until now still counts.
    scene.cpu(0, Busy { nr_running: 0, load: 0, util: 1024 });
    assert_eq!(scene.find(0, "NUMA", Idle).0, some("4-7", Task, 1));
    assert_eq!(scene.find(0, "NUMA", NotIdle).0, None);
}

/// Without SMT the lowest domain has no children to prefer: its groups are single CPUs.
#[test]
fn a_task_that_runs_alone_is_left_alone() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    scene.cpu(1, full(1));
    assert_eq!(scene.find(0, "MC", Idle).0, None);
    scene.cpu(1, full(2));
    assert_eq!(scene.find(0, "MC", Idle).0, some("1", Task, 1));
}

/// Spec 06, invariant 7, its second half.
#[test]
fn a_group_that_could_not_balance_itself_gives_a_task() {
    let mut scene = Scene::new(two_llcs(), Features::default());
    for cpu in [0, 1, 2, 4, 5] {
        scene.cpu(cpu, LIGHT);
    }
    assert_eq!(scene.find(3, "DIE", Idle).0, None);
    let domains = scene.host.policy.domains();
    let there = domains.ring(&domains.of(CpuId(3))[scene.domain(3, "DIE")])[1];
    scene.host.policy.sgc_mut(there).imbalance = true;
    assert_eq!(scene.find(3, "DIE", Idle).0, some("4-7,12-15", Task, 1));
    assert_eq!(scene.find(3, "DIE", NotIdle).0, some("4-7,12-15", Task, 1));
}

#[test]
fn the_task_of_a_cpu_that_interrupts_keep_busy_is_pulled_by_an_idle_cpu() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    scene.cpu(1, Busy { load: 777, ..LIGHT });
    // 875 * 117 is 102,375, which is less than 1024 * 100.
    for (left, found) in [(876, None), (875, some("1", Load, 777))] {
        scene.host.policy.rq_balance_mut(CpuId(1)).cpu_capacity = left;
        assert_eq!(scene.find(0, "MC", Idle).0, found);
        assert_eq!(scene.find(0, "MC", NewlyIdle).0, found);
        assert_eq!(scene.find(0, "MC", NotIdle).0, None);
    }
    assert_eq!(scene.find_queue(0, "MC", Idle), Some(1));
    scene.cpu(1, Busy { nr_running: 2, ..LIGHT });
    assert_eq!(scene.find(0, "MC", Idle).0, some("1", Task, 1));
    // In the own group that is for another domain to mend.
    scene.cpu(1, LIGHT);
    for cpu in 4..8 {
        scene.cpu(cpu, LIGHT);
    }
    assert_eq!(scene.find(0, "NUMA", Idle).0, some("4-7", Task, 1));
}

#[test]
fn of_tasks_on_cpus_that_interrupts_keep_busy_the_heaviest_goes_first_and_the_last_of_equals() {
    let group = |misfit_load| SgLbStats {
        sums: GroupStats { h_nr_running: 1, misfit_load, ..GroupStats::default() },
        group_type: GroupType::MisfitTask,
        ..SgLbStats::default()
    };
    for (this, busier) in [(6, false), (7, true), (8, true)] {
        assert_eq!(group(this).is_busier_than(&group(7), Version::V6_1), busier);
    }
}

/// CPUs 4 to 7 have loads of 1000, 1001, 999 and 1002, each of a single task but the last: of these
/// more than 1000 cannot be moved at once.
#[test]
fn the_queue_with_most_load_for_its_capacity_gives_unless_its_only_task_is_too_heavy() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    for (cpu, load) in [(4, 1000), (5, 1001), (6, 999)] {
        scene.cpu(cpu, Busy { load, ..full(1) });
    }
    let sd = scene.domain(0, "NUMA");
    let domains = scene.host.policy.domains();
    let group = domains.ring(&domains.of(CpuId(0))[sd])[1];
    let queue = |scene: &mut Scene| {
        let balancer = scene.balancer();
        let mut env = balancer.env(CpuId(0), sd, NotIdle);
        (env.migration_type, env.imbalance) = (Load, 1000);
        balancer.find_busiest_queue(&env, group).map(|cpu| cpu.0)
    };
    assert_eq!(queue(&mut scene), Some(4));
    // 999 of 1022 is more than 1000 of 1024.
    scene.host.policy.rq_balance_mut(CpuId(6)).cpu_capacity = 1022;
    assert_eq!(queue(&mut scene), Some(6));
    scene.cpu(7, Busy { load: 1002, ..full(2) });
    assert_eq!(queue(&mut scene), Some(7));
    // A task whose CPU is kept busy goes whatever its weight.
    scene.host.policy.rq_balance_mut(CpuId(5)).cpu_capacity = 875;
    assert_eq!(queue(&mut scene), Some(5));
}

/// Only the top domain sees all CPUs.
#[test]
fn the_top_domain_tells_whether_a_cpu_has_two_tasks() {
    let mut scene = Scene::new(vector_machine("mini_2x4x2"), Features::default());
    scene.cpu(9, full(2));
    scene.find(0, "DIE", Idle);
    assert!(!scene.host.policy.is_overloaded());
    scene.find(0, "NUMA", NewlyIdle);
    assert!(scene.host.policy.is_overloaded());
    scene.cpu(9, full(1));
    scene.find(0, "DIE", Idle);
    assert!(scene.host.policy.is_overloaded());
    scene.find(0, "NUMA", Idle);
    assert!(!scene.host.policy.is_overloaded());
}

/// Spec 06, invariant 10.
#[test]
fn an_idle_scan_goes_as_far_as_the_llc_has_room() {
    let topology = machine([1, 2, 8, 2], "", "nodes_per_socket = 1");
    let mut scene = Scene::new(topology, Features::default());
    let hint =
        |scene: &Scene| scene.host.policy.llc_shared(scene.host.kit.world(), CpuId(0)).nr_idle_scan;
    for (percent, scan) in [(0, 16), (25, 14), (50, 10), (75, 3), (85, 0)] {
        for cpu in (0..8).chain(16..24) {
            scene.cpu(cpu, Busy { util: 1024 * percent / 100, ..LIGHT });
        }
        let before = hint(&scene);
        scene.find(0, "SMT", Idle);
        scene.find(0, "DIE", Idle);
        scene.find(0, "MC", NewlyIdle);
        assert_eq!(hint(&scene), before, "{percent} %");
        scene.find(0, "MC", Idle);
        assert_eq!(hint(&scene), scan, "{percent} %");
    }
    assert_eq!(simsched_policies::fair::nr_idle_scan(120, 117, 120 * 512), 78);
}

/// What a group looks like to one who sums it up by hand.
fn sums(scene: &Scene, cpus: &str) -> GroupStats {
    let cpus: simsched_topology::CpuSet = cpus.parse().unwrap();
    let mut sums = GroupStats { weight: 0, ..GroupStats::default() };
    for cpu in cpus.iter() {
        let rq = scene.host.policy.cfs_rq(cpu);
        sums.weight += 1;
        sums.capacity += 1024;
        sums.nr_running += rq.h_nr_running;
        sums.util += rq.avg.util_avg;
        sums.runnable += rq.avg.runnable_avg;
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Spec 06, invariant 11.
    #[test]
    fn a_busy_cpu_pulls_from_overload_or_where_children_are_to_be_filled_evenly(
        cpus in prop::collection::vec((0u32..4, 0u64..1025), 16),
    ) {
        let mut scene = Scene::new(vector_machine("mini_2x4x2"), Features::default());
        for (cpu, (nr_running, util)) in (0..).zip(cpus) {
            scene.cpu(cpu, Busy { nr_running, load: util, util });
        }
        for name in ["SMT", "MC", "DIE", "NUMA"] {
            let Some((busiest, ..)) = scene.find(0, name, NotIdle).0 else { continue };
            let domains = scene.host.policy.domains();
            let sd = &domains.of(CpuId(0))[scene.domain(0, name)];
            let busiest = sums(&scene, &busiest);
            let local = sums(&scene, &domains.local_group(sd).span.to_string());
            let is_overloaded = busiest.classify(sd.imbalance_pct) == GroupType::Overloaded;
            let is_uneven = busiest.nr_running > local.nr_running + 1;
            prop_assert!(is_overloaded || (name != "SMT" && is_uneven), "{}", name);
        }
    }
}
