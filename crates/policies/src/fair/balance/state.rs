//! What the load balancer remembers: of each domain of each CPU, of each group, of each runqueue.

pub use simsched_core::SdCounts;
use simsched_core::World;
use simsched_core::pelt::SchedAvg;
use simsched_topology::{CpuId, SchedDomain};

use crate::fair::tunables::Tunables;

/// What changes in a sched domain of one CPU (`struct sched_domain`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdState {
    /// The jiffy of the last balance.
    pub last_balance: u64,
    /// The present interval between two balances, in ms.
    pub balance_interval: u32,
    /// How many balances in a row have moved nothing although there was an imbalance.
    pub nr_balance_failed: u32,
    /// What a newly-idle balance of this domain costs at most, in ns; it decays.
    pub max_newidle_lb_cost: u64,
    /// The jiffy in which that was last raised or lowered.
    pub last_decay_max_lb_cost: u64,
    /// Newly-idle calls since the ratio was last computed (`newidle_call`).
    pub newidle_call: u32,
    /// The weight of those that pulled something (`newidle_success`).
    pub newidle_success: u32,
    /// How many of 1024 newly-idle calls pull something (`newidle_ratio`).
    pub newidle_ratio: u32,
    /// When the ratio was last computed, in ns of `sched_clock()` (`newidle_stamp`, 7.2).
    pub newidle_stamp: u64,
    /// What was counted, for `schedstat`.
    pub counts: SdCounts,
}

impl SdState {
    /// A domain of a machine that has been up and idle for a while: balances have found nothing, so
    /// that the interval is the longest, and an idle CPU's next one is just due.
    /// Source: `sd_init()`, and what `load_balance()` makes of it.
    #[must_use]
    pub fn new(sd: &SchedDomain, world: &World) -> SdState {
        let (jiffies, hz) = (world.jiffies(), world.hz());
        let interval = (u64::from(sd.max_interval) * hz).div_ceil(1000);
        SdState {
            last_balance: jiffies.saturating_sub(interval),
            balance_interval: sd.max_interval,
            nr_balance_failed: 0,
            max_newidle_lb_cost: 0,
            last_decay_max_lb_cost: jiffies,
            newidle_call: 512,
            newidle_success: 256,
            newidle_ratio: 512,
            newidle_stamp: world.sched_clock(),
            counts: SdCounts::default(),
        }
    }
}

/// What changes in a group, for all CPUs that see it (`struct sched_group_capacity`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgcState {
    /// The summed capacity of its CPUs.
    pub capacity: u64,
    /// The jiffy from which on it is computed anew.
    pub next_update: u64,
    /// A lower domain could not balance because of affinity (`sgc->imbalance`).
    pub imbalance: bool,
}

/// What the balancer keeps of one runqueue (fields of `struct rq`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RqBalance {
    /// What is left of the CPU for fair tasks: 1024 is one big core.
    pub cpu_capacity: u64,
    /// The part of the time that interrupts take.
    pub avg_irq: SchedAvg,
    /// The time in interrupts that it counts, in ns.
    pub irq_time: u64,
    /// The jiffy of the next balance.
    pub next_balance: u64,
    /// The limit of `avg_idle`, in ns (`max_idle_balance_cost`).
    pub max_idle_balance_cost: u64,
    /// Whether the last tick found the CPU idle.
    pub idle_balance: bool,
    /// A stopper is on its way to push the running task.
    pub active_balance: bool,
    /// Where it pushes it.
    pub push_cpu: CpuId,
    /// It does so for the sake of the task's LLC (`cache_aware`); that of version 4 does not know.
    pub push_llc: bool,
    /// `NOHZ_*_KICK` and `NOHZ_NEWILB_KICK` that wait (`nohz_flags`).
    pub nohz_flags: u8,
    /// Those that the softirq has to deal with (`nohz_idle_balance`).
    pub nohz_idle_balance: u8,
    /// It is in the nohz mask (`nohz_tick_stopped`).
    pub nohz_tick_stopped: bool,
    /// Its averages have not decayed to nothing (`has_blocked_load`).
    pub has_blocked_load: bool,
    /// The jiffy in which they were last aged (`last_blocked_load_update_tick`).
    pub last_blocked_load_update_tick: u64,
}

impl RqBalance {
    /// The runqueue of `cpu` right after boot. Source: `sched_init()`.
    pub(super) fn new(world: &World, cpu: CpuId, tunables: &Tunables) -> RqBalance {
        let jiffies = world.jiffies();
        RqBalance {
            cpu_capacity: u64::from(world.topology().capacity(cpu)),
            avg_irq: SchedAvg { last_update_time: world.rq(cpu).clock, ..SchedAvg::default() },
            irq_time: world.rq(cpu).irq_time,
            next_balance: jiffies,
            max_idle_balance_cost: tunables.migration_cost_ns,
            idle_balance: false,
            active_balance: false,
            push_cpu: cpu,
            push_llc: false,
            nohz_flags: 0,
            nohz_idle_balance: 0,
            nohz_tick_stopped: false,
            has_blocked_load: false,
            last_blocked_load_update_tick: jiffies,
        }
    }
}
