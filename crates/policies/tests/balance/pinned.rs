//! What affinity keeps a balance from.

use simsched_core::TaskId;
use simsched_policies::fair::{CpuIdleType, Features};
use simsched_topology::{CpuId, CpuSet};

use crate::balance::detach::{detach, env, queue};

fn cpus(cpus: &[u16]) -> Option<CpuSet> {
    Some(cpus.iter().copied().map(CpuId).collect())
}

/// The destination is CPU 0, whose core has CPU 8 besides; the source is CPU 1.
#[test]
fn for_a_pinned_task_another_cpu_of_the_group_is_remembered() {
    for (idle, allowed, remembered) in [
        (CpuIdleType::Idle, &[1, 8][..], true),
        (CpuIdleType::Idle, &[1, 9], false),
        (CpuIdleType::NewlyIdle, &[1, 8], false),
    ] {
        let mut driver = queue(2, Features::default());
        for task in [0, 1] {
            driver.host.kit.set_allowed(TaskId(task), cpus(allowed));
        }
        let mut env = env(&mut driver, idle, 1);
        assert_eq!(detach(&mut driver, &mut env), [] as [u32; 0]);
        assert!(env.flags.some_pinned && env.flags.all_pinned);
        assert_eq!(env.flags.dst_pinned, remembered, "{idle:?} {allowed:?}");
        assert_eq!(env.new_dst_cpu == CpuId(8), remembered, "{idle:?} {allowed:?}");
        if remembered {
            // There it may go.
            env.cpus.remove(env.dst_cpu);
            (env.dst_cpu, env.flags.dst_pinned, env.loop_) = (env.new_dst_cpu, false, 0);
            assert_eq!(detach(&mut driver, &mut env), [1]);
        }
    }
}

#[test]
fn a_cpu_that_is_not_taken_into_account_is_not_remembered() {
    let mut driver = queue(2, Features::default());
    driver.host.kit.set_allowed(TaskId(1), cpus(&[1, 8]));
    let mut env = env(&mut driver, CpuIdleType::Idle, 1);
    env.cpus.remove(CpuId(8));
    assert_eq!(detach(&mut driver, &mut env), [] as [u32; 0]);
    assert!(env.flags.some_pinned && !env.flags.dst_pinned);
}

#[test]
fn only_the_first_pinned_task_chooses_another_cpu_and_none_in_an_active_balance() {
    let mut driver = queue(3, Features::default());
    driver.host.kit.set_allowed(TaskId(1), cpus(&[1, 9]));
    driver.host.kit.set_allowed(TaskId(2), cpus(&[1, 8]));
    let mut env = env(&mut driver, CpuIdleType::Idle, 1);
    env.dst_grpmask = cpus(&[0, 8, 9]).unwrap();
    env.cpus = env.dst_grpmask;
    // Each task is looked at once.
    env.loop_max = 3;
    let mut active = env;
    assert_eq!(detach(&mut driver, &mut env), [] as [u32; 0]);
    assert_eq!((env.flags.dst_pinned, env.new_dst_cpu), (true, CpuId(9)));
    active.flags.active_lb = true;
    assert_eq!(detach(&mut driver, &mut active), [] as [u32; 0]);
    assert!(active.flags.some_pinned && !active.flags.dst_pinned);
}

#[test]
fn one_task_that_may_run_there_is_enough_for_not_all_being_pinned() {
    let mut driver = queue(3, Features::default());
    for task in [1, 2] {
        driver.host.kit.set_allowed(TaskId(task), cpus(&[1]));
    }
    let mut env = env(&mut driver, CpuIdleType::Idle, 1);
    assert_eq!(detach(&mut driver, &mut env), [] as [u32; 0]);
    assert!(env.flags.some_pinned && !env.flags.all_pinned);
}
