//! `Crossing`: what goes from one LLC to another.

use std::collections::BTreeMap;

use super::super::float;
use super::Threads;
use crate::event::{Event, What};
use crate::probes::Mover;
use crate::shape::Shape;
use crate::value::{Value, round};

/// So many wakeups have to be there before a part of them means something.
const ENOUGH: u64 = 20;

/// Migrations and wakeups of the threads of a scenario between LLCs.
#[derive(Clone, Debug)]
pub(super) struct Crossing {
    shape: Shape,
    threads: Threads,
    /// The waker's CPU and pid of each wakee that is being woken.
    waking: BTreeMap<u32, (u32, u32)>,
    moves: BTreeMap<Mover, u64>,
    /// Wakeups by threads of the scenario.
    own: u64,
    /// Those of them whose chosen CPU is in another LLC than the waker.
    crossing: u64,
}

impl Crossing {
    pub(super) fn new(shape: &Shape, threads: &Threads) -> Crossing {
        Crossing {
            shape: shape.clone(),
            threads: threads.clone(),
            waking: BTreeMap::new(),
            moves: BTreeMap::new(),
            own: 0,
            crossing: 0,
        }
    }

    /// `movers`: who moved, for each migration that is yet to come.
    pub(super) fn see<'a>(&mut self, event: &Event, movers: &mut impl Iterator<Item = &'a Mover>) {
        match event.what {
            What::Waking { wakee, .. } => {
                self.waking.insert(wakee.pid, (event.cpu, event.by.pid));
            }
            What::WakeupNew { wakee, .. } => {
                self.waking.remove(&wakee.pid);
            }
            What::Wakeup { wakee, target } => {
                let called = self.waking.remove(&wakee.pid);
                if let (Some((cpu, waker)), Some(_)) = (called, self.threads.proc(wakee.pid))
                    && self.threads.proc(waker).is_some()
                {
                    self.own += 1;
                    self.crossing += u64::from(!self.shape.share_llc(cpu, target));
                }
            }
            What::Migrate { task, from, to } => {
                let mover = movers.next().copied().unwrap_or(Mover::Active);
                let is_ours = self.threads.proc(task.pid).is_some();
                if is_ours && !self.shape.share_llc(from, to) {
                    let woken = self.waking.contains_key(&task.pid);
                    let mover = if woken { Mover::Wake } else { mover };
                    *self.moves.entry(mover).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    pub(super) fn all(&self) -> u64 {
        self.moves.values().sum()
    }

    /// The moves by the mover of this name.
    pub(super) fn by(&self, name: &str) -> u64 {
        self.moves.iter().filter(|(mover, _)| mover.name() == name).map(|(_, count)| count).sum()
    }

    pub(super) fn wakeups(&self) -> Option<Value> {
        let part = || round(float(self.crossing) / float(self.own), 4);
        (self.own >= ENOUGH).then(|| part().into())
    }
}
