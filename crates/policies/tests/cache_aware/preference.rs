//! Which LLC a process prefers, and since when, and until when.

use simsched_core::TaskId;
use simsched_policies::fair::CacheAwareVersion;
use simsched_topology::CpuId;

use crate::cache_aware::{MS, driver, features, llc, pin, preferred, two_llcs};
use crate::common::driver::{Driver, TICK};

/// Invariant 9.
#[test]
fn another_llc_is_preferred_only_if_it_has_more_than_twice_as_much() {
    let mut driver = driver(7);
    // Two threads in the first LLC.
    for (task, cpu) in [(0, 0), (1, 1)] {
        pin(&mut driver, task, cpu);
    }
    driver.pass(100 * MS, |_| {});
    assert_eq!(preferred(&driver), Some(0));
    // Three beside them in the second: 3 <= 2 * 2.
    for (task, cpu) in [(2, 8), (3, 9), (4, 10)] {
        pin(&mut driver, task, cpu);
    }
    driver.pass(200 * MS, |_| {});
    assert_eq!(preferred(&driver), Some(0));
    // Five: 5 > 2 * 2.
    for (task, cpu) in [(5, 11), (6, 12)] {
        pin(&mut driver, task, cpu);
    }
    driver.pass(200 * MS, |_| {});
    assert_eq!(preferred(&driver), Some(1));
    // Tasks follow when they are accounted.
    assert!((0..7).all(|task| llc(&driver).pref(TaskId(task)) == Some(1)));
    let count = |cpu| llc(&driver).llc_count(CpuId(cpu), 1);
    assert_eq!((0..32).map(count).sum::<u32>(), 7);
}

/// Invariant 7: five epochs are 40 ms, since an epoch is 2 ticks of 4 ms; a sixth is too long.
#[test]
fn a_process_that_was_silent_for_long_has_no_preference_when_it_runs_again() {
    for (silence, keeps) in [(5 * 2 * TICK, true), (6 * 2 * TICK, false)] {
        let mut driver = driver(2);
        for (task, cpu) in [(0, 0), (1, 1)] {
            pin(&mut driver, task, cpu);
        }
        driver.pass(100 * MS, |_| {});
        assert_eq!(preferred(&driver), Some(0));
        driver.sleep(CpuId(0));
        driver.sleep(CpuId(1));
        driver.pass(silence, |_| {});
        assert_eq!(preferred(&driver), Some(0), "nobody has been accounted");
        driver.wake_on(TaskId(0), CpuId(0));
        driver.spend(MS / 2);
        driver.sleep(CpuId(0));
        assert_eq!(preferred(&driver), keeps.then_some(0), "after {silence} ns");
    }
}

#[test]
fn a_process_of_one_thread_has_no_preference_and_loses_it_with_its_second_last_one() {
    let mut driver = driver(2);
    pin(&mut driver, 0, 0);
    driver.pass(100 * MS, |_| {});
    assert_eq!(preferred(&driver), None);
    pin(&mut driver, 1, 1);
    driver.pass(100 * MS, |_| {});
    assert_eq!(preferred(&driver), Some(0));
    driver.host.exit_mm(CpuId(1), TaskId(1));
    driver.host.kit.task(TaskId(1)).state = simsched_core::TaskState::Dead;
    driver.sleep(CpuId(1));
    driver.pass(100 * MS, |_| {});
    assert_eq!(preferred(&driver), None);
}

/// Invariant 6: eight cores have room for six threads that run. Of seven the average counts 7 - 3 at
/// first, and 4 * 2 * 1280 < 16 * 1024; from above it counts more.
#[test]
fn the_average_of_running_threads_decides_and_depends_on_where_it_comes_from() {
    let start = |nr: u32| {
        let mut driver = driver(16);
        for task in 0..nr {
            pin(&mut driver, task, u16::try_from(task).unwrap());
        }
        driver.pass(200 * MS, |_| {});
        driver
    };
    let eight = start(8);
    assert_eq!((llc(&eight).nr_running_avg(TaskId(0)), preferred(&eight)), (5, Some(0)));
    // All sixteen run: 4, 7, and that is too many. It stays so when most have gone.
    let mut crowd = start(16);
    assert_eq!((llc(&crowd).nr_running_avg(TaskId(0)), preferred(&crowd)), (7, None));
    for cpu in 2..16 {
        driver_sleeps(&mut crowd, cpu);
    }
    crowd.pass(200 * MS, |_| {});
    assert_eq!((llc(&crowd).nr_running_avg(TaskId(0)), preferred(&crowd)), (7, None));
}

fn driver_sleeps(driver: &mut Driver, cpu: u16) {
    driver.sleep(CpuId(cpu));
}

/// In version 4 a child has its parent's preference from the start, which the merged form has mended.
#[test]
fn a_new_thread_has_no_preference_before_it_is_accounted() {
    for (version, inherits) in [(CacheAwareVersion::Merged, None), (CacheAwareVersion::V4, Some(0))]
    {
        // Resident memory is not declared here, nor is the size of the LLC known.
        let mut class = features(version);
        class.patches.assign("llc_footprint", "numa_faults").unwrap();
        let mut driver = Driver::new(two_llcs(), class, &[0; 3]);
        for (task, cpu) in [(0, 0), (1, 1)] {
            pin(&mut driver, task, cpu);
        }
        driver.pass(100 * MS, |_| {});
        assert_eq!(llc(&driver).pref(TaskId(0)), Some(0));
        let to = driver.fork(TaskId(0), TaskId(2)).cpu;
        assert_eq!(llc(&driver).pref(TaskId(2)), inherits, "{version:?}");
        driver.spend(MS);
        driver.until_next_tick();
        assert_eq!(llc(&driver).pref(TaskId(2)), Some(0), "{version:?} on {to}");
    }
}
