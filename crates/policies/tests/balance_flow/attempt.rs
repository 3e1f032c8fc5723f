//! One attempt to balance one domain.

use simsched_core::TaskId;
use simsched_policies::fair::CpuIdleType::{self, Idle, NewlyIdle, NotIdle};
use simsched_topology::{CpuId, CpuSet, Topology};

use crate::balance_flow::{MC, MS, NUMA, driver, herd, start_pinned, two_sockets};
use crate::common::driver::Driver;
use crate::common::machine;

/// The domain of the cores of [`full_core`].
const CORES: usize = 1;

fn balances(driver: &mut Driver, sd: usize, kind: CpuIdleType) -> Vec<u16> {
    let cpus = *driver.host.kit.world().topology().cpus();
    let cpus = cpus.iter().filter(|&cpu| driver.load_balance(cpu, sd, kind).looked_at > 0);
    cpus.map(|cpu| cpu.0).collect()
}

/// Spec 06, invariant 1.
#[test]
fn one_cpu_of_each_group_balances_for_it() {
    let mut driver = driver(two_sockets(4), 8);
    for cpu in 0..8 {
        start_pinned(&mut driver, u32::from(cpu), cpu, &[cpu]);
    }
    assert_eq!(balances(&mut driver, NUMA, NotIdle), [0, 4]);
    driver.sleep(CpuId(2));
    assert_eq!(balances(&mut driver, NUMA, NotIdle), [2, 4]);
    assert_eq!(balances(&mut driver, NUMA, Idle), [2, 4]);
    driver.sleep(CpuId(1));
    assert_eq!(balances(&mut driver, NUMA, Idle), [1, 4]);
    // A newly idle CPU looks whoever else does.
    assert_eq!(balances(&mut driver, NUMA, NewlyIdle), [1, 2]);
}

/// An attempt that was refused counts as one that found all balanced, and ends the walk.
#[test]
fn a_refused_attempt_makes_the_interval_longer() {
    let mut driver = driver(two_sockets(4), 0);
    let state = driver.host.policy.sd_state_mut(CpuId(3), NUMA);
    (state.balance_interval, state.nr_balance_failed) = (8, 5);
    assert_eq!(driver.load_balance(CpuId(3), NUMA, Idle).looked_at, 0);
    let state = driver.host.policy.sd_state_mut(CpuId(3), NUMA);
    assert_eq!((state.balance_interval, state.nr_balance_failed), (16, 0));
    assert_eq!((state.counts.lb_count, state.counts.lb_balanced), ([1, 0, 0], [1, 0, 0]));
    // 16 ms is the longest.
    driver.load_balance(CpuId(3), NUMA, Idle);
    driver.host.policy.sd_state_mut(CpuId(3), MC).balance_interval = 4;
    driver.load_balance(CpuId(3), MC, NewlyIdle);
    assert_eq!(driver.host.policy.sd_state_mut(CpuId(3), NUMA).balance_interval, 16);
    assert_eq!(driver.host.policy.sd_state_mut(CpuId(3), MC).balance_interval, 4);
}

/// Two tasks on CPU 0, the waiting one of which has run a moment ago.
fn hot_pair(topology: Topology) -> Driver {
    let mut driver = driver(topology, 2);
    herd(&mut driver, 0, 2);
    let now = driver.host.kit.world().rq(CpuId(0)).clock_task;
    for task in [0, 1].map(TaskId) {
        driver.host.policy.entity_mut(task).exec_start = now;
    }
    driver
}

/// Spec 06, invariant 4, first half: the LLC tries twice to find a task that is cold.
#[test]
fn a_hot_task_goes_after_more_failures_than_cache_nice_tries() {
    let mut driver = hot_pair(two_sockets(4));
    assert_eq!(driver.host.policy.domains().of(CpuId(1))[MC].cache_nice_tries, 1);
    for failed in 1..=2 {
        assert_eq!(driver.load_balance(CpuId(1), MC, Idle).moved, []);
        let state = driver.host.policy.sd_state_mut(CpuId(1), MC);
        assert_eq!((state.nr_balance_failed, state.balance_interval), (failed, 4));
        assert_eq!(state.counts.lb_failed, [u64::from(failed), 0, 0]);
    }
    assert_eq!(driver.load_balance(CpuId(1), MC, Idle).moved.len(), 1);
    let state = driver.host.policy.sd_state_mut(CpuId(1), MC);
    assert_eq!(state.nr_balance_failed, 0);
    assert_eq!((state.counts.lb_gained, state.counts.lb_hot_gained), ([1, 0, 0], [1, 0, 0]));
}

