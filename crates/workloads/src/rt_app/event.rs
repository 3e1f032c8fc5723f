//! Events of a file: which key is which, and what its value must be.

use simsched_topology::{did_you_mean, nearest};

use super::config::{Cond, Config, Event, Task, TimerRef, row_of};
use super::json::{Entry, Kind, Value, Wrong};
use super::read::Context;
use super::tree::{Tree, mismatch, natural, text};

/// What the keys of events begin with, in the order in which rt-app tries them: the first decides.
const EVENTS: [&str; 20] = [
    "runtime", "run", "sleep", "memrun", "mem", "iorun", "lock", "unlock", "signal", "broad",
    "wait", "sync", "barrier", "timer", "resume", "suspend", "yield", "fork", "sem_post",
    "sem_wait",
];

/// The name of an object for which an event names none.
const UNKNOWN: &str = "unknown";

fn kind_of(key: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|event| key.starts_with(event))
}

/// Whether rt-app takes this key for an event.
pub(super) fn is_event(key: &str) -> bool {
    kind_of(key).is_some()
}

/// The event of an entry, of a thread of `task`.
pub(super) fn read(
    entry: &Entry,
    task: &mut Task,
    names: &[&str],
    context: &mut Context<'_>,
) -> Result<Event, Wrong> {
    let Entry { key, value, .. } = entry;
    let us = || microseconds(value, key);
    let name = || text(value, key);
    let reading = context.reading;
    let config = &mut context.config;
    Ok(match kind_of(key).unwrap_or_default() {
        "runtime" => Event::Runtime(us()?),
        "run" => Event::Run(us()?),
        "sleep" => Event::Sleep(us()?),
        "mem" => {
            task.uses_memory = true;
            Event::Mem(natural(value, key)?)
        }
        "iorun" => io(value, key, config)?,
        "lock" => Event::Lock(row_of(&mut config.mutexes, name()?)),
        "unlock" => Event::Unlock(row_of(&mut config.mutexes, name()?)),
        "signal" => Event::Signal(row_of(&mut config.conds, name()?)),
        "broad" => Event::Broad(row_of(&mut config.conds, name()?)),
        "wait" => Event::Wait(condition(value, key, config)?),
        "sync" => Event::Sync(condition(value, key, config)?),
        "barrier" => barrier(name()?, task, config),
        "timer" => timer(value, key, task, config)?,
        "resume" => Event::Resume(own_condition(name()?, config)),
        "suspend" => {
            let on = match &value.kind {
                Kind::Null if reading.workgen => task.name.as_str(),
                _ => match name()? {
                    "" => task.name.as_str(),
                    other => other,
                },
            };
            if on != task.name {
                let what = format!(
                    "`{key}` waits until `{on}` is resumed; rt-app since June 2025 ignores the text and \
                     waits for the task's name, `{}`",
                    task.name
                );
                context.note(value.at, &what);
            }
            Event::Suspend(own_condition(on, &mut context.config))
        }
        "yield" => Event::Yield,
        "fork" => fork(value, name()?, names, config)?,
        "sem_post" => Event::SemPost(row_of(&mut config.sems, name()?)),
        "sem_wait" => Event::SemWait(row_of(&mut config.sems, name()?)),
        event => {
            let what = format!("`{event}` cannot be simulated: what its loop takes is not known");
            return Err(Wrong::new(entry.at, what));
        }
    })
}

fn microseconds(value: &Value, key: &str) -> Result<u32, Wrong> {
    match value.kind {
        Kind::Int(_) => natural(value, key),
        _ => Err(mismatch(value, key, "an integer, in microseconds")),
    }
}

fn io(value: &Value, key: &str, config: &Config) -> Result<Event, Wrong> {
    let device = &config.global.io_device;
    if device != "/dev/null" {
        let what = format!("`{key}` cannot be simulated on the device {device}: only on /dev/null");
        return Err(Wrong::new(value.at, what));
    }
    Ok(Event::Io(natural(value, key)?))
}

/// The condition and the mutex that an object names.
fn condition(value: &Value, key: &str, config: &mut Config) -> Result<Cond, Wrong> {
    let tree = Tree::of(value, &format!("`{key}`"))?;
    let cond = tree.text("ref")?.unwrap_or(UNKNOWN);
    let mutex = tree.text("mutex")?.unwrap_or(UNKNOWN);
    Ok(Cond { cond: row_of(&mut config.conds, cond), mutex: row_of(&mut config.mutexes, mutex) })
}

/// The condition and the mutex of one name.
fn own_condition(name: &str, config: &mut Config) -> Cond {
    Cond { cond: row_of(&mut config.conds, name), mutex: row_of(&mut config.mutexes, name) }
}

fn barrier(name: &str, task: &Task, config: &mut Config) -> Event {
    let barriers = &mut config.barriers;
    let row = barriers.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        barriers.push((name.to_owned(), 0));
        barriers.len() - 1
    });
    barriers[row].1 += i64::from(task.instances);
    Event::Barrier(row)
}

fn timer(value: &Value, key: &str, task: &mut Task, config: &mut Config) -> Result<Event, Wrong> {
    let tree = Tree::of(value, &format!("`{key}`"))?;
    let name = tree.text("ref")?.unwrap_or(UNKNOWN);
    let period_us = tree.get("period").map_or(Ok(0), |value| microseconds(value, "period"))?;
    let is_own = name.starts_with("unique");
    let timers = if is_own { &mut task.timers } else { &mut config.timers };
    let row = timers.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        timers.push((name.to_owned(), false));
        timers.len() - 1
    });
    match tree.text("mode")? {
        None => {}
        Some(mode) if mode.starts_with("absolute") => timers[row].1 = true,
        Some("relative") => {}
        Some(mode) => {
            let what = format!("`mode`: expected relative or absolute, found `{mode}`");
            return Err(Wrong::new(tree.at("mode"), what));
        }
    }
    let timer = if is_own { TimerRef::Own(row) } else { TimerRef::Shared(row) };
    Ok(Event::Timer { timer, period_us })
}

fn fork(value: &Value, name: &str, names: &[&str], config: &mut Config) -> Result<Event, Wrong> {
    if !names.contains(&name) {
        let near = nearest(name, names.iter().copied());
        let near: Vec<String> = near.into_iter().map(str::to_owned).collect();
        let what = format!("there is no task `{name}` to fork{}", did_you_mean(&near));
        return Err(Wrong::new(value.at, what));
    }
    Ok(Event::Fork(row_of(&mut config.forks, name)))
}
