//! Tasks are pulled to the LLC that their process prefers, and left there.

use simsched_core::{TaskId, WakeKind};
use simsched_policies::fair::CacheAwareVersion;
use simsched_policies::fair::CpuIdleType::{Idle, NewlyIdle};
use simsched_policies::fair::RqLlc;
use simsched_topology::{CpuId, CpuSet};

use crate::cache_aware::{MS, PKG, driver, features, llc, pin, places, preferred, two_llcs};
use crate::common::driver::Driver;

/// Four threads that compute on four cores, two of each LLC; a scan has found the first LLC.
fn two_and_two() -> Driver {
    let mut driver = driver(4);
    for (task, cpu) in [(0, 0), (1, 1), (2, 8), (3, 9)] {
        pin(&mut driver, task, cpu);
    }
    driver.pass(40 * MS, |_| {});
    for task in (0..4).map(TaskId) {
        driver.host.kit.set_allowed(task, None);
    }
    driver
}

/// Invariant 3.
#[test]
fn an_idle_cpu_of_the_preferred_llc_pulls_one_thread_after_the_other_and_none_goes_back() {
    let mut driver = two_and_two();
    assert_eq!((preferred(&driver), places(&driver, 4)), (Some(0), vec![0, 0, 1, 1]));
    // The first CPU of an idle core of that LLC, for the others; each of them runs, so it takes the
    // stopper.
    for (idle, from) in [(2, 8), (3, 9)] {
        driver.load_balance(CpuId(idle), PKG, Idle);
        assert_eq!(driver.stops.pop(), Some(CpuId(from)));
        assert_eq!(driver.stopper(CpuId(from)).len(), 1);
        assert!(driver.curr(CpuId(idle)).is_some());
    }
    assert_eq!(places(&driver, 4), [0; 4]);
    // The other LLC has four tasks less, and may not have any.
    for _ in 0..20 {
        for kind in [Idle, NewlyIdle] {
            assert_eq!(driver.load_balance(CpuId(8), PKG, kind).moved, []);
        }
        driver.pass(4 * MS, |_| {});
    }
    assert_eq!(driver.stops, []);
    assert_eq!(llc(&driver).rq(CpuId(0)).nr_pref_llc_running, 1);
}

/// The same numbers without the feature: half of the difference goes over.
#[test]
fn without_it_the_load_is_spread_again() {
    let features = simsched_policies::fair::Features::of(simsched_policies::fair::Version::V7_0);
    let mut driver = Driver::new(crate::cache_aware::two_llcs(), features, &[0; 4]);
    for (task, cpu) in [(0, 0), (1, 1), (2, 2), (3, 2)] {
        pin(&mut driver, task, cpu);
    }
    driver.pass(400 * MS, |_| {});
    for task in (0..4).map(TaskId) {
        driver.host.kit.set_allowed(task, None);
    }
    assert_eq!(driver.load_balance(CpuId(8), PKG, Idle).moved.len(), 1);
}

/// Three threads share a CPU of the LLC that they prefer, cold all of them.
fn three_on_one() -> Driver {
    let mut driver = driver(3);
    for task in 0..3 {
        pin(&mut driver, task, 0);
    }
    driver.pass(400 * MS, |_| {});
    for task in (0..3).map(TaskId) {
        driver.host.kit.set_allowed(task, None);
    }
    driver
}

/// Invariant 10.
#[test]
fn who_stays_for_the_sake_of_its_llc_does_not_count_as_a_failed_balance() {
    let mut driver = three_on_one();
    assert_eq!(preferred(&driver), Some(0));
    for failed in 1..=10 {
        assert_eq!(driver.load_balance(CpuId(8), PKG, Idle).moved, []);
        let state = driver.host.policy.sd_state_mut(CpuId(8), PKG);
        assert_eq!((state.nr_balance_failed, state.counts.lb_failed), (0, [failed, 0, 0]));
    }
    // An idle CPU of the same LLC takes one.
    assert_eq!(driver.load_balance(CpuId(1), PKG - 1, Idle).moved.len(), 1);
}

