//! `LlcTunables`: what cache-aware load balancing is made with.

use super::{CacheAwareVersion, Footprint};

/// Its form, and its numbers (`/sys/kernel/debug/sched/llc_balancing/`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlcTunables {
    /// Which form of it.
    pub version: CacheAwareVersion,
    /// What it takes for the size of a process.
    pub footprint: Footprint,
    /// 1: it is on where the machine has several LLCs.
    pub enabled: u64,
    /// How large a process may be to be gathered: 0 none, 1 strictly so that it fits, 100 any.
    pub aggr_tolerance: u64,
    /// The length of an epoch, in ticks; 0 is a hundredth of a second, at least one tick.
    pub epoch_period: u64,
    /// After how many epochs without a scan a preference is forgotten.
    pub epoch_affinity_timeout: u64,
    /// From this utilization on an LLC is busy, in percent.
    pub overaggr_pct: u64,
    /// What is clearly more utilization, in percent.
    pub imb_pct: u64,
}
