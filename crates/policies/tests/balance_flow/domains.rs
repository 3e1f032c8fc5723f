//! The walk over the domains of a CPU.

use simsched_core::{BalanceStep, Moves, TaskId};
use simsched_topology::CpuId;

use crate::balance_flow::{MC, MS, NUMA, driver, gained, start_pinned, two_sockets};
use crate::common::driver::{Driver, TICK};
use crate::common::machine;

/// The softirq of `cpu` after a tick that found it idle or not.
fn softirq(driver: &mut Driver, cpu: CpuId) {
    driver.host.policy.rq_balance_mut(cpu).idle_balance = driver.host.kit.world().is_idle(cpu);
    driver.softirq(cpu);
}

/// After how many ticks domain 0 of `cpu` is balanced, from an interval of 16 ms on.
fn ticks_until_balanced(driver: &mut Driver, cpu: CpuId) -> u64 {
    let begin = driver.host.kit.world().jiffies();
    let state = driver.host.policy.sd_state_mut(cpu, MC);
    (state.last_balance, state.balance_interval) = (begin, 16);
    while driver.host.policy.sd_state_mut(cpu, MC).last_balance == begin {
        driver.spend(TICK);
        softirq(driver, cpu);
    }
    driver.host.policy.sd_state_mut(cpu, MC).last_balance - begin
}

/// Spec 06, invariant 8: 16 * 16 ms are 64 ticks of 4 ms, less one; 16 ms are four.
#[test]
fn the_llc_of_16_cpus_is_balanced_every_63_ticks_by_busy_cpus_and_every_4_by_idle_ones() {
    let mut driver = driver(machine([1, 1, 16, 1], "", "nodes_per_socket = 1"), 1);
    start_pinned(&mut driver, 0, 7, &[7]);
    assert_eq!(ticks_until_balanced(&mut driver, CpuId(7)), 63);
    assert_eq!(ticks_until_balanced(&mut driver, CpuId(5)), 4);
}

/// The same with ticks and softirqs: the time of the next balance is known in advance.
#[test]
fn a_busy_cpu_is_asked_for_a_softirq_when_its_first_domain_is_due() {
    let mut driver = driver(two_sockets(4), 1);
    start_pinned(&mut driver, 0, 7, &[7]);
    let cpu = CpuId(7);
    let now = driver.host.kit.world().jiffies();
    for (sd, interval) in [(MC, 4), (NUMA, 8)] {
        let state = driver.host.policy.sd_state_mut(cpu, sd);
        (state.last_balance, state.balance_interval) = (now, interval);
    }
    softirq(&mut driver, cpu);
    // 4 * 16 ms are 16 ticks, less one.
    assert_eq!(driver.host.policy.rq_balance_mut(cpu).next_balance, now + 15);
    let mut asked = Vec::new();
    for tick in 1..=15 {
        driver.spend(TICK);
        if driver.host.trigger_load_balance(cpu).softirq {
            asked.push(tick);
        }
    }
    assert_eq!(asked, [15]);
}

/// How many tasks move in 8 s, while twelve hogs turn on eight CPUs.
fn moves_of_twelve_hogs(busy_factor: u64) -> u64 {
    let mut driver = driver(two_sockets(4), 12);
    driver.host.policy.tunables_mut().busy_factor = busy_factor;
    for task in 0..12 {
        driver.start(TaskId(task), CpuId((task % 8) as u16));
    }
    driver.pass(8_000 * MS, |_| {});
    gained(&driver)
}

/// Spec 06, invariant 12.
#[test]
fn busy_cpus_that_balance_as_often_as_idle_ones_move_far_more_tasks() {
    let [plain, often] = [16, 1].map(moves_of_twelve_hogs);
    assert!(plain > 0 && often > 2 * plain, "{plain} {often}");
}

/// Runs the softirq of `cpu` up to the look at the whole machine.
fn until_it_looks_at_all(driver: &mut Driver, cpu: CpuId) {
    driver.host.policy.rq_balance_mut(cpu).idle_balance = true;
    driver.host.run_rebalance_domains(cpu);
    let mut moves = Moves::default();
    loop {
        match driver.host.balance_step(cpu, &mut moves) {
            BalanceStep::Look(look) if look.cpus == 8 => return,
            BalanceStep::Done => panic!("it does not"),
            _ => {}
        }
    }
}

