//! A sleep that ends by a call that another task has made before (`Op::AwaitCall`).

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{Nanos, Op, Status, TaskId, Tracepoint};
use simsched_topology::CpuId;

use super::rig::{objects, simulate};

const AFTER: Nanos = Nanos(300_000);

/// The wakeup of task 1, which sleeps in `Op::AwaitCall` for task 0, while task 0 does `ops`: the waker's CPU, whether
/// the wakeup is synchronous (`WF_SYNC`), and the ns from the sleep to it.
fn woken(ops: &[Op], sync: bool) -> (CpuId, bool, u64) {
    let mut script = Script::new(objects());
    let from = script.task(CpuId(0), ops);
    let call = Op::AwaitCall { from, after: AFTER, sync };
    let sleeper = script.task(CpuId(6), &[Op::Run(Nanos(200_000)), call]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Finished));
    let (_, _, script, log) = sim.into_parts();
    let call = |(at, tracepoint): &_| match tracepoint {
        // The start of the task is one, too, and comes at 0.
        Tracepoint::Waking { wakee, waker, sync }
            if *wakee == sleeper && *at > Default::default() =>
        {
            Some((*at, *waker, *sync))
        }
        _ => None,
    };
    let (at, waker, sync) = log.0.iter().find_map(call).unwrap();
    let (begun, _) = script.log[sleeper.idx()][1];
    (waker, sync, at.since(begun).get())
}

#[test]
fn the_call_comes_from_the_cpu_of_its_caller_while_that_is_busy() {
    let busy = [Op::Run(Nanos::from_millis(5))];
    for sync in [false, true] {
        let (waker, is_sync, after) = woken(&busy, sync);
        assert_eq!((waker, is_sync), (CpuId(0), sync));
        assert!((AFTER.get()..AFTER.get() + 20_000).contains(&after), "{after}");
    }
}

/// An interrupt there would find nobody.
#[test]
fn the_call_comes_on_the_sleepers_cpu_where_its_caller_is_not_running() {
    let asleep = [Op::Sleep(Nanos::from_millis(5))];
    let (waker, is_sync, after) = woken(&asleep, true);
    assert_eq!((waker, is_sync), (CpuId(6), true));
    assert!((AFTER.get()..AFTER.get() + 20_000).contains(&after), "{after}");
}

#[test]
fn a_call_of_a_task_that_there_is_not_is_refused() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::AwaitCall { from: TaskId(7), after: AFTER, sync: false }]);
    let (status, _) = simulate(script, RoundRobin::default());
    let said = status.unwrap_err().to_string();
    assert!(said.contains("AwaitCall"), "{said}");
}
