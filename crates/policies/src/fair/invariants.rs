//! What must hold of the queues of a CPU between events.

use simsched_core::World;
use simsched_topology::CpuId;

use super::entity::{EntityId, QueueId};
use super::group::GroupId;
use super::hierarchy::Hierarchy;
use super::order::Order;
use super::order::eevdf::EevdfRq;
use super::timeline::before;

impl Hierarchy {
    /// Checks all queues of `cpu`.
    ///
    /// # Errors
    /// The first broken invariant, in words.
    pub(super) fn check(&self, world: &World, cpu: CpuId) -> Result<(), String> {
        for group in 0..self.groups.len() {
            let group = GroupId(u32::try_from(group).map_err(|err| err.to_string())?);
            self.check_queue(self.queue_of(group, cpu))
                .map_err(|broken| format!("cpu {cpu}, group {}: {broken}", group.0))?;
        }
        if cpu == CpuId(0) {
            self.check_groups()?;
        }
        let (root, rq) = (self.root(cpu), world.rq(cpu));
        ensure(root.h_nr_running == rq.nr_tasks(), || {
            format!("cpu {cpu}: {} fair tasks of {} tasks", root.h_nr_running, rq.nr_tasks())
        })?;
        let tasks = || self.tasks_of(cpu);
        let nr_tasks = tasks().count();
        ensure(nr_tasks == root.h_nr_running as usize, || {
            format!("cpu {cpu}: {nr_tasks} tasks are queued, {} counted", root.h_nr_running)
        })?;
        let listed = || self.mru.iter_from_last(cpu).map(EntityId::of);
        let is_here = |se| self.entity(se).on_rq && self.queue(self.cfs_rq_of(se)).cpu == cpu;
        ensure(listed().all(is_here) && listed().count() == nr_tasks, || {
            let nr_listed = listed().count();
            format!("cpu {cpu}: the balancer's list has {nr_listed} tasks, the queues {nr_tasks}")
        })?;
        if let Some(llc) = &self.llc {
            let is_delayed = |se: EntityId| (se.task(), self.entity(se).sched_delayed);
            llc.check(cpu, tasks().map(is_delayed))?;
        }
        let nr_delayed = tasks().filter(|&se| self.entity(se).sched_delayed).count();
        ensure(nr_delayed == root.h_nr_delayed as usize, || {
            format!("cpu {cpu}: {nr_delayed} tasks are delayed, {} counted", root.h_nr_delayed)
        })?;
        let awake = tasks().filter(|&se| !self.entity(se).sched_delayed);
        let util_est: u32 = awake.map(|se| self.entity(se).util_est.value()).sum();
        ensure(!self.features.util_est || util_est == root.util_est_enqueued, || {
            let known = root.util_est_enqueued;
            format!("cpu {cpu}: util_est of the queue is {known}, its tasks' {util_est}")
        })
    }

    /// What groups know of their load is what their queues have told.
    fn check_groups(&self) -> Result<(), String> {
        for group in (1..self.nr_groups()).map(GroupId) {
            let queues = (0..self.nr_cpus as usize).map(CpuId::new);
            let told = queues.map(|cpu| self.queue(self.queue_of(group, cpu)));
            let sums = told.fold([0u64; 2], |[contrib, moved], cfs_rq| {
                [contrib + cfs_rq.tg_load_avg_contrib, moved + cfs_rq.tg_moved]
            });
            self.tg.check(&self.groups, group, sums)?;
        }
        Ok(())
    }

    /// The entities that are queued on one queue. Where all tasks are in one tree, that does not tell.
    fn queued(&self, queue: QueueId) -> impl Iterator<Item = EntityId> {
        let rows = if self.order == Order::Flat { self.entities.len() } else { 0 };
        let of_rows = (0..rows).map(EntityId::new);
        let of_tree = self.competing(queue).filter(move |_| rows == 0);
        let is_here =
            move |&se: &EntityId| rows == 0 || self.entity(se).on_rq && self.cfs_rq_of(se) == queue;
        of_rows.chain(of_tree).filter(is_here)
    }

    /// The entities that compete in the tree of one queue.
    fn competing(&self, queue: QueueId) -> impl Iterator<Item = EntityId> {
        let curr = self.tree_curr(queue).filter(|&curr| self.entity(curr).on_rq);
        let of_cfs = self.cfs.get(queue.idx()).into_iter().flat_map(|row| row.timeline.iter());
        let of_eevdf = self.eevdf.queues.get(queue.idx());
        let of_eevdf = of_eevdf.into_iter().flat_map(|row| self.eevdf.nodes.iter(row.timeline));
        curr.into_iter().chain(of_cfs).chain(of_eevdf)
    }

