//! The life of a task outside its queues: birth, change of CPU, change of weight; and of groups.

use simsched_core::pelt::SchedAvg;
use simsched_core::{Cx, Preempt, TaskId, World};
use simsched_topology::CpuId;

use super::entity::{EntityId, task_load};
use super::features::Version;
use super::hierarchy::{Hierarchy, Update};
use super::idle::{IdleStats, LlcShared};
use super::queueing::{DequeueFlags, EnqueueFlags};
use super::timeline::before;
use super::wakee::Wakee;
use super::{Fair, GroupId, TaskGroup};

impl Fair {
    /// Declares the task groups of a run besides the root, each after its parent; to be called
    /// before the run. The first gets [`GroupId`] 1.
    pub fn set_groups(&mut self, groups: Vec<TaskGroup>) {
        self.groups = groups;
    }

    /// The groups of a run: those that were declared, or else those of the setting.
    pub(super) fn declared_groups(&self) -> Vec<TaskGroup> {
        if !self.groups.is_empty() {
            return self.groups.clone();
        }
        let levels = u32::from(self.features.grouping.levels());
        (0..levels).map(|parent| TaskGroup::new(Some(GroupId(parent)))).collect()
    }

    /// Puts the tasks of the workload into the group of the setting. Threads of the machine's kernel
    /// are in the root group.
    pub(super) fn move_into_group(&mut self, world: &World) {
        let levels = self.features.grouping.levels();
        if levels == 0 || !self.groups.is_empty() {
            return;
        }
        for task in (0..world.tasks().len()).map(TaskId::new) {
            if !world.tasks().is_background(task) {
                self.set_task_group(task, GroupId(u32::from(levels)));
            }
        }
    }

    /// Puts a task that has not started into a group. Children go where their parent is.
    pub fn set_task_group(&mut self, task: TaskId, group: GroupId) {
        let queue = self.all.queue_of(group, CpuId(0));
        self.all.entity_mut(EntityId::of(task)).cfs_rq = queue;
    }

    /// Sets the shares of a group, at full resolution, on all CPUs; their clocks must be up to
    /// date. Source: `sched_group_set_shares()`.
    pub fn set_group_shares(&mut self, cx: Cx<'_>, group: GroupId, shares: u64) {
        let world = cx.world;
        let shares = TaskGroup::clamp_shares(shares);
        if self.all.groups[group.idx()].shares == shares {
            return;
        }
        self.all.enter(world, world.this_cpu());
        self.all.groups[group.idx()].shares = shares;
        for cpu in world.topology().cpus().iter() {
            self.all.enter(world, cpu);
            let mut above = self.all.queue(self.all.queue_of(group, cpu)).se;
            while let Some(se) = above {
                let now = world.rq(cpu).clock_task;
                let queue = self.all.cfs_rq_of(se);
                self.all.update_load_avg(queue, se, now, Update::Tg);
                self.all.update_cfs_group(se, now);
                above = self.all.parent(se);
            }
        }
        self.all.tell(cx);
    }

    /// The queue of `group` on `cpu`.
    #[must_use]
    pub fn group_cfs_rq(&self, group: GroupId, cpu: CpuId) -> &super::CfsRq {
        self.all.queue(self.all.queue_of(group, cpu))
    }

    /// What CFS keeps of the queue of `group` on `cpu`; `None` under EEVDF.
    #[must_use]
    pub fn cfs_order(&self, group: GroupId, cpu: CpuId) -> Option<&super::CfsOrder> {
        self.all.cfs.get(self.all.queue_of(group, cpu).idx())
    }

    /// What EEVDF keeps of the queue of `group` on `cpu`; `None` under CFS.
    #[must_use]
    pub fn eevdf_rq(&self, group: GroupId, cpu: CpuId) -> Option<&super::EevdfRq> {
        self.all.eevdf.queues.get(self.all.queue_of(group, cpu).idx())
    }

    /// The entity of `group` on `cpu`; `None` for the root.
    #[must_use]
    pub fn group_entity(&self, group: GroupId, cpu: CpuId) -> Option<&super::Entity> {
        self.group_cfs_rq(group, cpu).se.map(|se| self.all.entity(se))
    }

    /// The load of a group: the sum of what its queues have contributed.
    ///
    /// # Panics
    /// When there is no such group.
    #[must_use]
    pub fn tg_load_avg(&self, group: GroupId) -> i64 {
        self.all.tg.load_avg(&self.all.groups, group)
    }

