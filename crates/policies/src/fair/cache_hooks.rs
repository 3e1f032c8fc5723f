//! Where the fair class tells what knows of last-level caches, and asks it: cache-aware load balancing
//! and cache-aware wakeups. Each does nothing where it is off. They, and task groups, learn here what time it is.

use simsched_core::{Cx, Look, PolicyEvent, ProcId, TaskId, Wants, World};
use simsched_topology::CpuId;

use super::balance::look;
use super::entity::{EntityId, QueueId};
use super::hierarchy::Hierarchy;
use super::llc::{CacheAware, LlcWakeup, OnRq};
use super::{ACCOUNT_MM_SCHED, Fair};

impl Hierarchy {
    /// Whose home has changed in the call that ends: of the two that know homes, the one that sends wakees there
    /// is heard. Whether anybody wants to know.
    pub(super) fn tell_homes(&mut self, cx: &mut Cx<'_>) -> bool {
        match (&mut self.cas, &mut self.llc) {
            (Some(cas), llc) => {
                if let Some(llc) = llc {
                    llc.homes().mute();
                }
                cas.homes().tell(cx)
            }
            (None, Some(llc)) => llc.homes().tell(cx),
            (None, None) => false,
        }
    }

    /// A call begins, or goes on, for queues of `cpu`: groups and caches are told what time it is, and groups on which
    /// node it is executed.
    #[inline]
    pub(super) fn enter(&mut self, world: &World, cpu: CpuId) {
        if self.keeps_time {
            self.enter_with_time(world, cpu);
        }
    }

    #[inline(never)]
    fn enter_with_time(&mut self, world: &World, cpu: CpuId) {
        if self.tg.is_on {
            self.tg.enter(world, cpu);
        }
        if let Some(llc) = &mut self.llc {
            llc.enter(world.sched_clock());
        }
        if let Some(cas) = &mut self.cas {
            cas.enter(world.sched_clock());
        }
    }

    /// Finds out for whom [`Hierarchy::enter`] is; to be called when all of them have been set up.
    pub(super) fn set_keeps_time(&mut self) {
        self.keeps_time = self.tg.is_on || self.llc.is_some() || self.cas.is_some();
    }

    /// `curr` has run for so many ns, if it is a task. Source: `update_curr_task()`, 7.2;
    /// `account_mm_sched()` of the RFC.
    #[inline]
    pub(super) fn account_llc(&mut self, queue: QueueId, curr: EntityId, ran: u64) {
        if self.llc.is_none() && self.cas.is_none() {
            return;
        }
        let (entity, cpu) = (&self.entities[curr.idx()], self.queues[queue.idx()].cpu);
        if entity.my_q.is_some() {
            return;
        }
        if let Some(llc) = &mut self.llc {
            let is_accounted = llc.account(curr.task(), OnRq::of(entity), cpu, ran);
            if is_accounted {
                self.asked.did(ACCOUNT_MM_SCHED);
            }
        }
        if let Some(cas) = &mut self.cas {
            cas.account(curr.task(), cpu, ran);
            self.asked.did(ACCOUNT_MM_SCHED);
        }
    }
}

impl Fair {
    /// Cache-aware load balancing, where it is on and the machine has something to gain.
    #[must_use]
    pub fn cache_aware(&self) -> Option<&CacheAware> {
        self.all.llc.as_deref()
    }

    /// Cache-aware wakeups, where they are on.
    #[must_use]
    pub fn cache_aware_wakeup(&self) -> Option<&LlcWakeup> {
        self.all.cas.as_deref()
    }

    pub(super) fn caches_fork(&mut self, parent: Option<TaskId>, child: TaskId) {
        if let Some(llc) = &mut self.all.llc {
            llc.fork(parent, child);
        }
        if let Some(cas) = &mut self.all.cas {
            cas.fork(child);
        }
    }

    pub(super) fn caches_exit(&mut self, task: TaskId) {
        if let Some(llc) = &mut self.all.llc {
            llc.exit(task);
        }
        if let Some(cas) = &mut self.all.cas {
            cas.exit(task);
        }
    }

    /// `task` has taken a new image, of `proc`.
    pub(super) fn caches_exec(&mut self, task: TaskId, proc: ProcId) {
        if let Some(llc) = &mut self.all.llc {
            llc.exec(task, proc);
        }
        if let Some(cas) = &mut self.all.cas {
            cas.exec(task, proc);
        }
    }

    #[inline]
    pub(super) fn caches_tick(&mut self, cpu: CpuId, curr: TaskId) {
        if let Some(llc) = &mut self.all.llc {
            llc.tick(cpu, curr);
        }
        if let Some(cas) = &mut self.all.cas {
            cas.tick(cpu, curr);
        }
    }

    pub(super) fn caches_have_work(&self, task: TaskId) -> bool {
        self.all.llc.as_ref().is_some_and(|llc| llc.has_work(task))
            || self.all.cas.as_ref().is_some_and(|cas| cas.has_work(task))
    }

    /// Whoever watches learns that `task` enters `task_cache_work()`.
    pub(super) fn trace_cache_work(&self, cx: &mut Cx<'_>, task: TaskId) {
        if cx.wants(Wants::CACHE_WORK)
            && let Some(llc) = self.all.llc.as_ref().filter(|llc| llc.has_work(task))
        {
            let home = llc.preferred_cpu(task).map(|cpu| cx.world.topology().llc_of(cpu));
            let nr_running_avg = llc.nr_running_avg(task);
            cx.trace(PolicyEvent::CacheWork { task, home, nr_running_avg });
        }
    }

    /// The scans of `task`, which returns to user mode on `cpu`: what they read.
    pub(super) fn caches_work(&mut self, world: &World, cpu: CpuId, task: TaskId) -> Look {
        self.all.enter(world, cpu);
        let mut all = Look::default();
        if let Some(llc) = self.all.llc.as_mut().filter(|llc| llc.has_work(task)) {
            let cpus = llc.scan(world, cpu, task);
            all += look(world.topology(), cpu, &cpus);
        }
        if let Some(cas) = self.all.cas.as_mut().filter(|cas| cas.has_work(task)) {
            let cpus = cas.scan(world, task);
            // Of each CPU its epochs and the runtime of the process are read (spec 07 section 3).
            let each = look(world.topology(), cpu, &cpus);
            all += each;
            all += each;
        }
        all
    }

    pub(super) fn caches_metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        if let Some(llc) = &self.all.llc {
            llc.metrics(emit);
        }
        if let Some(cas) = &self.all.cas {
            cas.metrics(emit);
        }
    }
}
