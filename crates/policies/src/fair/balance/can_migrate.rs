//! Whether a queued task may go to another CPU.

use simsched_core::{SchedPolicy, TaskId, World};
use simsched_topology::SdFlags;

use super::{CpuIdleType, LbEnv, MigrationType};
use crate::fair::entity::EntityId;
use crate::fair::hierarchy::Hierarchy;
use crate::fair::order::Order;
use crate::fair::{Fair, GroupId, HotCheck, Version, task_hot};

/// Whether a task may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fair) enum CanMigrate {
    /// It stays.
    No,
    /// It may go.
    Yes,
    /// It may go although its cache is warm: too many balances have failed.
    Hot,
}

impl Fair {
    /// Whether `task`, queued on the source, may go to the destination; `env` notes what stands in
    /// the way. No queue is throttled here, and no task is a kernel thread of one CPU.
    /// Source: `can_migrate_task()`, Linux 6.1.
    pub(in crate::fair) fn can_migrate_task(
        &self,
        world: &World,
        env: &mut LbEnv,
        task: TaskId,
    ) -> CanMigrate {
        if self.features.version >= Version::V7_0 && !self.would_gain(env, task) {
            return CanMigrate::No;
        }
        if !world.is_allowed(task, env.dst_cpu) {
            note_pinned(world, env, task);
            return CanMigrate::No;
        }
        env.flags.all_pinned = false;
        if world.curr(env.src_cpu) == Some(task) || world.task(task).on_cpu {
            return CanMigrate::No;
        }
        if env.flags.active_lb {
            let is_wanted = !self.has_wrong_llc(env, task);
            return if is_wanted { CanMigrate::Yes } else { CanMigrate::No };
        }
        // Without NUMA balancing no node is better for a task than another.
        if self.migrate_degrades_llc(env, task) {
            env.flags.llc_pinned |= env.migration_type != MigrationType::LlcTask;
            return CanMigrate::No;
        }
        if !self.task_hot(world, env, task) {
            return CanMigrate::Yes;
        }
        let failed = self.balance.sd(env.cpu, env.sd).nr_balance_failed;
        if failed > self.domain(env).cache_nice_tries { CanMigrate::Hot } else { CanMigrate::No }
    }

    /// Since 6.14 who sleeps and is queued still is moved for its load only; since 6.13 nobody is moved
    /// between others who could not run there at once, unless a balance has failed. Others are those of its group, since
    /// 7.3 all.
    /// Source: `can_migrate_task()`, `task_is_ineligible_on_dst_cpu()`.
    fn would_gain(&self, env: &LbEnv, task: TaskId) -> bool {
        let se = EntityId::of(task);
        if self.all.entity(se).sched_delayed && env.migration_type != MigrationType::Load {
            return false;
        }
        let (mut queue, mut group) = (self.all.cfs_rq_of(se), self.all.group_of(se));
        if self.all.order == Order::Flat {
            (queue, group) = (Hierarchy::root_of(env.src_cpu), GroupId::ROOT);
        }
        let there = self.all.queue_of(group, env.dst_cpu);
        let waits = self.features.place_lag
            && self.all.tree_nr(there) > 0
            && !self.all.is_eligible(queue, se);
        !waits || self.balance.sd(env.cpu, env.sd).nr_balance_failed > 0
    }

    /// Source: `task_hot()`.
    fn task_hot(&self, world: &World, env: &LbEnv, task: TaskId) -> bool {
        let se = EntityId::of(task);
        let entity = self.all.entity(se);
        task_hot(&HotCheck {
            competes: entity.policy != SchedPolicy::Idle,
            shares_core: self.domain(env).flags.contains(SdFlags::SHARE_CPUCAPACITY),
            is_buddy: self.features.cache_hot_buddy && self.all.is_buddy(entity.cfs_rq, se),
            by_llc: self
                .all
                .cas
                .as_ref()
                .and_then(|cas| cas.is_hot(task, [env.src_cpu, env.dst_cpu])),
            dst_is_busy: world.rq(env.dst_cpu).nr_running > 0,
            migration_cost_ns: Some(self.all.tunables.migration_cost_ns),
            clock_task: world.rq(env.src_cpu).clock_task,
            exec_start: entity.exec_start,
        })
    }
}

/// A task may not run on the destination. Perhaps on another CPU of its group: that one may be
/// tried later.
fn note_pinned(world: &World, env: &mut LbEnv, task: TaskId) {
    env.flags.some_pinned = true;
    let is_searched = env.flags.dst_pinned || env.flags.active_lb;
    if env.idle == CpuIdleType::NewlyIdle || is_searched {
        return;
    }
    let mut cpus = env.dst_grpmask.iter().filter(|&cpu| env.cpus.contains(cpu));
    if let Some(cpu) = cpus.find(|&cpu| world.is_allowed(task, cpu)) {
        (env.flags.dst_pinned, env.new_dst_cpu) = (true, cpu);
    }
}
