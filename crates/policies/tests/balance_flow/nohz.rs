//! Balancing for CPUs that are idle without a tick.

use simsched_core::{BalanceStep, Moves, TaskId};
use simsched_policies::fair::CpuIdleType::Idle;
use simsched_topology::CpuId;

use crate::balance_flow::{MC, MS, driver, herd, start_pinned, two_sockets};
use crate::common::driver::{Driver, TICK};
use crate::common::machine;

fn nr_busy_cpus(driver: &Driver) -> u32 {
    driver.host.policy.llc_shared(driver.host.kit.world(), CpuId(0)).nr_busy_cpus
}

fn kick(driver: &mut Driver, cpu: u16) -> Option<CpuId> {
    driver.host.trigger_load_balance(CpuId(cpu)).kick
}

#[test]
fn a_cpu_counts_as_busy_from_its_first_tick_with_a_task() {
    let mut driver = driver(machine([1, 1, 8, 1], "", "nodes_per_socket = 1"), 2);
    assert_eq!(nr_busy_cpus(&driver), 0);
    driver.start(TaskId(0), CpuId(3));
    assert_eq!(nr_busy_cpus(&driver), 0);
    driver.pass(TICK, |_| {});
    assert_eq!(nr_busy_cpus(&driver), 1);
    driver.pass(TICK, |_| {});
    assert_eq!(nr_busy_cpus(&driver), 1);
    driver.sleep(CpuId(3));
    assert_eq!(nr_busy_cpus(&driver), 0);
    driver.host.nohz_balance_enter_idle(CpuId(3));
    assert_eq!(nr_busy_cpus(&driver), 0);
}

/// A herd on CPU 0 and no tick anywhere else: others are balanced for.
#[test]
fn a_herd_leaves_for_cpus_that_have_no_tick() {
    let mut driver = driver(machine([1, 1, 8, 1], "", "nodes_per_socket = 1"), 8);
    herd(&mut driver, 0, 8);
    driver.pass(400 * MS, |_| {});
    for cpu in (0..8).map(CpuId) {
        assert_eq!(driver.host.kit.world().rq(cpu).nr_running, 1, "CPU {cpu}");
    }
    // All but the first one got there while idle.
    let pulled = (1..8)
        .map(|cpu| driver.host.policy.sd_state_mut(CpuId(cpu), MC).counts.lb_gained[Idle as usize]);
    assert!(pulled.sum::<u64>() >= 7);
}

#[test]
fn the_first_idle_cpu_is_asked_once() {
    let mut driver = driver(two_sockets(4), 3);
    start_pinned(&mut driver, 0, 0, &[0]);
    start_pinned(&mut driver, 1, 2, &[2]);
    start_pinned(&mut driver, 2, 2, &[2]);
    driver.spend(40 * MS);
    assert_eq!(kick(&mut driver, 2), Some(CpuId(1)));
    driver.spend(TICK);
    assert_eq!(kick(&mut driver, 2), None, "it has not answered yet");
    assert!(driver.host.nohz_csd_func(CpuId(1)));
    driver.softirq(CpuId(1));
    driver.spend(40 * MS);
    assert_eq!(kick(&mut driver, 2), Some(CpuId(1)));
    // By now it is busy.
    driver.host.kit.set_pending(CpuId(1), true);
    assert!(!driver.host.nohz_csd_func(CpuId(1)));
    driver.spend(TICK);
    assert_eq!(kick(&mut driver, 2), Some(CpuId(3)));
}

/// How much utilization is left on CPU 3, 320 ms (ten half-lives) after its only task has left it;
/// in between only the ticks of so many other hogs.
fn blocked_util(nr_hogs: u32) -> u64 {
    let mut driver = driver(two_sockets(4), 3);
    start_pinned(&mut driver, 2, 3, &[3]);
    driver.pass(400 * MS, |_| {});
    for hog in 0..nr_hogs {
        start_pinned(&mut driver, hog, 0, &[0]);
    }
    driver.sleep(CpuId(3));
    driver.pass(320 * MS, |_| {});
    driver.host.policy.cfs_rq(CpuId(3)).avg.util_avg
}

/// One hog alone gives nothing away, but it has the idle CPUs aged.
#[test]
fn what_idle_cpus_have_left_behind_is_aged_as_long_as_anyone_ticks() {
    assert!(blocked_util(0) > 1_000);
    for nr_hogs in [1, 2] {
        let left = blocked_util(nr_hogs);
        assert!(left <= 2, "{nr_hogs}: {left}");
    }
}

/// An idle CPU whose averages have decayed to nothing is of no interest until it has run again.
#[test]
fn an_idle_cpu_without_blocked_load_is_not_aged() {
    let mut driver = driver(two_sockets(4), 2);
    start_pinned(&mut driver, 0, 0, &[0]);
    driver.pass(200 * MS, |_| {});
    assert!(!driver.host.policy.rq_balance_mut(CpuId(5)).has_blocked_load);
    let aged = driver.host.policy.rq_balance_mut(CpuId(5)).last_blocked_load_update_tick;
    driver.pass(200 * MS, |_| {});
    assert_eq!(driver.host.policy.rq_balance_mut(CpuId(5)).last_blocked_load_update_tick, aged);
    start_pinned(&mut driver, 1, 5, &[5]);
    driver.sleep(CpuId(5));
    driver.pass(100 * MS, |_| {});
    assert!(driver.host.policy.rq_balance_mut(CpuId(5)).has_blocked_load);
    assert!(driver.host.policy.rq_balance_mut(CpuId(5)).last_blocked_load_update_tick > aged);
}

/// The CPUs that are read by the softirq of CPU 1, if it gets work after so many.
fn visits(busy_after: usize) -> Vec<CpuId> {
    let mut driver = driver(two_sockets(4), 2);
    start_pinned(&mut driver, 0, 0, &[0]);
    start_pinned(&mut driver, 1, 0, &[0]);
    assert_eq!(kick(&mut driver, 0), Some(CpuId(1)));
    assert!(driver.host.nohz_csd_func(CpuId(1)));
    for cpu in (0..8).map(CpuId) {
        driver.host.policy.rq_balance_mut(cpu).next_balance = driver.host.kit.world().jiffies();
    }
    driver.host.run_rebalance_domains(CpuId(1));
    let (mut visits, mut moves) = (Vec::new(), Moves::default());
    loop {
        match driver.host.balance_step(CpuId(1), &mut moves) {
            BalanceStep::Lock(cpu) if cpu != CpuId(0) && visits.last() != Some(&cpu) => {
                visits.push(cpu)
            }
            BalanceStep::Done => return visits,
            _ => {}
        }
        if visits.len() == busy_after {
            driver.host.kit.set_nr_running(CpuId(1), 1);
            driver.host.kit.set_need_resched(CpuId(1), true);
        }
    }
}

#[test]
fn whoever_balances_for_all_begins_behind_itself_and_stops_when_it_gets_work() {
    assert_eq!(visits(99), [2, 3, 4, 5, 6, 7, 1].map(CpuId));
    assert_eq!(visits(3), [2, 3, 4].map(CpuId));
}
