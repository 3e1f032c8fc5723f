//! `EevdfRows`: what EEVDF keeps of all entities and queues, by row of the [`Hierarchy`].

use super::request::Request;
use super::tree::Nodes;
use super::virtual_time::EevdfRq;
use crate::fair::entity::QueueId;
use crate::fair::hierarchy::Hierarchy;
use crate::fair::order::MIN_VRUNTIME;

/// What EEVDF keeps of all entities and queues. Nothing is there under CFS.
#[derive(Clone, Debug, Default)]
pub(in crate::fair) struct EevdfRows {
    /// By entity: what it asks for.
    pub(in crate::fair) requests: Vec<Request>,
    /// By entity: where it waits.
    pub(in crate::fair) nodes: Nodes,
    /// By queue: its virtual time, and its tree.
    pub(in crate::fair) queues: Vec<EevdfRq>,
}

impl EevdfRows {
    /// Rows of so many entities that ask for nothing, and of so many empty queues.
    pub(in crate::fair) fn new(entities: usize, queues: usize) -> EevdfRows {
        EevdfRows {
            requests: vec![Request::default(); entities],
            nodes: Nodes::new(entities),
            queues: vec![EevdfRq::new(MIN_VRUNTIME); queues],
        }
    }
}

impl Hierarchy {
    /// What EEVDF keeps of `queue`.
    #[inline]
    pub(in crate::fair) fn eevdf_rq(&self, queue: QueueId) -> &EevdfRq {
        &self.eevdf.queues[queue.idx()]
    }

    #[inline]
    pub(in crate::fair) fn eevdf_rq_mut(&mut self, queue: QueueId) -> &mut EevdfRq {
        &mut self.eevdf.queues[queue.idx()]
    }
}
