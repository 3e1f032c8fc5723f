//! `Wakeups`: how many there were, and how far from the wakee's last CPU they ended.

use std::collections::BTreeMap;

use super::float;
use crate::shape::Shape;
use crate::value::{Value, round};

/// Wakeups of the tasks that count, without the first one of a new task.
#[derive(Clone, Debug, Default)]
pub(super) struct Wakeups {
    /// The last CPU of each wakee that is being woken.
    begun: BTreeMap<u32, u32>,
    pub(super) all: u64,
    /// Those that ended on the wakee's last CPU.
    pub(super) on_prev: u64,
    /// Those that ended in the LLC of the wakee's last CPU.
    pub(super) within_llc: u64,
}

impl Wakeups {
    pub(super) fn waking(&mut self, pid: u32, prev: u32) {
        self.begun.insert(pid, prev);
    }

    pub(super) fn wakeup(&mut self, pid: u32, cpu: u32, shape: &Shape) {
        self.all += 1;
        if let Some(prev) = self.begun.remove(&pid) {
            self.on_prev += u64::from(prev == cpu);
            self.within_llc += u64::from(shape.share_llc(prev, cpu));
        }
    }

    /// `count` over all wakeups.
    pub(super) fn part(&self, count: u64) -> Option<Value> {
        (self.all > 0).then(|| round(float(count) / float(self.all), 4).into())
    }
}
