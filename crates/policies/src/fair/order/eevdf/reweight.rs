//! A change of weight keeps what an entity is owed.

use super::request::div_s64;
use crate::fair::entity::{EntityId, QueueId};
use crate::fair::hierarchy::Hierarchy;
use crate::fair::order::rules::Reweight;

impl Hierarchy {
    /// Source: `reweight_entity()`.
    pub(super) fn reweight_entity_eevdf(&mut self, se: EntityId, weight: u64, now: u64) {
        let queue = self.cfs_rq_of(se);
        let (is_curr, on_rq) = (self.queue(queue).curr == Some(se), self.entity(se).on_rq);
        if self.rules.reweight == Reweight::Rescale {
            self.rescale_entity(queue, se, weight, now);
            return;
        }
        if on_rq {
            self.update_curr(queue, now);
            let avruntime = self.avg_vruntime(queue);
            if !is_curr {
                self.wait_no_more(queue, se);
            }
            self.reweight_queued(queue, se, weight, avruntime);
        } else {
            let old = self.entity(se).load.weight.cast_signed();
            let request = &mut self.eevdf.requests[se.idx()];
            request.vlag = div_s64(request.vlag.wrapping_mul(old), weight.cast_signed());
        }
        self.queues[queue.idx()].reweight_entity(&mut self.entities[se.idx()], weight);
        if on_rq && !is_curr {
            self.wait_by_deadline(queue, se);
        }
    }

    /// Lag, deadline and protection are kept in real time, at full resolution.
    /// Source: `reweight_entity()`, `rescale_entity()`, Linux 7.2.
    fn rescale_entity(&mut self, queue: QueueId, se: EntityId, weight: u64, now: u64) {
        let (is_curr, on_rq) = (self.queue(queue).curr == Some(se), self.entity(se).on_rq);
        let (mut avruntime, mut is_protected) = (0, false);
        if on_rq {
            self.update_curr(queue, now);
            avruntime = self.avg_vruntime(queue);
            self.note_lag(queue, se, avruntime);
            is_protected = is_curr && self.is_protected(se);
            if !is_curr {
                self.wait_no_more(queue, se);
            }
        }
        let weights = [self.entity(se).load.weight, weight];
        let is_relative = on_rq || self.entity(se).rel_deadline;
        let request = &mut self.eevdf.requests[se.idx()];
        request.deadline = request.deadline.wrapping_sub(avruntime);
        if is_protected {
            request.vprot = request.vprot.wrapping_sub(avruntime);
        }
        request.rescale(weights, is_relative, is_protected);
        request.deadline = request.deadline.wrapping_add(avruntime);
        if is_protected {
            request.vprot = request.vprot.wrapping_add(avruntime);
        }
        let vruntime = avruntime.wrapping_sub(request.vlag.cast_unsigned());
        self.queues[queue.idx()].reweight_entity(&mut self.entities[se.idx()], weight);
        if on_rq {
            self.entity_mut(se).vruntime = vruntime;
            if !is_curr {
                self.wait_by_deadline(queue, se);
            }
        }
    }

    /// Source: `reweight_eevdf()`; 6.6 keeps the virtual time, and what is left of the request.
    fn reweight_queued(&mut self, queue: QueueId, se: EntityId, weight: u64, avruntime: u64) {
        let limit = self.lag_limit(queue, se);
        let entity = &mut self.entities[se.idx()];
        let weights = [entity.load.weight, weight];
        let at = match self.rules.reweight == Reweight::KeepsVruntime {
            true => entity.vruntime,
            false => avruntime,
        };
        let request = &mut self.eevdf.requests[se.idx()];
        entity.vruntime = request.reweight(at, entity.vruntime, limit, weights);
    }
}
