//! The events of group `sched` as text, as the kernel's `print fmt` of each has it.

use std::fmt;

use crate::event::{PrevState, Thread, Threads, What};

/// The number that `prev_state` has in a trace buffer of Linux 6.1: the bits of `TASK_REPORT`, and one above
/// them for a task that was preempted.
pub(crate) fn prev_state_bits(state: PrevState) -> i64 {
    match state {
        PrevState::Running { preempted: false } => 0,
        PrevState::Interruptible => 0x01,
        PrevState::Uninterruptible => 0x02,
        PrevState::Dead => 0x10,
        PrevState::Zombie => 0x20,
        PrevState::Running { preempted: true } => 0x100,
    }
}

/// The letter of a state.
pub(crate) fn prev_state_letter(state: PrevState) -> &'static str {
    match state {
        PrevState::Running { preempted: false } => "R",
        PrevState::Running { preempted: true } => "R+",
        PrevState::Interruptible => "S",
        PrevState::Uninterruptible => "D",
        PrevState::Dead => "X",
        PrevState::Zombie => "Z",
    }
}

/// The name of the tracepoint of an event.
pub(crate) fn name(what: &What) -> &'static str {
    match what {
        What::Switch { .. } => "sched_switch",
        What::Waking { .. } => "sched_waking",
        What::Wakeup { .. } => "sched_wakeup",
        What::WakeupNew { .. } => "sched_wakeup_new",
        What::Migrate { .. } => "sched_migrate_task",
        What::Fork { .. } => "sched_process_fork",
        What::Exit { .. } => "sched_process_exit",
    }
}

/// The fields of an event.
pub(crate) struct Fields<'a>(pub(crate) &'a Threads, pub(crate) &'a What);

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let get = |ix| self.0.get(ix);
        match *self.1 {
            What::Switch { prev, prev_state, next } => {
                let (prev, next) = (get(prev), get(next));
                write!(
                    f,
                    "prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> next_comm={} next_pid={} \
                     next_prio={}",
                    prev.comm,
                    prev.pid,
                    prev.prio,
                    prev_state_letter(prev_state),
                    next.comm,
                    next.pid,
                    next.prio
                )
            }
            What::Waking { wakee, target_cpu, sync } => {
                who(f, get(wakee))?;
                write!(f, " target_cpu={target_cpu:03}")?;
                // Who reads by the names of fields goes past it.
                if sync { f.write_str(" sync=1") } else { Ok(()) }
            }
            What::Wakeup { wakee, target_cpu } | What::WakeupNew { wakee, target_cpu } => {
                who(f, get(wakee))?;
                write!(f, " target_cpu={target_cpu:03}")
            }
            What::Migrate { task, orig_cpu, dest_cpu } => {
                who(f, get(task))?;
                write!(f, " orig_cpu={orig_cpu} dest_cpu={dest_cpu}")
            }
            What::Fork { parent, child } => {
                let (parent, child) = (get(parent), get(child));
                write!(
                    f,
                    "comm={} pid={} child_comm={} child_pid={}",
                    parent.comm, parent.pid, child.comm, child.pid
                )
            }
            What::Exit { task } => who(f, get(task)),
        }
    }
}

fn who(f: &mut fmt::Formatter<'_>, thread: &Thread) -> fmt::Result {
    write!(f, "comm={} pid={} prio={}", thread.comm, thread.pid, thread.prio)
}

/// An instant in ns, as seconds with six digits, rounded as `trace-cmd` and the kernel do.
pub(crate) struct Micros(pub(crate) u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.saturating_add(500) / 1000;
        let (secs, micros) = (micros / 1_000_000, micros % 1_000_000);
        f.pad(&format!("{secs}.{micros:06}"))
    }
}

/// A name and a colon.
pub(crate) struct Colon(pub(crate) &'static str);

impl fmt::Display for Colon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:", self.0))
    }
}
