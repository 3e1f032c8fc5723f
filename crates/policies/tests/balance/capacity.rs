//! What is left of CPUs and groups for fair tasks.

use simsched_policies::fair::{CpuIdleType, Features};
use simsched_topology::CpuId;

use crate::balance::scene::Scene;
use crate::common::vector_machine;

use CpuIdleType::{Idle, NewlyIdle};

#[test]
fn interrupts_lessen_the_capacity_of_the_cpu_and_of_its_groups() {
    let mut scene = Scene::new(vector_machine("mini_2x4x2"), Features::default());
    let clock = scene.host.kit.world().rq(CpuId(0)).clock;
    let avg_irq = &mut scene.host.policy.rq_balance_mut(CpuId(0)).avg_irq;
    (avg_irq.last_update_time, avg_irq.util_avg) = (clock, 256);
    let domains = scene.host.policy.domains().clone();
    let mut capacities = Vec::new();
    for (at, sd) in domains.of(CpuId(0)).iter().enumerate() {
        let mut balancer = scene.balancer();
        let mut env = balancer.env(CpuId(0), at, Idle);
        balancer.find_busiest_group(&mut env);
        let group = domains.ring(sd)[0];
        capacities.push(scene.host.policy.sgc_mut(group).capacity);
    }
    assert_eq!(capacities, [1024, 2048, 4096, 8192].map(|full| full - 256));
    assert_eq!(scene.host.policy.rq_balance_mut(CpuId(0)).cpu_capacity, 768);
}

/// A quarter of the time for twelve half-lives and more is a quarter of 1024; after a half-life
/// without, an eighth. It does not matter how often it is asked.
#[test]
fn the_time_of_interrupts_is_averaged_like_that_of_tasks() {
    for step_ms in [1, 4, 32] {
        let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
        let mut clock = scene.host.kit.world().sched_clock();
        let mut pass = |scene: &mut Scene, ms: u64, percent: u64| {
            for _ in 0..ms / step_ms {
                scene.host.kit.add_irq_time(CpuId(1), step_ms * 10_000 * percent);
                clock += step_ms * 1_000_000;
                scene.host.kit.set_clock(clock);
                scene.balancer().update_irq_load_avg(CpuId(1));
            }
            scene.host.policy.rq_balance_mut(CpuId(1)).avg_irq.util_avg
        };
        assert!((252..=256).contains(&pass(&mut scene, 416, 25)), "{step_ms}");
        let half = pass(&mut scene, 32, 0);
        assert!((124..=134).contains(&half), "{step_ms}: {half}");
        scene.find(1, "MC", Idle);
        assert_eq!(scene.host.policy.rq_balance_mut(CpuId(1)).cpu_capacity, 1024 - half);
        assert!(scene.balancer().update_irq_load_avg(CpuId(1)));
        pass(&mut scene, 640, 0);
        assert!(!scene.balancer().update_irq_load_avg(CpuId(1)));
    }
}

/// The clock has not come as far as an interrupt that goes on.
#[test]
fn interrupts_take_no_more_than_all_of_the_time() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    let clock = scene.host.kit.world().sched_clock();
    scene.host.kit.add_irq_time(CpuId(1), 416_000_000);
    for tick in 1..=104 {
        scene.host.kit.set_clock(clock + tick * 4_000_000);
        scene.balancer().update_irq_load_avg(CpuId(1));
    }
    assert!(scene.host.policy.rq_balance_mut(CpuId(1)).avg_irq.util_avg > 1015);
    scene.find(1, "MC", Idle);
    assert!(scene.host.policy.rq_balance_mut(CpuId(1)).cpu_capacity < 9);
}

#[test]
fn an_idle_cpu_is_not_forgotten_until_its_interrupts_are() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    for (util_avg, is_known) in [(1, true), (0, false)] {
        let rq = scene.host.policy.rq_balance_mut(CpuId(1));
        rq.avg_irq.util_avg = util_avg;
        rq.has_blocked_load = true;
        scene.balancer().update_blocked_averages(CpuId(1));
        assert_eq!(scene.host.policy.rq_balance_mut(CpuId(1)).has_blocked_load, is_known);
    }
}

/// Above a NUMA domain its groups may overlap, so the CPUs are counted.
#[test]
fn the_capacity_of_a_group_of_nodes_is_that_of_its_cpus() {
    let mut scene = Scene::new(vector_machine("mini_2x4x2_nps2"), Features::default());
    let domains = scene.host.policy.domains();
    let [below, top] = [2, 3].map(|sd| domains.ring(&domains.of(CpuId(0))[sd])[0]);
    scene.host.policy.rq_balance_mut(CpuId(3)).cpu_capacity = 24;
    for sd in [2, 3] {
        let mut balancer = scene.balancer();
        let mut env = balancer.env(CpuId(0), sd, Idle);
        balancer.find_busiest_group(&mut env);
    }
    // The group of CPU 3 does not know yet, nor does that of its node.
    assert_eq!(scene.host.policy.sgc_mut(below).capacity, 4 * 1024);
    assert_eq!(scene.host.policy.sgc_mut(top).capacity, 8 * 1024 - 1000);
}

#[test]
fn a_newly_idle_cpu_computes_the_capacity_of_its_group_only_when_that_is_due() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    let domains = scene.host.policy.domains();
    let here = domains.ring(&domains.of(CpuId(0))[0])[0];
    let next_update = scene.host.kit.world().jiffies() + 1;
    let sgc = scene.host.policy.sgc_mut(here);
    (sgc.capacity, sgc.next_update) = (7, next_update);
    scene.find(0, "MC", NewlyIdle);
    assert_eq!(scene.host.policy.sgc_mut(here).capacity, 7);
    scene.host.kit.set_clock(1_004_000_000);
    scene.find(0, "MC", NewlyIdle);
    let sgc = scene.host.policy.sgc_mut(here);
    // The interval of the domain is 8 ms, two jiffies.
    assert_eq!((sgc.capacity, sgc.next_update), (1024, next_update + 2));
    sgc.capacity = 7;
    scene.find(0, "MC", Idle);
    assert_eq!(scene.host.policy.sgc_mut(here).capacity, 1024);
}
