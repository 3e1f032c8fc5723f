//! `Fair`: the fair class of Linux, put together.
//!
//! From the ground up: weights and virtual time (`weight`, `timeline`), entities and queues
//! (`entity`, `cfs_rq`, `group`), load tracking (`load_avg`, `util_est`, `h_load`), all of them
//! in one [`Hierarchy`], on which tasks are queued (`queueing`) in an order (`order`): that of CFS, or since 6.6 that
//! of EEVDF; beside it what is remembered of wakers and of idleness (`wakee`, `idle`), and on top the choice of a
//! CPU (`select`) and load balancing (`balance`).

mod asked;
mod balance;
mod balancer;
mod blocked;
mod cache_hooks;
mod cfs_rq;
mod entity;
mod group;
mod group_type;
mod h_load;
mod hierarchy;
mod idle;
mod invariants;
mod lifecycle;
mod llc;
mod load_avg;
mod order;
mod policy;
mod queueing;
mod report;
mod select;
mod slices;
mod task_hot;
#[cfg(feature = "testkit")]
mod testkit;
mod tg_load;
mod timeline;
mod util_est;
mod wakee;

pub mod features;
pub mod patches;
pub mod tunables;
pub mod weight;

use simsched_core::{TaskId, World};
use simsched_topology::{CpuId, CpuSet, Domains};

pub use self::asked::{
    ACCOUNT_MM_SCHED, FUNCTIONS, GROUP_LEVEL, TICK_GROUP_LEVEL, UPDATE_CFS_GROUP, UPDATE_LOAD_AVG,
};
#[cfg(feature = "testkit")]
pub use self::balance::BalanceKit;
pub use self::balance::{
    Balance, BalanceInterval, CpuIdleType, FbqType, ImbalanceRule, LbEnv, LbFlags, MigrationType,
    Mru, NewidleRule, RqBalance, SdCounts, SdLbStats, SdState, SgLbStats, SgcState, look_at,
    look_at_all, scale_rt_capacity,
};
pub use self::cfs_rq::{CfsRq, Removed};
pub use self::entity::{Entity, EntityId, QueueId, UtilEst, task_load};
pub use self::features::{Features, Version};
pub use self::group::{CgroupMode, GroupId, TaskGroup, TgUpdate};
pub use self::group_type::{Candidate, GroupStats, GroupType, NumaType};
pub use self::hierarchy::Hierarchy;
pub use self::idle::{IdleStats, LlcShared, nr_idle_scan};
pub use self::llc::{
    CacheAware, CacheAwareVersion, Direction, Footprint, LlcAvg, LlcIds, LlcLimits, LlcRoom,
    LlcRule, LlcStats, LlcTunables, LlcVerdict, LlcWakeup, MmId, OCCUPANCY_ONE, Occupancy,
    Processes, RqLlc, WakeupLevel, update_avg_scale,
};
pub use self::order::cfs::{CfsOrder, wakeup_preempt_entity};
pub use self::order::eevdf::{
    DeadlineTree, EevdfRq, Key, Nodes, QueuedCurr, Request, entity_lag, lag_limit,
};
pub use self::patches::{Form, HookCx, Patch, PatchSetting, Patches};
pub use self::select::{AffineLoads, Hook, Points, WakeupCx, reason, wake_affine_weight};
pub use self::task_hot::{HotCheck, task_hot};
pub use self::timeline::Timeline;
pub use self::tunables::{Overrides, Tunables};
pub use self::wakee::{Wakee, wake_wide};

use self::entity::EntityId as Se;
use self::select::{AffineCounts, Hooks};

/// The fair class. Its numbers can be read by tests and observers.
#[derive(Debug)]
pub struct Fair {
    features: Features,
    patches: Patches,
    overrides: Overrides,
    groups: Vec<TaskGroup>,
    all: Hierarchy,
    /// By task, then the idle tasks by CPU.
    wakees: Vec<Wakee>,
    /// By CPU.
    stats: Vec<IdleStats>,
    /// By LLC.
    llcs: Vec<LlcShared>,
    /// CPUs on which only `SCHED_IDLE` tasks are runnable.
    sched_idle: CpuSet,
    domains: Option<Domains>,
    /// Cores have more than one thread (`sched_smt_present`).
    has_smt: bool,
    balance: Balance,
    affine: AffineCounts,
    hooks: Hooks,
}

