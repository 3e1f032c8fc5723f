//! Reads the tracer's text.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;

use super::{RELEASE, SECOND};
use crate::error::LabError;
use crate::event::{Comm, Event, PrevState, Task, What};

/// Bytes of the longest text that is unpacked: recordings of the lab have some tens of millions.
const LONGEST: u64 = 1 << 30;

/// The events of a file that gzip has packed.
///
/// # Errors
/// When it cannot be read or unpacked, or a line of it is no event.
pub fn read_file(path: &Path) -> Result<Vec<Event>, LabError> {
    read(&unpacked(path)?, path)
}

/// The text of a file that gzip has packed.
pub(super) fn unpacked(path: &Path) -> Result<String, LabError> {
    let file = File::open(path).map_err(|error| LabError::read(path, error))?;
    let mut text = String::new();
    let unpacked = GzDecoder::new(file).take(LONGEST).read_to_string(&mut text);
    unpacked.map_err(|error| LabError::read(path, error))?;
    if text.len() as u64 == LONGEST {
        let what = "found more than 1 GiB of text, expected less";
        return Err(LabError::read(path, io::Error::new(io::ErrorKind::FileTooLarge, what)));
    }
    Ok(text)
}

/// The events of the text of `path`.
///
/// # Errors
/// Names the first line that is no event.
pub fn read(text: &str, path: &Path) -> Result<Vec<Event>, LabError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let event = |(at, line)| match event(line) {
        Ok(event) => event.map(Ok),
        Err(expected) => Some(Err(LabError::line(path, at + 1, line, expected))),
    };
    lines.filter_map(event).collect()
}

/// What a line that is no event lacks.
pub(super) type Lack = String;

/// The event of a line; `None` if nobody asks for such events.
fn event(line: &str) -> Result<Option<Event>, Lack> {
    let lack = || "COMM-PID [CPU] FLAGS SECONDS.MICROS: EVENT: FIELDS".to_owned();
    let head = head(line).ok_or_else(lack)?;
    let (name, fields) = head.body.split_once(':').ok_or_else(lack)?;
    let Some(what) = what(name, fields)? else { return Ok(None) };
    let by = Task { pid: head.pid, comm: Comm::new(head.comm), prio: 120 };
    Ok(Some(Event { us: head.us, cpu: head.cpu, by, what }))
}

/// What every line begins with, and the rest of it.
pub(super) struct Head<'a> {
    /// The name of who was current.
    pub(super) comm: &'a str,
    pub(super) pid: u32,
    pub(super) cpu: u32,
    /// Interrupts off, a reschedule due, the context, the depth of preemption.
    pub(super) flags: &'a str,
    pub(super) us: u64,
    /// The event and its fields.
    pub(super) body: &'a str,
}

pub(super) fn head(line: &str) -> Option<Head<'_>> {
    let (by, rest) = line.split_once(" [")?;
    let (comm, pid) = by.trim().rsplit_once('-')?;
    let (cpu, rest) = rest.split_once("] ")?;
    let (flags, rest) = rest.trim_start().split_once(' ')?;
    let (time, body) = rest.trim_start().split_once(": ")?;
    let (pid, cpu) = (pid.parse().ok()?, cpu.parse().ok()?);
    Some(Head { comm, pid, cpu, flags, us: micros(time)?, body })
}

/// A time such as `14.362953` in µs.
fn micros(text: &str) -> Option<u64> {
    let (seconds, micros) = text.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    Some(seconds * SECOND + micros.parse::<u64>().ok().filter(|_| micros.len() == 6)?)
}

fn what(name: &str, fields: &str) -> Result<Option<What>, Lack> {
    let fields = Fields(fields.trim());
    let what = match name {
        "sched_switch" => {
            let (prev, next) =
                fields.0.split_once(" ==> ").ok_or_else(|| "a ` ==> ` between tasks".to_owned())?;
            let (prev, next) = (Fields(prev), Fields(next));
            let state = state(prev.text("prev_state=", "")?)?;
            What::Switch { prev: prev.task("prev_")?, state, next: next.task("next_")? }
        }
        "sched_waking" => {
            What::Waking { wakee: fields.task("")?, target: fields.number("target_cpu=")? }
        }
        "sched_wakeup" => {
            What::Wakeup { wakee: fields.task("")?, target: fields.number("target_cpu=")? }
        }
        "sched_wakeup_new" => {
            What::WakeupNew { wakee: fields.task("")?, target: fields.number("target_cpu=")? }
        }
        "sched_migrate_task" => What::Migrate {
            task: fields.task("")?,
            from: fields.number("orig_cpu=")?,
            to: fields.number("dest_cpu=")?,
        },
        "sched_process_fork" => {
            What::Fork { parent: fields.nameless("")?, child: fields.nameless("child_")? }
        }
        "sched_process_exit" => What::Exit { task: fields.task("")? },
        "tracing_mark_write" if fields.0 == RELEASE => What::Release,
        _ => return Ok(None),
    };
    Ok(Some(what))
}

/// The letters of a state; `R+` is a task that was preempted within the kernel.
fn state(text: &str) -> Result<PrevState, Lack> {
    let mut letters = text.chars();
    match letters.next() {
        Some('R') => Ok(PrevState::Runnable),
        Some(letter @ ('X' | 'Z')) => Ok(PrevState::Dead(letter)),
        Some(letter) if letter.is_ascii_alphabetic() => Ok(PrevState::Asleep(letter)),
        _ => Err("the letter of a state in `prev_state`".to_owned()),
    }
}

/// `KEY=VALUE` pairs; a name may have spaces and equal signs in it.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a str);

impl<'a> Fields<'a> {
    /// What stands between `from` and the next `to`; an empty `to` is the end or the next space.
    pub(super) fn text(self, from: &str, to: &str) -> Result<&'a str, Lack> {
        let lack = || format!("a field `{}`", from.trim_end_matches('='));
        let at = self.start(from).ok_or_else(lack)?;
        let rest = &self.0[at..];
        if to.is_empty() {
            return Ok(rest.split(' ').next().unwrap_or(rest));
        }
        rest.split_once(to).map(|(text, _)| text).ok_or_else(lack)
    }

    /// Where the value behind `key` begins; a key stands at the start or behind a space.
    fn start(self, key: &str) -> Option<usize> {
        let found = self.0.match_indices(key).map(|(at, _)| at);
        let mut found = found.filter(|at| *at == 0 || self.0[..*at].ends_with(' '));
        found.next().map(|at| at + key.len())
    }

    pub(super) fn number(self, key: &str) -> Result<u32, Lack> {
        let text = self.text(key, "")?;
        text.parse().map_err(|_| format!("a number in `{}`", key.trim_end_matches('=')))
    }

    /// A task whose fields begin with `prefix`, without its priority.
    fn nameless(self, prefix: &str) -> Result<Task, Lack> {
        let comm = self.text(&format!("{prefix}comm="), &format!(" {prefix}pid="));
        // Behind the comm of the parent comes the pid of the parent, not that of the child.
        let pid = self.number(&format!("{prefix}pid="))?;
        Ok(Task { pid, comm: Comm::new(comm?), prio: 120 })
    }

    fn task(self, prefix: &str) -> Result<Task, Lack> {
        let prio = self.number(&format!("{prefix}prio="))?;
        let prio = u8::try_from(prio).map_err(|_| "a priority in `prio`".to_owned())?;
        Ok(Task { prio, ..self.nameless(prefix)? })
    }
}