/// The failures of a newly idle CPU do not count.
#[test]
fn a_newly_idle_cpu_never_takes_a_hot_task() {
    let mut driver = hot_pair(two_sockets(4));
    for _ in 0..9 {
        assert_eq!(driver.load_balance(CpuId(1), MC, NewlyIdle).moved, []);
    }
    let state = driver.host.policy.sd_state_mut(CpuId(1), MC);
    assert_eq!((state.nr_balance_failed, state.counts.lb_failed), (0, [0, 0, 9]));
}

/// Spec 06, invariant 4, second half: the waiting task is pinned, the running one is not.
#[test]
fn the_stopper_is_called_after_more_failures_still() {
    let mut driver = driver(two_sockets(4), 2);
    herd(&mut driver, 0, 2);
    let running = driver.curr(CpuId(0)).unwrap();
    let waiting = TaskId(1 - running.0);
    driver.host.kit.set_allowed(waiting, Some(CpuSet::single(CpuId(0))));
    for failed in 1..=3 {
        assert_eq!(driver.load_balance(CpuId(1), MC, Idle).moved, []);
        assert_eq!(driver.host.policy.sd_state_mut(CpuId(1), MC).nr_balance_failed, failed);
    }
    assert_eq!(driver.stops, []);
    // The next failure is the fourth: cache_nice_tries + 3.
    driver.load_balance(CpuId(1), MC, Idle);
    assert_eq!(driver.stops, [CpuId(0)]);
    // One is on its way.
    driver.load_balance(CpuId(2), MC, Idle);
    driver.load_balance(CpuId(1), MC, Idle);
    assert_eq!(driver.stops, [CpuId(0)]);
    assert_eq!(driver.stopper(CpuId(0)), [running]);
    assert_eq!(driver.curr(CpuId(1)), Some(running));
    assert_eq!(driver.curr(CpuId(0)), Some(waiting));
    let state = driver.host.policy.sd_state_mut(CpuId(1), MC);
    assert_eq!((state.counts.alb_count, state.counts.alb_pushed), (1, 1));
    assert_eq!(state.nr_balance_failed, 0);
}

/// Both threads of a core run a task that may use these CPUs, and the other core is idle: all tasks
/// run, so there is nothing to pull.
fn full_core(allowed: &[u16]) -> Driver {
    let mut driver = driver(machine([1, 1, 2, 2], "", "nodes_per_socket = 1"), 2);
    start_pinned(&mut driver, 0, 0, &[0]);
    start_pinned(&mut driver, 1, 2, &[2]);
    driver.pass(400 * MS, |_| {});
    let allowed: CpuSet = allowed.iter().copied().map(CpuId).collect();
    for task in [0, 1].map(TaskId) {
        driver.host.kit.set_allowed(task, Some(allowed));
    }
    let state = driver.host.policy.sd_state_mut(CpuId(1), CORES);
    (state.nr_balance_failed, state.balance_interval) = (2, 8);
    driver
}

#[test]
fn two_tasks_that_share_a_core_are_parted_by_the_stopper() {
    let mut driver = full_core(&[0, 1, 2, 3]);
    driver.load_balance(CpuId(1), CORES, Idle);
    let state = driver.host.policy.sd_state_mut(CpuId(1), CORES);
    assert_eq!((state.nr_balance_failed, state.balance_interval), (3, 4));
    assert_eq!(driver.stops, []);
    driver.load_balance(CpuId(1), CORES, Idle);
    assert_eq!(driver.stops, [CpuId(0)]);
    assert_eq!(driver.stopper(CpuId(0)), [TaskId(0)]);
    assert_eq!(
        [0, 1, 2].map(|cpu| driver.curr(CpuId(cpu))),
        [None, Some(TaskId(0)), Some(TaskId(1))]
    );
}

