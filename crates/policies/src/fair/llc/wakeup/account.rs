//! Where processes run, and when they are forgotten.

use simsched_core::{ProcId, TaskId};
use simsched_topology::CpuId;

use super::WakeupLevel;
use super::{EPOCH_OLD, LlcWakeup, MmId};

impl LlcWakeup {
    /// `task` has run on `cpu` for `ns`. A process that has not asked for a scan for so many epochs, or
    /// of which one thread is left, prefers nothing any more. The comparison is one of unsigned numbers:
    /// a CPU that is behind the process forgets it, too. Source: `account_mm_sched()` (spec 07 section 2).
    #[inline]
    pub(in crate::fair) fn account(&mut self, task: TaskId, cpu: CpuId, ns: u64) {
        let Some(mm) = self.processes.mm(task) else { return };
        let epoch = self.occupancy.account(self.jiffies.now(), cpu, mm, ns);
        let is_old = epoch.wrapping_sub(self.procs[mm.idx()].epoch) > EPOCH_OLD;
        let is_single = self.level >= WakeupLevel::L2 && self.processes.nr_threads(mm) <= 1;
        if is_old || is_single {
            self.prefer(mm, None);
            if self.level == WakeupLevel::L1 {
                let idx = self.occ_idx(mm, cpu);
                self.occ[idx] = u64::MAX;
            }
        }
    }

    /// `child` begins; its process, too, if it is the first thread. Source: `mm_init_sched()`.
    pub(in crate::fair) fn fork(&mut self, child: TaskId) {
        if let Some(mm) = self.processes.begin(child) {
            self.begin(mm);
        }
    }

    /// An address space begins: it prefers nothing and has run nowhere. Source: `mm_init_sched()`.
    fn begin(&mut self, mm: MmId) {
        self.prefer(mm, None);
        self.procs[mm.idx()].epoch = self.occupancy.begin(mm);
    }

    /// `task` has left its address space for that of `proc`. Source: `exec_mmap()`.
    pub(in crate::fair) fn exec(&mut self, task: TaskId, proc: ProcId) {
        if let Some(mm) = self.occupancy.exec(&mut self.processes, task, proc) {
            self.begin(mm);
        }
    }

    /// `task` has ended.
    pub(in crate::fair) fn exit(&mut self, task: TaskId) {
        self.processes.end(task);
    }
}
