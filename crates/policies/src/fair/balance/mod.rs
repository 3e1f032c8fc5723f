//! The load balancer: who balances when, what is out of balance, and which tasks move.
//!
//! A pass is begun by a tick, a newly idle CPU or an interrupt; it goes over the domains of one CPU
//! bottom-up (`rebalance_domains`, `newidle_balance`, `nohz_idle_balance`), and in each asks whether
//! this CPU should balance, which group is busiest, by how much, which queue in it, and which tasks
//! may go (`load_balance`). It is a sequence of steps between which time passes; see
//! [`simsched_core::BalanceStep`].

mod busiest_group;
mod busiest_queue;
mod can_migrate;
mod capacity;
mod detach;
mod env;
mod group_stats;
mod imbalance;
mod mru;
mod should_we_balance;
mod state;
#[cfg(feature = "testkit")]
mod testkit;

pub use self::capacity::scale_rt_capacity;
pub use self::env::{CpuIdleType, FbqType, LbEnv, LbFlags, MigrationType};
pub use self::group_stats::{SdLbStats, SgLbStats};
pub use self::imbalance::ImbalanceRule;
pub use self::mru::Mru;
pub use self::state::{RqBalance, SdCounts, SdState, SgcState};
#[cfg(feature = "testkit")]
pub use self::testkit::Balancer;

use simsched_core::World;
use simsched_topology::{CpuId, Domains};

use super::tunables::Tunables;

/// All that the load balancer remembers.
#[derive(Debug, Default)]
pub struct Balance {
    /// The domains of all CPUs end to end, each CPU's bottom-up.
    pub(super) sds: Vec<SdState>,
    /// By CPU: where its domains start in `sds`.
    pub(super) starts: Vec<usize>,
    /// By capacity id of the groups.
    pub(super) sgcs: Vec<SgcState>,
    /// By CPU.
    pub(super) rqs: Vec<RqBalance>,
    /// Some CPU has more than one task: the indicator of the root domain (`rd->overload`).
    pub(super) overload: bool,
}

impl Balance {
    /// The state of a machine whose topology has just been built.
    pub(super) fn new(world: &World, domains: &Domains, tunables: &Tunables) -> Balance {
        let jiffies = world.jiffies();
        let mut balance = Balance::default();
        for cpu in world.topology().cpus().iter() {
            balance.starts.push(balance.sds.len());
            balance.sds.extend(domains.of(cpu).iter().map(|sd| SdState::new(sd, jiffies)));
            let capacity = world.topology().capacity(cpu);
            balance.rqs.push(RqBalance::new(cpu, capacity, jiffies, tunables));
        }
        balance.sgcs = vec![SgcState::default(); domains.nr_capacities()];
        for group in domains.groups() {
            balance.sgcs[group.capacity_id as usize].capacity = u64::from(group.capacity);
        }
        balance
    }

    /// The state of domain `sd` of `cpu`.
    #[inline]
    pub(super) fn sd(&self, cpu: CpuId, sd: usize) -> &SdState {
        &self.sds[self.starts[cpu.idx()] + sd]
    }

    /// The state of domain `sd` of `cpu`.
    #[inline]
    pub(super) fn sd_mut(&mut self, cpu: CpuId, sd: usize) -> &mut SdState {
        &mut self.sds[self.starts[cpu.idx()] + sd]
    }
}
