//! `WAKEUP_BIAS_PREV`: a wakee stays on its previous CPU while that is idle or has room.
//!
//! Source: "sched/fair: Introduce WAKEUP_BIAS_PREV", M. Desnoyers, 2023-10-17 (spec 05 section 8).

use simsched_core::Reason;
use simsched_topology::CpuId;

use crate::fair::cfs_rq::CfsRq;
use crate::fair::select::reason;

/// The three places at which the patch changes `select_idle_sibling()`.
#[derive(Clone, Copy, Debug)]
pub(in crate::fair) struct WakeupBiasPrev {
    /// What part of the CPU must be spare, of 1024.
    pub(in crate::fair) threshold_1024: u64,
    /// Without the estimate nothing is known to be spare.
    pub(in crate::fair) util_est: bool,
}

impl WakeupBiasPrev {
    /// A: before `target` is looked at, `prev` is taken if it shares the cache and is idle or has
    /// room; also if it is the target.
    pub(in crate::fair) fn before_target(
        self,
        is_near: bool,
        is_idle: bool,
        rq: (&CfsRq, u32),
    ) -> Option<Reason> {
        if !is_near {
            return None;
        }
        match is_idle {
            true => Some(reason::BIAS_PREV_IDLE),
            false => self.spare_capacity_cpu(rq).then_some(reason::BIAS_PREV_SPARE),
        }
    }

    /// C: when nothing is idle, a `prev` that shares the cache is taken instead of `target`.
    pub(in crate::fair) fn instead_of_target(
        self,
        prev: CpuId,
        target: CpuId,
        is_near: bool,
    ) -> Option<CpuId> {
        (prev != target && is_near).then_some(prev)
    }

    /// The spare capacity of a CPU by estimated utilization: that of its runnable tasks only,
    /// against its capacity. Source: `spare_capacity_cpu()` of the patch.
    fn spare_capacity_cpu(self, (rq, capacity): (&CfsRq, u32)) -> bool {
        let used_1024 = u64::from(rq.util_est_enqueued) * 1024;
        self.util_est && used_1024 <= u64::from(capacity) * (1024 - self.threshold_1024)
    }
}
