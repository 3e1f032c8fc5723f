//! What a workload or a policy may not do, and how a run says so.

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{
    Access, Charge, Config, CostedFunction, Cx, FuncId, FutexId, LineId, MarkId, Nanos, Op, PipeId,
    SimError, SimTime, Simulator, Status, TaskId, Touch,
};
use simsched_topology::CpuId;

use super::rig::{READ, objects, simulate, topology};

#[test]
fn a_deadlock_names_who_waits_for_what() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[READ]);
    let (status, _) = simulate(script, RoundRobin::default());
    let error = status.unwrap_err().to_string();
    assert!(error.starts_with("deadlock at"), "{error}");
    assert!(error.contains("task 0 (t0) waits for pipe 0"), "{error}");
}

#[test]
fn ops_that_take_no_time_for_ever_are_a_livelock() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &vec![Op::Mark(MarkId(0)); 1_000_001]);
    let (status, _) = simulate(script, RoundRobin::default());
    let error = status.unwrap_err().to_string();
    assert!(error.contains("livelock") && error.contains("task 0 (t0)"), "{error}");
}

#[test]
fn a_task_spawned_twice_is_refused() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Spawn(TaskId(1)), Op::Spawn(TaskId(1))]);
    script.spawned(&[]);
    let (status, _) = simulate(script, RoundRobin::default());
    let error = status.unwrap_err().to_string();
    assert!(error.contains("task 0 spawns task 1, which has started already"), "{error}");
}

/// A policy that leaves a CPU to its idle task while a task waits there has lost it.
#[test]
fn a_policy_that_loses_a_task_broke_its_contract() {
    let mut script = Script::new(objects());
    script.task(CpuId(3), &[]);
    let mut policy = RoundRobin::default();
    policy.loses = true;
    let error = simulate(script, policy).0.unwrap_err().to_string();
    assert!(error.contains("picked nobody on CPU 3, where 1 tasks are runnable"), "{error}");
}

/// A child that two parents spawn within the time of one fork is started once.
#[test]
fn two_spawns_of_one_child_at_once_are_refused() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Spawn(TaskId(2))]);
    script.task(CpuId(1), &[Op::Run(Nanos(100)), Op::Spawn(TaskId(2))]);
    script.spawned(&[]);
    let (status, _) = simulate(script, RoundRobin::default());
    let error = status.unwrap_err().to_string();
    assert!(error.contains("spawns task 2, which has started already"), "{error}");
}

#[test]
fn an_op_for_ever_lasts_to_the_horizon() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[Op::Run(Nanos(u64::MAX))]);
    let (status, sim) = simulate(script, RoundRobin::default());
    assert_eq!(status, Ok(Status::Horizon));
    assert_eq!(sim.elapsed(), Nanos::from_secs(10));
}

#[test]
fn an_object_that_was_not_declared_is_the_workloads_fault() {
    for op in [
        Op::Write { pipe: PipeId(77), bytes: 1 },
        Op::Spawn(TaskId(99)),
        Op::Join(TaskId(50)),
        Op::FutexWake { futex: FutexId(70), count: 1, sync: false },
    ] {
        let mut script = Script::new(objects());
        script.task(CpuId(0), &[op]);
        let (status, _) = simulate(script, RoundRobin::default());
        let error = status.unwrap_err().to_string();
        assert!(error.contains("task 0 does") && error.contains("not declared"), "{error}");
    }
}

/// What a run says of a policy with these functions before its first event.
fn refusal(functions: &'static [CostedFunction]) -> String {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[]);
    let mut policy = Box::new(RoundRobin::default());
    policy.functions = functions;
    let run = Simulator::new(topology(), policy, script, (), Config::default());
    run.err().map_or_else(String::new, |error| error.to_string())
}

const fn function(name: &'static str) -> CostedFunction {
    CostedFunction { name, item: "tick", charge: Charge::Extra }
}

#[test]
fn functions_that_cannot_be_priced_or_told_apart_are_refused() {
    const FIVE: [CostedFunction; 5] =
        [function("a"), function("b"), function("c"), function("d"), function("e")];
    const NAMELESS: [CostedFunction; 1] = [function("")];
    const TAKEN: [CostedFunction; 1] = [function("idle")];
    const UNKNOWN: CostedFunction = CostedFunction { item: "tock", ..function("f") };
    assert_eq!(refusal(&FIVE), "");
    let cases: [(&'static [CostedFunction], &str); 5] = [
        (const { &[FIVE[0], UNKNOWN] }, "its function f costs `tock`, which no machine has"),
        (const { &[FIVE[0]; 6] }, "it has 6 functions with a cost, expected at most 5"),
        (const { &[FIVE[0], FIVE[0]] }, "its function 1 is called `a`, expected a name of its own"),
        (&NAMELESS, "its function 0 is called ``"),
        (&TAKEN, "its function 0 is called `idle`"),
    ];
    for (functions, expected) in cases {
        let error = refusal(functions);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_policy_that_asks_for_what_is_not_there_broke_its_contract() {
    type Ask = fn(&mut Cx<'_>);
    let cases: [(Ask, &str); 6] = [
        (|cx| cx.block(TaskId(0)), "let task 0 leave, which does not sleep on its runqueue"),
        (|cx| cx.block(TaskId(77)), "let task 77 leave"),
        (|cx| cx.add_task_work(TaskId(77)), "asked for task 77, and there are 1"),
        (|cx| cx.resched(CpuId(99)), "asked for CPU 99, and there are 16"),
        (|cx| cx.did(FuncId(7), 1), "called its function 7, and has attached 0 of them"),
        (
            |cx| cx.touch(Touch { line: LineId(3), access: Access::Read, what: FuncId(0) }),
            "touched line 3, and has attached 0 of them",
        ),
    ];
    for (ask, expected) in cases {
        let mut script = Script::new(objects());
        script.task(CpuId(0), &[]);
        let mut policy = Box::new(RoundRobin::default());
        policy.at_enqueue = Some(ask);
        let run = Simulator::new(topology(), policy, script, (), Config::default());
        let told = run.and_then(|mut run| run.run_until(SimTime(1_000_000)));
        let error = told.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_policy_that_cannot_go_on_ends_the_run_with_its_first_sentence() {
    let mut script = Script::new(objects());
    script.task(CpuId(0), &[]);
    let mut policy = Box::new(RoundRobin::default());
    policy.at_enqueue = Some(|cx| {
        cx.fail("the library is gone");
        cx.fail("and so is everything else");
    });
    let run = Simulator::new(topology(), policy, script, (), Config::default());
    let error = run.and_then(|mut run| run.run_until(SimTime(1_000_000))).unwrap_err();
    let SimError::PolicyFailed { why, .. } = &error else { panic!("{error}") };
    assert_eq!(why, "the library is gone");
}
