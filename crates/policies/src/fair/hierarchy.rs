//! `Hierarchy`: all entities and fair queues, from the tasks to the root, and the accounting that
//! every operation on a queue starts with.

use simsched_core::{TaskId, World};
use simsched_topology::CpuId;

use super::asked::{Asked, UPDATE_CFS_GROUP, UPDATE_LOAD_AVG};
use super::balance::Mru;
use super::cfs_rq::CfsRq;
use super::entity::{Entity, EntityId, QueueId};
use super::features::{Features, Version};
use super::group::{CgroupMode, GroupId, TaskGroup};
use super::llc::{CacheAware, LlcWakeup};
use super::order::cfs::CfsOrder;
use super::order::eevdf::EevdfRows;
use super::order::{Order, Rules};
use super::tg_load::{Source, TgLoad, TgRules};
use super::tunables::Tunables;

/// What an update of load tracking is for (`UPDATE_TG`, `DO_ATTACH`, `DO_DETACH`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    /// Time has passed.
    Age,
    /// Time has passed; the group shall know.
    Tg,
    /// The same, and an entity without a queue joins this one.
    Attach,
    /// The same, and the entity leaves this queue.
    Detach,
}

/// Entities and queues in plain tables. A task's entity has the task's row; the queue of group
/// `g` on CPU `c` has row `g * nr_cpus + c`, and so have group entities behind the tasks, less
/// one group, for the root has none.
#[derive(Clone, Debug, Default)]
pub struct Hierarchy {
    /// The entities: tasks, then groups.
    pub(super) entities: Vec<Entity>,
    /// The queues: by group, then by CPU.
    pub(super) queues: Vec<CfsRq>,
    /// The groups; the first is the root.
    pub(super) groups: Vec<TaskGroup>,
    /// What the CPUs share of them.
    pub(super) tg: TgLoad,
    pub(super) nr_cpus: u32,
    /// By CPU: 1024 is one big core.
    pub(super) capacities: Vec<u32>,
    /// By CPU: its queued tasks, for the balancer.
    pub(super) mru: Mru,
    pub(super) tunables: Tunables,
    pub(super) features: Features,
    pub(super) order: Order,
    /// What that order does as its release has it.
    pub(super) rules: Rules,
    /// By queue: what CFS keeps of it (nothing under EEVDF).
    pub(super) cfs: Vec<CfsOrder>,
    /// What EEVDF keeps of entities and queues (nothing under CFS).
    pub(super) eevdf: EevdfRows,
    /// What the call under way asks for beside its answer.
    pub(super) asked: Asked,
    /// The length of a tick, in ns.
    pub(super) tick_ns: u64,
    /// Cache-aware load balancing, where it is on and the machine has something to gain.
    pub(super) llc: Option<Box<CacheAware>>,
    /// Cache-aware wakeups, where they are on.
    pub(super) cas: Option<Box<LlcWakeup>>,
    /// Groups or caches are there, which ask what time it is in the middle of a call ([`Hierarchy::enter`]).
    pub(super) keeps_time: bool,
}

/// Room in a root queue at the start; more tasks on one CPU make it grow.
const TIMELINE_CAPACITY: usize = 32;

impl Hierarchy {
    /// The tasks of `world`, none of them queued, and the empty queues of `groups`.
    pub(super) fn new(
        world: &World,
        groups: &[TaskGroup],
        tunables: Tunables,
        features: Features,
        tg: TgRules,
    ) -> Hierarchy {
        let tasks = (0..world.tasks().len()).map(|task| {
            let row = world.task(TaskId::new(task));
            Entity::new_task(row.nice, row.policy, QueueId::FIRST)
        });
        let cpus = world.topology().cpus();
        let nr_cpus = u32::try_from(world.topology().nr_cpus()).expect("at most 1024");
        let mut all = Hierarchy {
            entities: tasks.collect(),
            queues: Vec::new(),
            groups: Vec::new(),
            tg: TgLoad::default(),
            nr_cpus,
            capacities: cpus.iter().map(|cpu| world.topology().capacity(cpu)).collect(),
            mru: Mru::new(nr_cpus, world.tasks().len()),
            tunables,
            features,
            order: Order::of(features.version),
            rules: Rules::of(features.version),
            cfs: Vec::new(),
            eevdf: EevdfRows::default(),
            asked: Asked::with_capacity(world.tasks().len(), nr_cpus),
            tick_ns: world.tick().0,
            llc: None,
            cas: None,
            keeps_time: false,
        };
        all.push_group(TaskGroup::new(None));
        for group in groups {
            all.push_group(*group);
        }
        all.tg = TgLoad::new(world, &all.groups, tg, all.features.version);
        match all.order {
            Order::Cfs => {
                let row = |_| CfsOrder::with_capacity(TIMELINE_CAPACITY);
                all.cfs = (0..all.queues.len()).map(row).collect();
            }
            Order::Eevdf | Order::Flat => {
                all.eevdf = EevdfRows::new(all.entities.len(), all.queues.len());
            }
        }
        all
    }