#[test]
fn a_running_task_that_may_not_go_makes_the_interval_longer() {
    let mut driver = full_core(&[0, 2, 3]);
    let before = driver.host.policy.sd_state_mut(CpuId(1), CORES).counts;
    driver.load_balance(CpuId(1), CORES, Idle);
    driver.host.policy.sd_state_mut(CpuId(1), CORES).balance_interval = 256;
    for interval in [512, 512] {
        driver.load_balance(CpuId(1), CORES, Idle);
        let state = driver.host.policy.sd_state_mut(CpuId(1), CORES);
        assert_eq!(state.balance_interval, interval);
    }
    let state = driver.host.policy.sd_state_mut(CpuId(1), CORES);
    assert_eq!(state.nr_balance_failed, 5);
    assert_eq!(state.counts.lb_failed[0], before.lb_failed[0] + 3);
    assert_eq!(state.counts.lb_balanced, before.lb_balanced);
    assert_eq!(driver.stops, []);
}

#[test]
fn a_stopper_that_finds_no_task_to_push_moves_none() {
    let mut driver = driver(two_sockets(4), 2);
    herd(&mut driver, 0, 2);
    let running = driver.curr(CpuId(0)).unwrap();
    let waiting = TaskId(1 - running.0);
    driver.host.kit.set_allowed(waiting, Some(CpuSet::single(CpuId(0))));
    driver.host.policy.sd_state_mut(CpuId(1), MC).nr_balance_failed = 3;
    driver.load_balance(CpuId(1), MC, Idle);
    assert_eq!(driver.stops, [CpuId(0)]);
    driver.host.kit.set_allowed(running, Some(CpuSet::single(CpuId(0))));
    assert_eq!(driver.stopper(CpuId(0)), []);
    let counts = driver.host.policy.sd_state_mut(CpuId(1), MC).counts;
    assert_eq!((counts.alb_count, counts.alb_failed, counts.alb_pushed), (1, 1, 0));
    // It is over: another one may be called.
    assert!(!driver.host.policy.rq_balance_mut(CpuId(0)).active_balance);
    assert_eq!(driver.stopper(CpuId(0)), [], "nobody has asked for it");
    assert_eq!(driver.host.policy.sd_state_mut(CpuId(1), MC).counts, counts);
}

/// The group of `cpu` among those of the whole machine could not be balanced because of affinity.
fn is_imbalanced(driver: &mut Driver, cpu: u16) -> bool {
    let domains = driver.host.policy.domains();
    let group = domains.ring(&domains.of(CpuId(cpu))[NUMA])[0];
    driver.host.policy.sgc_mut(group).imbalance
}

/// Spec 06, invariant 7: four tasks on CPU 4 of the second socket, three CPUs busy in the first.
#[test]
fn pinned_tasks_are_a_matter_of_the_domain_above() {
    let mut driver = driver(two_sockets(4), 7);
    for task in 0..4 {
        start_pinned(&mut driver, task, 4, &[4]);
    }
    for cpu in 0..3 {
        start_pinned(&mut driver, 4 + u32::from(cpu), cpu, &[cpu]);
    }
    driver.pass(400 * MS, |_| {});
    driver.host.policy.sd_state_mut(CpuId(5), MC).balance_interval = 8;
    let set_allowed = |driver: &mut Driver, allowed: &[u16]| {
        let allowed: CpuSet = allowed.iter().copied().map(CpuId).collect();
        (0..4).for_each(|task| driver.host.kit.set_allowed(TaskId(task), Some(allowed)));
    };
    // What the time until now has left behind.
    set_allowed(&mut driver, &[4]);
    let domains = driver.host.policy.domains();
    let group = domains.ring(&domains.of(CpuId(4))[NUMA])[0];
    driver.host.policy.sgc_mut(group).imbalance = false;
    set_allowed(&mut driver, &[3, 4]);

    // One task more than the other socket, and one idle CPU against three: good enough.
    assert_eq!(driver.load_balance(CpuId(3), NUMA, Idle).moved, []);
    let done = driver.load_balance(CpuId(5), MC, Idle);
    assert_eq!((done.moved, done.locked), (vec![], vec![CpuId(4)]));
    assert!(is_imbalanced(&mut driver, 4) && !is_imbalanced(&mut driver, 0));
    let state = driver.host.policy.sd_state_mut(CpuId(5), MC);
    assert_eq!(state.balance_interval, 16, "longer than the longest");
    // Nor does it help that nothing is found once nothing is left to look at.
    assert_eq!(driver.load_balance(CpuId(3), NUMA, Idle).moved.len(), 1);

    set_allowed(&mut driver, &[3, 4, 5, 6]);
    while !driver.load_balance(CpuId(5), MC, Idle).moved.is_empty() {}
    while !driver.load_balance(CpuId(6), MC, Idle).moved.is_empty() {}
    assert!(!is_imbalanced(&mut driver, 4));
}

