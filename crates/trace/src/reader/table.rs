//! `Table`: who the threads are that lines name, from their numbers and names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::error::ReadError;
use super::fields::{Fields, Named};
use super::head::Head;
use super::{Renice, Told};
use crate::event::{Event, PrevState, Thread, ThreadIx, Threads, What};

/// All threads that were named so far.
///
/// The idle tasks have the number 0, and are told apart by their CPU. A number that is given to a new
/// thread after its old one has ended is another thread.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) threads: Threads,
    pub(super) renices: Vec<Renice>,
    pub(super) nr_cpus: u32,
    /// By number; of an idle task by CPU.
    known: BTreeMap<(i32, u32), ThreadIx>,
    /// The last priority that was seen, if any; by thread.
    prios: Vec<Option<i32>>,
    /// By thread.
    ended: Vec<bool>,
}

/// More threads than any schedule has.
const LIMIT: u32 = 1 << 24;

/// How the tracer names a thread whose name it does not know.
const NAMELESS: [&str; 3] = ["<...>", "<idle>", ":-1"];

/// The priority of a thread of which none is told: nice 0.
const PRIO: i32 = 120;

/// A name as `ps` shows it: what no terminal can show is a question mark.
fn printable(comm: &str) -> Cow<'_, str> {
    if comm.contains(char::is_control) {
        return Cow::Owned(comm.replace(char::is_control, "?"));
    }
    Cow::Borrowed(comm)
}

impl Table {
    /// The event of a line.
    pub(super) fn told(&mut self, head: &Head<'_>, fields: &Fields<'_>) -> Result<Told, ReadError> {
        let Head { comm, pid, tgid, cpu, time, context, .. } = *head;
        self.names_cpu(cpu);
        let current = self.thread(Named { comm, pid, prio: None }, cpu, time)?;
        if let Some(tgid) = tgid.filter(|tgid| *tgid > 0) {
            self.threads.all[current.0 as usize].tgid = tgid;
        }
        let (what, current) = match *fields {
            Fields::Switch { prev, state, next } => {
                let (prev, next) = (self.thread(prev, cpu, time)?, self.thread(next, cpu, time)?);
                if matches!(state, PrevState::Dead | PrevState::Zombie) {
                    self.ended[prev.0 as usize] = true;
                }
                // The head may have been written a moment later, and then names another one.
                (What::Switch { prev, prev_state: state, next }, prev)
            }
            Fields::Waking { wakee, target, sync } => {
                let wakee = self.placed(wakee, target, time)?;
                (What::Waking { wakee, target_cpu: target, sync }, current)
            }
            Fields::Wakeup { wakee, target } => {
                let wakee = self.placed(wakee, target, time)?;
                (What::Wakeup { wakee, target_cpu: target }, current)
            }
            Fields::WakeupNew { wakee, target } => {
                let wakee = self.placed(wakee, target, time)?;
                (What::WakeupNew { wakee, target_cpu: target }, current)
            }
            Fields::Migrate { task, from, to } => {
                self.names_cpu(from);
                let task = self.placed(task, to, time)?;
                (What::Migrate { task, orig_cpu: from, dest_cpu: to }, current)
            }
            Fields::Fork { parent, child } => {
                let parent = self.thread(parent, cpu, time)?;
                self.forget_ended(child.pid);
                (What::Fork { parent, child: self.thread(child, cpu, time)? }, current)
            }
            Fields::Exit { task } => {
                let task = self.thread(task, cpu, time)?;
                self.ended[task.0 as usize] = true;
                (What::Exit { task }, current)
            }
        };
        Ok(Told { event: Event { time, cpu, current, what }, context })
    }

    fn placed(&mut self, named: Named<'_>, cpu: u32, time: u64) -> Result<ThreadIx, ReadError> {
        self.names_cpu(cpu);
        self.thread(named, cpu, time)
    }

    fn names_cpu(&mut self, cpu: u32) {
        self.nr_cpus = self.nr_cpus.max(cpu.saturating_add(1));
    }

    fn forget_ended(&mut self, pid: i32) {
        if self.known.get(&(pid, 0)).is_some_and(|ix| self.ended[ix.0 as usize]) {
            self.known.remove(&(pid, 0));
        }
    }

    /// The thread of this number, which has this name and priority at `time`.
    fn thread(&mut self, named: Named<'_>, cpu: u32, time: u64) -> Result<ThreadIx, ReadError> {
        let Named { comm, pid, prio } = named;
        let comm = &*printable(comm);
        let key = (pid, if pid == 0 { cpu } else { 0 });
        let Some(&ix) = self.known.get(&key) else {
            if self.threads.all.len() >= LIMIT as usize {
                return Err(ReadError::Threads { limit: LIMIT });
            }
            let comm = if pid == 0 { format!("swapper/{cpu}") } else { comm.to_owned() };
            let ix = self.threads.push(Thread { pid, tgid: pid, comm, prio: prio.unwrap_or(PRIO) });
            self.known.insert(key, ix);
            self.prios.push(prio);
            self.ended.push(false);
            return Ok(ix);
        };
        let row = &mut self.threads.all[ix.0 as usize];
        if pid != 0 && row.comm != comm && !NAMELESS.contains(&comm) {
            comm.clone_into(&mut row.comm);
        }
        if let Some(prio) = prio {
            let known = &mut self.prios[ix.0 as usize];
            match known.replace(prio) {
                None => row.prio = prio,
                Some(before) if before != prio => {
                    self.renices.push(Renice { time, thread: ix, prio });
                }
                Some(_) => {}
            }
        }
        Ok(ix)
    }
}
