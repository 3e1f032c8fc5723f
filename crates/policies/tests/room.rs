//! `util_fits_capacity` and `select_bias_prev` (spec 05, section 8): a busy CPU that has room for the
//! wakee, by the estimates of both.

use simsched_core::{Placement, Reason, TaskId, WakeKind, Wakeup};
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::patches::util_fits_capacity::{PREV_FITS, RECENT_FITS, TARGET_FITS};
use simsched_policies::fair::patches::wakeup_bias_prev;
use simsched_policies::fair::{Features, reason};
use simsched_topology::{CpuId, Topology};

use crate::common::driver::Driver;
use crate::common::machine;
use crate::common::patched;

const WAKEE: TaskId = TaskId(0);

/// What the wakee is known to need.
const NEEDS: u32 = 200;

fn one_llc() -> Topology {
    machine([1, 1, 8, 1], "", "nodes_per_socket = 1")
}

/// A machine on whose first CPUs somebody runs, with so much estimated there.
fn busy(topology: Topology, class: impl Into<FairSpec>, util_est: &[u32]) -> Driver {
    let nr_tasks = topology.nr_cpus() + 1;
    let mut driver = Driver::new(topology, class, &vec![0; nr_tasks]);
    for (cpu, &util_est) in (0..).zip(util_est) {
        driver.start(TaskId(1 + u32::from(cpu)), CpuId(cpu));
        driver.host.policy.cfs_rq_mut(CpuId(cpu)).util_est_enqueued = util_est;
    }
    driver.host.policy.entity_mut(WAKEE).util_est.ewma = NEEDS;
    driver.host.policy.wakee_mut(WAKEE).recent_used_cpu = CpuId(0);
    driver
}

fn select(driver: &mut Driver, prev: u16, waker: u16) -> Placement {
    let [prev, waker] = [prev, waker].map(CpuId);
    let wakeup = Wakeup { wakee: WAKEE, prev, waker, kind: WakeKind::Wake };
    driver.host.select_task_rq(&wakeup)
}

fn fits(rule: &str) -> FairSpec {
    let mut class = patched(Features::default(), &["util_fits_capacity"]);
    assert!(class.patches.assign("fits_capacity", rule).unwrap());
    class
}

#[track_caller]
fn check(
    class: impl Into<FairSpec>,
    util_est: &[u32],
    [prev, waker]: [u16; 2],
    why: Reason,
    cpu: u16,
) {
    let mut driver = busy(one_llc(), class, util_est);
    let placement = select(&mut driver, prev, waker);
    assert_eq!((placement.reason, placement.cpu), (why, CpuId(cpu)));
}

/// Version 1 takes a CPU that is exactly full, version 2 leaves more than a fifth.
#[test]
fn a_busy_target_with_room_is_taken() {
    check(fits("v1"), &[1024 - NEEDS], [0, 0], TARGET_FITS, 0);
    check(fits("v1"), &[1025 - NEEDS], [0, 0], reason::IDLE_CPU, 1);
    // (619 + 200) * 1280 = 1,048,320 is less than 1024 * 1024, (620 + 200) * 1280 is not.
    check(fits("v2"), &[619], [0, 0], TARGET_FITS, 0);
    check(fits("v2"), &[620], [0, 0], reason::IDLE_CPU, 1);
    check(Features::default(), &[0], [0, 0], reason::IDLE_CPU, 1);
    let mut blind = fits("v1");
    blind.features.util_est = false;
    check(blind, &[0], [0, 0], reason::IDLE_CPU, 1);
}

/// CPU 2 wakes a task of CPU 1: whichever of the two is the target, the other one comes next.
#[test]
fn the_previous_and_the_recent_cpu_are_taken_where_the_target_is_full() {
    let rule = fits("v2");
    let full = 1000;
    let mut driver = busy(one_llc(), rule, &[full, 100, full]);
    // The lighter waker's CPU is the target.
    driver.host.policy.cfs_rq_mut(CpuId(2)).avg.load_avg = 0;
    driver.host.policy.cfs_rq_mut(CpuId(1)).avg.load_avg = 5000;
    let placement = select(&mut driver, 1, 2);
    assert_eq!((placement.reason, placement.cpu), (PREV_FITS, CpuId(1)));
    // Nothing was noted on the way there; the recent CPU has room now, and the others have none.
    assert_eq!(driver.host.policy.wakee(WAKEE).recent_used_cpu, CpuId(0));
    driver.host.policy.cfs_rq_mut(CpuId(1)).util_est_enqueued = full;
    driver.host.policy.cfs_rq_mut(CpuId(0)).util_est_enqueued = 100;
    let placement = select(&mut driver, 1, 2);
    assert_eq!((placement.reason, placement.cpu), (RECENT_FITS, CpuId(0)));
    assert_eq!(driver.host.policy.wakee(WAKEE).recent_used_cpu, CpuId(1));
}

