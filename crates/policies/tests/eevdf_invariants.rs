//! The invariants at the end of spec 03 (EEVDF). Sums of lag, the order of deadlines, and that somebody is
//! eligible, are checked after every step by the policy itself.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use proptest::prelude::*;
use simsched_core::TaskId;
use simsched_policies::fair::{EntityId, Features, Version, lag_limit};
use simsched_topology::{CpuId, CpuSet};

use crate::common::driver::{Driver, TICK};
use crate::common::{machine, one_cpu};

const CPU: CpuId = CpuId(0);
const MS: u64 = 1_000_000;
const BASE_SLICE: u64 = 2_800_000;

/// Hogs of these nice values on one of eight CPUs, which they may not leave. Slices end at ticks.
fn hogs(version: Version, nices: &[i8]) -> Driver {
    let topology = machine([1, 1, 8, 1], "", "nodes_per_socket = 1");
    let features = Features { hrtick: false, ..Features::of(version) };
    let mut driver = Driver::new(topology, features, nices);
    for task in (0..).map(TaskId).take(nices.len()) {
        driver.host.kit.set_allowed(task, Some(CpuSet::single(CPU)));
        driver.start(task, CPU);
    }
    driver
}

/// How long each task runs in one go, in ms, once things have settled.
fn turns(driver: &mut Driver, ms: u64) -> Vec<(TaskId, u64)> {
    let (mut turns, mut since, mut now) = (Vec::new(), 0, 0);
    let mut curr = driver.curr(CPU).unwrap();
    driver.pass(ms * MS, |driver| {
        now += TICK / MS;
        let next = driver.curr(CPU).unwrap();
        if next != curr {
            turns.push((curr, now - since));
            (curr, since) = (next, now);
        }
    });
    turns.drain(..turns.len() / 2);
    turns
}

/// By how much the running task is behind its queue as of its last accounting, in ns of virtual time.
fn owed(driver: &mut Driver) -> i64 {
    let curr = driver.curr(CPU).unwrap();
    let avruntime = driver.host.policy.avg_vruntime(CPU);
    avruntime.wrapping_sub(driver.entity(curr).vruntime).cast_signed()
}

/// Lets the running task, one of two or three equal ones, run until it is ahead of its queue.
fn runs_ahead(driver: &mut Driver) -> TaskId {
    driver.pass(TICK, |_| {});
    // While it runs for 2 ns its queue goes on by one, or by two thirds of one.
    let behind = owed(driver).max(0).cast_unsigned();
    driver.spend(2 * behind + MS);
    driver.curr(CPU).unwrap()
}

/// Invariant 4: a request of 2.8 ms is seen to be served at the next tick.
#[test]
fn two_hogs_alternate_at_every_tick() {
    for &version in Version::EEVDF {
        let two = turns(&mut hogs(version, &[0, 0]), 2000);
        assert!(two.len() > 100 && two.iter().all(|&(_, ms)| ms == 4), "{two:?}");
    }
    let unequal = turns(&mut hogs(Version::V6_12, &[0, 5]), 4000);
    let typical = |task, ms| unequal.iter().filter(|&&turn| turn == (task, ms)).count();
    let nr = unequal.len();
    assert!(typical(TaskId(0), 12) + typical(TaskId(1), 4) > nr * 3 / 4, "{unequal:?}");
}

/// Invariant 9.
#[test]
fn hogs_of_nice_0_and_5_share_the_cpu_by_weight() {
    for &version in Version::EEVDF {
        let mut driver = hogs(version, &[0, 5]);
        driver.pass(10_000 * MS, |_| {});
        let [a, b] = [0, 1].map(|task| driver.entity(TaskId(task)).sum_exec_runtime);
        // 1024 : 335, to a hundredth of the share.
        let share = a * 10_000 / (a + b);
        let fair = 1024 * 10_000 / (1024 + 335);
        assert!(share.abs_diff(fair) <= fair / 100, "{version:?}: {share} of 10000");
    }
}

/// Invariant 7: who sleeps while it is ahead stays queued, and is woken there.
#[test]
fn a_delayed_sleeper_is_woken_where_it_is() {
    let mut driver = hogs(Version::V6_12, &[0, 0]);
    driver.pass(100 * MS, |_| {});
    let sleeper = runs_ahead(&mut driver);
    driver.sleep(CPU);
    assert!(driver.entity(sleeper).sched_delayed && driver.entity(sleeper).on_rq);
    let counts = |driver: &Driver| {
        let rq = driver.host.policy.cfs_rq(CPU);
        (
            rq.nr_running,
            rq.h_nr_running,
            rq.h_nr_runnable(),
            driver.host.kit.world().rq(CPU).nr_running,
        )
    };
    assert_eq!(counts(&driver), (2, 2, 1, 2));
    driver.wake_on(sleeper, CPU);
    assert!(!driver.entity(sleeper).sched_delayed);
    assert_eq!(counts(&driver), (2, 2, 2, 2));
    assert_eq!(driver.host.kit.world().task(sleeper).cpu, CPU);
}

/// It leaves when it is picked, and is owed nothing then; in 6.6 nobody stays.
#[test]
fn a_delayed_sleeper_leaves_when_it_is_picked() {
    let mut driver = hogs(Version::V6_12, &[0, 0]);
    driver.pass(100 * MS, |_| {});
    let sleeper = runs_ahead(&mut driver);
    driver.sleep(CPU);
    driver.pass(20 * MS, |_| {});
    assert!(!driver.entity(sleeper).on_rq && !driver.entity(sleeper).sched_delayed);
    assert!(driver.host.policy.request(EntityId::of(sleeper)).vlag <= 0);
    assert_eq!(driver.host.kit.world().rq(CPU).nr_running, 1);

    let mut driver = hogs(Version::V6_6, &[0, 0]);
    driver.pass(100 * MS, |_| {});
    let sleeper = runs_ahead(&mut driver);
    driver.sleep(CPU);
    assert!(!driver.entity(sleeper).on_rq);
}

