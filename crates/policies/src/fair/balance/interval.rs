//! How often a domain is balanced, and what a newly-idle balance of it is known to cost and to bring.

use simsched_core::World;
use simsched_topology::CpuId;

use super::SdState;
use crate::fair::{Fair, Version};

/// How often a domain is balanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceInterval {
    /// The domain's interval at present.
    pub balance_interval_ms: u32,
    /// How much rarer a busy CPU balances.
    pub busy_factor: u64,
    /// Whether the CPU is busy.
    pub is_busy: bool,
}

impl BalanceInterval {
    /// The interval in jiffies, at most `max` and at least 1. A busy CPU balances a jiffy early,
    /// so that domains of different size do not fall on the same tick.
    /// Source: `get_sd_balance_interval()`.
    #[must_use]
    pub fn jiffies(self, hz: u64, max: u64) -> u64 {
        let factor = if self.is_busy { self.busy_factor } else { 1 };
        let ms = u64::from(self.balance_interval_ms) * factor;
        let jiffies = (ms * hz).div_ceil(1000);
        jiffies.saturating_sub(u64::from(self.is_busy)).clamp(1, max)
    }
}

/// After so many newly-idle calls the ratio is computed anew, and they count half.
const NEWIDLE_CALLS: u32 = 1024;

/// One more of 1024 calls is worth it for each so many ns, as a power of 2, that have passed since the ratio was last
/// computed. Source: `update_newidle_stats()`, Linux 7.2.
const RATE_SHIFT: u32 = 22;

/// How the ratio follows from the newly-idle calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewidleRule {
    /// From those that pulled something.
    Success,
    /// Calls that are rare are worth it, too (feature `NI_RATE`), and the ratio is 1024 at most (7.2 and later).
    Timed {
        /// `sched_clock()`, in ns.
        now: u64,
        /// Whether the feature is on.
        rate: bool,
    },
}

impl SdState {
    /// Counts a newly-idle call with the weight of its success, 0 if it pulled nothing.
    /// Source: `update_newidle_stats()`, Linux 6.1.192 and 7.2.
    pub fn update_newidle_stats(&mut self, success: u32, rule: NewidleRule) {
        self.newidle_call += 1;
        self.newidle_success += success;
        if self.newidle_call >= NEWIDLE_CALLS {
            self.newidle_ratio = self.ratio(rule);
            self.newidle_call /= 2;
            self.newidle_success /= 2;
        }
    }

    /// Of so many calls that many are worth it.
    fn ratio(&mut self, rule: NewidleRule) -> u32 {
        let NewidleRule::Timed { now, rate } = rule else { return self.newidle_success };
        let passed = now.wrapping_sub(std::mem::replace(&mut self.newidle_stamp, now));
        // A clock that went back counts as no time.
        let passed = passed.cast_signed().max(0).cast_unsigned() >> RATE_SHIFT;
        let rare = if rate { u32::try_from(passed).unwrap_or(u32::MAX) } else { 0 };
        rare.saturating_add(self.newidle_success).min(NEWIDLE_CALLS)
    }

    /// Learns what a newly-idle balance has cost, in ns; a greatest cost that was not seen again for a
    /// second shrinks by about one percent, and then this is true. A call without cost is only there
    /// for that.
    /// Source: `update_newidle_cost()`, Linux 6.1.192.
    pub fn update_newidle_cost(
        &mut self,
        world: &World,
        cost: u64,
        success: u32,
        rule: NewidleRule,
    ) -> bool {
        if cost > 0 {
            self.update_newidle_stats(success, rule);
        }
        let jiffies = world.jiffies();
        if cost > self.max_newidle_lb_cost {
            self.max_newidle_lb_cost = cost;
            self.last_decay_max_lb_cost = jiffies;
        } else if jiffies > self.last_decay_max_lb_cost + world.hz() {
            self.max_newidle_lb_cost = self.max_newidle_lb_cost * 253 / 256;
            self.last_decay_max_lb_cost = jiffies;
            return true;
        }
        false
    }
}

impl Fair {
    /// How the ratio of newly-idle calls follows from them.
    #[inline]
    pub(super) fn newidle_rule(&self, world: &World) -> NewidleRule {
        match self.features.version >= Version::V7_2 {
            true => NewidleRule::Timed { now: world.sched_clock(), rate: self.features.ni_rate },
            false => NewidleRule::Success,
        }
    }

    /// How many jiffies lie between two balances of the domain `sd` of `cpu`; at most a tenth of a
    /// second for each CPU of the machine.
    /// Source: `get_sd_balance_interval()`, `update_max_interval()`.
    pub(super) fn sd_interval(&self, world: &World, cpu: CpuId, sd: usize, is_busy: bool) -> u64 {
        let interval = BalanceInterval {
            balance_interval_ms: self.balance.sd(cpu, sd).balance_interval,
            busy_factor: self.all.tunables.busy_factor,
            is_busy,
        };
        let hz = world.hz();
        let max = hz * world.topology().nr_cpus() as u64 / 10;
        interval.jiffies(hz, max.max(1))
    }

    /// The jiffy in which `cpu`, if it is idle, is to balance its domain `sd` next.
    /// Source: `update_next_balance()`.
    pub(super) fn sd_next_balance(&self, world: &World, cpu: CpuId, sd: usize) -> u64 {
        self.balance.sd(cpu, sd).last_balance + self.sd_interval(world, cpu, sd, false)
    }
}
