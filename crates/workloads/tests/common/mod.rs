//! The smallest machine that can run a workload: no time and no CPUs, one op of one task at a step.

pub(crate) mod clocked;
pub(crate) mod told;
use simsched_core::ipc::{Ipc, IpcVersion, Verdict, Wakes};
use simsched_core::{Op, Outcome, SimTime, Start, TaskId, Workload};

/// What a task did last.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    New,
    Next(Outcome),
    Asleep(Op),
    Retry(Op),
    Ended,
}

/// What became of a run.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    /// Each op that took effect, in order.
    pub(crate) log: Vec<(u32, Op)>,
    /// Bytes that were written or sent, and read or received.
    pub(crate) written: u64,
    pub(crate) read: u64,
    /// Who sleeps for ever, and for what.
    pub(crate) stuck: Vec<String>,
    /// How often a task was woken and slept again.
    pub(crate) spurious: u64,
}

/// Runs `workload` to its end; `choose` picks one of so many tasks that can go on.
pub(crate) fn run(
    workload: &mut dyn Workload,
    version: IpcVersion,
    mut choose: impl FnMut(usize) -> usize,
) -> Ran {
    let setup = workload.setup();
    let mut ipc = Ipc::new(&setup, version);
    let mut wakes = Wakes::new();
    let mut ran = Ran::default();
    let mut tasks = vec![At::New; setup.tasks.len()];
    let mut ready = Vec::new();
    for (task, spec) in (0..).zip(&setup.tasks) {
        if spec.start != Start::Spawned {
            tasks[task as usize] = At::Next(Outcome::Started);
            ready.push(task);
        }
    }
    while !ready.is_empty() {
        let nth = choose(ready.len());
        let task: u32 = ready[nth];
        let (op, retry) = match tasks[task as usize] {
            At::Next(last) => (workload.next_op(TaskId(task), SimTime::ZERO, last), false),
            At::Retry(op) => (op, true),
            at => panic!("task {task} cannot go on: {at:?}"),
        };
        match op {
            Op::Exit => {
                ipc.exit(TaskId(task), &mut wakes);
                tasks[task as usize] = At::Ended;
                ready.swap_remove(nth);
                ran.log.push((task, op));
            }
            Op::Spawn(child) => {
                assert_eq!(tasks[child.idx()], At::New, "{child} is spawned twice");
                ipc.spawned(TaskId(task), child);
                tasks[child.idx()] = At::Next(Outcome::Started);
                tasks[task as usize] = At::Next(Outcome::Done);
                ready.push(child.0);
                ran.log.push((task, op));
            }
            _ => match ipc.attempt(TaskId(task), op, retry, &mut wakes) {
                Verdict::Block => {
                    ran.spurious += u64::from(retry);
                    tasks[task as usize] = At::Asleep(op);
                    ready.swap_remove(nth);
                }
                Verdict::Done(outcome) => {
                    tasks[task as usize] = At::Next(outcome);
                    match (op, outcome) {
                        (Op::Write { bytes, .. } | Op::Send { bytes, .. }, _) => {
                            ran.written += u64::from(bytes);
                        }
                        (_, Outcome::Bytes(bytes)) => ran.read += u64::from(bytes),
                        _ => {}
                    }
                    ran.log.push((task, op));
                }
            },
        }
        for wake in wakes.drain() {
            let At::Asleep(op) = tasks[wake.task.idx()] else {
                panic!("{} is woken and does not sleep", wake.task)
            };
            tasks[wake.task.idx()] = At::Retry(op);
            ready.push(wake.task.0);
        }
    }
    let stuck = (0..).zip(&tasks).filter(|(_, at)| matches!(at, At::Asleep(_)));
    ran.stuck = stuck.map(|(task, _)| ipc.blocked_on(TaskId(task)).expect("it sleeps")).collect();
    ran
}

/// Lets each task go on until it sleeps or ends.
#[allow(dead_code, reason = "not every test has a use for it")]
pub(crate) fn in_turn(_: usize) -> usize {
    0
}
