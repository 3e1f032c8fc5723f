//! What domains count of wakeups.

use simsched_core::{SdCounts, TaskId, WakeKind};
use simsched_topology::CpuId;

use crate::balance_flow::{MC, MS, NUMA, driver, two_sockets};
use crate::common::driver::Driver;

/// The wakeups to other CPUs and to the waker's, in both domains of `cpu`.
fn wakeups(driver: &mut Driver, cpu: u16) -> [[u64; 2]; 2] {
    let of = |counts: SdCounts| [counts.ttwu_wake_remote, counts.ttwu_move_affine];
    [MC, NUMA].map(|sd| of(driver.host.policy.sd_state_mut(CpuId(cpu), sd).counts))
}

#[test]
fn a_wakeup_counts_in_the_lowest_domain_of_both_cpus() {
    let mut driver = driver(two_sockets(4), 3);
    let [waker, near, far] = [0, 1, 2].map(TaskId);
    for (task, cpu) in [(waker, 0), (near, 2), (far, 6)] {
        driver.start(task, CpuId(cpu));
    }
    driver.pass(MS, |_| {});
    driver.sleep(CpuId(2));
    driver.sleep(CpuId(6));
    // It finds its CPU idle.
    assert_eq!(driver.wake(near, CpuId(0), WakeKind::Wake).cpu, CpuId(2));
    assert_eq!(wakeups(&mut driver, 0), [[1, 0], [0, 0]]);
    assert_eq!(driver.wake(far, CpuId(0), WakeKind::Wake).cpu, CpuId(6));
    assert_eq!(wakeups(&mut driver, 0), [[1, 0], [1, 0]]);
    // The only task of the waker's CPU is about to sleep: the wakee is pulled there, and on to the
    // next idle CPU.
    driver.sleep(CpuId(6));
    let placement = driver.wake(far, CpuId(0), WakeKind::WakeSync);
    assert!(placement.affine);
    assert_eq!(placement.cpu, CpuId(1));
    assert_eq!(wakeups(&mut driver, 0), [[2, 0], [1, 1]]);
}