/// `cache_nice_tries` is 1: failures that have another reason suspend the preference.
#[test]
fn after_two_failed_balances_preferences_are_forgotten_until_one_succeeds() {
    let mut driver = three_on_one();
    driver.host.policy.sd_state_mut(CpuId(8), PKG).nr_balance_failed = 1;
    assert_eq!(driver.load_balance(CpuId(8), PKG, Idle).moved, []);
    driver.host.policy.sd_state_mut(CpuId(8), PKG).nr_balance_failed = 2;
    assert_eq!(driver.load_balance(CpuId(8), PKG, Idle).moved.len(), 1);
    assert_eq!(driver.host.policy.sd_state_mut(CpuId(8), PKG).nr_balance_failed, 0);
}

/// A thread that waits in the other LLC, beside one that may not leave it.
#[test]
fn a_waiting_thread_is_pulled_to_its_llc_without_the_stopper() {
    let mut driver = driver(4);
    for (task, cpu) in [(0, 0), (1, 1), (2, 8), (3, 8)] {
        pin(&mut driver, task, cpu);
    }
    driver.pass(400 * MS, |_| {});
    assert_eq!(preferred(&driver), Some(0));
    let waiting = [2, 3].map(TaskId).into_iter().find(|&task| driver.curr(CpuId(8)) != Some(task));
    let waiting = waiting.unwrap();
    driver.host.kit.set_allowed(waiting, None);
    // It has waited for longer than a cache is thought to stay warm.
    driver.spend(MS);
    driver.host.policy.sd_state_mut(CpuId(2), PKG).nr_balance_failed = 0;
    assert_eq!(driver.load_balance(CpuId(2), PKG, Idle).moved, [waiting]);
    assert_eq!(driver.stops, []);
}

/// The choice of a CPU for a wakee knows nothing of preferences.
#[test]
fn a_wakee_goes_where_it_goes_without_it() {
    let mut driver = two_and_two();
    let asleep = driver.sleep(CpuId(9));
    driver.pass(8 * MS, |_| {});
    assert_eq!(driver.wake(asleep, CpuId(8), WakeKind::Wake).cpu, CpuId(9));
}

/// Affinity is asked first: pinned tasks are no reason to try in vain for ever, and stay.
#[test]
fn pinned_threads_stay() {
    let mut driver = two_and_two();
    for (task, cpu) in [(2, 8), (3, 9)] {
        driver.host.kit.set_allowed(TaskId(task), Some(CpuSet::single(CpuId(cpu))));
    }
    for _ in 0..20 {
        driver.load_balance(CpuId(2), PKG, Idle);
    }
    assert_eq!((driver.stops.len(), places(&driver, 4)), (0, vec![0, 0, 1, 1]));
}

/// Two tasks of one CPU, of which the one that is looked at last prefers the other LLC, whose idle CPU asks for such
/// tasks.
#[test]
fn the_stopper_takes_a_task_that_prefers_the_llc_which_asked_and_that_of_version_4_the_first() {
    let [src, dst] = [8, 0].map(CpuId);
    for (version, moved) in
        [(CacheAwareVersion::Merged, TaskId(1)), (CacheAwareVersion::V4, TaskId(0))]
    {
        let mut driver = Driver::new(two_llcs(), features(version), &[0; 2]);
        for task in [0, 1].map(TaskId) {
            driver.start(task, src);
        }
        let fair = &mut driver.host.policy;
        assert_eq!(fair.cfs_tasks(src), [TaskId(0), TaskId(1)]);
        let llc = fair.cache_aware_mut().unwrap();
        llc.set_pref(TaskId(1), Some(0), false);
        llc.set_rq(src, RqLlc { nr_llc_running: 1, nr_pref_llc_running: 0 });
        llc.set_llc_count(src, 0, 1);
        let rq = fair.rq_balance_mut(src);
        (rq.active_balance, rq.push_cpu, rq.push_llc) = (true, dst, true);
        assert_eq!(driver.stopper(src), [moved], "{version:?}");
    }
}
