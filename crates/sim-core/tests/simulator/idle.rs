//! An idle CPU that schedules in vain.

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{MaskId, Nanos, Op, Setup, Status, TtwuQueue};
use simsched_topology::{CpuId, CpuSet};

use super::rig::{WAIT, WAKE, objects, simulate_on, steady};

/// How often CPU 8 has become idle (`rq->sched_goidle`), of how many times that it has scheduled. A task that was
/// queued there goes to CPU 4 before CPU 8 has left its idle state.
fn times(sm_idle: bool) -> (u64, u64) {
    let masks = vec![CpuSet::single(CpuId(4))];
    let mut script = Script::new(Setup { masks, ..objects() });
    let task = script.task(CpuId(8), &[WAIT]);
    let away = Op::SetAffinity { task, mask: MaskId(0) };
    script.task(CpuId(0), &[Op::Run(Nanos(3_000_000_000)), WAKE, away]);
    let mut policy = RoundRobin::default();
    (policy.sm_idle, policy.ttwu_queue) = (sm_idle, Some(TtwuQueue::Off));
    let (status, sim) = simulate_on(steady("genoa"), script, policy);
    assert_eq!(status, Ok(Status::Finished));
    let rq = sim.world().rq(CpuId(8));
    (rq.sched_goidle, rq.sched_count)
}

/// "sched/core: Introduce SM_IDLE and an idle re-entry fast-path in __schedule()", 6.12: before, the idle task is picked
/// again, as by a CPU that becomes idle. It has become idle once, when its task went to sleep.
#[test]
fn since_6_12_an_idle_cpu_that_schedules_in_vain_does_not_become_idle_again() {
    assert_eq!(times(false), (2, 3));
    assert_eq!(times(true), (1, 3));
}
