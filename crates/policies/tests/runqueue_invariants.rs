//! The invariants at the end of spec 02 (runqueue, CFS).

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it stands"
)]

use proptest::prelude::*;
use simsched_core::TaskId;
use simsched_policies::fair::{Features, GroupId};
use simsched_topology::{CpuId, CpuSet};

use crate::common::driver::{Driver, TICK};
use crate::common::{machine, one_cpu};

const CPU: CpuId = CpuId(0);
const MS: u64 = 1_000_000;

/// Eight CPUs: a latency of 24 ms, granularities of 3 and 4 ms.
fn driver(nices: &[i8]) -> Driver {
    let topology = machine([1, 1, 8, 1], "", "nodes_per_socket = 1");
    Driver::new(topology, Features::default(), nices)
}

/// As many hogs as there are nice values, on one CPU that they may not leave.
fn hogs(nices: &[i8]) -> Driver {
    let mut driver = driver(nices);
    for task in (0..).map(TaskId).take(nices.len()) {
        start_pinned(&mut driver, task, CPU);
    }
    driver
}

fn start_pinned(driver: &mut Driver, task: TaskId, cpu: CpuId) {
    driver.host.kit.set_allowed(task, Some(CpuSet::single(cpu)));
    driver.start(task, cpu);
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

/// Invariant 2: slices of 12 ms become 16 ms, for the third tick comes when no more than 12 ms
/// have passed; 6 ms become 8 ms; at nice 0 and 5 it is 20 and 8 ms.
#[test]
fn hogs_alternate_at_the_first_tick_after_their_slice() {
    let two = turns(&mut hogs(&[0, 0]), 2000);
    assert!(two.len() > 10 && two.iter().all(|&(_, ms)| ms == 16), "{two:?}");
    let four = turns(&mut hogs(&[0; 4]), 2000);
    assert!(four.len() > 10 && four.iter().all(|&(_, ms)| ms == 8), "{four:?}");
    let unequal = turns(&mut hogs(&[0, 5]), 4000);
    let typical = |task, ms| unequal.iter().filter(|&&turn| turn == (task, ms)).count();
    let nr = unequal.len();
    assert!(typical(TaskId(0), 20) + typical(TaskId(1), 8) > nr * 3 / 4, "{unequal:?}");
}

/// Invariant 3.
#[test]
fn hogs_of_nice_0_and_5_share_the_cpu_by_weight() {
    let mut driver = hogs(&[0, 5]);
    driver.pass(10_000 * MS, |_| {});
    let [a, b] = [0, 1].map(|task| driver.entity(TaskId(task)).sum_exec_runtime);
    // 1024 : 335, to a hundredth of the share.
    let share = a * 10_000 / (a + b);
    let fair = 1024 * 10_000 / (1024 + 335);
    assert!(share.abs_diff(fair) <= fair / 100, "{share} of 10000");
}

/// Whether a task of this nice value preempts a nice-0 hog when it wakes up after `asleep_ms`.
fn wakes_and_preempts(nice: i8, asleep_ms: u64) -> bool {
    let [sleeper, hog] = [TaskId(0), TaskId(1)];
    let mut driver = hogs(&[nice, 0]);
    driver.pass(100 * MS, |_| {});
    while driver.curr(CPU) != Some(sleeper) {
        driver.pass(TICK, |_| {});
    }
    driver.sleep(CPU);
    driver.pass(asleep_ms * MS, |_| {});
    assert_eq!(driver.curr(CPU), Some(hog));
    driver.wake_on(sleeper, CPU)
}

/// Invariant 4, first half: the credit of 12 ms exceeds the granularity, 4 ms as virtual time of
/// the wakee, up to nice 4.
#[test]
fn a_long_sleeper_preempts_a_hog_up_to_nice_4() {
    for nice in -5..=4 {
        assert!(wakes_and_preempts(nice, 100), "nice {nice}");
    }
    for nice in 5..=10 {
        assert!(!wakes_and_preempts(nice, 100), "nice {nice}");
    }
}

/// Invariant 4, second half.
#[test]
fn a_short_sleeper_does_not_preempt() {
    let mut driver = hogs(&[0, 0]);
    driver.pass(100 * MS, |_| {});
    let sleeper = driver.sleep(CPU);
    driver.pass(MS, |_| {});
    assert!(!driver.wake_on(sleeper, CPU));
}

/// Invariant 5.
#[test]
fn a_moved_task_keeps_its_place_relative_to_the_queue() {
    let mut driver = driver(&[0, 0, 0, 0]);
    for (task, cpu) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        start_pinned(&mut driver, TaskId(task), CpuId(cpu));
    }
    driver.pass(20 * MS, |_| {});
    driver.sleep(CpuId(1));
    driver.pass(300 * MS, |_| {});
    let waiting = (0..2).map(TaskId).find(|&task| driver.curr(CPU) != Some(task)).unwrap();
    let place = |driver: &Driver, cpu| {
        let floor = driver.host.policy.cfs_order(GroupId::ROOT, CpuId(cpu)).unwrap().min_vruntime;
        driver.entity(waiting).vruntime.wrapping_sub(floor).cast_signed()
    };
    let before = place(&driver, 0);
    assert_ne!(
        driver.host.policy.cfs_order(GroupId::ROOT, CpuId(0)).unwrap().min_vruntime,
        driver.host.policy.cfs_order(GroupId::ROOT, CpuId(1)).unwrap().min_vruntime
    );
    driver.migrate(waiting, CpuId(1));
    let curr = driver.curr(CpuId(1)).unwrap();
    assert_ne!(curr, waiting);
    assert_eq!(place(&driver, 1), before);
}

