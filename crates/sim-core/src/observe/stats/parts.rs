//! A run in parts: what was counted up to an instant, what since, and both together.

use super::{MarkStats, Stats};
use crate::time::SimTime;

impl Stats {
    /// Begins to count anew at `now`, and returns what was counted before. Waits that are under way go on: they
    /// are counted, at their full length, where they end. CPU time is counted where it is charged, so
    /// [`Simulator::run_until`](crate::Simulator::run_until) this instant comes before.
    ///
    /// What is returned counts no further part of a run, but may be [merged](Stats::merge).
    #[must_use = "it is all that was counted before"]
    pub fn restart(&mut self, now: SimTime) -> Stats {
        let anew = Stats {
            stamps: std::mem::take(&mut self.stamps),
            spans: self.spans.iter_mut().map(super::SpanStats::restart).collect(),
            wasted: self.wasted.restart(now),
            ..Stats::empty(self.cpu_time.len(), self.nr_llcs, self.marks.len())
        };
        std::mem::replace(self, anew)
    }

    /// Adds all that `later` has counted, which is the part of the same run that follows on this one, to what
    /// this one has: the result is what one observer counts of both.
    pub fn merge(&mut self, later: &Stats) {
        for (mine, theirs) in self.cpu_time.iter_mut().zip(&later.cpu_time) {
            add(mine, theirs);
        }
        self.context_switches += later.context_switches;
        self.preemptions += later.preemptions;
        for (mine, theirs) in self.need_resched.iter_mut().zip(&later.need_resched) {
            add(mine, theirs);
        }
        self.forks += later.forks;
        self.exits += later.exits;
        self.scanned += later.scanned;
        add(&mut self.by_cause, &later.by_cause);
        add(&mut self.by_distance, &later.by_distance);
        for (mine, theirs) in self.migrations.iter_mut().zip(later.migrations.iter()) {
            add(mine, theirs);
        }
        add(&mut self.by_domain, &later.by_domain);
        add(&mut self.by_llc, &later.by_llc);
        add(&mut self.wakeups_by_reason[..], &later.wakeups_by_reason[..]);
        add(&mut self.new_by_reason[..], &later.new_by_reason[..]);
        self.wakeup_latency.merge(&later.wakeup_latency);
        self.runqueue_wait.merge(&later.runqueue_wait);
        for (mine, theirs) in self.marks.iter_mut().zip(&later.marks) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.spans.iter_mut().zip(&later.spans) {
            mine.merge(theirs);
        }
        self.wasted.merge(&later.wasted);
    }
}

impl MarkStats {
    fn merge(&mut self, later: &MarkStats) {
        self.count += later.count;
        self.first = self.first.min(later.first);
        self.last = self.last.max(later.last);
    }
}

fn add(mine: &mut [u64], theirs: &[u64]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
}
