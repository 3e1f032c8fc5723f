//! Cache-aware wakeups: the invariants at the end of spec 07, on a machine in slow motion. Those of its
//! guard are in `src/fair/llc/wakeup/guard.rs`, those that take a whole run in the tests of the command.

use std::collections::BTreeMap;

use simsched_core::{Placement, Report, TaskId, WakeKind};
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::CpuIdleType::{Idle, NewlyIdle};
use simsched_policies::fair::WakeupLevel::{self, L1, L2, L3};
use simsched_policies::fair::{Features, LlcAvg, Version, reason};
use simsched_topology::{CpuId, CpuSet, LlcId, Topology};

use crate::common::driver::{Driver, TICK};
use crate::common::machine;

const MS: u64 = 1_000_000;

/// The domain of both LLCs of [`two_llcs`].
const PKG: usize = 2;

/// A package with two LLCs of 8 cores: CPUs 0 to 7 and 16 to 23 are one, 8 to 15 and 24 to 31 the
/// other.
fn two_llcs() -> Topology {
    machine([1, 2, 8, 2], "", "nodes_per_socket = 1")
}

fn features(level: Option<WakeupLevel>) -> FairSpec {
    let mut class = FairSpec::from(Features::of(Version::V7_0));
    let name = level.unwrap_or_default().name();
    assert!(class.patches.assign("cache_aware_wakeup_level", name).unwrap());
    class.patches.set("cache_aware_wakeup", level.is_some());
    class
}

/// So many threads of one process that have not started; idle scans may visit whole LLCs.
fn driver_of(class: FairSpec, nr_tasks: usize) -> Driver {
    Driver::new(two_llcs(), class, &vec![0; nr_tasks])
}

fn driver(level: WakeupLevel, nr_tasks: usize) -> Driver {
    driver_of(features(Some(level)), nr_tasks)
}

/// Starts a thread that may run on one CPU only.
fn pin(driver: &mut Driver, task: u32, cpu: u16) {
    driver.host.kit.set_allowed(TaskId(task), Some(CpuSet::single(CpuId(cpu))));
    driver.start(TaskId(task), CpuId(cpu));
}

fn free(driver: &mut Driver, nr_tasks: u32) {
    (0..nr_tasks).for_each(|task| driver.host.kit.set_allowed(TaskId(task), None));
}

fn llc_of(cpu: CpuId) -> u16 {
    cpu.0 / 8 % 2
}

/// The LLC that the process prefers.
fn preferred(driver: &Driver) -> Option<u16> {
    driver.host.policy.cache_aware_wakeup().unwrap().pref_cpu(TaskId(0)).map(llc_of)
}

fn metrics(driver: &Driver) -> BTreeMap<&'static str, u64> {
    let mut all = BTreeMap::new();
    driver.host.policy.metrics(&mut |name, value| {
        all.insert(name, value);
    });
    all
}

fn scans_are_long(driver: &mut Driver) {
    for llc in [0, 1].map(LlcId) {
        driver.host.policy.llc_shared_mut(llc).nr_idle_scan = 16;
    }
}

/// Threads 0 to 2 compute on CPUs 0 to 2; thread 3 sleeps on CPU 8, where it has run for a moment.
fn three_and_a_sleeper(class: FairSpec) -> Driver {
    let mut driver = driver_of(class, 4);
    for task in 0..3 {
        pin(&mut driver, task, u16::try_from(task).unwrap());
    }
    pin(&mut driver, 3, 8);
    driver.sleep(CpuId(8));
    driver.pass(100 * MS, |_| {});
    free(&mut driver, 4);
    scans_are_long(&mut driver);
    driver
}

fn wake(driver: &mut Driver, waker: u16) -> Placement {
    driver.wake(TaskId(3), CpuId(waker), WakeKind::Wake)
}

#[test]
fn a_wakee_is_sent_to_the_llc_in_which_its_process_runs() {
    let mut plain = three_and_a_sleeper(features(None));
    assert_eq!(wake(&mut plain, 1).cpu, CpuId(8), "idle, and the previous one");
    for level in [L1, L2, L3] {
        let mut driver = three_and_a_sleeper(features(Some(level)));
        assert_eq!(preferred(&driver), Some(0), "{level:?}");
        let placement = wake(&mut driver, 1);
        assert_eq!(llc_of(placement.cpu), 0, "{level:?}: {placement:?}");
        assert!(driver.host.kit.world().task(TaskId(3)).on_rq);
        let metrics = metrics(&driver);
        assert_eq!((metrics["cas_redirected"], metrics["cas_redirected_landed"]), (1, 1));
    }
}