    /// A group.
    ///
    /// # Panics
    /// When there is no such group.
    #[must_use]
    pub fn group(&self, group: GroupId) -> &TaskGroup {
        &self.all.groups[group.idx()]
    }

    /// Rows by task, CPU and LLC, as on a machine that has booted and is idle.
    pub(super) fn attach_rows(&mut self, world: &World) {
        let topology = world.topology();
        let cpus = topology.cpus();
        let tasks = (0..world.tasks().len()).map(TaskId::new);
        let inherited = world.inherited();
        let age = inherited.since_halving.get() / world.tick().get();
        let task = |task: TaskId| match world.tasks().is_background(task) {
            true => Wakee::new(world.task(task).cpu),
            false => Wakee {
                flips: inherited.wakee_flips,
                flip_decay_ts: world.jiffies().wrapping_sub(age),
                ..Wakee::new(world.task(task).cpu)
            },
        };
        self.wakees = tasks.map(task).chain(cpus.iter().map(Wakee::new)).collect();
        let stats = |cpu| IdleStats::new(world.rq(cpu).clock, &self.all.tunables);
        self.stats = cpus.iter().map(stats).collect();
        self.sched_idle = simsched_topology::CpuSet::new();
        let mut by_llc = vec![(0, 117); topology.nr_llcs()];
        for cpu in cpus.iter() {
            let pct = self.domains().sd_llc(cpu).map_or(117, |sd| sd.imbalance_pct);
            let llc = topology.llc_of(cpu).idx();
            by_llc[llc] = (by_llc[llc].0 + 1, pct);
        }
        let shared = |&(weight, pct): &(u32, u32)| LlcShared::new(self.has_smt, weight, pct);
        self.llcs = by_llc.iter().map(shared).collect();
    }

    /// Attaches the entities of the groups to their queues on all CPUs.
    /// Source: `online_fair_sched_group()`, `attach_entity_cfs_rq()`.
    pub(super) fn online_groups(&mut self, world: &World) {
        for group in (1..self.all.nr_groups()).map(GroupId) {
            for cpu in world.topology().cpus().iter() {
                let Some(se) = self.all.queue(self.all.queue_of(group, cpu)).se else { continue };
                let now = world.rq(cpu).clock_task;
                self.all.update_load_avg(self.all.cfs_rq_of(se), se, now, Update::Attach);
                let queue = self.all.cfs_rq_of(se);
                self.all.queue_mut(queue).on_list = true;
                let mut above = self.all.parent(se);
                while let Some(se) = above {
                    let queue = self.all.cfs_rq_of(se);
                    self.all.update_load_avg(queue, se, now, Update::Tg);
                    self.all.queue_mut(queue).on_list = true;
                    above = self.all.parent(se);
                }
            }
        }
    }

    /// A new task starts from the virtual time of whoever runs in its group on the parent's CPU,
    /// one slice behind, relative to the queue. Like the rest of its parent, it inherits what is
    /// remembered of the parent's wakeups. Source: `task_fork_fair()`, `dup_task_struct()`.
    pub(super) fn fork(
        &mut self,
        world: &World,
        cpu: CpuId,
        parent: Option<TaskId>,
        child: TaskId,
    ) {
        let se = EntityId::of(child);
        if let Some(parent) = parent {
            self.all.entity_mut(se).cfs_rq = self.all.cfs_rq_of(EntityId::of(parent));
            self.wakees[child.idx()] = self.wakees[parent.idx()];
        }
        self.wakees[child.idx()].recent_used_cpu = cpu;
        self.all.task_fork(se, cpu, world.rq(cpu).clock_task);
    }

    /// A task that has slept on `cpu` for long: its averages have decayed to nothing, and under CFS its virtual time is that
    /// of the queue.
    pub(super) fn lay_down(&mut self, cpu: CpuId, task: TaskId) {
        let se = EntityId::of(task);
        self.wakees[task.idx()].recent_used_cpu = cpu;
        self.all.set_task_rq(se, cpu);
        self.all.lay_down(se);
        let last_update_time = self.all.queue(self.all.cfs_rq_of(se)).avg.last_update_time;
        self.all.entity_mut(se).avg = SchedAvg { last_update_time, ..SchedAvg::default() };
    }

    /// Source: `post_init_entity_util_avg()`.
    pub(super) fn post_init_entity_util_avg(&mut self, se: EntityId, cpu: CpuId) {
        let capacity = u64::from(self.all.capacity(cpu));
        let all = &mut self.all;
        let queue = all.entities[se.idx()].cfs_rq;
        let scaled_down = all.features.version >= Version::V6_12;
        let cfs_rq = &all.queues[queue.idx()];
        all.entities[se.idx()].post_init_entity_util_avg(cfs_rq, capacity, scaled_down);
    }