#[test]
fn where_all_tasks_are_pinned_another_queue_is_tried() {
    let mut driver = driver(two_sockets(4), 5);
    for task in 0..3 {
        start_pinned(&mut driver, task, 0, &[0]);
    }
    for task in 3..5 {
        start_pinned(&mut driver, task, 2, &[2]);
    }
    driver.pass(400 * MS, |_| {});
    for task in [3, 4].map(TaskId) {
        driver.host.kit.set_allowed(task, None);
    }
    let waiting = if driver.curr(CpuId(2)) == Some(TaskId(3)) { TaskId(4) } else { TaskId(3) };
    let done = driver.load_balance(CpuId(1), MC, Idle);
    assert_eq!((done.moved, done.locked), (vec![waiting], vec![CpuId(0), CpuId(2)]));
}

/// CPU 0 balances for its socket, but the tasks may run on CPU 1 only.
#[test]
fn a_task_that_is_pinned_to_another_cpu_of_the_group_goes_there() {
    for (kind, moved) in [(Idle, 2), (NewlyIdle, 0)] {
        let mut driver = driver(two_sockets(4), 4);
        herd(&mut driver, 4, 4);
        let allowed: CpuSet = [1, 4].map(CpuId).into_iter().collect();
        for task in (0..4).map(TaskId) {
            driver.host.kit.set_allowed(task, Some(allowed));
        }
        let done = driver.load_balance(CpuId(0), NUMA, kind);
        assert_eq!(done.moved.len(), moved, "{kind:?}");
        for task in done.moved {
            assert_eq!(driver.host.kit.world().task(task).cpu, CpuId(1));
            assert_eq!(done.locked, [CpuId(4), CpuId(4)]);
        }
    }
}

/// Sets the averages of a queue to those of tasks that do not use up their CPU.
fn make_light(driver: &mut Driver, cpu: u16) {
    let rq = driver.host.policy.cfs_rq_mut(CpuId(cpu));
    (rq.avg.util_avg, rq.avg.runnable_avg, rq.avg.load_avg) = (300, 300, 300);
    rq.util_est_enqueued = 0;
}

/// Spec 06, invariant 11: seven tasks on one CPU of the other socket or of this one, and one on each
/// CPU of this one.
#[test]
fn a_busy_cpu_pulls_from_those_who_have_time_only_to_spread_tasks() {
    let light = |src: u16| {
        let mut driver = driver(two_sockets(4), 11);
        for cpu in 0..4 {
            start_pinned(&mut driver, u32::from(cpu), cpu, &[cpu]);
            make_light(&mut driver, cpu);
        }
        for task in 4..11 {
            driver.start(TaskId(task), CpuId(src));
            driver.host.policy.entity_mut(TaskId(task)).exec_start = 0;
        }
        make_light(&mut driver, src);
        driver
    };
    // The domain of one LLC has no children to spread tasks over.
    assert_eq!(light(2).load_balance(CpuId(0), MC, NotIdle).moved, []);
    // Seven tasks against four: half the difference goes.
    assert_eq!(light(6).load_balance(CpuId(0), NUMA, NotIdle).moved.len(), 1);
}