/// `recent_used_cpu` becomes what was taken for the previous CPU, and is no candidate.
#[test]
fn the_recent_cpu_of_a_redirected_wakee_is_not_looked_at_but_noted() {
    let mut driver = three_and_a_sleeper(features(Some(L3)));
    // Idle, and near what will be the target.
    driver.host.policy.wakee_mut(TaskId(3)).recent_used_cpu = CpuId(5);
    let placement = wake(&mut driver, 1);
    assert_ne!(placement.reason, reason::RECENT, "{placement:?}");
    let pref = driver.host.policy.cache_aware_wakeup().unwrap().pref_cpu(TaskId(3)).unwrap();
    assert_eq!(driver.host.policy.wakee(TaskId(3)).recent_used_cpu, pref);
}

/// Invariant 2. The prototype has no such rule.
#[test]
fn a_process_of_one_thread_has_no_preference() {
    for (level, has) in [(L1, true), (L2, false), (L3, false)] {
        let mut driver = driver(level, 1);
        pin(&mut driver, 0, 0);
        driver.pass(200 * MS, |_| {});
        assert_eq!(preferred(&driver).is_some(), has, "{level:?}");
    }
}

/// Invariant 3: whoever wakes it, from whichever CPU of the preferred LLC it comes.
#[test]
fn a_wakee_that_was_in_the_preferred_llc_goes_where_it_goes_without_the_feature() {
    for waker in 0..32 {
        let at = |level: Option<WakeupLevel>| {
            let mut driver = driver_of(features(level), 4);
            (0..4).for_each(|task| pin(&mut driver, task, u16::try_from(task).unwrap()));
            driver.pass(100 * MS, |_| {});
            driver.sleep(CpuId(3));
            driver.pass(2 * TICK, |_| {});
            free(&mut driver, 4);
            scans_are_long(&mut driver);
            driver.wake(TaskId(3), CpuId(waker), WakeKind::WakeSync)
        };
        let plain = at(None);
        assert_eq!((at(Some(L2)), at(Some(L3))), (plain, plain), "woken from {waker}");
    }
}

/// Rule 3 of the redirect is what the prototype lacks: it gives up a CPU that is idle and warm.
#[test]
fn the_prototype_redirects_within_the_preferred_llc() {
    let at = |level| {
        let mut driver = driver(level, 4);
        (0..3).for_each(|task| pin(&mut driver, task, u16::try_from(task).unwrap()));
        pin(&mut driver, 3, 6);
        driver.pass(100 * MS, |_| {});
        driver.sleep(CpuId(6));
        driver.pass(2 * TICK, |_| {});
        free(&mut driver, 4);
        scans_are_long(&mut driver);
        assert_eq!(preferred(&driver), Some(0));
        wake(&mut driver, 1).cpu
    };
    assert_eq!(at(L2), CpuId(6));
    assert_ne!(at(L1), CpuId(6));
}

/// Invariant 6: an epoch is 2 ticks of 4 ms. Five without a scan keep it, six do not.
#[test]
fn a_process_that_was_silent_for_six_epochs_has_no_preference_when_it_runs_again() {
    for (epochs, keeps) in [(5, true), (6, false)] {
        let mut driver = driver(L3, 2);
        (0..2).for_each(|task| pin(&mut driver, task, u16::try_from(task).unwrap()));
        driver.pass(100 * MS, |_| {});
        driver.sleep(CpuId(0));
        driver.sleep(CpuId(1));
        driver.pass(epochs * 2 * TICK, |_| {});
        assert_eq!(preferred(&driver), Some(0), "nobody has been accounted");
        driver.wake_on(TaskId(0), CpuId(0));
        driver.spend(MS / 2);
        driver.sleep(CpuId(0));
        assert_eq!(preferred(&driver), keeps.then_some(0), "after {epochs} epochs");
    }
}

/// 16 threads fill the first LLC; the next `others` CPUs of the second compute, too. The last thread
/// sleeps on CPU 8.
fn full(others: usize) -> Driver {
    let nr = 17 + others;
    let mut driver = driver(L2, nr);
    let first = (0..8).chain(16..24);
    let second = (9..16).chain(24..32).take(others);
    for (task, cpu) in first.chain(second).enumerate() {
        pin(&mut driver, u32::try_from(task).unwrap(), cpu);
    }
    let last = u32::try_from(nr - 1).unwrap();
    pin(&mut driver, last, 8);
    driver.sleep(CpuId(8));
    driver.pass(100 * MS, |_| {});
    driver.host.kit.set_allowed(TaskId(last), None);
    scans_are_long(&mut driver);
    driver
}

#[test]
fn where_the_preferred_llc_has_no_idle_cpu_the_search_begins_anew_where_the_wakee_was() {
    let mut driver = full(0);
    assert_eq!(preferred(&driver), Some(0));
    let placement = driver.wake(TaskId(16), CpuId(1), WakeKind::Wake);
    assert_eq!((placement.cpu, placement.reason), (CpuId(8), reason::TARGET));
    assert_eq!(metrics(&driver)["cas_retried"], 1);
}

