//! Where a wakee is sent, and whom a balancer should leave where it is.

use simsched_core::{TaskId, World};
use simsched_topology::CpuId;

use super::LlcWakeup;
use super::WakeupLevel;

impl LlcWakeup {
    /// The CPU that is taken for the previous one of `task`, which was `prev`.
    /// Source: `select_cache_cpu()` (spec 07 section 4). Without NUMA balancing no node is better.
    pub(in crate::fair) fn redirect(&mut self, world: &World, task: TaskId, prev: CpuId) -> CpuId {
        let Some(mm) = self.processes.mm(task) else { return prev };
        let Some(pref) = self.procs[mm.idx()].pref_cpu else {
            self.counts.free += 1;
            return prev;
        };
        let is_home = self.ids.shares_cache(prev, pref);
        self.counts.at_home += u64::from(is_home);
        if is_pinned(world, task) || self.level >= WakeupLevel::L2 && is_home {
            return prev;
        }
        if self.level >= WakeupLevel::L3 && !self.is_valid(pref, task) {
            self.counts.inhibited += 1;
            return prev;
        }
        self.counts.sent += u64::from(!is_home);
        pref
    }

    /// The wakee was redirected from another LLC and has found `cpu`, which is not its previous one.
    pub(in crate::fair) fn landed(&mut self, pref: CpuId, cpu: CpuId) {
        self.counts.landed += u64::from(self.ids.shares_cache(pref, cpu));
    }

    /// The preferred LLC had no idle CPU, and the search began anew where the wakee had been.
    pub(in crate::fair) fn retried(&mut self) {
        self.counts.retried += 1;
    }

    /// Whether two CPUs are behind one LLC.
    #[inline]
    pub(in crate::fair) fn shares_cache(&self, a: CpuId, b: CpuId) -> bool {
        self.ids.shares_cache(a, b)
    }

    /// What the test for a warm cache says of `task`, which a balancer would move from one CPU to the
    /// other; none leaves it to the time since it ran. Source: `task_hot()` of the patches (spec 07
    /// section 7).
    pub(in crate::fair) fn is_hot(&self, task: TaskId, [src, dst]: [CpuId; 2]) -> Option<bool> {
        let mm = self.processes.mm(task)?;
        if self.level == WakeupLevel::L1 {
            return Some(self.occ[self.occ_idx(mm, src)] > self.occ[self.occ_idx(mm, dst)]);
        }
        let pref = self.procs[mm.idx()].pref_cpu?;
        let leaves = self.ids.shares_cache(src, pref) && !self.ids.shares_cache(src, dst);
        let is_free = self.level >= WakeupLevel::L3 && self.is_valid(dst, task);
        (leaves && !is_free).then_some(true)
    }
}

/// Whether `task` may run on one CPU only (`nr_cpus_allowed`).
fn is_pinned(world: &World, task: TaskId) -> bool {
    world.allowed(task).is_some_and(|allowed| allowed.len() == 1)
}
