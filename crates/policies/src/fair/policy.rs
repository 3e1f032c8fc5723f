//! `Fair` as a [`Policy`]: what the simulator asks, and who answers.

use simsched_core::ipc::IpcVersion;
use simsched_core::{
    Attached, CallId, Cx, Dequeue, Dequeued, Enqueue, KernelRules, Look, Placement, Policy,
    Preempt, TaskId, TaskState, TimerId, TtwuQueue, Wakeup, World,
};
use simsched_topology::{CpuId, Domains, Kernel};

use super::entity::EntityId as Se;
use super::patches::{HookCx, cache_aware, cache_aware_wakeup, tg_per_node};
use super::queueing::DequeueFlags;
use super::select::Hooks;
use super::{
    Balance, CacheAware, EntityId, Fair, Features, GROUP_LEVEL, Hierarchy, LlcWakeup,
    TICK_GROUP_LEVEL, Tunables, Version,
};

impl Policy for Fair {
    fn attach(&mut self, world: &World) -> Attached {
        let topology = world.topology();
        let version = self.features.version;
        let tunables = Tunables::of(version, topology.nr_cpus(), &self.overrides);
        let groups = self.declared_groups();
        self.all = Hierarchy::new(
            world,
            &groups,
            tunables,
            self.features,
            tg_per_node::rules(&self.patches),
        );
        self.move_into_group(world);
        let kernel = if version.is_eevdf() { Kernel::V6_12 } else { Kernel::V6_1 };
        self.domains = Some(Domains::build(topology, kernel, self.features.numa_imbalance));
        self.has_smt = topology.cpus().iter().any(|cpu| topology.smt_mask(cpu).len() > 1);
        self.balance = Balance::new(world, self.domains(), &self.all.tunables);
        self.attach_patches(world);
        self.all.set_keeps_time();
        self.attach_rows(world);
        self.online_groups(world);
        Attached {
            rules: self.kernel_rules(),
            reasons: self.patches.reasons(),
            lines: self.all.tg.lines(),
            functions: self.all.functions(),
            timers: if self.features.hrtick { self.all.nr_cpus } else { 0 },
        }
    }

    #[inline]
    fn select_task_rq(&mut self, cx: Cx<'_>, wakeup: &Wakeup) -> Placement {
        self.select(cx.world, wakeup)
    }

    fn migrate_task_rq(&mut self, cx: Cx<'_>, task: TaskId, to: CpuId) {
        self.migrate(cx.world, task, to);
        self.all.tell(cx);
    }

    fn task_fork(&mut self, cx: Cx<'_>, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        self.all.enter(cx.world, cpu);
        self.caches_fork(parent, child);
        self.fork(cx.world, cpu, parent, child);
        self.all.tell(cx);
    }

    fn task_asleep(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        self.lay_down(cpu, task);
        self.all.tell(cx);
    }

    #[inline]
    fn enqueue(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        let se = Se::of(task);
        self.all.enter(cx.world, cpu);
        self.all.set_task_rq(se, cpu);
        if why == Enqueue::New {
            self.post_init_entity_util_avg(se, cpu);
        }
        self.all.enqueue_task(se, why.into(), cx.world.rq(cpu).clock_task);
        // Who sleeps on its runqueue is placed anew there, and nothing above it changes (`requeue_delayed_entity()`).
        if why != Enqueue::Delayed {
            self.all.walked(se, GROUP_LEVEL);
        }
        if self.all.cas.as_ref().is_some_and(|cas| cas.refreshes_at_enqueue()) {
            self.refresh_at_enqueue(cx.world, cpu, task);
        }
        self.note_sched_idle(cpu);
        // Who sleeps on its runqueue is counted there, and does not come to it (`add_nr_running()`).
        if why != Enqueue::Delayed {
            self.note_overload(cx.world, cpu, 0);
        }
        self.all.tell(cx);
    }

