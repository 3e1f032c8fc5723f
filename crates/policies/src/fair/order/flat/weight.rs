//! The weight of a task among all of its CPU.

use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::weight::calc_prop_weight;

impl Hierarchy {
    /// One step from `se` on `queue` upwards: what is left of `weight`. Source: `__calc_prop_weight()`.
    #[inline]
    pub(super) fn prop_weight(&self, queue: QueueId, se: EntityId, weight: u64) -> u64 {
        let cfs_rq = self.queue(queue);
        let of_queue = cfs_rq.se.map(|_| cfs_rq.load.weight);
        calc_prop_weight(weight, self.entity(se).load.weight, of_queue)
    }

    /// The task `se` weighs this much from now on, among all of its CPU: what it is owed, what is left of its request
    /// and of its protection stay the same in real time. It is in the tree, or its current task, where it is `on_rq`.
    /// Source: `reweight_eevdf()`.
    #[inline]
    pub(in crate::fair) fn reweight_task_flat(
        &mut self,
        root: QueueId,
        se: EntityId,
        weight: u64,
        on_rq: bool,
    ) {
        let old = self.eevdf.requests[se.idx()].weight;
        if old == weight {
            return;
        }
        if !on_rq {
            let relative = self.entity(se).rel_deadline;
            let request = &mut self.eevdf.requests[se.idx()];
            request.rescale([old, weight], relative, false);
            request.weight = weight;
            return;
        }
        self.reweight_queued_flat(root, se, [old, weight]);
    }

    fn reweight_queued_flat(&mut self, root: QueueId, se: EntityId, weights: [u64; 2]) {
        let is_curr = self.tree_curr(root) == Some(se);
        let avruntime = self.avg_vruntime(root);
        let is_protected = is_curr && self.is_protected(se);
        self.note_lag(root, se, avruntime);
        if !is_curr {
            self.wait_no_more(root, se);
        }
        let request = &mut self.eevdf.requests[se.idx()];
        request.deadline = request.deadline.wrapping_sub(avruntime);
        if is_protected {
            request.vprot = request.vprot.wrapping_sub(avruntime);
        }
        request.rescale(weights, true, is_protected);
        request.weight = weights[1];
        if is_protected {
            request.vprot = request.vprot.wrapping_add(avruntime);
        }
        request.deadline = request.deadline.wrapping_add(avruntime);
        let vruntime = avruntime.wrapping_sub(request.vlag.cast_unsigned());
        self.entity_mut(se).vruntime = vruntime;
        if !is_curr {
            self.wait_by_deadline(root, se);
        }
    }
}
