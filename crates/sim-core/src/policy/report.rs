//! The trait `Report`: what a policy tells of itself.

use simsched_topology::{CpuId, CpuSet};

use super::SdCounts;
use crate::world::World;

/// What a policy tells of itself: its counters, its sched domains, its invariants. One that has nothing to tell
/// says `impl Report for Mine {}`.
pub trait Report {
    /// The utilization of `cpu` as the policy has it, not brought to the present (`cfs_rq->avg.util_avg`
    /// of the root queue): 1024 times the share of time running; `None` if it tracks none.
    ///
    /// It may change in calls only in which the kernel holds the lock of that runqueue: that name `cpu`,
    /// or a task on it, and the step of a balancer after [`BalanceStep::Lock`](crate::BalanceStep::Lock).
    /// Behind those only it is asked, in a run whose observer wants it
    /// ([`Wants::UTIL_AVG`](crate::Wants::UTIL_AVG)).
    fn util_avg(&self, cpu: CpuId) -> Option<u64> {
        let _ = cpu;
        None
    }

    /// Hands out the policy's own counters at the end of a run.
    fn metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        let _ = emit;
    }

    /// Hands out the sched domains of `cpu`, bottom-up: the name, the CPUs and the counters of each
    /// (`/proc/schedstat`).
    fn domains(&self, cpu: CpuId, emit: &mut dyn FnMut(&'static str, &CpuSet, &SdCounts)) {
        let _ = (cpu, emit);
    }

    /// Checks the policy's own invariants on `cpu`; the text says which is broken. Called by the
    /// observer of invariants after every event that touched `cpu`.
    ///
    /// # Errors
    /// The first broken invariant, in words.
    fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        let _ = (world, cpu);
        Ok(())
    }
}
