//! Whether this CPU is the one that balances a domain for its group.

use simsched_core::World;

use super::{CpuIdleType, LbEnv};
use crate::fair::{Fair, Version};

impl Fair {
    /// Of all CPUs of the destination's group only one balances a domain: its first idle CPU, or its
    /// first CPU if none is idle. A CPU that is about to become idle always does; since 6.0 only if no
    /// task has come in the meantime. Source: `should_we_balance()`, up to 6.5.
    pub(in crate::fair) fn should_we_balance(&self, world: &World, env: &LbEnv) -> bool {
        if !env.cpus.contains(env.dst_cpu) {
            return false;
        }
        if env.idle == CpuIdleType::NewlyIdle {
            let rq = world.rq(env.dst_cpu);
            let is_still = rq.nr_running == 0 && !rq.pending;
            return is_still || self.features.version < Version::V6_1;
        }
        let domains = self.domains();
        let group = domains.local_group(&domains.of(env.cpu)[env.sd]);
        let mut cpus = group.balance_mask.iter().filter(|&cpu| env.cpus.contains(cpu));
        let speaker = cpus.find(|&cpu| world.is_idle(cpu)).unwrap_or(group.balance_cpu);
        speaker == env.dst_cpu
    }
}