    /// Appends a group with its queues and entities. Source: `alloc_fair_sched_group()`.
    fn push_group(&mut self, group: TaskGroup) {
        let id = GroupId(self.nr_groups());
        for cpu in (0..self.nr_cpus as usize).map(CpuId::new) {
            let se = group.parent.map(|parent| {
                let above = self.queue_of(parent, cpu);
                let depth = self.queue(above).se.map_or(0, |se| self.entity(se).depth + 1);
                let below = QueueId(u32::try_from(self.queues.len()).expect("few queues"));
                self.entities.push(Entity::new_group(above, below, depth));
                EntityId::new(self.entities.len() - 1)
            });
            let queue = CfsRq::new(cpu, id, se);
            self.queues.push(CfsRq { wide: self.features.version.is_exact(), ..queue });
        }
        self.groups.push(TaskGroup { nr_cpus: self.nr_cpus, ..group });
    }

    /// How many groups there are, the root included.
    pub(super) fn nr_groups(&self) -> u32 {
        u32::try_from(self.groups.len()).expect("few groups")
    }

    /// The queue of `group` on `cpu`.
    #[inline]
    pub(super) fn queue_of(&self, group: GroupId, cpu: CpuId) -> QueueId {
        QueueId(group.0 * self.nr_cpus + u32::from(cpu.0))
    }

    /// The root queue of `cpu`.
    #[inline]
    pub(super) fn root_of(cpu: CpuId) -> QueueId {
        QueueId(u32::from(cpu.0))
    }

    /// The root queue of `cpu`.
    #[inline]
    pub(super) fn root(&self, cpu: CpuId) -> &CfsRq {
        &self.queues[cpu.idx()]
    }

    #[inline]
    pub(super) fn queue(&self, queue: QueueId) -> &CfsRq {
        &self.queues[queue.idx()]
    }

    #[inline]
    pub(super) fn queue_mut(&mut self, queue: QueueId) -> &mut CfsRq {
        &mut self.queues[queue.idx()]
    }

    #[inline]
    pub(super) fn entity(&self, se: EntityId) -> &Entity {
        &self.entities[se.idx()]
    }

    #[inline]
    pub(super) fn entity_mut(&mut self, se: EntityId) -> &mut Entity {
        &mut self.entities[se.idx()]
    }

    /// The queue on which `se` competes. Source: `cfs_rq_of()`.
    #[inline]
    pub(super) fn cfs_rq_of(&self, se: EntityId) -> QueueId {
        self.entity(se).cfs_rq
    }

    /// The entity one level up. Source: `parent_entity()`.
    #[inline]
    pub(super) fn parent(&self, se: EntityId) -> Option<EntityId> {
        self.queue(self.cfs_rq_of(se)).se
    }

    /// The group of a task.
    #[inline]
    pub(super) fn group_of(&self, se: EntityId) -> GroupId {
        self.queue(self.cfs_rq_of(se)).group
    }

    /// Puts a task under its group's queue on `cpu`. Source: `set_task_rq()`.
    #[inline]
    pub(super) fn set_task_rq(&mut self, se: EntityId, cpu: CpuId) {
        if self.groups.len() == 1 {
            self.entity_mut(se).cfs_rq = Hierarchy::root_of(cpu);
            return;
        }
        let queue = self.queue_of(self.group_of(se), cpu);
        let depth = self.queue(queue).se.map_or(0, |above| self.entity(above).depth + 1);
        let se = self.entity_mut(se);
        (se.cfs_rq, se.depth) = (queue, depth);
    }

    /// Brings the averages of `se` and of its queue to `now`. Source: `update_load_avg()`.
    #[inline]
    pub(super) fn update_load_avg(
        &mut self,
        queue: QueueId,
        se: EntityId,
        now: u64,
        update: Update,
    ) {
        if self.tg.is_on {
            self.asked.did(UPDATE_LOAD_AVG);
        }
        let entity = &mut self.entities[se.idx()];
        let running = self.queues[queue.idx()].curr == Some(se);
        let child = entity.group_cfs_rq();
        if entity.avg.last_update_time != 0 {
            let runnable = child.map_or(0, |child| self.queues[child.idx()].se_runnable);
            entity.update_load_avg(now, runnable, running);
        }
        let cfs_rq = &mut self.queues[queue.idx()];
        let mut decayed = cfs_rq.update_load_avg(now);
        if let Some(child) = child {
            let [cfs_rq, child] = pair(&mut self.queues, queue, child);
            decayed |= cfs_rq.propagate_entity_load_avg(entity, child);
        }
        let cfs_rq = &mut self.queues[queue.idx()];
        let tell = match update {
            Update::Attach if entity.avg.last_update_time == 0 => {
                cfs_rq.attach_entity_load_avg(entity);
                Some(Source::Attach)
            }
            Update::Detach => {
                cfs_rq.detach_entity_load_avg(entity);
                Some(Source::Detach)
            }
            Update::Attach | Update::Tg => decayed.then_some(Source::Decay),
            Update::Age => None,
        };
        if let Some(source) = tell
            && cfs_rq.group != GroupId::ROOT
        {
            self.tell_group(queue, se, source, decayed);
        }
    }

