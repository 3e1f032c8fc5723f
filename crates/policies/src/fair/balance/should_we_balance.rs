//! Whether this CPU is the one that balances a domain for its group.

use simsched_core::World;
use simsched_topology::{CpuId, CpuSet, SdFlags};

use super::{CpuIdleType, LbEnv};
use crate::fair::{Fair, Version};

impl Fair {
    /// Of all CPUs of the destination's group only one balances a domain: its first idle CPU, or its
    /// first CPU if none is idle. A CPU that is about to become idle always does; since 6.0 only if no
    /// task has come in the meantime. Since 6.6 an idle CPU of a core that is idle as a whole comes first.
    /// Source: `should_we_balance()`.
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
        let first_of = |set: &CpuSet| {
            let first = group.balance_mask.and_next_wrap(set, CpuId::new(0))?;
            match env.cpus.contains(first) {
                true => Some(first),
                false => set.and(&group.balance_mask).and(&env.cpus).first(),
            }
        };
        let is_core = self.domain(env).flags.contains(SdFlags::SHARE_CPUCAPACITY);
        let idle_core = match self.features.version >= Version::V6_6 && !is_core {
            true => first_of(world.idle_cores()),
            false => None,
        };
        let speaker = idle_core.or_else(|| first_of(world.idle()));
        speaker.unwrap_or(group.balance_cpu) == env.dst_cpu
    }
}
