//! `WAKEUP_BIAS_PREV` and `SELECT_BIAS_PREV`: a wakee stays on its previous CPU while that is idle or
//! has room.
//!
//! Source: "sched/fair: Introduce WAKEUP_BIAS_PREV", M. Desnoyers, 2023-10-17, and "sched/fair:
//! Introduce SELECT_BIAS_PREV", 2023-10-19 (spec 05 section 8). They differ in what they call room.

use simsched_core::Reason;
use simsched_topology::CpuId;

use crate::fair::cfs_rq::CfsRq;
use crate::fair::select::reason;

/// The three places at which the patches change `select_idle_sibling()`.
#[derive(Clone, Copy, Debug)]
pub(in crate::fair) struct BiasPrev {
    /// A CPU with this part of it to spare has room, of 1024 (`WAKEUP_BIAS_PREV`).
    pub(in crate::fair) threshold_1024: Option<u64>,
    /// The wakee fits beside what is queued on the previous CPU, which is room (`SELECT_BIAS_PREV`).
    pub(in crate::fair) fits: bool,
    /// Who stays pays for the search that was spared him (`bias_pays_search`).
    pub(in crate::fair) pays_search: bool,
}

impl BiasPrev {
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
            false => (self.fits || self.has_spare(rq)).then_some(reason::BIAS_PREV_SPARE),
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
    fn has_spare(self, (rq, capacity): (&CfsRq, u32)) -> bool {
        let used_1024 = u64::from(rq.util_est_enqueued) * 1024;
        self.threshold_1024
            .is_some_and(|threshold| used_1024 <= u64::from(capacity) * (1024 - threshold))
    }
}