    /// All queued tasks of a CPU.
    fn tasks_of(&self, cpu: CpuId) -> impl Iterator<Item = EntityId> {
        let queues = (0..self.groups.len()).map(move |group| {
            QueueId(u32::try_from(group * self.nr_cpus as usize + cpu.idx()).unwrap_or(0))
        });
        queues.flat_map(|queue| self.queued(queue)).filter(|&se| self.entity(se).my_q.is_none())
    }

    fn check_queue(&self, queue: QueueId) -> Result<(), String> {
        let cfs_rq = self.queue(queue);
        let (mut weight, mut nr) = (0u64, 0);
        for se in self.queued(queue) {
            let entity = self.entity(se);
            weight = weight.wrapping_add(entity.load.weight);
            nr += 1;
            ensure(entity.on_rq && entity.cfs_rq == queue, || {
                format!("entity {} is on two queues or none", se.idx())
            })?;
        }
        ensure(nr == cfs_rq.nr_running, || {
            format!("{nr} entities, {} counted", cfs_rq.nr_running)
        })?;
        ensure(weight == cfs_rq.load.weight, || {
            format!("the entities weigh {weight}, the queue {}", cfs_rq.load.weight)
        })?;
        self.check_order(queue)
    }

    /// The timeline of `queue` is in the order of virtual time, and no entity is further behind the queue than a
    /// sleeper is placed.
    pub(super) fn check_timeline(&self, queue: QueueId) -> Result<(), String> {
        let order = self.cfs(queue);
        let vruntime = |se: EntityId| self.entity(se).vruntime;
        let is_sorted =
            order.timeline.iter().is_sorted_by(|&a, &b| !before(vruntime(b), vruntime(a)));
        ensure(is_sorted, || "the timeline is out of order".to_owned())?;
        // A sleeper of `SCHED_IDLE` gets the least slice (`place_entity()`), which may be set to more than the latency.
        let credit = self.tunables.latency_ns.max(self.tunables.min_granularity_ns);
        let latest_credit = order.min_vruntime.wrapping_sub(credit);
        ensure(order.timeline.first_vruntime().is_none_or(|v| !before(v, latest_credit)), || {
            "the leftmost entity has more credit than a sleeper gets".to_owned()
        })
    }
}

impl Hierarchy {
    /// The sums of the queue are those of its entities, the tree is in the order of deadlines, nobody is
    /// owed what others do not owe, and somebody may run.
    pub(super) fn check_virtual_time(&self, queue: QueueId) -> Result<(), String> {
        let cfs_rq = self.queue(queue);
        let eevdf = self.eevdf_rq(queue);
        let waiting = || self.eevdf.nodes.iter(eevdf.timeline);
        let mut recount = EevdfRq::new(eevdf.zero_vruntime);
        for se in waiting() {
            let (entity, request, key) =
                (self.entity(se), self.eevdf.requests[se.idx()], self.eevdf.nodes.key(se));
            recount.add(entity.vruntime, self.tree_weight(se));
            let same = key.vruntime == entity.vruntime && key.deadline == request.deadline;
            ensure(same && key.slice == request.slice, || {
                format!("entity {} has changed while it waits", se.idx())
            })?;
        }
        let (timeline, curr) = (eevdf.timeline, eevdf.curr);
        ensure(EevdfRq { timeline, curr, ..recount } == *eevdf, || {
            format!("virtual time sums up to {recount:?}, not {eevdf:?}")
        })?;
        let deadline = |se: EntityId| self.eevdf.requests[se.idx()].deadline;
        ensure(waiting().is_sorted_by(|&a, &b| !before(deadline(b), deadline(a))), || {
            "the tree is out of order".to_owned()
        })?;
        if cfs_rq.nr_running == 0 {
            return Ok(());
        }
        let avruntime = recount.avg_vruntime(self.queued_curr(queue));
        let lag = |se: EntityId| {
            let entity = self.entity(se);
            let vlag = avruntime.wrapping_sub(entity.vruntime).cast_signed();
            i128::from(vlag) * i128::from(self.tree_weight(se))
        };
        let (owed, load) = self
            .competing(queue)
            .fold((0, 0), |(owed, load), se| (owed + lag(se), load + self.tree_weight(se)));
        ensure(owed <= 0 && owed > -i128::from(load), || {
            format!("all together are owed {owed} at a weight of {load}")
        })?;
        let mut competing = self.competing(queue);
        ensure(competing.any(|se| self.is_eligible(queue, se)), || "nobody is eligible".to_owned())
    }
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}
