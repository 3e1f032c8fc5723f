//! The search for the LLC that a process occupies most.

use simsched_core::{TaskId, World};
use simsched_topology::{CpuId, CpuSet};

use super::WakeupLevel;
use super::{EPOCH_OLD, LlcWakeup, MmId};
use crate::fair::llc::OCCUPANCY_ONE;

impl LlcWakeup {
    /// The tick on `cpu` while `task` runs: once in an epoch a scan is asked for, which is done when the
    /// task returns to user mode. Source: `task_tick_cache()`.
    pub(in crate::fair) fn tick(&mut self, cpu: CpuId, task: TaskId) {
        let Some(mm) = self.processes.mm(task) else { return };
        let epoch = self.occupancy.epoch(cpu);
        let (proc, has_work) = (&mut self.procs[mm.idx()], &mut self.has_work[task.idx()]);
        if proc.epoch != epoch && !*has_work {
            (*has_work, proc.epoch) = (true, epoch);
        }
    }

    /// Whether a scan waits for the return of `task` to user mode.
    #[must_use]
    pub fn has_work(&self, task: TaskId) -> bool {
        self.has_work[task.idx()]
    }

    /// `task` returns to user mode: the CPUs that it looks at. Every scan elects anew; there is no
    /// hysteresis. Source: `task_cache_work()` (spec 07 section 3).
    pub(in crate::fair) fn scan(&mut self, world: &World, task: TaskId) -> CpuSet {
        self.has_work[task.idx()] = false;
        let Some(mm) = self.processes.mm(task).filter(|_| !world.task(task).exiting) else {
            return CpuSet::new();
        };
        self.counts.scans += 1;
        let pref_cpu = self.elect(mm);
        self.prefer(mm, pref_cpu);
        *world.topology().cpus()
    }

    /// The busiest CPU, by this process, of the LLC with the greatest occupancy per CPU; none if that is
    /// less than 1/32. The first of equals wins.
    fn elect(&mut self, mm: MmId) -> Option<CpuId> {
        let (mut most, mut home) = (0, None);
        for llc in (0..self.ids.len()).map(|llc| u16::try_from(llc).expect("few LLCs")) {
            let span = *self.ids.span(llc);
            let (mut sum, mut best) = (0, (0, None));
            for cpu in span.iter() {
                let part = self.occupancy.fraction(self.jiffies.now(), cpu, mm);
                sum += part;
                if part > best.0 {
                    best = (part, Some(cpu));
                }
            }
            let average = sum / span.len() as u64;
            if self.level == WakeupLevel::L1 {
                span.iter().for_each(|cpu| {
                    let idx = self.occ_idx(mm, cpu);
                    self.occ[idx] = average;
                });
            }
            if average > most {
                (most, home) = (average, best.1);
            }
        }
        home.filter(|_| most >= OCCUPANCY_ONE >> EPOCH_OLD)
    }
}