/// Flag `SD_SERIALIZE`.
#[test]
fn one_cpu_of_the_machine_balances_a_numa_domain_at_a_time() {
    let mut driver = driver(two_sockets(4), 0);
    let [first, second] = [CpuId(0), CpuId(4)];
    let counts = |driver: &mut Driver, sd| {
        [first, second]
            .map(|cpu| driver.host.policy.sd_state_mut(cpu, sd).counts.lb_count.iter().sum::<u64>())
    };
    until_it_looks_at_all(&mut driver, first);
    assert_eq!((counts(&mut driver, MC), counts(&mut driver, NUMA)), ([1, 0], [1, 0]));
    let due = driver.host.policy.sd_state_mut(second, NUMA).last_balance;
    softirq(&mut driver, second);
    assert_eq!((counts(&mut driver, MC), counts(&mut driver, NUMA)), ([1, 1], [1, 0]));
    assert_eq!(driver.host.policy.sd_state_mut(second, NUMA).last_balance, due);
    // It is tried again as soon as the first one has ended.
    driver.steps(first);
    assert!(
        driver.host.policy.rq_balance_mut(second).next_balance <= driver.host.kit.world().jiffies()
    );
    softirq(&mut driver, second);
    assert_eq!(counts(&mut driver, NUMA), [1, 1]);
}

/// A refused attempt ends the walk: higher domains are the business of another CPU.
#[test]
fn higher_domains_are_left_to_the_cpu_that_balances_the_lower_one() {
    let topology = machine([2, 1, 4, 2], "", "nodes_per_socket = 1\ncross_socket = 20");
    let mut driver = driver(topology, 0);
    let counts = |driver: &mut Driver, cpu: u16| {
        [0, 1, 2].map(|sd| {
            driver.host.policy.sd_state_mut(CpuId(cpu), sd).counts.lb_count.iter().sum::<u64>()
        })
    };
    // CPU 8 is the second thread of the core of CPU 0.
    for cpu in [0, 8, 1] {
        softirq(&mut driver, CpuId(cpu));
    }
    assert_eq!(counts(&mut driver, 0), [1, 1, 1]);
    assert_eq!(counts(&mut driver, 8), [1, 1, 0]);
    assert_eq!(counts(&mut driver, 1), [1, 1, 1]);
}

/// A newly-idle cost that was not seen for a second shrinks, and with that of the highest domain the
/// limit of the whole CPU.
#[test]
fn what_a_balance_costs_at_most_is_forgotten() {
    let mut driver = driver(two_sockets(4), 0);
    for (sd, cost) in [(MC, 256_000), (NUMA, 2_560_000)] {
        driver.host.policy.sd_state_mut(CpuId(0), sd).max_newidle_lb_cost = cost;
    }
    driver.host.policy.rq_balance_mut(CpuId(0)).max_idle_balance_cost = 9_000_000;
    let costs = |driver: &mut Driver| {
        let of = |driver: &mut Driver, sd| {
            driver.host.policy.sd_state_mut(CpuId(0), sd).max_newidle_lb_cost
        };
        let limit = driver.host.policy.rq_balance_mut(CpuId(0)).max_idle_balance_cost;
        [of(driver, MC), of(driver, NUMA), limit]
    };
    driver.spend(1_000 * MS);
    softirq(&mut driver, CpuId(0));
    assert_eq!(costs(&mut driver), [256_000, 2_560_000, 9_000_000]);
    driver.spend(TICK);
    softirq(&mut driver, CpuId(0));
    assert_eq!(costs(&mut driver), [253_000, 2_530_000, 2_783_000]);
    softirq(&mut driver, CpuId(0));
    assert_eq!(costs(&mut driver), [253_000, 2_530_000, 2_783_000]);
    // Never below the cost of a migration.
    for sd in [MC, NUMA] {
        driver.host.policy.sd_state_mut(CpuId(0), sd).max_newidle_lb_cost = 256;
    }
    driver.spend(1_004 * MS);
    softirq(&mut driver, CpuId(0));
    assert_eq!(costs(&mut driver), [253, 253, 500_000]);
}
