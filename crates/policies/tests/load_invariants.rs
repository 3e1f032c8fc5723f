//! The invariants at the end of spec 04 (load tracking) that need queues and tasks.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use simsched_core::{TaskId, WakeKind};
use simsched_policies::fair::Features;
use simsched_topology::{CpuId, CpuSet};

use crate::common::driver::Driver;
use crate::common::machine;

const MS: u64 = 1_000_000;

fn driver(features: Features, nr_tasks: usize) -> Driver {
    let topology = machine([1, 1, 8, 1], "", "nodes_per_socket = 1");
    Driver::new(topology, features, &vec![0; nr_tasks])
}

/// Invariant 4: what the old queue is to lose is what the new one gains, up to the ageing.
#[test]
fn a_wakeup_elsewhere_moves_what_the_task_stands_for() {
    let features = Features { migrate_se_pelt_lag: false, ..Features::default() };
    let mut driver = driver(features, 1);
    driver.start(TaskId(0), CpuId(0));
    driver.pass(100 * MS, |_| {});
    driver.sleep(CpuId(0));
    driver.pass(50_000, |_| {});
    let before = driver.host.policy.cfs_rq(CpuId(1)).avg;
    driver.wake_on(TaskId(0), CpuId(1));

    let old = driver.host.policy.cfs_rq(CpuId(0));
    let new = driver.host.policy.cfs_rq(CpuId(1)).avg;
    assert_eq!(old.removed_nr, 1);
    assert_eq!(old.removed.util_avg, new.util_avg - before.util_avg);
    assert_eq!(old.removed.runnable_avg, new.runnable_avg - before.runnable_avg);
    assert_eq!(old.removed.load_avg, new.load_avg - before.load_avg);
    assert!(old.removed.util_avg > 800);

    // It stays in the averages of the old queue until somebody looks.
    assert!(old.avg.util_avg > 800);
    driver.sleep(CpuId(1));
    driver.pass(1000, |_| {});
    driver.wake_on(TaskId(0), CpuId(0));
    let old = driver.host.policy.cfs_rq(CpuId(0));
    assert_eq!(old.removed_nr, 0);
    let own = driver.entity(TaskId(0)).avg.util_avg;
    assert!(old.avg.util_avg.abs_diff(own) <= 1, "{} {own}", old.avg.util_avg);
}

/// Section 7.1: nobody ages the queue of an idle CPU; what leaves it is aged nevertheless.
#[test]
fn a_task_that_leaves_an_idle_cpu_is_aged_by_the_time_since() {
    let aged = |lag| {
        let features =
            Features { migrate_se_pelt_lag: lag, sis_util: false, ..Features::default() };
        let mut driver = driver(features, 1);
        driver.start(TaskId(0), CpuId(0));
        driver.pass(400 * MS, |_| {});
        driver.sleep(CpuId(0));
        let asleep_at = driver.entity(TaskId(0)).avg;
        driver.pass(32 * MS, |_| {});
        let queue = driver.host.policy.cfs_rq(CpuId(0)).avg;
        assert_eq!(queue.last_update_time, asleep_at.last_update_time, "nobody has looked");
        driver.host.migrate_task_rq(TaskId(0), CpuId(1));
        (asleep_at.util_avg, driver.entity(TaskId(0)).avg.util_avg)
    };
    let (before, after) = aged(true);
    // Invariant 10: 32 ms of sleep from saturation.
    assert!(before >= 1023 && after.abs_diff(528) <= 1, "{before} {after}");
    let (before, after) = aged(false);
    assert_eq!(before, after);
}

/// Invariant 6.
#[test]
fn the_estimate_of_a_queue_is_that_of_its_tasks() {
    let mut driver = driver(Features::default(), 3);
    for task in (0..3).map(TaskId) {
        driver.host.kit.set_allowed(task, Some(CpuSet::single(CpuId(0))));
        driver.start(task, CpuId(0));
    }
    for round in 0..30 {
        driver.pass((7 + round) * MS, |_| {});
        let task = driver.sleep(CpuId(0));
        driver.pass(3 * MS, |_| {});
        driver.wake_on(task, CpuId(0));
        let queued: u32 = (0..3).map(|task| driver.entity(TaskId(task)).util_est.value()).sum();
        assert_eq!(driver.host.policy.cfs_rq(CpuId(0)).util_est_enqueued, queued);
    }
    for _ in 0..3 {
        driver.sleep(CpuId(0));
    }
    assert_eq!(driver.host.policy.cfs_rq(CpuId(0)).util_est_enqueued, 0);
}

/// Invariant 9.
#[test]
fn a_new_task_is_taken_to_need_half_of_what_is_left() {
    let mut driver = driver(Features::default(), 2);
    driver.start(TaskId(0), CpuId(0));
    assert_eq!(driver.entity(TaskId(0)).avg.util_avg, 512);
    driver.start(TaskId(1), CpuId(0));
    assert_eq!(driver.entity(TaskId(1)).avg.util_avg, 256);
}

/// Spec 06, invariant 10: the hint of an idle LLC, of a full one and of a half full one.
#[test]
fn the_scan_hint_follows_the_utilization_of_the_llc() {
    let mut driver = driver(Features::default(), 8);
    let hint = |driver: &Driver| {
        driver.host.policy.llc_shared(driver.host.kit.world(), CpuId(0)).nr_idle_scan
    };
    assert_eq!(hint(&driver), 8, "a booted machine is idle");
    for cpu in 0..8 {
        driver.start(TaskId(u32::from(cpu)), CpuId(cpu));
    }
    driver.pass(400 * MS, |_| {});
    assert_eq!(hint(&driver), 0);
    for cpu in 0..8 {
        driver.sleep(CpuId(cpu));
    }
    driver.pass(400 * MS, |_| {});
    assert_eq!(hint(&driver), 0, "nobody has ticked");
    for cpu in 0..4 {
        driver.wake_on(TaskId(u32::from(cpu)), CpuId(cpu));
    }
    driver.pass(400 * MS, |_| {});
    // x = 4 * 1024 / 8 = 512, t = 512^2 * 117^2 / 10,240,000 = 350, (1024 - 350) * 8 / 1024 = 5.
    assert_eq!(hint(&driver), 5);
}

/// Spec 05, section 7.1: the time until a wakeup, averaged over eight.
#[test]
fn the_expected_idle_time_follows_the_wakeups() {
    let mut driver = driver(Features::default(), 1);
    let stats = |driver: &Driver| *driver.host.policy.idle_stats(CpuId(0));
    assert_eq!(stats(&driver).avg_idle, MS);
    assert_ne!(stats(&driver).idle_stamp, 0);
    driver.start(TaskId(0), CpuId(0));
    driver.sleep(CpuId(0));
    driver.pass(200_000, |_| {});
    driver.wake(TaskId(0), CpuId(0), WakeKind::Wake);
    assert_eq!(stats(&driver).avg_idle, MS - (MS - 200_000) / 8);
    assert_eq!(stats(&driver).wake_avg_idle, stats(&driver).avg_idle / 2);
    assert_eq!(stats(&driver).idle_stamp, 0);
}
