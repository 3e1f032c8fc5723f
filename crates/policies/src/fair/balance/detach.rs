//! Taking tasks from the source of a balance.

use simsched_core::{Dequeue, TaskId, World};

use super::can_migrate::CanMigrate;
use super::env::NR_MIGRATE;
use super::{CpuIdleType, LbEnv, MigrationType};
use crate::fair::entity::EntityId;
use crate::fair::{Fair, GROUP_LEVEL, Version};

impl Fair {
    /// Takes tasks off the source until enough is moved, appends them to `detached` in this order,
    /// and returns how many they are. The world still has them there.
    /// Source: `detach_tasks()`, Linux 6.1.192.
    pub(in crate::fair) fn detach_tasks(
        &mut self,
        world: &World,
        env: &mut LbEnv,
        detached: &mut Vec<TaskId>,
    ) -> u32 {
        let mut nr_running = world.rq(env.src_cpu).nr_running;
        if nr_running <= 1 {
            env.flags.all_pinned = false;
            return 0;
        }
        let mut nr_detached = 0;
        while env.imbalance > 0
            && let Some(task) = self.all.mru.last(env.src_cpu)
        {
            // The last task of an idle CPU's victim stays, so that nobody takes it away in turn.
            if (env.idle != CpuIdleType::NotIdle && nr_running <= 1) || self.is_over(env) {
                break;
            }
            if !self.detach_if_fit(world, env, task) {
                self.all.mru.move_front(env.src_cpu, task);
                continue;
            }
            detached.push(task);
            (nr_detached, nr_running) = (nr_detached + 1, nr_running - 1);
            // A preemptible kernel holds the locks no longer for a newly idle CPU.
            if self.features.preemption && env.idle == CpuIdleType::NewlyIdle {
                break;
            }
        }
        let counts = &mut self.balance.sd_mut(env.cpu, env.sd).counts;
        counts.lb_gained[env.idle as usize] += u64::from(nr_detached);
        nr_detached
    }

    /// Takes the first task off the source that may go, for an active balance.
    /// Source: `detach_one_task()`.
    pub(in crate::fair) fn detach_one_task(
        &mut self,
        world: &World,
        env: &mut LbEnv,
    ) -> Option<TaskId> {
        let mut tasks = self.all.mru.iter_from_last(env.src_cpu);
        let (task, verdict) = tasks.find_map(|task| {
            let verdict = self.can_migrate_task(world, env, task);
            (verdict != CanMigrate::No).then_some((task, verdict))
        })?;
        drop(tasks);
        self.detach_task(world, env, task, verdict);
        self.balance.sd_mut(env.cpu, env.sd).counts.lb_gained[env.idle as usize] += 1;
        Some(task)
    }

    /// Takes `task` off the source if it may go and is not too big.
    fn detach_if_fit(&mut self, world: &World, env: &mut LbEnv, task: TaskId) -> bool {
        let verdict = self.can_migrate_task(world, env, task);
        if verdict == CanMigrate::No {
            return false;
        }
        let Some(amount) = self.amount_of(world, env, task) else { return false };
        env.imbalance -= amount;
        self.detach_task(world, env, task, verdict);
        true
    }

    /// How much of the imbalance `task` takes away; `None` if that is too much. Each failed balance
    /// doubles what is not too much.
    fn amount_of(&mut self, world: &World, env: &LbEnv, task: TaskId) -> Option<i64> {
        let amount = match env.migration_type {
            MigrationType::Task | MigrationType::LlcTask => return Some(1),
            // No task is too big for a CPU where all are alike.
            MigrationType::Misfit => return None,
            MigrationType::Load => self.all.task_h_load(task, world.jiffies()).max(1),
            MigrationType::Util => {
                let entity = self.all.entity(EntityId::of(task));
                entity.avg.util_avg.max(u64::from(entity.util_est.value()))
            }
        };
        let failed = self.balance.sd(env.cpu, env.sd).nr_balance_failed.min(63);
        ((amount >> failed) <= env.imbalance.cast_unsigned()).then_some(amount.cast_signed())
    }

    /// Takes `task` off its queue; from now on it belongs to the destination.
    /// Source: `detach_task()`, `set_task_cpu()`.
    fn detach_task(&mut self, world: &World, env: &LbEnv, task: TaskId, verdict: CanMigrate) {
        if verdict == CanMigrate::Hot {
            let counts = &mut self.balance.sd_mut(env.cpu, env.sd).counts;
            counts.lb_hot_gained[env.idle as usize] += 1;
        }
        let (se, now) = (EntityId::of(task), world.rq(env.src_cpu).clock_task);
        self.all.enter(world, env.src_cpu);
        self.all.dequeue_task(se, Dequeue::Moved.into(), now);
        self.all.walked(se, GROUP_LEVEL);
        self.note_dequeued(world, env.src_cpu);
        self.migrate(world, task, env.dst_cpu);
    }

    /// Counts one more task that is looked at: whether all have been seen, or the lock was held long
    /// enough. Kernels between 6.1 and 6.10 that do not take it back search on as long as no task
    /// was found that may run on the destination.
    fn is_over(&self, env: &mut LbEnv) -> bool {
        env.loop_ += 1;
        let searches_on = matches!(self.features.version, Version::V6_5 | Version::V6_6);
        let goes_on = searches_on && env.flags.all_pinned;
        if env.loop_ > env.loop_max && !goes_on {
            return true;
        }
        if env.loop_ > env.loop_break {
            env.loop_break += NR_MIGRATE;
            env.flags.need_break = true;
            return true;
        }
        false
    }
}
