//! A CPU on which only tasks of `SCHED_IDLE` stay balances at its next tick, whatever has taken the others away.

use simsched_core::testkit::{PolicyHost, WorldKit};
use simsched_core::{BalanceStep, Dequeue, Enqueue, Moves, SchedPolicy, TaskId};
use simsched_policies::fair::{Fair, Features, Overrides, Version};
use simsched_topology::CpuId;

use crate::common::vector_machine;

const CPU: CpuId = CpuId(1);

/// A task of `SCHED_IDLE` runs and one of nice 0 waits, and the balancer has just passed.
fn passed(version: Version) -> (PolicyHost<Fair>, TaskId) {
    let mut kit = WorldKit::new(vector_machine("small_2x4x1"), 250);
    let (idle, normal) = (kit.add_task(0), kit.add_task(0));
    kit.task(idle).policy = SchedPolicy::Idle;
    let mut host = PolicyHost::new(kit, Fair::new(Features::of(version), Overrides::default()));
    host.kit.set_clock(2_000_000_000);
    for task in [idle, normal] {
        host.kit.task(task).cpu = CPU;
        host.task_fork(CPU, None, task);
        host.enqueue(CPU, task, Enqueue::New);
        host.kit.task(task).on_rq = true;
        let queued = host.kit.world().rq(CPU).nr_running + 1;
        host.kit.set_nr_running(CPU, queued);
        if task == idle {
            let picked = host.pick_next(CPU, None);
            host.kit.run_on(CPU, picked);
        }
    }
    host.kit.set_this_cpu(CPU);
    host.kit.set_clock(2_004_000_000);
    assert!(host.trigger_load_balance(CPU).softirq, "it was due");
    host.run_rebalance_domains(CPU);
    let mut moves = Moves::default();
    while host.balance_step(CPU, &mut moves) != BalanceStep::Done {}
    host.kit.set_clock(2_005_000_000);
    assert!(!host.trigger_load_balance(CPU).softirq, "it has passed");
    (host, normal)
}

#[test]
fn after_a_dequeue_the_next_tick_balances() {
    for version in [Version::V6_1, Version::V6_12] {
        let (mut host, normal) = passed(version);
        host.dequeue(CPU, normal, Dequeue::Moved);
        host.kit.task(normal).on_rq = false;
        host.kit.set_nr_running(CPU, 1);
        assert!(host.trigger_load_balance(CPU).softirq, "{version:?}");
    }
}

/// `set_user_nice()` takes a queued task off its queue for a moment.
#[test]
fn after_a_renice_the_next_tick_balances() {
    for version in [Version::V6_1, Version::V6_12] {
        let (mut host, normal) = passed(version);
        host.kit.task(normal).nice = 5;
        host.reweight_task(normal);
        assert!(host.trigger_load_balance(CPU).softirq, "{version:?}");
    }
}