    /// The end of an update for a queue that is not the root's. Not inlined: the root group is to
    /// have nothing of it.
    #[inline(never)]
    fn tell_group(&mut self, queue: QueueId, se: EntityId, source: Source, decayed: bool) {
        let moved = self.tg.rules.nomig && self.move_contrib(queue, se, source);
        match moved {
            true if decayed => self.update_tg_load_avg(queue, Source::Decay),
            true => {}
            false => self.update_tg_load_avg(queue, source),
        }
    }

    /// With `tg_nomig` a task that moves takes its part of the group's load from the contribution of
    /// the queue that it leaves to that of the queue that it joins. False if `se` does not move.
    fn move_contrib(&mut self, queue: QueueId, se: EntityId, source: Source) -> bool {
        let (entity, cfs_rq) = (&self.entities[se.idx()], &mut self.queues[queue.idx()]);
        match source {
            Source::Detach => {
                let contrib = entity.avg.load_avg.min(cfs_rq.tg_load_avg_contrib);
                cfs_rq.tg_load_avg_contrib -= contrib;
                self.tg.depart(se.idx(), cfs_rq.group, contrib);
                true
            }
            Source::Attach => match self.tg.arrive(se.idx(), cfs_rq.group) {
                Some(contrib) => {
                    cfs_rq.tg_load_avg_contrib += contrib;
                    true
                }
                None => false,
            },
            Source::Decay | Source::Blocked => false,
        }
    }

    /// Notes what a task leaves behind that has left its queue while asleep.
    /// Source: `remove_entity_load_avg()`.
    pub(super) fn remove_entity_load_avg(&mut self, se: EntityId, moves: bool) {
        let entity = &self.entities[se.idx()];
        let cfs_rq = &mut self.queues[entity.cfs_rq.idx()];
        cfs_rq.remove_entity_load_avg(entity);
        if moves && self.tg.rules.nomig && cfs_rq.group != GroupId::ROOT {
            cfs_rq.tg_moved += entity.avg.load_avg;
            self.tg.depart(se.idx(), cfs_rq.group, entity.avg.load_avg);
        }
    }

    /// Source: `update_tg_load_avg()`.
    #[inline]
    pub(super) fn update_tg_load_avg(&mut self, queue: QueueId, source: Source) {
        let cfs_rq = &mut self.queues[queue.idx()];
        if cfs_rq.group != GroupId::ROOT {
            self.tg.update(&mut self.asked, &mut self.groups, cfs_rq, source);
        }
    }

    /// Notes how many tasks are runnable below a group's entity. Source: `se_update_runnable()`.
    #[inline]
    pub(super) fn se_update_runnable(&mut self, se: EntityId) {
        if let Some(child) = self.entity(se).group_cfs_rq() {
            let child = self.queue_mut(child);
            child.se_runnable = u64::from(child.h_nr_runnable());
        }
    }

    /// Weighs a group's entity anew by its part of the group's shares.
    /// Source: `update_cfs_group()` of 6.1, which does so also if the weight stays the same; that of
    /// 6.12 does not, nor does it where the group has become empty.
    #[inline]
    pub(super) fn update_cfs_group(&mut self, se: EntityId, now: u64) {
        if let Some(child) = self.entity(se).group_cfs_rq() {
            self.reweight_group(se, child, now);
        }
    }

    #[inline(never)]
    fn reweight_group(&mut self, se: EntityId, child: QueueId, now: u64) {
        let child = &self.queues[child.idx()];
        let since_6_12 = self.features.version >= Version::V6_12;
        if since_6_12 && child.load.weight == 0 {
            return;
        }
        self.asked.did(UPDATE_CFS_GROUP);
        let mode = match self.order {
            Order::Flat => self.features.cgroup_mode,
            Order::Cfs | Order::Eevdf => CgroupMode::Smp,
        };
        if mode.counts_tasks() {
            self.tg.read_tasks(&mut self.asked, child.group);
        }
        let load_avg = match mode {
            CgroupMode::Up => 0,
            _ => self.tg.read(&mut self.asked, &self.groups, child.group),
        };
        let shares = self.groups[child.group.idx()].shares_by(mode, child, load_avg);
        if !since_6_12 || self.entities[se.idx()].load.weight != shares {
            self.reweight_entity(se, shares, now);
        }
    }
}

/// Two queues at once.
fn pair(queues: &mut [CfsRq], a: QueueId, b: QueueId) -> [&mut CfsRq; 2] {
    queues.get_disjoint_mut([a.idx(), b.idx()]).expect("a queue is not its own parent")
}
