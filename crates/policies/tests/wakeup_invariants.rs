//! The invariants at the end of spec 05 (wakeup path) that concern a decision alone.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use simsched_core::{Placement, TaskId, WakeKind, Wakeup};
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::features::ForkImbalance;
use simsched_policies::fair::patches::wakeup_bias_prev;
use simsched_policies::fair::{Features, reason};
use simsched_topology::{CpuId, NumaImbalance, Topology};

use crate::common::driver::Driver;
use crate::common::patched;
use crate::common::{machine, vector_machine};

const MS: u64 = 1_000_000;
const ONE_LLC: &str = "nodes_per_socket = 1";

fn select(driver: &mut Driver, wakee: u32, prev: u16, waker: u16, kind: WakeKind) -> Placement {
    let wakeup = Wakeup { wakee: TaskId(wakee), prev: CpuId(prev), waker: CpuId(waker), kind };
    driver.host.select_task_rq(&wakeup)
}

/// A machine with a runner, task `1 + cpu`, on each of these CPUs.
fn busy(
    topology: Topology,
    class: impl Into<FairSpec>,
    cpus: impl IntoIterator<Item = u16>,
) -> Driver {
    let nr_tasks = topology.nr_cpus() + 2;
    let mut driver = Driver::new(topology, class, &vec![0; nr_tasks]);
    for cpu in cpus {
        driver.start(TaskId(1 + u32::from(cpu)), CpuId(cpu));
    }
    driver.pass(50 * MS, |_| {});
    driver
}

/// Invariant 2.
#[test]
fn an_idle_prev_in_the_llc_of_the_waker_is_taken() {
    for kind in [WakeKind::Wake, WakeKind::WakeSync] {
        let mut driver = busy(machine([1, 1, 8, 1], "", ONE_LLC), Features::default(), [2]);
        let placement = select(&mut driver, 0, 5, 2, kind);
        assert_eq!(placement.cpu, CpuId(5));
        assert!(placement.affine);
    }
}

/// Invariant 3: the first wakeup pulls the wakee to the LLC of the waker; there it stays.
#[test]
fn a_synchronous_ping_pong_ends_up_in_one_llc() {
    let topology = machine([1, 2, 4, 1], "", ONE_LLC);
    let llc = |cpu: CpuId| cpu.0 / 4;
    let mut driver = Driver::new(topology, Features::default(), &[0, 0]);
    let [a, b] = [TaskId(0), TaskId(1)];
    driver.start(a, CpuId(0));
    driver.start(b, CpuId(5));
    driver.pass(20 * MS, |_| {});
    driver.sleep(CpuId(5));
    let mut moves = 0;
    for turn in 0..40 {
        let (waker, wakee) = if turn % 2 == 0 { (a, b) } else { (b, a) };
        let [from, prev] = [waker, wakee].map(|task| driver.host.kit.world().task(task).cpu);
        let placement = driver.wake(wakee, from, WakeKind::WakeSync);
        assert_eq!(llc(placement.cpu), llc(from), "turn {turn}");
        moves += u32::from(llc(prev) != llc(placement.cpu));
        driver.sleep(from);
        driver.pass(30_000, |_| {});
    }
    assert_eq!(moves, 1);
}

/// Invariant 4.
#[test]
fn a_full_llc_is_not_scanned() {
    let mut driver = busy(machine([1, 1, 8, 1], "", ONE_LLC), Features::default(), [0, 1, 2, 3]);
    let llc = driver.host.kit.world().topology().llc_of(CpuId(0));
    driver.host.policy.llc_shared_mut(llc).nr_idle_scan = 0;
    driver.host.policy.wakee_mut(TaskId(0)).recent_used_cpu = CpuId(1);
    let placement = select(&mut driver, 0, 2, 3, WakeKind::Wake);
    assert_eq!((placement.reason, placement.scanned), (reason::NONE_IDLE, 0));
    assert!([CpuId(2), CpuId(3)].contains(&placement.cpu));

    driver.host.policy.llc_shared_mut(llc).nr_idle_scan = 8;
    let placement = select(&mut driver, 0, 2, 3, WakeKind::Wake);
    assert_eq!((placement.reason, placement.cpu), (reason::IDLE_CPU, CpuId(4)));
}