/// Invariant 5, where who runs meanwhile does not: the others do not change.
#[test]
fn lag_survives_a_sleep() {
    for &version in Version::EEVDF {
        let mut driver = hogs(version, &[0, 0, 0]);
        driver.host.policy.tunables_mut().base_slice_ns = BASE_SLICE;
        driver.pass(100 * MS, |_| {});
        let sleeper = driver.curr(CPU).unwrap();
        // Not ahead: it leaves at once.
        let lag = |driver: &mut Driver| {
            let avruntime = driver.host.policy.avg_vruntime(CPU);
            avruntime.wrapping_sub(driver.entity(sleeper).vruntime).cast_signed()
        };
        assert!(driver.host.policy.is_eligible(sleeper));
        let before = lag(&mut driver);
        driver.sleep(CPU);
        driver.wake_on(sleeper, CPU);
        let after = lag(&mut driver);
        assert!(before.abs_diff(after) <= 3, "{version:?}: {before} {after}");
    }
}

/// Invariant 6: an equal request waits while the running one is eligible and protected; but see the
/// conditions there.
#[test]
fn a_wakee_that_is_owed_nothing_does_not_preempt_a_protected_task() {
    for version in [Version::V6_6, Version::V6_12] {
        let mut driver = hogs(version, &[0, 0, 0]);
        driver.pass(100 * MS, |_| {});
        let sleeper = runs_ahead(&mut driver);
        driver.sleep(CPU);
        driver.pass(100 * MS, |_| {});
        assert!(driver.host.policy.request(EntityId::of(sleeper)).vlag <= 0);
        let is_eligible = (0..100).any(|_| {
            driver.until_next_tick();
            owed(&mut driver) >= 0
        });
        assert!(is_eligible && !driver.wake_on(sleeper, CPU), "{version:?}");
    }
}

/// Invariant 8: a shorter request ends the protection (`PREEMPT_SHORT`); in 6.6 it does not.
#[test]
fn a_short_request_preempts_a_long_one() {
    for (version, preempts) in [
        (Version::V6_6, false),
        (Version::V6_12, true),
        (Version::V7_0, true),
        (Version::V7_3, true),
    ] {
        let mut driver = hogs(version, &[0, 0, 0]);
        driver.pass(100 * MS, |_| {});
        let short = runs_ahead(&mut driver);
        driver.sleep(CPU);
        driver.host.policy.entity_mut(short).custom_slice = true;
        driver.host.policy.request_mut(short).slice = MS / 2;
        driver.pass(100 * MS, |_| {});
        // Who runs has just been picked, and is not so far behind that its deadline is near.
        let is_found = (0..100).any(|_| {
            driver.until_next_tick();
            (0..MS.cast_signed()).contains(&owed(&mut driver))
        });
        assert!(is_found);
        driver.host.policy.request_mut(short).vlag = 0;
        assert_eq!(driver.wake_on(short, CPU), preempts, "{version:?}");
    }
}

/// A new task of 6.12 asks for half a slice, and what is moved keeps what is left of its request.
#[test]
fn a_request_travels_with_its_task() {
    let mut driver = hogs(Version::V6_12, &[0, 0]);
    driver.pass(50 * MS, |_| {});
    let waiting = [TaskId(0), TaskId(1)].into_iter().find(|&task| driver.curr(CPU) != Some(task));
    let task = waiting.unwrap();
    let left = |driver: &Driver| {
        let deadline = driver.host.policy.request(EntityId::of(task)).deadline;
        deadline.wrapping_sub(driver.entity(task).vruntime).cast_signed()
    };
    let before = left(&driver);
    driver.host.kit.set_allowed(task, None);
    driver.migrate(task, CpuId(1));
    assert_eq!(left(&driver), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Invariants 1 to 3 over random histories of one CPU: after each step the policy checks its sums
    /// (`Report::check`), and who leaves is owed no more than the limit.
    #[test]
    fn virtual_time_is_kept_over_random_histories(
        at in 0..Version::EEVDF.len(),
        steps in prop::collection::vec((0u8..6, 0u32..6, 0u64..3_000_000), 1..120),
    ) {
        let nices = [0, 5, -5, 19, 0, -20];
        let version = Version::EEVDF[at];
        let features = Features { hrtick: false, ..Features::of(version) };
        let mut driver = Driver::new(one_cpu(), features, &nices);
        let mut born = [false; 6];
        for (what, who, ns) in steps {
            let task = TaskId(who);
            driver.spend(ns / 16);
            match what {
                _ if !born[task.idx()] => {
                    born[task.idx()] = true;
                    driver.start(task, CPU);
                }
                0 | 1 if driver.curr(CPU).is_some() => {
                    let slept = driver.sleep(CPU);
                    if !driver.entity(slept).on_rq {
                        let (se, request) = (driver.entity(slept), driver.host.policy.request(EntityId::of(slept)));
                        let limit = lag_limit(request.slice.max(TICK), TICK, se.load);
                        prop_assert!(request.vlag.abs() <= limit);
                    }
                }
                2 => driver.renice(task, nices[(ns % 6) as usize]),
                3 if driver.curr(CPU).is_some() => driver.yields(CPU),
                4 => driver.pass(ns, |_| {}),
                _ if !driver.entity(task).on_rq || driver.entity(task).sched_delayed => {
                    driver.wake_on(task, CPU);
                }
                _ => {}
            }
            driver.check(CPU);
        }
    }
}
