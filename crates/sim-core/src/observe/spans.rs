//! `SpanStats`: how long tasks take from one mark to another.

use super::histogram::Histogram;
use crate::ids::{MarkId, TaskId};
use crate::time::{Nanos, SimTime};

/// From passing one mark to passing another, by the same task.
#[derive(Clone, Debug)]
pub struct SpanStats {
    from: MarkId,
    to: MarkId,
    /// When each task has begun; [`SimTime::NEVER`] if it has not.
    since: Vec<SimTime>,
    lengths: Histogram,
    shortest: Nanos,
}

impl SpanStats {
    pub(super) fn new((from, to): (MarkId, MarkId), nr_tasks: usize) -> SpanStats {
        let since = vec![SimTime::NEVER; nr_tasks];
        SpanStats { from, to, since, lengths: Histogram::new(), shortest: Nanos(u64::MAX) }
    }

    /// Begins anew with the spans that are under way, which is returned; what came to its end before stays.
    pub(super) fn restart(&mut self) -> SpanStats {
        let since = std::mem::take(&mut self.since);
        SpanStats { since, ..SpanStats::new((self.from, self.to), 0) }
    }

    /// Adds what came to its end in a later part of the same run.
    pub(super) fn merge(&mut self, later: &SpanStats) {
        self.lengths.merge(&later.lengths);
        self.shortest = self.shortest.min(later.shortest);
    }

    /// The lengths of all that came to their end.
    #[must_use]
    pub fn lengths(&self) -> &Histogram {
        &self.lengths
    }

    /// The shortest; `None` if there was none.
    #[must_use]
    pub fn shortest(&self) -> Option<Nanos> {
        (self.lengths.count() > 0).then_some(self.shortest)
    }

    #[inline]
    pub(super) fn passed(&mut self, now: SimTime, task: TaskId, mark: MarkId) {
        let since = &mut self.since[task.idx()];
        if mark == self.to && *since != SimTime::NEVER {
            let length = now.since(*since);
            self.lengths.record(length);
            self.shortest = self.shortest.min(length);
            *since = SimTime::NEVER;
        }
        if mark == self.from {
            *since = now;
        }
    }
}
