//! The load balancer: who balances when, what is out of balance, and which tasks move.
//!
//! A pass is begun by a tick, a newly idle CPU or an interrupt; it goes over the domains of one CPU
//! bottom-up (`rebalance_domains`, `newidle_balance`, `nohz_idle_balance`), and in each asks whether
//! this CPU should balance, which group is busiest, by how much, which queue in it, and which tasks
//! may go (`load_balance`). It is a sequence of steps between which time passes; see
//! [`simsched_core::BalanceStep`].

mod active;
mod busiest_group;
mod busiest_queue;
mod can_migrate;
mod capacity;
mod detach;
mod env;
mod group_stats;
mod ilb;
mod imbalance;
mod interval;
mod llc;
mod load_balance;
mod mru;
mod newidle;
mod nohz;
mod rebalance_domains;
mod should_we_balance;
mod state;
mod steps;
#[cfg(feature = "testkit")]
mod testkit;

pub use self::capacity::scale_rt_capacity;
pub use self::env::{CpuIdleType, FbqType, LbEnv, LbFlags, MigrationType};
pub use self::group_stats::{SdLbStats, SgLbStats};
pub use self::imbalance::ImbalanceRule;
pub use self::interval::{BalanceInterval, NewidleRule};
pub use self::mru::Mru;
pub use self::state::{RqBalance, SdCounts, SdState, SgcState};
pub use self::steps::{look_at, look_at_all};
#[cfg(feature = "testkit")]
pub use self::testkit::BalanceKit;

use simsched_core::{Stream, Trigger, World};
use simsched_topology::{CpuId, Domains};

use self::nohz::Nohz;
use self::steps::Pass;
pub(super) use self::steps::look;
use super::Fair;
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
    /// The CPU that balances a domain which only one CPU of the machine may balance at a time.
    balancing: Option<CpuId>,
    nohz: Nohz,
    /// By CPU: what its balancer is in the middle of; none while it takes a step.
    passes: Vec<Option<Box<Pass>>>,
    /// By CPU: the random numbers of `NI_RANDOM`.
    random: Vec<Stream>,
    /// What is drawn in place of them, in tests.
    #[cfg(feature = "testkit")]
    draws: std::collections::VecDeque<u32>,
}

impl Balance {
    /// The state of a machine that has been up and idle for a while.
    pub(super) fn new(world: &World, domains: &Domains, tunables: &Tunables) -> Balance {
        let jiffies = world.jiffies();
        let mut balance = Balance::default();
        for cpu in world.topology().cpus().iter() {
            balance.starts.push(balance.sds.len());
            balance.sds.extend(domains.of(cpu).iter().map(|sd| SdState::new(sd, world)));
            balance.rqs.push(RqBalance::new(world, cpu, tunables));
            balance.passes.push(Some(Box::default()));
            balance.random.push(world.seed().stream("NI_RANDOM", u64::from(cpu.0)));
        }
        balance.nohz = Nohz::new(jiffies);
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

    /// Whether the averages of `cpu`, which is idle without a tick, may not have decayed to nothing.
    fn has_blocked_load(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.idx()].has_blocked_load && self.nohz.idle_cpus_mask.contains(cpu)
    }

    /// The state of domain `sd` of `cpu`.
    #[inline]
    pub(super) fn sd_mut(&mut self, cpu: CpuId, sd: usize) -> &mut SdState {
        &mut self.sds[self.starts[cpu.idx()] + sd]
    }
}

impl Fair {
    /// The end of a tick on `cpu`: whether its domains are due, and who is to balance for the idle
    /// CPUs. Source: `trigger_load_balance()`.
    pub(super) fn tick_balance(&mut self, world: &World, cpu: CpuId) -> Trigger {
        let rq = &mut self.balance.rqs[cpu.idx()];
        rq.idle_balance = world.is_idle(cpu);
        let softirq = world.jiffies() >= rq.next_balance;
        if self.domains().of(cpu).is_empty() {
            return Trigger::default();
        }
        Trigger { softirq, kick: self.nohz_balancer_kick(world, cpu) }
    }

    /// A task comes to `cpu`, of which the world counts so many there already (it has left for a moment): `cpu` will
    /// have more than one, and had not. Who is leaving it has left when its lock is free for the one who comes.
    /// Source: `add_nr_running()`.
    #[inline]
    pub(super) fn note_overload(&mut self, world: &World, cpu: CpuId, counted: u32) {
        let rq = world.rq(cpu);
        self.balance.overload |= rq.nr_running - u32::from(rq.leaving) == 1 + counted;
    }
}
