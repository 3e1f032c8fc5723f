//! Ageing the queues of a CPU on behalf of those who sleep.

use simsched_topology::CpuId;

use super::entity::EntityId;
use super::features::Version;
use super::group::GroupId;
use super::hierarchy::{Hierarchy, Update};
use super::tg_load::Source;

impl Hierarchy {
    /// Ages all queues of `cpu` that are on its list, from the leaves to the root: groups come after
    /// their parents, so the last is a leaf. True if something is left that will decay further.
    /// Source: `__update_blocked_fair()`, `cfs_rq_has_blocked()`.
    pub(super) fn update_blocked(&mut self, cpu: CpuId, now: u64) -> bool {
        let mut has_blocked = false;
        for group in (0..self.nr_groups()).rev().map(GroupId) {
            let queue = self.queue_of(group, cpu);
            if !self.queue(queue).on_list && group != GroupId::ROOT {
                continue;
            }
            if self.queue_mut(queue).update_load_avg(now) {
                self.update_tg_load_avg(queue, Source::Blocked);
            }
            if let Some(se) = self.queue(queue).se {
                if !self.skip_blocked_update(se) {
                    self.update_load_avg(self.cfs_rq_of(se), se, now, Update::Tg);
                }
                let cfs_rq = self.queue(queue);
                // What is still to be taken from the sum of its group, is when the queue is aged again.
                let is_gone =
                    self.features.version < Version::V6_12 || cfs_rq.tg_load_avg_contrib == 0;
                if cfs_rq.is_decayed() && is_gone && !self.has_listed_child(group, cpu) {
                    self.queue_mut(queue).on_list = false;
                }
            }
            let avg = &self.queue(queue).avg;
            has_blocked |= avg.load_avg != 0 || avg.util_avg != 0;
        }
        has_blocked
    }

    /// Whether a group's entity has nothing left to age, and no change below it to propagate.
    /// Source: `skip_blocked_update()`.
    fn skip_blocked_update(&self, se: EntityId) -> bool {
        let entity = self.entity(se);
        let has_load = entity.avg.load_avg != 0 || entity.avg.util_avg != 0;
        !has_load && entity.group_cfs_rq().is_none_or(|child| !self.queue(child).propagate)
    }

    /// Source: `child_cfs_rq_on_list()`.
    fn has_listed_child(&self, group: GroupId, cpu: CpuId) -> bool {
        let children = (1..self.nr_groups()).map(GroupId);
        children
            .filter(|child| self.groups[child.idx()].parent == Some(group))
            .any(|child| self.queue(self.queue_of(child, cpu)).on_list)
    }
}
