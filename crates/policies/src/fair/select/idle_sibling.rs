//! `select_idle_sibling`: target, prev, recent, an idle sibling, an idle core, an idle CPU.

use simsched_core::{Placement, Reason, SchedPolicy, TaskId, World};
use simsched_topology::CpuId;

use super::hook::Points;
use super::idle_cpu::Found;
use super::looks::Looks;
use super::reason;
use super::wakeup_cx::WakeupCx;
use crate::fair::entity::EntityId;
use crate::fair::{Fair, Version};

/// The question of the fast path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sibling {
    pub(super) task: TaskId,
    pub(super) waker: CpuId,
    /// The CPU that is taken for the previous one,
    pub(super) prev: CpuId,
    /// and the one that it was, which is the same but with `cache_aware_wakeup`.
    pub(super) own_prev: CpuId,
    pub(super) target: CpuId,
}

impl Fair {
    /// An idle CPU near `target`, or `target`.
    ///
    /// Steps that cannot matter here are left out: CPUs of different capacity, and kernel threads
    /// of one CPU. Source: `select_idle_sibling()`, Linux 6.1.
    pub(super) fn select_idle_sibling(&mut self, world: &World, ask: Sibling) -> Placement {
        let Sibling { task, prev, target, .. } = ask;
        let is_near = self.shares_cache(world, prev, target);
        let points = self.hooks.points();
        let task_util_est = match points.has(Points::TASK_UTIL_EST) {
            true => self.synced_task_util_est(task),
            false => None,
        };
        let cx = WakeupCx { fair: self, world, ask, task_util_est };
        if let Some(found) = self.hooks.ask(Points::BEFORE_TARGET, |hook| hook.before_target(&cx)) {
            let looks = match points.has(Points::PAYS_SEARCH) {
                true => self.unpatched_scan(world, ask, is_near),
                false => Looks::default(),
            };
            return looks.chosen(found);
        }
        if let Some(why) = self.takes(&cx, target, reason::TARGET) {
            return Placement::at(target, why);
        }
        if !points.has(Points::WITHOUT_PREV)
            && prev != target
            && is_near
            && let Some(why) = self.takes(&cx, prev, reason::PREV)
        {
            return Placement::at(prev, why);
        }
        if let Some((recent, why)) = self.recent_used_cpu(world, ask, task_util_est) {
            return Placement::at(recent, why);
        }
        let has_idle_cores = self.has_idle_cores(world, target);
        let mut looks = Looks::default();
        if self.has_smt && !has_idle_cores && is_near {
            let found = self.select_idle_smt(world, ask);
            looks = found.looks;
            if let Some((cpu, why)) = found.cpu {
                return looks.found(cpu, why);
            }
        }
        let found = self.select_idle_cpu(world, ask, has_idle_cores);
        looks += found.looks;
        if let Some((cpu, why)) = found.cpu {
            return looks.found(cpu, why);
        }
        let cx = WakeupCx { fair: self, world, ask, task_util_est };
        if let Some(found) =
            self.hooks.ask(Points::INSTEAD_OF_TARGET, |hook| hook.instead_of_target(&cx))
        {
            return looks.chosen(found);
        }
        looks.found(target, reason::NONE_IDLE)
    }

    /// `available_idle_cpu()` or `sched_idle_cpu()`: `wakee` would run at once.
    #[inline]
    pub(super) fn is_free(&self, world: &World, cpu: CpuId, wakee: TaskId) -> bool {
        world.is_idle(cpu) || self.sched_idle_cpu(world, cpu) && self.beats_sched_idle(wakee)
    }

    /// Whether `wakee` runs at once where only tasks of `SCHED_IDLE` are: since 7.2 not if it is one itself.
    /// Source: `choose_sched_idle_rq()`, Linux 7.2.
    #[inline]
    pub(super) fn beats_sched_idle(&self, wakee: TaskId) -> bool {
        self.features.version < Version::V7_2
            || self.all.entity(EntityId::of(wakee)).policy != SchedPolicy::Idle
    }

