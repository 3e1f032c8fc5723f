//! The balance of a CPU that is about to become idle.

use simsched_core::TaskId;
use simsched_policies::fair::{Features, NewidleRule};
use simsched_topology::CpuId;

use crate::balance_flow::{MC, MS, NUMA, driver, herd, start_pinned, two_sockets};
use crate::common::driver::Driver;

const THIS: CpuId = CpuId(1);

/// A herd of hogs on CPU 0 that may go, and a task that is about to leave CPU 1; `NI_RANDOM` is
/// off.
fn scene(nr_hogs: u32) -> Driver {
    let nr_tasks = nr_hogs as usize + 1;
    let features = Features { ni_random: false, ..Features::default() };
    let mut driver = Driver::new(two_sockets(4), features, &vec![0; nr_tasks]);
    start_pinned(&mut driver, nr_hogs, THIS.0, &[THIS.0]);
    herd(&mut driver, 0, nr_hogs);
    driver
}

/// The waiting one of two hogs has run a moment ago: a newly idle CPU does not take it.
fn hot_pair() -> Driver {
    let mut driver = scene(2);
    let now = driver.host.kit.world().rq(CpuId(0)).clock_task;
    for task in [0, 1].map(TaskId) {
        driver.host.policy.entity_mut(task).exec_start = now;
    }
    driver
}

/// The newly-idle attempts of CPU 1 in both domains, and what they pulled.
fn attempts(driver: &mut Driver) -> ([u64; 2], u64) {
    let counts = [MC, NUMA].map(|sd| driver.host.policy.sd_state_mut(THIS, sd).counts);
    (counts.map(|counts| counts.lb_count[2]), counts.iter().map(|counts| counts.lb_gained[2]).sum())
}

#[test]
fn a_cpu_without_tasks_pulls_one_from_the_lowest_domain_that_has_one() {
    let mut driver = scene(4);
    driver.sleep(THIS);
    assert_eq!(attempts(&mut driver), ([1, 0], 1));
    assert!(driver.curr(THIS).is_some());
    assert_eq!(driver.host.policy.idle_stats(THIS).idle_stamp, 0, "it was not idle at all");
    assert_eq!(driver.host.kit.world().rq(CpuId(0)).nr_running, 3);
}

#[test]
fn a_cpu_that_finds_nothing_looks_in_all_domains_and_is_idle_from_then_on() {
    let mut driver = hot_pair();
    driver.sleep(THIS);
    assert_eq!(attempts(&mut driver), ([1, 1], 0));
    assert_eq!(
        driver.host.policy.idle_stats(THIS).idle_stamp,
        driver.host.kit.world().rq(THIS).clock
    );
}

/// Whether a balance of CPU 1 begins.
fn begins(mut driver: Driver) -> bool {
    let before = attempts(&mut driver);
    let begins = driver.host.newidle_balance(THIS);
    assert_eq!(attempts(&mut driver), before, "no queue is touched");
    begins
}

/// Spec 06, invariant 6.
#[test]
fn a_cpu_that_expects_to_be_idle_for_less_than_a_balance_takes_does_not_look() {
    for (avg_idle, cost, expected) in [(99_999, 100_000, false), (100_000, 100_000, true)] {
        let mut driver = scene(4);
        driver.host.policy.idle_stats_mut(THIS).avg_idle = avg_idle;
        driver.host.policy.sd_state_mut(THIS, MC).max_newidle_lb_cost = cost;
        assert_eq!(begins(driver), expected, "{avg_idle} {cost}");
    }
}

#[test]
fn nobody_looks_while_no_cpu_of_the_machine_has_two_tasks() {
    assert!(!begins(scene(1)));
    assert!(begins(scene(2)));
}

#[test]
fn a_cpu_to_which_a_task_is_on_its_way_does_not_look() {
    let mut driver = scene(4);
    let stamp = driver.host.policy.idle_stats(THIS).idle_stamp;
    driver.host.kit.set_pending(THIS, true);
    assert!(!driver.host.newidle_balance(THIS));
    assert_eq!(driver.host.policy.idle_stats(THIS).idle_stamp, stamp);
}

