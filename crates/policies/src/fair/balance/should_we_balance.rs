//! Whether this CPU is the one that balances a domain for its group.

use simsched_core::World;
use simsched_topology::SdFlags;

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
        let cpus = || group.balance_mask.iter().filter(|&cpu| env.cpus.contains(cpu));
        let first = cpus().find(|&cpu| world.is_idle(cpu));
        let is_core = self.domain(env).flags.contains(SdFlags::SHARE_CPUCAPACITY);
        let speaker = match self.features.version >= Version::V6_6 && !is_core {
            true => cpus().find(|&cpu| world.idle_cores().contains(cpu)).or(first),
            false => first,
        };
        speaker.unwrap_or(group.balance_cpu) == env.dst_cpu
    }
}
