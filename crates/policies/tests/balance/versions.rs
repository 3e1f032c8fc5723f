//! What other kernels decide otherwise.

use simsched_core::TaskId;
use simsched_policies::fair::features::Version;
use simsched_policies::fair::{
    CpuIdleType, Features, GroupStats, GroupType, MigrationType, SgLbStats,
};
use simsched_topology::{CpuId, CpuSet};

use crate::balance::detach::{detach, env, queue};
use crate::balance::scene::{Busy, LIGHT, Scene, full};
use crate::common::vector_machine;

fn fully_busy(is_smt: bool) -> SgLbStats {
    let sums = GroupStats { h_nr_running: 1, ..GroupStats::default() };
    SgLbStats { sums, group_type: GroupType::FullyBusy, avg_load: 0, is_smt, cores: 1 }
}

#[test]
fn of_fully_busy_groups_6_1_takes_the_first_and_6_5_the_last_but_keeps_a_core() {
    let [cpu, core] = [false, true].map(fully_busy);
    for (best, this) in [(cpu, cpu), (cpu, core), (core, cpu), (core, core)] {
        assert!(!this.is_busier_than(&best, Version::V6_1));
        assert_eq!(this.is_busier_than(&best, Version::V6_5), !best.is_smt);
    }
}

/// Spec 06, invariant 14.
#[test]
fn since_6_5_waiting_counts_in_the_choice_of_a_queue_up_to_the_capacity() {
    let choice = |version, [first, second]: [u64; 2]| {
        let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::of(version));
        for cpu in 4..8 {
            scene.cpu(cpu, full(2));
        }
        for (cpu, util, runnable) in [(4, 500, first), (5, 600, second)] {
            scene.cpu(cpu, Busy { util, ..full(2) });
            scene.host.policy.cfs_rq_mut(CpuId(cpu)).avg.runnable_avg = runnable;
        }
        for cpu in [6, 7] {
            // One task: nothing could be moved.
            scene.cpu(cpu, Busy { util: 1024, ..full(1) });
            scene.host.policy.cfs_rq_mut(CpuId(cpu)).avg.runnable_avg = 4096;
        }
        scene.find_queue(0, "NUMA", CpuIdleType::Idle)
    };
    assert_eq!(choice(Version::V6_1, [900, 700]), Some(5));
    assert_eq!(choice(Version::V6_5, [900, 700]), Some(4));
    assert_eq!(choice(Version::V6_5, [2000, 3000]), Some(4));
}

#[test]
fn before_6_0_nobody_helps_a_cpu_that_interrupts_keep_busy() {
    for (version, helps) in [(Version::V5_16, false), (Version::V6_1, true)] {
        let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::of(version));
        scene.cpu(1, LIGHT);
        scene.host.policy.rq_balance_mut(CpuId(1)).cpu_capacity = 800;
        let (found, _) = scene.find(0, "MC", CpuIdleType::Idle);
        assert_eq!(found.is_some(), helps, "{version:?}");
    }
}

/// Sixteen CPUs in two nodes: 5.16 lets a pair stay while the busiest node runs fewer than 4 tasks,
/// and asks that of half the difference; 6.1 while 2 run here.
#[test]
fn before_5_18_the_busiest_node_decides_whether_a_pair_stays() {
    let amount = |version, [here, there]: [u16; 2]| {
        let mut scene = Scene::new(vector_machine("mini_2x4x2"), Features::of(version));
        for cpu in (1..=here).chain((0..there).map(|nth| 4 + nth % 4 + 8 * (nth / 4))) {
            scene.cpu(cpu, LIGHT);
        }
        scene.find(0, "NUMA", CpuIdleType::Idle).0.map(|(_, _, amount)| amount)
    };
    assert_eq!(amount(Version::V5_16, [0, 3]), None);
    assert_eq!(amount(Version::V6_1, [0, 3]), Some(1));
    assert_eq!(amount(Version::V5_16, [0, 4]), Some(2));
    assert_eq!(amount(Version::V6_1, [0, 4]), Some(2));
    assert_eq!(amount(Version::V5_16, [2, 4]), Some(1));
    assert_eq!(amount(Version::V6_1, [1, 3]), None);
}

#[test]
fn before_6_0_a_newly_idle_cpu_balances_even_if_a_task_has_come() {
    for (version, balances) in [(Version::V5_16, true), (Version::V6_1, false)] {
        let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::of(version));
        scene.host.kit.set_nr_running(CpuId(0), 1);
        let balancer = scene.balancer();
        let env = balancer.env(CpuId(0), 0, CpuIdleType::NewlyIdle);
        assert_eq!(balancer.should_we_balance(&env), balances, "{version:?}");
    }
}

/// Loads of 2000 here, 3000 there and nothing elsewhere, on groups of one CPU: 1250 on average. Here is
/// already more than that, and what is there too much is 1750.
#[test]
fn until_it_was_mended_a_cpu_above_the_average_took_all_that_was_too_much_elsewhere() {
    let found = |version| {
        let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::of(version));
        scene.cpu(0, Busy { load: 2000, ..full(1) });
        scene.cpu(1, Busy { load: 3000, ..full(2) });
        scene.find(0, "MC", CpuIdleType::NotIdle).0.map(|(_, kind, amount)| (kind, amount))
    };
    assert_eq!(found(Version::V5_16), Some((MigrationType::Load, 1750)));
    assert_eq!(found(Version::V6_1), None);
}

/// The first two tasks may not run there, the third may.
#[test]
fn vanilla_kernels_search_on_until_a_task_is_not_pinned() {
    for (version, found) in [(Version::V6_1, vec![]), (Version::V6_5, vec![2])] {
        let mut driver = queue(4, Features::of(version));
        driver.migrate(TaskId(3), CpuId(2));
        for task in [0, 1] {
            driver.host.kit.set_allowed(TaskId(task), Some(CpuSet::single(CpuId(1))));
        }
        let mut env = env(&mut driver, CpuIdleType::Idle, 1);
        env.loop_max = 2;
        assert_eq!(detach(&mut driver, &mut env), found, "{version:?}");
    }
}
