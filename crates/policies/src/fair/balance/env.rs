//! `LbEnv`: what one attempt to balance one domain knows, from its begin to its end.

use simsched_topology::{CpuId, CpuSet, Domains};

/// What the CPU for which is balanced was doing (`enum cpu_idle_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuIdleType {
    /// It was idle.
    Idle,
    /// It was busy.
    #[default]
    NotIdle,
    /// It is about to become idle.
    NewlyIdle,
}

/// What is to be made equal (`enum migration_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MigrationType {
    /// Load.
    #[default]
    Load,
    /// Utilization.
    Util,
    /// The number of tasks.
    Task,
    /// A task that does not fit its CPU.
    Misfit,
    /// A task that prefers the LLC of the destination (`cache_aware`).
    LlcTask,
}

/// Which tasks of a NUMA node are to be moved (`enum fbq_type`); without NUMA balancing every task is
/// regular.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FbqType {
    /// Those without a preferred node.
    #[default]
    Regular,
    /// Those that run away from their preferred node.
    Remote,
    /// All.
    All,
}

/// What was met on the way (`LBF_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LbFlags {
    /// No task of the source may run on the destination (`LBF_ALL_PINNED`).
    pub all_pinned: bool,
    /// The lock was held long enough (`LBF_NEED_BREAK`).
    pub need_break: bool,
    /// A task may not run on the destination, but on another CPU of its group (`LBF_DST_PINNED`).
    pub dst_pinned: bool,
    /// Some task may not run on the destination (`LBF_SOME_PINNED`).
    pub some_pinned: bool,
    /// For active balance (`LBF_ACTIVE_LB`).
    pub active_lb: bool,
    /// For active balance of tasks that prefer the LLC of the destination (`LBF_ACTIVE_LB_LLC`, 7.2).
    pub active_lb_llc: bool,
    /// A task has stayed for the sake of its LLC (`LBF_LLC_PINNED`).
    pub llc_pinned: bool,
}

/// One attempt to balance one domain (`struct lb_env`).
#[derive(Clone, Copy, Debug)]
pub struct LbEnv {
    /// Whose domain it is; not always the CPU that does the work.
    pub cpu: CpuId,
    /// Which of its domains, from the bottom.
    pub sd: usize,
    /// Where tasks go.
    pub dst_cpu: CpuId,
    /// Where they come from, once that is chosen.
    pub src_cpu: CpuId,
    /// What the destination was doing.
    pub idle: CpuIdleType,
    /// How much is to be moved, in the unit of `migration_type`.
    pub imbalance: i64,
    /// What is to be moved.
    pub migration_type: MigrationType,
    /// What was met on the way.
    pub flags: LbFlags,
    /// How many tasks were looked at.
    pub loop_: u32,
    /// After how many of them the lock is released for a moment.
    pub loop_break: u32,
    /// After how many of them the search ends.
    pub loop_max: u32,
    /// The CPUs that are taken into account.
    pub cpus: CpuSet,
    /// The CPUs of the destination's group that really own it.
    pub dst_grpmask: CpuSet,
    /// Another destination for a pinned task.
    pub new_dst_cpu: CpuId,
    /// Which tasks of a node count.
    pub fbq_type: FbqType,
}

impl LbEnv {
    /// A new attempt to balance domain `sd` of `cpu`, over all CPUs of its span.
    /// Source: the initial `env` of `load_balance()`.
    ///
    /// # Panics
    /// When there is no such domain.
    #[must_use]
    pub fn new(domains: &Domains, cpu: CpuId, sd: usize, idle: CpuIdleType) -> LbEnv {
        let domain = &domains.of(cpu)[sd];
        LbEnv {
            cpu,
            sd,
            dst_cpu: cpu,
            src_cpu: cpu,
            idle,
            imbalance: 0,
            migration_type: MigrationType::default(),
            flags: LbFlags::default(),
            loop_: 0,
            loop_break: NR_MIGRATE,
            loop_max: 0,
            cpus: domain.span,
            dst_grpmask: domains.local_group(domain).balance_mask,
            new_dst_cpu: cpu,
            fbq_type: FbqType::All,
        }
    }
}

/// Tasks that are looked at before the lock is released for a moment (`SCHED_NR_MIGRATE_BREAK`), and
/// at most (`sysctl_sched_nr_migrate`).
pub(in crate::fair) const NR_MIGRATE: u32 = 32;
