//! The search for the LLC behind which a process runs most.

use simsched_core::{TaskId, TaskState, World};
use simsched_topology::{CpuId, CpuSet};

use super::{CacheAware, MmId};

/// What a scan has found.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// The occupancy of the LLC that has most, and its CPU that has most.
    best: u64,
    cpu: Option<CpuId>,
    /// The occupancy of the LLC that is preferred so far.
    current: u64,
    /// Threads of the process that run.
    nr_running: u64,
}

impl CacheAware {
    /// The tick on `cpu` while `task` runs: whether a scan is to be done when that returns to user mode.
    /// Source: `task_tick_cache()`.
    pub(in crate::fair) fn tick(&mut self, cpu: CpuId, task: TaskId) {
        let Some(mm) = self.processes.mm(task) else { return };
        let epoch = self.occupancy.epoch(cpu);
        let (proc, row) = (&mut self.procs[mm.idx()], &mut self.tasks[task.idx()]);
        if proc.epoch >= epoch || row.has_work {
            return;
        }
        (row.has_work, proc.epoch) = (true, epoch);
    }

    /// Whether a scan waits for the return of `task` to user mode.
    #[must_use]
    pub fn has_work(&self, task: TaskId) -> bool {
        self.tasks[task.idx()].has_work
    }

    /// `task` returns to user mode on `cpu`: the CPUs that it looks at to find the preferred LLC of its
    /// process anew; none if it stops before. Source: `task_cache_work()`.
    pub(in crate::fair) fn scan(&mut self, world: &World, cpu: CpuId, task: TaskId) -> CpuSet {
        self.tasks[task.idx()].has_work = false;
        let Some(mm) = self.processes.mm(task) else { return CpuSet::new() };
        if world.task(task).exiting || !self.is_due(mm) || self.drops_preference(mm, cpu) {
            self.counts.scans_stopped += 1;
            return CpuSet::new();
        }
        self.counts.scans += 1;
        let (found, is_merged) = (self.look(world, mm), self.is_merged());
        if found.best > 2 * found.current {
            self.counts.preferred += 1;
            self.prefer(mm, found.cpu);
        }
        let proc = &mut self.procs[mm.idx()];
        let llc_cpus = self.ids.span(self.ids.of(cpu)).len() as u64;
        let weight = if is_merged { (llc_cpus / 4).clamp(2, 8) } else { 8 };
        proc.nr_running_avg = update_avg(proc.nr_running_avg, found.nr_running, weight);
        *world.topology().cpus()
    }

    /// One scan of a process at a time, and not more often than once in an epoch; version 4 knows of no
    /// such limit.
    fn is_due(&mut self, mm: MmId) -> bool {
        let is_merged = self.is_merged();
        let (proc, now) = (&mut self.procs[mm.idx()], self.jiffies.now());
        if !is_merged {
            return true;
        }
        let is_due = now >= proc.next_scan;
        if is_due {
            proc.next_scan = now + self.period;
        }
        is_due
    }

    /// LLC by LLC, of all CPUs: without NUMA balancing a process has no preferred node.
    fn look(&mut self, world: &World, mm: MmId) -> Found {
        let home = self.procs[mm.idx()].cpu.get().map(|cpu| self.ids.of(cpu));
        let mut found = Found::default();
        for llc in (0..self.ids.len()).map(|llc| u16::try_from(llc).expect("few LLCs")) {
            let span = *self.ids.span(llc);
            if span.len() < 2 {
                continue;
            }
            let (mut sum, mut most, mut at) = (0, 0, None);
            for cpu in span.iter() {
                let part = self.occupancy.fraction(self.jiffies.now(), cpu, mm);
                sum += part;
                if part > most {
                    (most, at) = (part, Some(cpu));
                }
                found.nr_running += u64::from(self.runs(world, cpu, mm));
            }
            if sum > found.best {
                (found.best, found.cpu) = (sum, at);
            }
            if home == Some(llc) {
                found.current = sum;
            }
        }
        found
    }

    /// Whether `cpu` runs a thread of `mm` that is not about to end.
    fn runs(&self, world: &World, cpu: CpuId, mm: MmId) -> bool {
        world.curr(cpu).is_some_and(|task| {
            let row = world.task(task);
            self.processes.mm(task) == Some(mm) && !row.exiting && row.state != TaskState::Dead
        })
    }
}

/// The average comes nearer to the sample by so great a part of the difference, which is rounded towards
/// nothing: it stays where the difference is less than `weight`.
#[must_use]
fn update_avg(avg: u64, sample: u64, weight: u64) -> u64 {
    if sample >= avg { avg + (sample - avg) / weight } else { avg - (avg - sample) / weight }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 0 up to 8 by quarters: 2, 3, 4, 5, and 3 / 4 is nothing; from 20 down: 17, 15, 14, 13, 12, 11.
    #[test]
    fn the_average_of_running_threads_settles_short_of_the_true_count_by_where_it_comes_from() {
        let settle = |avg, weight| (0..100).fold(avg, |avg, _| update_avg(avg, 8, weight));
        assert_eq!((settle(0, 4), settle(20, 4)), (5, 11));
        // An eighth of the difference: up to seven short.
        assert_eq!((settle(0, 8), settle(20, 8)), (1, 15));
    }
}
