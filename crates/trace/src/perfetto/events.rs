//! One event of a schedule as Perfetto's `FtraceEvent`.
//!
//! The numbers of the fields are those of `protos/perfetto/trace/ftrace/*.proto` of Perfetto.

use super::proto::Message;
use crate::event::{Event, PrevState, Thread, ThreadIx, Threads, What};

/// `FtraceEventBundle.event`.
pub(super) const EVENT: u32 = 2;

/// Fields of `FtraceEvent`.
mod field {
    pub(super) const TIMESTAMP: u32 = 1;
    pub(super) const PID: u32 = 2;
    pub(super) const SCHED_SWITCH: u32 = 4;
    pub(super) const SCHED_WAKEUP: u32 = 17;
    pub(super) const SCHED_WAKING: u32 = 20;
    pub(super) const SCHED_WAKEUP_NEW: u32 = 114;
    pub(super) const TASK_NEWTASK: u32 = 235;
    pub(super) const SCHED_PROCESS_EXIT: u32 = 238;
    pub(super) const SCHED_PROCESS_FORK: u32 = 239;
    pub(super) const SCHED_MIGRATE_TASK: u32 = 491;
}

/// `CLONE_THREAD` (`include/uapi/linux/sched.h`): the new task is a thread of its parent's process.
const CLONE_THREAD: u64 = 0x1_0000;

/// The bits of `prev_state` that `sched_switch` records (`include/linux/sched.h`, 4.14 and later).
fn prev_state(state: PrevState) -> i64 {
    match state {
        PrevState::Running { preempted: false } => 0,
        PrevState::Interruptible => 1,
        PrevState::Uninterruptible => 2,
        PrevState::Dead => 0x10,
        PrevState::Zombie => 0x20,
        PrevState::Running { preempted: true } => 0x100,
    }
}

/// Writes `event` as one field of a bundle, or as two where the kernel has two tracepoints.
pub(super) fn write(bundle: &mut Message, threads: &Threads, event: &Event) {
    let thread = |ix: ThreadIx| threads.get(ix);
    let mut of =
        |number, fields: &dyn Fn(&mut Message)| frame(bundle, threads, event, number, fields);
    match event.what {
        What::Switch { prev, prev_state: state, next } => {
            of(field::SCHED_SWITCH, &|m| switch(m, thread(prev), state, thread(next)));
        }
        What::Waking { wakee, target_cpu, .. } => {
            of(field::SCHED_WAKING, &|m| wakeup(m, thread(wakee), target_cpu));
        }
        What::Wakeup { wakee, target_cpu } => {
            of(field::SCHED_WAKEUP, &|m| wakeup(m, thread(wakee), target_cpu));
        }
        What::WakeupNew { wakee, target_cpu } => {
            of(field::SCHED_WAKEUP_NEW, &|m| wakeup(m, thread(wakee), target_cpu));
        }
        What::Migrate { task, orig_cpu, dest_cpu } => of(field::SCHED_MIGRATE_TASK, &|m| {
            named(m, thread(task));
            m.uint(4, orig_cpu.into());
            m.uint(5, dest_cpu.into());
        }),
        What::Fork { parent, child } => {
            of(field::TASK_NEWTASK, &|m| new_task(m, thread(child)));
            of(field::SCHED_PROCESS_FORK, &|m| fork(m, thread(parent), thread(child)));
        }
        What::Exit { task } => of(field::SCHED_PROCESS_EXIT, &|m| exit(m, thread(task))),
    }
}

/// Time and current task, which all events have, and the fields of this one.
fn frame(
    bundle: &mut Message,
    threads: &Threads,
    event: &Event,
    number: u32,
    fields: &dyn Fn(&mut Message),
) {
    bundle.nested(EVENT, |m| {
        m.uint(field::TIMESTAMP, event.time);
        m.int(field::PID, threads.get(event.current).pid.into());
        m.nested(number, fields);
    });
}

fn switch(m: &mut Message, prev: &Thread, state: PrevState, next: &Thread) {
    named(m, prev);
    m.int(4, prev_state(state));
    m.text(5, &next.comm);
    m.int(6, next.pid.into());
    m.int(7, next.prio.into());
}

/// `comm`, `pid` and `prio`, which are the first three fields of most.
fn named(m: &mut Message, thread: &Thread) {
    m.text(1, &thread.comm);
    m.int(2, thread.pid.into());
    m.int(3, thread.prio.into());
}

fn wakeup(m: &mut Message, wakee: &Thread, target_cpu: u32) {
    named(m, wakee);
    // `success`, which has been 1 since 3.17.
    m.uint(4, 1);
    m.uint(5, target_cpu.into());
}

/// `task_newtask`, which Perfetto takes the process of a new thread from.
fn new_task(m: &mut Message, child: &Thread) {
    m.int(1, child.pid.into());
    m.text(2, &child.comm);
    m.uint(3, if child.tgid == child.pid { 0 } else { CLONE_THREAD });
    m.uint(4, 0);
}

fn fork(m: &mut Message, parent: &Thread, child: &Thread) {
    m.text(1, &parent.comm);
    m.int(2, parent.pid.into());
    m.text(3, &child.comm);
    m.int(4, child.pid.into());
}

fn exit(m: &mut Message, task: &Thread) {
    m.text(1, &task.comm);
    m.int(2, task.pid.into());
    m.int(3, task.tgid.into());
    m.int(4, task.prio.into());
}
