//! Which CPU balances for its group.

use proptest::prelude::*;
use simsched_policies::fair::{CpuIdleType, Features};
use simsched_topology::CpuId;

use crate::balance::scene::{LIGHT, Scene};
use crate::common::vector_machine;

fn speakers(scene: &mut Scene, span: &[CpuId], sd: usize, idle: CpuIdleType) -> Vec<CpuId> {
    let balancer = scene.balancer();
    let speaks = |&cpu: &CpuId| balancer.should_we_balance(&balancer.env(cpu, sd, idle));
    span.iter().copied().filter(speaks).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Spec 06, invariant 1.
    #[test]
    fn one_cpu_of_a_group_balances_and_an_idle_one_if_there_is_one(
        idle in prop::collection::vec(any::<bool>(), 16),
    ) {
        let mut scene = Scene::new(vector_machine("mini_2x4x2_nps2"), Features::default());
        for (cpu, _) in (0..).zip(&idle).filter(|&(_, &idle)| !idle) {
            scene.cpu(cpu, LIGHT);
        }
        let domains = scene.host.policy.domains().clone();
        for sd in 0..domains.of(CpuId(0)).len() {
            for cpu in (0..16).map(CpuId) {
                let group = domains.local_group(&domains.of(cpu)[sd]);
                let span: Vec<CpuId> = group.span.iter().collect();
                for kind in [CpuIdleType::Idle, CpuIdleType::NotIdle] {
                    let speakers = speakers(&mut scene, &span, sd, kind);
                    let first_idle = span.iter().find(|cpu| idle[cpu.idx()]);
                    prop_assert_eq!(speakers, [*first_idle.unwrap_or(&span[0])]);
                }
            }
        }
    }
}

#[test]
fn a_newly_idle_cpu_balances_unless_a_task_has_come_or_is_on_its_way() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    let all: Vec<CpuId> = (0..8).map(CpuId).collect();
    assert_eq!(speakers(&mut scene, &all, 0, CpuIdleType::NewlyIdle), all);
    scene.host.kit.set_nr_running(CpuId(2), 1);
    scene.host.kit.set_pending(CpuId(5), true);
    let speakers = speakers(&mut scene, &all, 0, CpuIdleType::NewlyIdle);
    assert_eq!(speakers, [0, 1, 3, 4, 6, 7].map(CpuId));
}

#[test]
fn a_cpu_that_is_not_taken_into_account_does_not_balance() {
    let mut scene = Scene::new(vector_machine("small_2x4x1"), Features::default());
    let balancer = scene.balancer();
    for idle in [CpuIdleType::Idle, CpuIdleType::NewlyIdle] {
        let mut env = balancer.env(CpuId(0), 0, idle);
        assert!(balancer.should_we_balance(&env));
        env.cpus.remove(CpuId(0));
        assert!(!balancer.should_we_balance(&env));
    }
    // Nor is it left to it.
    let mut env = balancer.env(CpuId(1), 1, CpuIdleType::Idle);
    assert!(!balancer.should_we_balance(&env));
    env.cpus.remove(CpuId(0));
    assert!(balancer.should_we_balance(&env));
}