/// The domain above is only tried while the expected idle time pays for both.
#[test]
fn each_domain_must_be_worth_what_it_adds() {
    for (avg_idle, expected) in [(99_999, [1, 0]), (100_000, [1, 1])] {
        let mut driver = hot_pair();
        driver.host.policy.idle_stats_mut(THIS).avg_idle = avg_idle;
        driver.host.policy.sd_state_mut(THIS, NUMA).max_newidle_lb_cost = 60_000;
        driver.look_ns = 40_000;
        driver.sleep(THIS);
        assert_eq!(attempts(&mut driver).0, expected, "{avg_idle}");
        let cost = driver.host.policy.sd_state_mut(THIS, MC).max_newidle_lb_cost;
        assert_eq!(cost, 40_000);
    }
}

/// What a balance was seen to take once keeps the CPU from the next one.
#[test]
fn a_cpu_that_is_idle_for_short_times_gives_up_looking() {
    let mut driver = hot_pair();
    driver.look_ns = 300_000;
    let task = driver.sleep(THIS);
    assert_eq!(attempts(&mut driver).0, [1, 1]);
    assert_eq!(driver.host.policy.rq_balance_mut(THIS).max_idle_balance_cost, 600_000);
    // Now for 100 us each time, until the average is below the cost of the lowest domain; the hogs
    // cool down, but they may not go.
    driver.look_ns = 0;
    for task in [0, 1] {
        driver.host.kit.set_allowed(TaskId(task), Some([CpuId(0)].into_iter().collect()));
    }
    for _ in 0..20 {
        driver.wake_on(task, THIS);
        driver.spend(100_000);
        driver.sleep(THIS);
        driver.spend(100_000);
    }
    assert!(attempts(&mut driver).0[MC] > 1);
    let settled = attempts(&mut driver).0;
    assert!(driver.host.policy.idle_stats(THIS).avg_idle < 300_000);
    driver.wake_on(task, THIS);
    driver.sleep(THIS);
    assert_eq!(attempts(&mut driver).0, settled);
}

/// How often the lowest domain is balanced when CPU 1 runs out of tasks so many times, and finds
/// nothing.
fn attempts_in_vain(ni_random: bool, times: u32) -> u64 {
    let features = Features { ni_random, ..Features::default() };
    let mut driver = Driver::new(two_sockets(4), features, &[0; 3]);
    for (task, cpu) in [(0, 0), (1, 0), (2, THIS.0)] {
        start_pinned(&mut driver, task, cpu, &[cpu]);
    }
    // A balance that takes no time is not counted.
    driver.look_ns = 100;
    for _ in 0..times {
        driver.sleep(THIS);
        driver.wake_on(TaskId(2), THIS);
        driver.host.policy.idle_stats_mut(THIS).avg_idle = MS;
    }
    attempts(&mut driver).0[MC]
}

/// Feature `NI_RANDOM`: half of the first 512 calls get through (a ratio of 512 in 1024), then a
/// quarter of 512 (ratio 256), and so on: 512 * (1/2 + 1/4 + 1/8 + 1/16) = 480 in 2,048 calls.
#[test]
fn the_draws_let_through_as_many_balances_as_have_been_of_use() {
    assert_eq!(attempts_in_vain(false, 2_048), 2_048);
    let lucky = attempts_in_vain(true, 2_048);
    assert!((400..560).contains(&lucky), "{lucky}");
}

/// The ratio of a domain in which every call is a success stays.
#[test]
fn the_ratio_follows_the_successes() {
    let mut driver = driver(two_sockets(4), 0);
    let state = driver.host.policy.sd_state_mut(THIS, MC);
    for _ in 0..511 {
        state.update_newidle_stats(0, NewidleRule::Success);
    }
    assert_eq!((state.newidle_call, state.newidle_ratio), (1023, 512));
    state.update_newidle_stats(0, NewidleRule::Success);
    assert_eq!((state.newidle_call, state.newidle_success, state.newidle_ratio), (512, 128, 256));
    for _ in 0..512 {
        state.update_newidle_stats(2, NewidleRule::Success);
    }
    assert_eq!((state.newidle_call, state.newidle_success, state.newidle_ratio), (512, 576, 1152));
}