impl Fair {
    /// The tunables that are set by hand.
    #[must_use]
    pub fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    /// The fair class with these features, these tunables set by hand, and the patches that a kernel of that version has.
    /// Others come with [`Fair::patched`]; a class that an expression names is made by
    /// [`FairSpec::fair_class`](crate::catalog::FairSpec::fair_class).
    #[must_use]
    pub fn new(features: Features, overrides: Overrides) -> Fair {
        Fair {
            features,
            patches: Patches::of(features.version),
            overrides,
            groups: Vec::new(),
            all: Hierarchy::default(),
            wakees: Vec::new(),
            stats: Vec::new(),
            llcs: Vec::new(),
            sched_idle: CpuSet::new(),
            domains: None,
            has_smt: false,
            balance: Balance::default(),
            affine: AffineCounts::default(),
            hooks: Hooks::default(),
        }
    }

    /// This class with these patches, in place of those that its kernel has.
    #[must_use]
    pub fn patched(self, patches: Patches) -> Fair {
        Fair { patches, ..self }
    }

    /// Its patches.
    #[must_use]
    pub fn patches(&self) -> &Patches {
        &self.patches
    }

    /// Its features.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Its tunables on the machine to which it was attached.
    #[must_use]
    pub fn tunables(&self) -> &Tunables {
        &self.all.tunables
    }

    /// The sched domains for which it decides.
    ///
    /// # Panics
    /// Before it is attached to a machine.
    #[inline]
    #[must_use]
    pub fn domains(&self) -> &Domains {
        self.domains.as_ref().expect("attached before the first event")
    }

    /// The entity of `task`.
    ///
    /// # Panics
    /// When there is no such task.
    #[must_use]
    pub fn entity(&self, task: TaskId) -> &Entity {
        self.all.entity(Se::of(task))
    }

    /// The root queue of `cpu`.
    ///
    /// # Panics
    /// When there is no such CPU.
    #[must_use]
    pub fn cfs_rq(&self, cpu: CpuId) -> &CfsRq {
        self.all.root(cpu)
    }

    /// The queues of `cpu`: the root queue first, then those of the groups, in the order of the groups.
    ///
    /// # Panics
    /// When there is no such CPU.
    pub fn cfs_rqs(&self, cpu: CpuId) -> impl Iterator<Item = &CfsRq> {
        let groups = (0..self.all.nr_groups()).map(GroupId);
        groups.map(move |group| self.all.queue(self.all.queue_of(group, cpu)))
    }

    /// What is remembered of the idleness of `cpu`.
    ///
    /// # Panics
    /// When there is no such CPU.
    #[must_use]
    pub fn idle_stats(&self, cpu: CpuId) -> &IdleStats {
        &self.stats[cpu.idx()]
    }

    /// What is remembered of the wakeups by `task`.
    ///
    /// # Panics
    /// When there is no such task.
    #[must_use]
    pub fn wakee(&self, task: TaskId) -> &Wakee {
        &self.wakees[task.idx()]
    }

    /// What the CPUs of the LLC of `cpu` share.
    #[must_use]
    pub fn llc_shared(&self, world: &World, cpu: CpuId) -> &LlcShared {
        &self.llcs[world.topology().llc_of(cpu).idx()]
    }

    /// Whether affinity has kept the group of `cpu`, in the domain of this level above it, from balancing; none past
    /// the last domain. Source: `sgc->imbalance`.
    #[must_use]
    pub fn is_imbalanced(&self, cpu: CpuId, level: usize) -> Option<bool> {
        let sd = self.domains().of(cpu).get(level)?;
        let group = self.domains().local_group(sd);
        Some(self.balance.sgcs[group.capacity_id as usize].imbalance)
    }

    /// The row of the idle task of `cpu` in `wakees`.
    fn idle_task_row(&self, cpu: CpuId) -> usize {
        self.wakees.len() - self.stats.len() + cpu.idx()
    }
}