/// What the wakee did last counts, too, aged to the time of its queue.
#[test]
fn the_wakee_needs_at_least_what_it_used_of_late() {
    let mut driver = busy(one_llc(), fits("v1"), &[500]);
    let now = driver.host.policy.cfs_rq(CpuId(0)).avg.last_update_time;
    let entity = driver.host.policy.entity_mut(WAKEE);
    entity.avg.util_avg = 600;
    entity.avg.util_sum = 600 * 46_718;
    entity.avg.last_update_time = now;
    assert_eq!(select(&mut driver, 0, 0).reason, reason::IDLE_CPU);
    // 64 ms earlier it is a quarter of that by now.
    let entity = driver.host.policy.entity_mut(WAKEE);
    entity.avg.last_update_time = now - (64 << 20);
    assert_eq!(select(&mut driver, 0, 0).reason, TARGET_FITS);
}

#[test]
fn select_bias_prev_keeps_a_wakee_where_it_fits() {
    let class = || patched(Features::default(), &["select_bias_prev"]);
    check(class(), &[619], [0, 0], wakeup_bias_prev::SPARE, 0);
    check(class(), &[620], [0, 0], reason::IDLE_CPU, 1);
    check(class(), &[900, 100], [1, 0], wakeup_bias_prev::SPARE, 1);
    check(class(), &[900], [5, 0], wakeup_bias_prev::IDLE, 5);
    let mut v1 = class();
    v1.patches.assign("fits_capacity", "v1").unwrap();
    check(v1, &[824], [0, 0], wakeup_bias_prev::SPARE, 0);
    // Nothing is idle and nothing fits: the previous CPU, whatever the target.
    for (prev, waker) in [(1, 0), (0, 1)] {
        let mut driver = busy(one_llc(), class(), &[1000; 8]);
        let target_is_waker = |driver: &mut Driver, is: bool| {
            driver.host.policy.cfs_rq_mut(CpuId(waker)).avg.load_avg = if is { 0 } else { 5000 };
            driver.host.policy.cfs_rq_mut(CpuId(prev)).avg.load_avg = if is { 5000 } else { 0 };
        };
        target_is_waker(&mut driver, true);
        let placement = select(&mut driver, prev, waker);
        assert_eq!((placement.reason, placement.cpu), (wakeup_bias_prev::FALLBACK, CpuId(prev)));
        target_is_waker(&mut driver, false);
        let placement = select(&mut driver, prev, waker);
        assert_eq!((placement.reason, placement.cpu), (reason::NONE_IDLE, CpuId(prev)));
    }
}

/// The three compose: each takes what it would take alone.
#[test]
fn the_patches_of_the_author_compose() {
    let both = || patched(Features::default(), &["wakeup_bias_prev", "select_bias_prev"]);
    // Spare for the one (at most 768 of 1024 used), too full for the other.
    check(both(), &[768], [0, 0], wakeup_bias_prev::SPARE, 0);
    check(both(), &[769], [0, 0], reason::IDLE_CPU, 1);
    let mut all = both();
    all.patches.set("util_fits_capacity", true);
    // The previous CPU is full, the target has room.
    let mut driver = busy(one_llc(), all, &[100, 1000]);
    driver.host.policy.cfs_rq_mut(CpuId(0)).avg.load_avg = 0;
    driver.host.policy.cfs_rq_mut(CpuId(1)).avg.load_avg = 5000;
    let placement = select(&mut driver, 1, 0);
    assert_eq!((placement.reason, placement.cpu), (TARGET_FITS, CpuId(0)));
}