    /// What a task has left on its runqueue goes at that queue's next update.
    /// Source: `task_dead_fair()`.
    pub(super) fn bury(&mut self, task: TaskId) {
        let se = EntityId::of(task);
        self.sync_entity_load_avg(se);
        self.all.remove_entity_load_avg(se, false);
    }

    /// Source: `migrate_task_rq_fair()`, Linux 6.1.
    pub(super) fn migrate(&mut self, world: &World, task: TaskId, _to: CpuId) {
        let se = EntityId::of(task);
        // A queued task was detached by its dequeue, which also made its virtual time relative.
        if !world.task(task).on_rq {
            self.all.leave(se);
            self.sync_entity_load_avg(se);
            self.all.remove_entity_load_avg(se, true);
            if self.features.migrate_se_pelt_lag {
                self.migrate_se_pelt_lag(world, se);
            }
        }
        self.all.entity_mut(se).avg.last_update_time = 0;
    }

    /// Ages a blocked task to the time of its queue, not to the present.
    /// Source: `sync_entity_load_avg()`.
    pub(super) fn sync_entity_load_avg(&mut self, se: EntityId) {
        let queue = self.all.cfs_rq_of(se);
        let last_update_time = self.all.queue(queue).avg.last_update_time;
        self.all.entity_mut(se).update_load_avg_blocked(last_update_time);
    }

    /// The clock of an idle CPU stands still; a task that leaves it is aged by the time since.
    ///
    /// The kernel notes the clocks whenever it updates them on an idle CPU (`clock_idle`,
    /// `clock_pelt_idle`), so they are those of the runqueue. Source: `migrate_se_pelt_lag()`.
    fn migrate_se_pelt_lag(&mut self, world: &World, se: EntityId) {
        let queue = self.all.queue(self.all.cfs_rq_of(se));
        let (cpu, last) = (queue.cpu, queue.avg.last_update_time);
        if world.curr(cpu).is_some() || world.rq(cpu).stopping {
            return;
        }
        let rq = world.rq(cpu);
        let lag = world.sched_clock().wrapping_sub(rq.clock);
        // Somebody may have aged the queue on behalf of the idle CPU, beyond its own clock; and where
        // clocks compare to a quantum only, the present may lie before that clock.
        let now = rq.clock_task.wrapping_add(lag);
        let now = if before(now, last) { last } else { now };
        self.all.entity_mut(se).update_load_avg_blocked(now);
    }

    /// The weight of a task follows its nice value, which its row already holds. One that is queued leaves its queue
    /// for that and comes back, with all that follows from either.
    /// Source: `set_user_nice()`, `prio_changed_fair()`.
    pub(super) fn set_user_nice(&mut self, world: &World, task: TaskId) -> Preempt {
        let (se, row) = (EntityId::of(task), world.task(task));
        let old = std::mem::replace(&mut self.all.entity_mut(se).nice, row.nice);
        if old == row.nice {
            return Preempt::No;
        }
        let cpu = self.all.queue(self.all.cfs_rq_of(se)).cpu;
        let now = world.rq(cpu).clock_task;
        let is_queued = self.all.entity(se).on_rq;
        let is_running = world.curr(cpu) == Some(task);
        if is_queued {
            self.all.dequeue_task(se, DequeueFlags::SAVE, now);
            self.note_dequeued(world, cpu);
        }
        if is_running {
            self.all.put_prev_task(se, now);
        }
        let load = task_load(row.nice, row.policy);
        self.all.reweight_entity(se, load.weight, now);
        self.all.entity_mut(se).load = load;
        if is_queued {
            self.all.enqueue_task(se, EnqueueFlags::RESTORE, now);
            self.note_sched_idle(cpu);
            self.note_overload(world, cpu, 1);
        }
        if is_running {
            self.all.set_next_task(se, now);
        }
        if !is_queued || self.all.tree_nr(Hierarchy::root_of(cpu)) == 1 {
            return Preempt::No;
        }
        match world.curr(cpu) {
            Some(curr) if curr == task => {
                if row.nice > old {
                    Preempt::Hard
                } else {
                    Preempt::No
                }
            }
            Some(curr) => {
                self.all.check_preempt_wakeup(world, cpu, [EntityId::of(curr), se], false)
            }
            None => Preempt::Hard,
        }
    }
}
