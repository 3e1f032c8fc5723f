//! What a periodic balance leaves for cache-aware wakeups.

use simsched_topology::{GroupId, SdFlags};

use super::{CpuIdleType, LbEnv, SgLbStats};
use crate::fair::Fair;

impl Fair {
    /// Notes what was summed up of an LLC, which is a group of the domain just above LLCs. A newly idle CPU
    /// leaves no note. Source: `update_sg_lb_stats()` of "sched: Inhibit cache aware scheduling if the
    /// preferred LLC is over aggregated" (spec 07 section 6).
    pub(super) fn refresh_llc_avg(&mut self, env: &LbEnv, group: GroupId, stats: &SgLbStats) {
        if self.all.cas.is_none() || env.idle == CpuIdleType::NewlyIdle {
            return;
        }
        let domains = self.domains().of(env.cpu);
        let shares = |sd: usize| domains[sd].flags.contains(SdFlags::SHARE_LLC);
        if shares(env.sd) || !env.sd.checked_sub(1).is_some_and(shares) {
            return;
        }
        let first = self.domains().group(group).span.first();
        if let (Some(first), Some(cas)) = (first, &mut self.all.cas) {
            cas.refresh(first, stats.sums.util, stats.sums.nr_running);
        }
    }
}