    /// Source: `cpus_share_cache()`.
    #[inline]
    pub(super) fn shares_cache(&self, world: &World, a: CpuId, b: CpuId) -> bool {
        a == b || world.topology().llc_of(a) == world.topology().llc_of(b)
    }

    /// Why a step takes `cpu`: for its own reason `free` if it is free, or since a patch takes it though it is busy.
    #[inline]
    fn takes(&self, cx: &WakeupCx<'_>, cpu: CpuId, free: Reason) -> Option<Reason> {
        if self.is_free(cx.world, cpu, cx.ask.task) {
            return Some(free);
        }
        self.hooks.ask(Points::ACCEPTS_BUSY, |hook| hook.accepts_busy(cx, cpu, free))
    }

    /// The CPUs that the search would look at now if no patch took a CPU before the target. It changes nothing.
    fn unpatched_scan(&self, world: &World, ask: Sibling, is_near: bool) -> Looks {
        let Sibling { task, prev, target, .. } = ask;
        let recent = self.wakees[task.idx()].recent_used_cpu;
        let is_free = |cpu| self.is_free(world, cpu, task);
        let takes_recent = self.is_candidate(world, ask, recent) && is_free(recent);
        if is_free(target) || is_near && is_free(prev) || takes_recent {
            return Looks::default();
        }
        let has_idle_cores = self.has_idle_cores(world, target);
        let mut looks = Looks::default();
        if self.has_smt && !has_idle_cores && is_near {
            let found = self.select_idle_smt(world, ask);
            looks = found.looks;
            if found.cpu.is_some() {
                return looks;
            }
        }
        looks += self.walk_llc(world, ask, has_idle_cores).looks;
        looks
    }

    /// The CPU on which the task ran before `prev`, if it is a third one near the target and
    /// free, or taken by a patch. In any case `prev` is noted for the next time.
    fn recent_used_cpu(
        &mut self,
        world: &World,
        ask: Sibling,
        task_util_est: Option<u64>,
    ) -> Option<(CpuId, Reason)> {
        let wakee = &mut self.wakees[ask.task.idx()];
        let recent = std::mem::replace(&mut wakee.recent_used_cpu, ask.prev);
        if !self.is_candidate(world, ask, recent) {
            return None;
        }
        let cx = WakeupCx { fair: self, world, ask, task_util_est };
        self.takes(&cx, recent, reason::RECENT).map(|why| (recent, why))
    }

    /// Whether `recent` is a third CPU near the target, where the task may run.
    fn is_candidate(&self, world: &World, ask: Sibling, recent: CpuId) -> bool {
        ask.prev == ask.own_prev
            && recent != ask.prev
            && recent != ask.target
            && self.shares_cache(world, recent, ask.target)
            && world.is_allowed(ask.task, recent)
    }

    /// Source: `test_idle_cores()`.
    #[inline]
    fn has_idle_cores(&self, world: &World, cpu: CpuId) -> bool {
        self.has_smt && self.llcs[world.topology().llc_of(cpu).idx()].has_idle_cores
    }

    /// The first free sibling of the previous CPU. Source: `select_idle_smt()`.
    fn select_idle_smt(&self, world: &World, ask: Sibling) -> Found {
        let (Sibling { task, waker, prev, .. }, topology) = (ask, world.topology());
        let (smt, span) = (topology.smt_mask(prev), topology.llc_span(topology.llc_of(prev)));
        let mut scanned = 0;
        let is_own_core = smt.contains(waker);
        let found = |cpu, scanned| {
            Found::new(cpu, reason::SIBLING, scanned, if is_own_core { scanned } else { 0 })
        };
        for cpu in smt.iter() {
            if cpu == prev || !world.is_allowed(task, cpu) || !span.contains(cpu) {
                continue;
            }
            scanned += 1;
            if self.is_free(world, cpu, task) {
                return found(Some(cpu), scanned);
            }
        }
        found(None, scanned)
    }
}