/// Invariant 8. A thread more takes CPU 8 as well, so that neither LLC has anything.
#[test]
fn the_search_begins_anew_once_and_no_more() {
    let mut driver = full(15);
    let pref = driver.host.policy.cache_aware_wakeup().unwrap().pref_cpu(TaskId(0)).unwrap();
    assert_eq!(llc_of(pref), 0);
    driver.host.kit.set_nr_running(CpuId(8), 1);
    driver.host.kit.run_on(CpuId(8), Some(TaskId(16)));
    let wakeup = simsched_core::Wakeup {
        wakee: TaskId(31),
        prev: CpuId(8),
        waker: CpuId(1),
        kind: WakeKind::Wake,
    };
    let placement = driver.host.select_task_rq(&wakeup);
    assert_eq!((placement.cpu, placement.reason), (CpuId(8), reason::NONE_IDLE));
    assert_eq!(metrics(&driver)["cas_retried"], 1);
    // Both LLCs were searched.
    assert_eq!(placement.scanned, 16 + 16);
}

/// Three threads share CPU 0, cold all of them.
fn three_on_one(class: FairSpec) -> Driver {
    let mut driver = driver_of(class, 3);
    (0..3).for_each(|task| pin(&mut driver, task, 0));
    driver.pass(400 * MS, |_| {});
    free(&mut driver, 3);
    driver
}

/// The prototype compares what the process occupies of the two LLCs; level 2 does not let go what is at
/// home, until balances have failed (`cache_nice_tries` is 1); level 3 lets go where there is room, and
/// for a process of 3 threads there always is.
#[test]
fn a_balancer_leaves_a_task_in_its_llc_unless_the_other_one_has_room() {
    let moved = |class: FairSpec, failed: u32| {
        let mut driver = three_on_one(class);
        driver.host.policy.sd_state_mut(CpuId(8), PKG).nr_balance_failed = failed;
        driver.load_balance(CpuId(8), PKG, Idle).moved.len()
    };
    assert_eq!(moved(features(None), 0), 1);
    assert_eq!([L1, L2, L3].map(|level| moved(features(Some(level)), 0)), [0, 0, 1]);
    assert_eq!([L1, L2].map(|level| moved(features(Some(level)), 2)), [1, 1]);
    let mut strict = features(Some(L3));
    strict.patches.set("always_check", true);
    let mut driver = three_on_one(strict);
    assert!(
        driver.host.policy.cache_aware_wakeup().unwrap().is_valid(CpuId(8), TaskId(0)),
        "it is empty"
    );
    assert_eq!(driver.load_balance(CpuId(8), PKG, Idle).moved.len(), 1);
}

fn shared(driver: &Driver, cpu: u16) -> LlcAvg {
    driver.host.policy.cache_aware_wakeup().unwrap().shared(CpuId(cpu))
}

/// 16 threads on 8 CPUs of the first LLC.
#[test]
fn only_a_periodic_balance_above_the_llc_tells_how_busy_it_is() {
    let mut driver = driver(L3, 16);
    (0..16).for_each(|task| pin(&mut driver, task, u16::try_from(task % 8).unwrap()));
    free(&mut driver, 16);
    let pulled = driver.load_balance(CpuId(9), PKG, NewlyIdle).moved.len();
    driver.load_balance(CpuId(1), PKG - 1, Idle);
    assert_eq!(shared(&driver, 0), LlcAvg::default());
    driver.load_balance(CpuId(8), PKG, Idle);
    let seen = shared(&driver, 0);
    assert!(seen.util_avg > 0, "{seen:?}");
    assert_eq!(seen.nr_avg, (16 - i64::try_from(pulled).unwrap()) / 8);
    assert_eq!(shared(&driver, 8).nr_avg, 0);
}

#[test]
fn the_control_knows_at_each_enqueue_how_busy_an_llc_is() {
    let mut refreshed = features(Some(L3));
    refreshed.patches.set("refresh_at_enqueue", true);
    let [with, without] = [refreshed, features(Some(L3))].map(|class| {
        let mut driver = driver_of(class, 24);
        (0..24).for_each(|task| pin(&mut driver, task, u16::try_from(task % 8).unwrap()));
        shared(&driver, 0).nr_avg
    });
    assert_eq!(without, 0);
    // It settles seven short of what there is.
    assert!((9..=17).contains(&with), "{with}");
}

/// P0.6: the LLC is full by others, and a process of three threads goes there all the same.
#[test]
fn the_guard_does_not_see_what_others_do_where_a_small_process_goes() {
    let at = |always_check| {
        let mut class = features(Some(L3));
        class.patches.set("always_check", always_check);
        let mut driver = three_and_a_sleeper(class);
        driver
            .host
            .policy
            .llc_avg_mut(CpuId(0))
            .clone_from(&LlcAvg { util_avg: 16_384, nr_avg: 16 });
        let is_sent = llc_of(wake(&mut driver, 1).cpu) == 0;
        (is_sent, metrics(&driver)["cas_inhibited"])
    };
    assert_eq!((at(false), at(true)), ((true, 0), (false, 1)));
}
