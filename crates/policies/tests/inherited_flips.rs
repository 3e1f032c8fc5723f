//! How often a task has changed whom it wakes, inherited by its children.

use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{Enqueue, Launcher, Seed, TaskId, WakeKind, Wakeup};
use simsched_policies::fair::{Fair, Features, Overrides};
use simsched_topology::{CpuId, Topology};

const MAIN: TaskId = TaskId(0);
const WAKER: TaskId = TaskId(1);
const WAKEES: [TaskId; 2] = [TaskId(2), TaskId(3)];

/// A main task that was given `flips` has forked a waker on CPU 0 and two wakees, which sleep on CPU 2 of
/// the same LLC: which of the wakeups by turns compare the waker's CPU with the previous one.
fn compared(flips: u32, wakeups: usize) -> Vec<bool> {
    // An LLC has four CPUs.
    let topology = Topology::builtin("t16", None).expect("a machine that is built in");
    let mut kit = WorldKit::new(topology, 250);
    for _ in 0..4 {
        kit.add_task(0);
    }
    kit.launched_by(Launcher::Flips(flips), Seed(1));
    let mut host = PolicyHost::new(kit, Fair::new(Features::default(), Overrides::default()));
    for child in [WAKER, WAKEES[0], WAKEES[1]] {
        host.task_fork(CpuId(0), Some(MAIN), child);
        assert_eq!(host.policy.wakee(child).flips, flips, "a child has its parent's");
    }
    let (waker, prev) = (CpuId(0), CpuId(2));
    host.enqueue(waker, WAKER, Enqueue::New);
    assert_eq!(host.pick_next(waker, None), Some(WAKER));
    host.kit.run_on(waker, Some(WAKER));
    for wakee in WAKEES {
        host.kit.task(wakee).cpu = prev;
        host.task_asleep(prev, wakee);
    }
    let mut wake = |nth: usize| {
        let wakeup = Wakeup { wakee: WAKEES[nth % 2], prev, waker, kind: WakeKind::Wake };
        host.select_task_rq(&wakeup).affine
    };
    (0..wakeups).map(&mut wake).collect()
}

/// Spec 05: wide if the smaller count is at least the size of an LLC, and the larger one that many times
/// as large. With four of four CPUs that is sixteen, twelve flips later.
#[test]
fn a_waker_of_two_becomes_wide_only_if_its_wakees_have_inherited_flips() {
    let wide_from = |flips| compared(flips, 40).iter().position(|compared| !compared);
    // The wakeup itself is counted before the comparison.
    assert_eq!(wide_from(4), Some(11));
    assert_eq!(wide_from(5), Some(14));
    assert_eq!(wide_from(3), None);
    assert_eq!(wide_from(0), None);
}
