//! `Places`: how many threads of each process are in each LLC, over time.

use std::collections::{BTreeMap, BTreeSet};

use super::Threads;
use crate::event::{Event, PrevState, What};
use crate::shape::Shape;

/// How many threads of a process are in each LLC from an instant on, in µs.
pub(super) type Row = (u64, Vec<u64>);

/// Where the living threads of each process are: on the CPU that they are on or were on last.
#[derive(Clone, Debug)]
pub(super) struct Places<'a> {
    shape: &'a Shape,
    threads: &'a Threads,
    cpus: BTreeMap<u32, u32>,
    /// By process.
    alive: Vec<BTreeSet<u32>>,
    ended: BTreeSet<u32>,
    /// Pids of the tasks between their `sched_waking` and their `sched_wakeup`.
    waking: BTreeSet<u32>,
    histories: Vec<Vec<Row>>,
    released: Option<u64>,
}

impl<'a> Places<'a> {
    pub(super) fn new(shape: &'a Shape, threads: &'a Threads) -> Places<'a> {
        let procs = threads.names.len();
        Places {
            shape,
            threads,
            cpus: BTreeMap::new(),
            alive: vec![BTreeSet::new(); procs],
            ended: BTreeSet::new(),
            waking: BTreeSet::new(),
            histories: vec![Vec::new(); procs],
            released: None,
        }
    }

    pub(super) fn history(&self, proc: usize) -> &[Row] {
        &self.histories[proc]
    }

    /// When the launcher let the threads go, in µs.
    pub(super) fn released(&self) -> Option<u64> {
        self.released
    }

    pub(super) fn see(&mut self, event: &Event) {
        let changed = match event.what {
            What::Switch { prev, state, next } => {
                let ended = self.ends(prev.pid, state);
                self.runs(next.pid, event.cpu).or(ended)
            }
            What::Waking { wakee, .. } => {
                self.waking.insert(wakee.pid);
                None
            }
            What::Wakeup { wakee, target } => self.woken(wakee.pid, target),
            What::WakeupNew { wakee, target } => {
                self.waking.remove(&wakee.pid);
                self.born(wakee.pid, target)
            }
            What::Migrate { task, to, .. } => {
                let proc = self.threads.proc(task.pid);
                proc.filter(|proc| self.alive[*proc].contains(&task.pid)).inspect(|_| {
                    self.cpus.insert(task.pid, to);
                })
            }
            What::Release => {
                self.released = Some(event.us);
                None
            }
            _ => None,
        };
        if let Some(proc) = changed {
            let cpus = self.alive[proc].iter().filter_map(|pid| self.cpus.get(pid).copied());
            self.histories[proc].push((event.us, self.shape.per_llc(cpus)));
        }
    }

    /// The process, if it is a thread of one and has ended.
    fn ends(&mut self, pid: u32, state: PrevState) -> Option<usize> {
        let proc = self.threads.proc(pid).filter(|_| matches!(state, PrevState::Dead(_)))?;
        self.alive[proc].remove(&pid);
        self.cpus.remove(&pid);
        self.ended.insert(pid);
        Some(proc)
    }

    /// The process, if that changes something.
    fn runs(&mut self, pid: u32, cpu: u32) -> Option<usize> {
        let proc = self.threads.proc(pid)?;
        let is_new = !self.ended.contains(&pid) && self.alive[proc].insert(pid);
        let moved = self.cpus.insert(pid, cpu) != Some(cpu);
        (is_new || moved).then_some(proc)
    }

    fn born(&mut self, pid: u32, cpu: u32) -> Option<usize> {
        let proc = self.threads.proc(pid)?;
        self.alive[proc].insert(pid);
        self.cpus.insert(pid, cpu);
        Some(proc)
    }

    fn woken(&mut self, pid: u32, cpu: u32) -> Option<usize> {
        let was_called = self.waking.remove(&pid);
        let proc = self.threads.proc(pid).filter(|_| was_called)?;
        (self.cpus.insert(pid, cpu) != Some(cpu)).then_some(proc)
    }
}