/// Invariant 7: the third task is behind by 1 ms more, and is passed over.
#[test]
fn a_preemptor_runs_next_even_if_a_third_task_is_a_little_further_behind() {
    let mut driver = hogs(&[0, 0, 0]);
    driver.pass(100 * MS, |_| {});
    let wakee = driver.sleep(CPU);
    driver.pass(200 * MS, |_| {});
    let curr = driver.curr(CPU).unwrap();
    let third = (0..3).map(TaskId).find(|&task| task != wakee && task != curr).unwrap();
    let vruntime = driver.host.policy.cfs_order(GroupId::ROOT, CPU).unwrap().min_vruntime;
    let old = driver.entity(third).vruntime;
    let rq = driver.host.policy.cfs_order_mut(CPU);
    let se = rq.timeline.first().unwrap();
    rq.timeline.remove(old, se);
    driver.host.policy.entity_mut(third).vruntime = vruntime - 13 * MS;
    driver.host.policy.cfs_order_mut(CPU).timeline.insert(vruntime - 13 * MS, se);
    driver.host.policy.entity_mut(curr).vruntime = vruntime + 5 * MS;
    assert!(driver.wake_on(wakee, CPU));
    assert!(driver.entity(third).vruntime < driver.entity(wakee).vruntime);
    assert_eq!(driver.curr(CPU), Some(wakee));
}

/// A yielding task is passed over once if the other is less than a granularity ahead.
#[test]
fn a_task_that_yields_lets_the_other_run() {
    let mut driver = hogs(&[0, 0]);
    let lead = |driver: &Driver| {
        let [a, b] = [0, 1].map(|task| driver.entity(TaskId(task)).vruntime);
        let curr = driver.curr(CPU).unwrap();
        if curr == TaskId(0) { b.wrapping_sub(a) } else { a.wrapping_sub(b) }
    };
    while !(1..4 * MS).contains(&lead(&driver)) {
        driver.pass(MS, |_| {});
    }
    let curr = driver.curr(CPU).unwrap();
    driver.schedule(CPU);
    assert_eq!(driver.curr(CPU), Some(curr), "it is the leftmost");
    driver.yields(CPU);
    assert_ne!(driver.curr(CPU), Some(curr));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Pass(u64),
    Sleep,
    Wake(u32),
    Renice(u32, i8),
    Yield,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u64..30 * MS).prop_map(Step::Pass),
        3 => Just(Step::Sleep),
        3 => (0u32..6).prop_map(Step::Wake),
        1 => (0u32..6, -20i8..20).prop_map(|(task, nice)| Step::Renice(task, nice)),
        1 => Just(Step::Yield),
    ]
}

proptest! {
    /// Invariants 1 and 6 (the weights and counts, and 6 of spec 04, are what [`Driver::check`]
    /// asks the policy for after each step).
    #[test]
    fn virtual_time_has_a_floor_that_never_sinks(
        steps in prop::collection::vec(any_step(), 1..150),
    ) {
        let mut driver = Driver::new(one_cpu(), Features::default(), &[0, 5, -5, 19, 0, -20]);
        for task in (0..6).map(TaskId) {
            driver.start(task, CPU);
        }
        let mut floor = driver.host.policy.cfs_order(GroupId::ROOT, CPU).unwrap().min_vruntime;
        for step in steps {
            let curr = driver.curr(CPU);
            match step {
                Step::Pass(ns) => driver.pass(ns, |_| {}),
                Step::Sleep if curr.is_some() => {
                    driver.sleep(CPU);
                }
                Step::Wake(task) if !driver.entity(TaskId(task)).on_rq => {
                    driver.wake_on(TaskId(task), CPU);
                }
                Step::Renice(task, nice) => driver.renice(TaskId(task), nice),
                Step::Yield if curr.is_some() => driver.yields(CPU),
                _ => {}
            }
            driver.check(CPU);
            let order = driver.host.policy.cfs_order(GroupId::ROOT, CPU).unwrap();
            prop_assert!(order.min_vruntime.wrapping_sub(floor).cast_signed() >= 0);
            floor = order.min_vruntime;
            let credit = driver.host.policy.tunables().latency_ns / 2;
            if let Some(left) = order.timeline.first_vruntime() {
                prop_assert!(left.wrapping_sub(floor.wrapping_sub(credit)).cast_signed() >= 0);
            }
            let nr_running = driver.host.kit.world().rq(CPU).nr_running;
            let rq = driver.host.policy.cfs_rq(CPU);
            prop_assert!(nr_running > 0 || rq.util_est_enqueued == 0);
        }
    }
}
