//! Hierarchical load: what a task in a group weighs at the root.

use simsched_core::TaskId;
use simsched_topology::CpuId;

use super::entity::{EntityId, QueueId};
use super::hierarchy::Hierarchy;

impl Hierarchy {
    /// The load that `task` stands for at the root, in units of the root queue's load.
    ///
    /// ```text
    /// h(root) = load of root       h(child) = h(parent) * load(entity of child) / (load(parent) + 1)
    /// ```
    ///
    /// `h` of a queue is computed once per jiffy. Source: `task_h_load()`.
    pub(super) fn task_h_load(&mut self, task: TaskId, jiffies: u64) -> u64 {
        let se = EntityId::of(task);
        let queue = self.cfs_rq_of(se);
        self.update_cfs_rq_h_load(queue, jiffies);
        let cfs_rq = self.queue(queue);
        let product = self.entity(se).avg.load_avg.wrapping_mul(cfs_rq.h_load);
        product / (cfs_rq.avg.load_avg + 1)
    }

    /// What the idle task or the stopper of `cpu` stands for, which is nothing; `h` of the root queue is
    /// computed all the same. Source: `task_h_load()`.
    pub(super) fn idle_h_load(&mut self, cpu: CpuId, jiffies: u64) -> u64 {
        self.update_cfs_rq_h_load(Hierarchy::root_of(cpu), jiffies);
        0
    }

    /// Source: `update_cfs_rq_h_load()`.
    fn update_cfs_rq_h_load(&mut self, queue: QueueId, jiffies: u64) {
        if self.queue(queue).last_h_load_update == jiffies {
            return;
        }
        let h_load = match self.queue(queue).se {
            None => self.queue(queue).avg.load_avg,
            Some(se) => {
                let above = self.cfs_rq_of(se);
                self.update_cfs_rq_h_load(above, jiffies);
                let above = self.queue(above);
                let product = above.h_load.wrapping_mul(self.entity(se).avg.load_avg);
                product / (above.avg.load_avg + 1)
            }
        };
        let cfs_rq = self.queue_mut(queue);
        (cfs_rq.h_load, cfs_rq.last_h_load_update) = (h_load, jiffies);
    }
}
