//! Writes the tracer's text.

use super::{RELEASE, SECOND};
use crate::event::{Event, PrevState, Task, What};

/// The text of these events on a machine of `nr_cpus` CPUs, as the tracer shows it; the flags of
/// the CPU's state are dots, for nobody knows them here.
#[must_use]
pub fn write(events: &[Event], nr_cpus: usize) -> String {
    let all = events.len();
    let mut text = format!(
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: {all}/{all}   #P:{nr_cpus}\n#\n"
    );
    text.push_str("#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n");
    text.push_str("#              | |         |   |||||     |         |\n");
    for event in events {
        text += &line(event);
        text.push('\n');
    }
    text
}

/// The line of an event, without its end.
#[must_use]
pub fn line(event: &Event) -> String {
    let by = if event.by.is_idle() { "<idle>" } else { event.by.comm.as_str() };
    let (pid, cpu) = (event.by.pid, event.cpu);
    let (seconds, micros) = (event.us / SECOND, event.us % SECOND);
    let head = format!("{by:>16}-{pid:<7} [{cpu:03}] ..... {seconds:>5}.{micros:06}: ");
    head + &fields(&event.what)
}

fn fields(what: &What) -> String {
    match what {
        What::Switch { prev, state, next } => format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> next_comm={} \
             next_pid={} next_prio={}",
            prev.comm,
            prev.pid,
            prev.prio,
            letter(*state),
            next.comm,
            next.pid,
            next.prio
        ),
        What::Waking { wakee, target } => placed("sched_waking", wakee, *target),
        What::Wakeup { wakee, target } => placed("sched_wakeup", wakee, *target),
        What::WakeupNew { wakee, target } => placed("sched_wakeup_new", wakee, *target),
        What::Migrate { task, from, to } => {
            format!("sched_migrate_task: {} orig_cpu={from} dest_cpu={to}", named(task))
        }
        What::Fork { parent, child } => format!(
            "sched_process_fork: comm={} pid={} child_comm={} child_pid={}",
            parent.comm, parent.pid, child.comm, child.pid
        ),
        What::Exit { task } => format!("sched_process_exit: {}", named(task)),
        What::Release => format!("tracing_mark_write: {RELEASE}"),
    }
}

fn letter(state: PrevState) -> char {
    match state {
        PrevState::Runnable => 'R',
        PrevState::Asleep(letter) | PrevState::Dead(letter) => letter,
    }
}

fn placed(name: &str, task: &Task, target: u32) -> String {
    format!("{name}: {} target_cpu={target:03}", named(task))
}

fn named(task: &Task) -> String {
    format!("comm={} pid={} prio={}", task.comm, task.pid, task.prio)
}
