//! `NumaTopologyType`: how the nodes are wired, as far as their distances tell.

use crate::ids::NodeId;
use crate::machine::Topology;

use super::levels::numa_distances;

/// How the nodes of a machine are wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumaTopologyType {
    /// Every node reaches every other in one hop: at most one distance besides the local one.
    Direct,
    /// Between the two farthest nodes lies a node that is nearer to both.
    GluelessMesh,
    /// The far nodes meet in a controller; no node lies between them.
    Backplane,
}

impl NumaTopologyType {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::GluelessMesh => "glueless_mesh",
            Self::Backplane => "backplane",
        }
    }

    /// Judges by the first pair of nodes at the largest distance, as `init_numa_topology_type()` does.
    pub(super) fn of(topology: &Topology) -> Self {
        let distances = numa_distances(topology);
        let nodes = || (0..topology.nr_nodes()).map(NodeId::new);
        let (Some(&farthest), true) = (distances.last(), distances.len() > 1) else {
            return Self::Direct;
        };
        let far = |a, b| topology.node_distance(a, b) >= farthest;
        let mut pairs = nodes().flat_map(|a| nodes().map(move |b| (a, b)));
        let (a, b) = pairs.find(|&(a, b)| far(a, b)).expect("the largest distance is somewhere");
        if nodes().any(|c| !far(a, c) && !far(b, c)) { Self::GluelessMesh } else { Self::Backplane }
    }
}