    #[inline]
    fn dequeue(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId, why: Dequeue) -> Dequeued {
        self.all.enter(cx.world, cpu);
        let has_ended = cx.world.task(task).state == TaskState::Dead;
        let flags = DequeueFlags::of(why, has_ended);
        let has_left = self.all.dequeue_task(Se::of(task), flags, cx.world.rq(cpu).clock_task);
        // Who stays is delayed at the first level.
        if has_left {
            self.all.walked(Se::of(task), GROUP_LEVEL);
        }
        self.note_dequeued(cx.world, cpu);
        self.all.tell(cx);
        if has_left { Dequeued::Left } else { Dequeued::Delayed }
    }

    #[inline]
    fn pick_next(&mut self, cx: Cx<'_>, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        self.all.enter(cx.world, cpu);
        let next = self.all.pick_next_task(cpu, prev.map(Se::of), cx.world.rq(cpu).clock_task);
        if let Some(next) = next {
            self.all.walked(next, GROUP_LEVEL);
        }
        self.note_picked(cx.world, cpu);
        self.all.tell(cx);
        next.map(EntityId::task)
    }

    #[inline]
    fn wakeup_preempt(&mut self, cx: Cx<'_>, cpu: CpuId, wakee: TaskId, why: Enqueue) -> Preempt {
        let Some(curr) = cx.world.curr(cpu) else { return Preempt::Hard };
        let pair = [Se::of(curr), Se::of(wakee)];
        let preempt = self.all.check_preempt_wakeup(cx.world, cpu, pair, why == Enqueue::New);
        self.all.tell(cx);
        preempt
    }

    #[inline]
    fn task_woken(&mut self, cx: Cx<'_>, cpu: CpuId) {
        // A stopper that has come to a task makes two on one CPU (`add_nr_running()`).
        let rq = cx.world.rq(cpu);
        self.balance.overload |= rq.stopper && rq.nr_running == 2;
        if self.features.version >= Version::V7_2 {
            return;
        }
        self.idle_ends(cx.world, cpu);
    }

    /// Since 7.2 whatever ends the idleness of a CPU counts.
    #[inline]
    fn idle_left(&mut self, cx: Cx<'_>, cpu: CpuId) {
        if self.features.version >= Version::V7_2 {
            self.idle_ends(cx.world, cpu);
        }
    }

    #[inline]
    fn task_tick(&mut self, mut cx: Cx<'_>, cpu: CpuId, curr: TaskId) -> Preempt {
        self.all.enter(cx.world, cpu);
        let (se, now) = (Se::of(curr), cx.world.rq(cpu).clock_task);
        let preempt = self.all.task_tick(cpu, se, now);
        self.all.walked(se, TICK_GROUP_LEVEL);
        self.caches_tick(cpu, curr);
        if self.caches_have_work(curr) {
            cx.add_task_work(curr);
        }
        self.all.tell(cx);
        preempt
    }

    fn timer(&mut self, mut cx: Cx<'_>, cpu: CpuId, _timer: TimerId) {
        self.all.enter(cx.world, cpu);
        self.all.asked.slices.ended(cpu);
        match self.all.slice_end(cpu, cx.world.rq(cpu).clock_task) {
            Preempt::No => {}
            Preempt::Lazy => cx.resched_lazy(cpu),
            Preempt::Hard => cx.resched(cpu),
        }
        self.all.tell(cx);
    }

    fn called(&mut self, mut cx: Cx<'_>, cpu: CpuId, _what: CallId) {
        self.all.asked.slices.start_here(&mut cx, cpu);
    }

    fn task_work(&mut self, mut cx: Cx<'_>, cpu: CpuId, task: TaskId) -> Look {
        self.trace_cache_work(&mut cx, task);
        let look = self.caches_work(cx.world, cpu, task);
        self.all.tell(cx);
        look
    }

    fn yield_task(&mut self, cx: Cx<'_>, cpu: CpuId, curr: TaskId) {
        self.all.enter(cx.world, cpu);
        if cx.world.rq(cpu).nr_running != 1 {
            let (curr, now) = (Se::of(curr), cx.world.rq(cpu).clock_task);
            self.all.yield_task(curr, now);
        }
        self.all.tell(cx);
    }

