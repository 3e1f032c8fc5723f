//! Cache-aware load balancing: tasks are pulled to the preferred LLC of their process, and left there.
//!
//! All of it does nothing where [`crate::fair::Hierarchy`] has no `llc`; its note of how busy LLCs are also serves
//! cache-aware wakeups.
//! Source: "Cache aware scheduling", version 4, 2026-04-01; Linux 7.2 (spec 08 section 8).

use simsched_core::{TaskId, World};
use simsched_topology::{CpuId, GroupId, SdFlags};

use super::{CpuIdleType, LbEnv, MigrationType, SgLbStats};
use crate::fair::Fair;
use crate::fair::entity::EntityId;
use crate::fair::llc::{Direction, LlcStats, LlcVerdict};

impl Fair {
    /// How many tasks that are queued on `cpu`, which is behind another LLC, prefer that of the
    /// destination.
    #[inline]
    pub(super) fn nr_pref_dst_llc(&self, env: &LbEnv, cpu: CpuId) -> u32 {
        self.all.llc.as_ref().map_or(0, |llc| {
            let dst = llc.ids().of(env.dst_cpu);
            if llc.ids().of(cpu) == dst { 0 } else { llc.llc_count(cpu, dst) }
        })
    }

    /// Whether the balance of this domain has not failed so often that preferences are forgotten.
    fn minds_llcs(&self, env: &LbEnv) -> bool {
        let failed = self.balance.sd(env.cpu, env.sd).nr_balance_failed;
        failed <= self.domain(env).cache_nice_tries
    }

    /// Whether tasks may be pulled to their LLCs in this domain.
    #[inline]
    pub(super) fn gathers(&self, env: &LbEnv) -> bool {
        self.all.llc.is_some()
            && !self.domain(env).flags.contains(SdFlags::SHARE_LLC)
            && self.minds_llcs(env)
    }

    /// Whether tasks of `group`, of which so many prefer the LLC of the destination, should go there, in
    /// a domain that [`Fair::gathers`].
    /// Source: `llc_balance()`.
    pub(super) fn llc_balance(&self, env: &LbEnv, group: GroupId, nr_pref_dst: u32) -> bool {
        let Some(llc) = &self.all.llc else { return false };
        if nr_pref_dst == 0 {
            return false;
        }
        let Some(first) = self.domains().group(group).span.first() else { return false };
        let pair = [first, env.dst_cpu];
        llc.can_migrate_llc(pair, 0, Direction::ToPreferred) == LlcVerdict::Llc
    }

    /// Whether it is to be noted how busy LLCs are: in the domain just above them, but not by a newly
    /// idle CPU.
    pub(super) fn notes_llcs(&self, env: &LbEnv) -> bool {
        let nobody_asks = self.all.llc.is_none() && self.all.cas.is_none();
        if nobody_asks || env.idle == CpuIdleType::NewlyIdle {
            return false;
        }
        let domains = self.domains().of(env.cpu);
        let shares = |sd: usize| domains[sd].flags.contains(SdFlags::SHARE_LLC);
        !shares(env.sd) && env.sd.checked_sub(1).is_some_and(shares)
    }

    /// Notes how busy an LLC is, which is this group, in a domain that [`Fair::notes_llcs`].
    /// Source: `record_sg_llc_stats()`, and for cache-aware wakeups `update_sg_lb_stats()` of
    /// "sched: Inhibit cache aware scheduling if the preferred LLC is over aggregated" (spec 07 section 6).
    pub(super) fn record_sg_llc_stats(&mut self, group: GroupId, stats: &SgLbStats) {
        let Some(first) = self.domains().group(group).span.first() else { return };
        if let Some(llc) = &mut self.all.llc {
            llc.record(first, LlcStats { util: stats.sums.util, capacity: stats.sums.capacity });
        }
        if let Some(cas) = &mut self.all.cas {
            cas.refresh(first, stats.sums.util, stats.sums.nr_running);
        }
    }

    /// Whether tasks that prefer the LLC of the destination are wanted and `task` is none of them. An active balance
    /// wants them where the pass that asked for it did.
    /// Source: `migrate_llc_task_wrong_dst()`.
    pub(super) fn has_wrong_llc(&self, env: &LbEnv, task: TaskId) -> bool {
        let Some(llc) = &self.all.llc else { return false };
        let is_wanted = env.migration_type == MigrationType::LlcTask || env.flags.active_lb_llc;
        is_wanted && llc.pref(task) != Some(llc.ids().of(env.dst_cpu))
    }

    /// Whether `task` should stay where it is for the sake of its LLC.
    /// Source: `migrate_degrades_llc()`.
    pub(super) fn migrate_degrades_llc(&self, env: &LbEnv, task: TaskId) -> bool {
        let Some(llc) = &self.all.llc else { return false };
        if !self.minds_llcs(env) {
            return false;
        }
        if self.has_wrong_llc(env, task) {
            return true;
        }
        let (util, pair) = (self.task_util(task), [env.src_cpu, env.dst_cpu]);
        llc.can_migrate_llc_task(task, util, pair) == LlcVerdict::Forbid
    }

    /// Whether the running task of the source must not be pushed to another LLC: all that are there
    /// prefer this one. A task that does not fit its CPU goes nevertheless, but not in version 4, which also counts
    /// tasks of all classes. Source: `alb_break_llc()`.
    pub(super) fn alb_break_llc(&self, world: &World, env: &LbEnv) -> bool {
        let (src, dst) = (env.src_cpu, env.dst_cpu);
        let Some(llc) = self.all.llc.as_ref().filter(|llc| !llc.ids().shares_cache(src, dst))
        else {
            return false;
        };
        let nr_running = world.rq(src).nr_running;
        let runnable =
            if llc.is_merged() { self.all.root(src).h_nr_runnable() } else { nr_running };
        let home = llc.rq(src).nr_pref_llc_running;
        let is_misfit = env.migration_type == MigrationType::Misfit && llc.is_merged();
        if home == 0 || home != runnable || is_misfit {
            return false;
        }
        let util = world.curr(src).map_or(0, |curr| self.task_util(curr));
        let verdict = || llc.can_migrate_llc([src, dst], util, Direction::Leaving);
        nr_running <= 1 || verdict() == LlcVerdict::Forbid
    }

    /// Source: `task_util()`.
    fn task_util(&self, task: TaskId) -> u64 {
        self.all.entity(EntityId::of(task)).avg.util_avg
    }
}