/// Invariant 5: cores 0..4 have threads `c` and `c + 4`; the first threads are busy.
#[test]
fn a_failed_search_for_an_idle_core_is_not_repeated() {
    let mut driver = busy(machine([1, 1, 4, 2], "", ONE_LLC), Features::default(), 0..4);
    let hint = |driver: &Driver| {
        driver.host.policy.llc_shared(driver.host.kit.world(), CpuId(0)).has_idle_cores
    };
    assert!(hint(&driver), "a booted machine has idle cores");
    let placement = select(&mut driver, 0, 0, 0, WakeKind::Wake);
    assert_eq!(placement.reason, reason::IDLE_CPU, "no core is idle, a thread is");
    assert!(!hint(&driver));
    let placement = select(&mut driver, 0, 0, 0, WakeKind::Wake);
    assert_eq!((placement.reason, placement.cpu), (reason::SIBLING, CpuId(4)));

    // A second thread that goes idle beside its busy sibling does not bring the hint back.
    driver.start(TaskId(0), CpuId(5));
    driver.sleep(CpuId(5));
    assert!(!hint(&driver));
    // A whole core does.
    driver.sleep(CpuId(1));
    assert!(hint(&driver));
    driver.host.policy.wakee_mut(TaskId(0)).recent_used_cpu = CpuId(0);
    let placement = select(&mut driver, 0, 0, 0, WakeKind::Wake);
    assert_eq!((placement.reason, placement.cpu), (reason::IDLE_CORE, CpuId(1)));
}

/// Invariant 8.
#[test]
fn a_previous_cpu_with_a_quarter_spare_is_taken() {
    let mut class = patched(Features::default(), &["wakeup_bias_prev"]);
    let mut driver = busy(machine([1, 1, 8, 1], "", ONE_LLC), class.clone(), [2]);
    for (util_est, why, cpu) in [(768, wakeup_bias_prev::SPARE, 2), (769, reason::IDLE_CPU, 3)] {
        driver.host.policy.wakee_mut(TaskId(0)).recent_used_cpu = CpuId(2);
        driver.host.policy.cfs_rq_mut(CpuId(2)).util_est_enqueued = util_est;
        let placement = select(&mut driver, 0, 2, 2, WakeKind::Wake);
        assert_eq!((placement.reason, placement.cpu), (why, CpuId(cpu)));
    }
    // Without the estimate nothing is known to be spare.
    class.features.util_est = false;
    let mut driver = busy(machine([1, 1, 8, 1], "", ONE_LLC), class, [2]);
    driver.host.policy.wakee_mut(TaskId(0)).recent_used_cpu = CpuId(2);
    let placement = select(&mut driver, 0, 2, 2, WakeKind::Wake);
    assert_eq!(placement.reason, reason::IDLE_CPU);
}

/// Invariant 9.
#[test]
fn the_recent_cpu_is_the_prev_of_the_last_search() {
    let mut driver = busy(machine([1, 1, 8, 1], "", ONE_LLC), Features::default(), [2, 3]);
    let recent = |driver: &Driver| driver.host.policy.wakee(TaskId(0)).recent_used_cpu;
    let before = recent(&driver);
    // Ends at the target: nothing is noted.
    assert_eq!(select(&mut driver, 0, 5, 5, WakeKind::Wake).reason, reason::TARGET);
    assert_eq!(recent(&driver), before);
    // Gets past it.
    select(&mut driver, 0, 2, 2, WakeKind::Wake);
    assert_eq!(recent(&driver), CpuId(2));
    // The next search finds it free and takes it.
    driver.sleep(CpuId(2));
    let placement = select(&mut driver, 0, 3, 3, WakeKind::Wake);
    assert_eq!((placement.reason, placement.cpu), (reason::RECENT, CpuId(2)));
    assert_eq!(recent(&driver), CpuId(3));
}

