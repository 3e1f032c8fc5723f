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
        // Epochs may wrap round.
        if proc.epoch.wrapping_sub(epoch).cast_signed() >= 0 || row.has_work {
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
        let pref_cpu = self.procs[mm.idx()].cpu.get();
        let cpus = self.numa.scan_cpus(task, pref_cpu, cpu).unwrap_or(*world.topology().cpus());
        let found = self.look(world, mm, cpus);
        if found.best > 2 * found.current {
            self.counts.preferred += 1;
            self.prefer(mm, found.cpu);
        }
        let llc_size = self.cpus[cpu.idx()].llc_size;
        let divisor = if self.is_merged() { divisor(llc_size) } else { 8 };
        let proc = &mut self.procs[mm.idx()];
        proc.nr_running_avg = update_avg(proc.nr_running_avg, found.nr_running, divisor);
        cpus
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

    /// Whole LLCs, in the order of the lowest of `left` that has not been looked at.
    fn look(&mut self, world: &World, mm: MmId, mut left: CpuSet) -> Found {
        let home = self.procs[mm.idx()].cpu.get().map(|cpu| self.ids.of(cpu));
        let mut found = Found::default();
        while let Some(first) = left.first() {
            let llc = self.ids.of(first);
            let span = *self.ids.span(llc);
            left.subtract(&span);
            // A CPU that has its LLC alone has no domain of that.
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

/// By what part of the difference [`update_avg_scale`] comes nearer.
const fn divisor(llc_size: u32) -> i64 {
    match llc_size / 4 {
        0..=2 => 2,
        8.. => 8,
        quarter => quarter as i64,
    }
}

/// The average number of running threads of a process, of which a scan behind an LLC of so many CPUs has
/// found `sample`. Source: `update_avg_scale()`.
#[must_use]
pub fn update_avg_scale(avg: u64, sample: u64, llc_size: u32) -> u64 {
    update_avg(avg, sample, divisor(llc_size))
}

/// The average comes nearer to the sample by so great a part of the difference, which is rounded towards
/// nothing: it stays where the difference is less than `divisor`.
#[must_use]
fn update_avg(avg: u64, sample: u64, divisor: i64) -> u64 {
    avg.wrapping_add_signed(sample.wrapping_sub(avg).cast_signed() / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 0 up to 8 by quarters: 2, 3, 4, 5, and 3 / 4 is nothing; from 20 down: 17, 15, 14, 13, 12, 11.
    #[test]
    fn the_average_of_running_threads_settles_short_of_the_true_count_by_where_it_comes_from() {
        let settle = |avg, divisor| (0..100).fold(avg, |avg, _| update_avg(avg, 8, divisor));
        assert_eq!((settle(0, 4), settle(20, 4)), (5, 11));
        // An eighth of the difference: up to seven short.
        assert_eq!((settle(0, 8), settle(20, 8)), (1, 15));
    }
}
