//! An entity joins and leaves one queue.

use super::{Cfs, Discipline};
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::{Hierarchy, Update};
use crate::fair::queueing::{DequeueFlags, EnqueueFlags};

impl Hierarchy {
    /// Source: `enqueue_entity()`.
    #[inline]
    pub(super) fn enqueue_entity_cfs(
        &mut self,
        queue: QueueId,
        se: EntityId,
        flags: EnqueueFlags,
        now: u64,
    ) {
        let renorm = !flags.wakeup || flags.migrated;
        let is_curr = self.queue(queue).curr == Some(se);
        if renorm && is_curr {
            self.renorm(queue, se);
        }
        self.update_curr(queue, now);
        if renorm && !is_curr {
            self.renorm(queue, se);
        }
        self.update_load_avg(queue, se, now, Update::Attach);
        self.se_update_runnable(se);
        self.update_cfs_group(se, now);
        self.account_entity_enqueue(queue, se);
        if flags.wakeup {
            self.place_wakeup(queue, se, now);
        }
        let (entity, cfs_rq) = (&mut self.entities[se.idx()], &mut self.queues[queue.idx()]);
        if flags.migrated {
            entity.exec_start = 0;
        }
        if !is_curr {
            self.cfs[queue.idx()].timeline.insert(entity.vruntime, se);
        }
        entity.on_rq = true;
        cfs_rq.on_list = true;
    }

    /// Makes a relative virtual time absolute.
    #[inline]
    fn renorm(&mut self, queue: QueueId, se: EntityId) {
        let min_vruntime = self.cfs(queue).min_vruntime;
        let se = self.entity_mut(se);
        se.vruntime = se.vruntime.wrapping_add(min_vruntime);
    }

    /// Source: `dequeue_entity()`.
    #[inline]
    pub(super) fn dequeue_entity_cfs(
        &mut self,
        queue: QueueId,
        se: EntityId,
        flags: DequeueFlags,
        now: u64,
    ) {
        let is_task = self.entity(se).my_q.is_none();
        let detach = is_task && flags.migrating;
        self.update_curr(queue, now);
        let update = if detach { Update::Detach } else { Update::Tg };
        self.update_load_avg(queue, se, now, update);
        self.se_update_runnable(se);
        self.clear_buddies(queue, se);

        let (entity, cfs_rq) = (&mut self.entities[se.idx()], &mut self.queues[queue.idx()]);
        if cfs_rq.curr != Some(se) {
            self.cfs[queue.idx()].timeline.remove(entity.vruntime, se);
        }
        entity.on_rq = false;
        self.account_entity_dequeue(queue, se);
        if !flags.sleep {
            Cfs::leave(self, se);
        }
        self.update_cfs_group(se, now);
        if !flags.save {
            self.update_min_vruntime(queue);
        }
    }

    /// Source: `update_min_vruntime()`.
    #[inline]
    pub(super) fn update_min_vruntime(&mut self, queue: QueueId) {
        let curr = self.queues[queue.idx()].curr.map(|curr| &self.entities[curr.idx()]);
        let curr = curr.filter(|se| se.on_rq).map(|se| se.vruntime);
        self.cfs[queue.idx()].update_min_vruntime(curr);
    }
}