/// Invariant 10.
#[test]
fn a_wide_wakeup_does_not_compare_the_waker() {
    let mut driver = busy(machine([1, 2, 4, 1], "", ONE_LLC), Features::default(), [0, 5]);
    let waker = driver.curr(CpuId(0)).unwrap();
    driver.host.policy.wakee_mut(TaskId(0)).flips = 4;
    for (flips, affine) in [(15, false), (14, true)] {
        let row = driver.host.policy.wakee_mut(waker);
        (row.flips, row.last) = (flips, None);
        row.flip_decay_ts = driver.host.kit.world().jiffies();
        let placement = select(&mut driver, 0, 5, 0, WakeKind::WakeSync);
        assert_eq!(placement.affine, affine);
        assert_eq!(placement.cpu.0 >= 4, !affine, "the LLC of prev or of the waker");
    }
}

/// Invariant 7: eight tasks forked from one CPU of a machine with four nodes, of which each may
/// have two tasks too many. The rule of the drafts does not count the task that is forked.
#[test]
fn eight_forks_fill_four_nodes_evenly_once_the_child_is_counted() {
    let spread = |rule| {
        let features = Features {
            numa_imbalance: NumaImbalance::V4_1,
            fork_imbalance: Some(rule),
            ..Features::default()
        };
        let topology = Topology::builtin("milan-7763", Some("nps4")).unwrap();
        let mut driver = Driver::new(topology, features, &[0; 9]);
        driver.start(TaskId(0), CpuId(0));
        driver.pass(20 * MS, |_| {});
        let nodes = driver.host.kit.world().topology().nr_nodes();
        let mut running = vec![0; nodes];
        for child in (1..9).map(TaskId) {
            let cpu = driver.fork(TaskId(0), child).cpu;
            running[driver.host.kit.world().topology().node_of(cpu).idx()] += 1;
        }
        running
    };
    let [before, after] = [ForkImbalance::V4, ForkImbalance::V5_18].map(spread);
    let highest = |running: &[u32]| running.iter().copied().max().unwrap();
    assert!(highest(&before) > highest(&after), "{before:?} {after:?}");
    assert!(highest(&after) <= 2, "{after:?}");
}

/// On the lab's machines a fork on an idle machine sums up eight groups: those of the only domain of t8,
/// and two in each of the four domains of t16, where it looks at 16, 8, 4 and 2 CPUs, and once more at the
/// four of a group in which it stays (as was counted in 6.1.176).
#[test]
fn a_fork_sums_up_the_groups_of_each_domain_on_its_way() {
    for (machine, looks) in [("t8", (8, 8)), ("t16", (8, 16 + 8 + 4 + 2 + 4))] {
        let topology = Topology::builtin(machine, None).unwrap();
        let mut driver = Driver::new(topology, Features::default(), &[0; 2]);
        driver.start(TaskId(0), CpuId(0));
        driver.pass(20 * MS, |_| {});
        let found = driver.fork(TaskId(0), TaskId(1));
        assert_eq!((found.groups, found.scanned), looks, "{machine}");
    }
}

/// Spec 05, section 5.3: hogs forked one after another from one CPU of 2 nodes x 2 LLCs x 2 cores
/// x 2 threads.
#[test]
fn forks_spread_over_llcs_then_cores_then_threads() {
    let topology = vector_machine("mini_2x4x2");
    let mut driver = Driver::new(topology.clone(), Features::default(), &[0; 17]);
    driver.start(TaskId(0), CpuId(0));
    driver.pass(20 * MS, |_| {});
    let mut cpus = Vec::new();
    for child in (1..17).map(TaskId) {
        cpus.push(driver.fork(TaskId(0), child).cpu);
        // The parent waits for its children once the first is started.
        if child == TaskId(1) {
            driver.sleep(CpuId(0));
        }
        driver.host.kit.task(TaskId(0)).cpu = CpuId(0);
        driver.pass(100_000, |_| {});
    }
    let distinct = |nr: usize, part: &dyn Fn(CpuId) -> usize| {
        let mut parts: Vec<usize> = cpus[..nr].iter().map(|&cpu| part(cpu)).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.len()
    };
    assert_eq!(distinct(4, &|cpu| topology.llc_of(cpu).idx()), 4, "{cpus:?}");
    assert_eq!(distinct(8, &|cpu| topology.core_of(cpu).idx()), 8, "{cpus:?}");
    assert_eq!(distinct(16, &|cpu| cpu.idx()), 16, "{cpus:?}");
}