    fn reweight_task(&mut self, cx: Cx<'_>, task: TaskId) -> Preempt {
        let cpu = self.all.queue(self.all.cfs_rq_of(Se::of(task))).cpu;
        self.all.enter(cx.world, cpu);
        let preempt = self.set_user_nice(cx.world, task);
        let due = self.all.asked.take_due(cpu);
        self.all.tell(cx);
        if due == Preempt::No || preempt == Preempt::Hard { preempt } else { due }
    }

    fn exit_mm(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        self.all.enter(cx.world, cpu);
        self.caches_exit(task);
        self.all.tell(cx);
    }

    fn exec_mmap(&mut self, cx: Cx<'_>, cpu: CpuId, task: TaskId) {
        self.all.enter(cx.world, cpu);
        self.caches_exec(task, cx.world.task(task).proc);
        self.all.tell(cx);
    }

    fn task_dead(&mut self, cx: Cx<'_>, task: TaskId) {
        self.bury(task);
        self.all.tell(cx);
    }

    fn put_prev_task(&mut self, cx: Cx<'_>, cpu: CpuId, prev: TaskId) {
        self.all.enter(cx.world, cpu);
        self.all.put_prev_task(Se::of(prev), cx.world.rq(cpu).clock_task);
        self.all.asked.take_due(cpu);
        self.all.tell(cx);
    }

    #[inline]
    fn idle_entered(&mut self, mut cx: Cx<'_>, cpu: CpuId) {
        // Not where somebody has come already (`hrtick_schedule_exit()`).
        if cx.world.is_idle(cpu) && self.all.asked.slices.ended(cpu) {
            cx.cancel(TimerId(u32::from(cpu.0)));
        }
        self.update_idle_core(cx.world, cpu);
    }
}

impl Fair {
    /// Learns how long `cpu` was idle. Source: `ttwu_do_activate()`; `update_rq_avg_idle()`, Linux 7.2.
    #[inline]
    fn idle_ends(&mut self, world: &World, cpu: CpuId) {
        let max = 2 * self.balance.rqs[cpu.idx()].max_idle_balance_cost;
        self.stats[cpu.idx()].task_woken(world.rq(cpu).clock, world.jiffies(), max);
    }

    /// What patches remember of this machine, and those that are asked at a wakeup.
    fn attach_patches(&mut self, world: &World) {
        let patches = self.patches.clone();
        self.all.llc = match patches.is_on("cache_aware") {
            true => CacheAware::new(world, self.domains(), cache_aware::tunables(&patches)),
            false => None,
        };
        let rules = cache_aware_wakeup::rules(&patches);
        self.all.cas = patches.is_on("cache_aware_wakeup").then(|| LlcWakeup::new(world, rules));
        let tunables = &self.all.tunables;
        let cx = HookCx { features: &self.features, tunables, patches: &patches };
        let on = patches.known().iter().filter(|patch| patches.is_on(patch.key));
        self.hooks = Hooks::new(on.filter_map(|patch| patch.hook).map(|new| new(&cx)).collect());
    }

    /// What of the kernel around the fair class its version decides.
    fn kernel_rules(&self) -> KernelRules {
        let ttwu_queue = match self.features {
            Features { ttwu_queue: false, .. } => TtwuQueue::Off,
            Features { version: Version::V5_16, .. } => TtwuQueue::CrossLlc,
            _ => TtwuQueue::CrossLlcOrIdle,
        };
        KernelRules {
            ttwu_queue,
            ttwu_pending_stays: self.features.version >= Version::V6_5,
            sm_idle: self.features.version >= Version::V6_12,
            tmigr: self.features.version >= Version::V6_12,
            exit_resched: self.features.version >= Version::V7_0,
            ipc: match self.features.version {
                Version::V5_16 | Version::V6_1 | Version::V6_5 | Version::V6_6 | Version::V6_12 => {
                    IpcVersion::V6_13
                }
                Version::V7_0 | Version::V7_2 => IpcVersion::V6_15,
                Version::V7_3 => IpcVersion::V7_3,
            },
        }
    }
}
