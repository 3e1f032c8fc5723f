//! `Shape`: which CPUs of a machine share a core, a last-level cache and a node.

use simsched_topology::{CpuId, Topology};

/// What of a machine the metrics ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    cores: Vec<usize>,
    llcs: Vec<usize>,
    nodes: Vec<usize>,
}

impl Shape {
    /// The shape of this machine.
    #[must_use]
    pub fn of(topology: &Topology) -> Shape {
        let cpus = || (0..topology.nr_cpus()).map(CpuId::new);
        Shape {
            cores: cpus().map(|cpu| topology.core_of(cpu).idx()).collect(),
            llcs: cpus().map(|cpu| topology.llc_of(cpu).idx()).collect(),
            nodes: cpus().map(|cpu| topology.node_of(cpu).idx()).collect(),
        }
    }

    /// How many CPUs there are.
    #[must_use]
    pub fn nr_cpus(&self) -> usize {
        self.cores.len()
    }

    /// How many of `cpus` lie in each LLC.
    pub(crate) fn per_llc(&self, cpus: impl Iterator<Item = u32>) -> Vec<u64> {
        count(&self.llcs, cpus)
    }

    /// How many of `cpus` lie in each node.
    pub(crate) fn per_node(&self, cpus: impl Iterator<Item = u32>) -> Vec<u64> {
        count(&self.nodes, cpus)
    }

    /// How many of `cpus` are each CPU.
    pub(crate) fn per_cpu(&self, cpus: impl Iterator<Item = u32>) -> Vec<u64> {
        let same: Vec<usize> = (0..self.nr_cpus()).collect();
        count(&same, cpus)
    }

    /// How many cores `cpus` touch.
    pub(crate) fn touched_cores(&self, cpus: impl Iterator<Item = u32>) -> u64 {
        touched(&count(&self.cores, cpus))
    }

    /// The last-level cache of `cpu`; none if there is no such CPU.
    pub(crate) fn llc(&self, cpu: u32) -> Option<usize> {
        self.llcs.get(cpu as usize).copied()
    }

    /// Whether both CPUs have one last-level cache.
    pub(crate) fn share_llc(&self, a: u32, b: u32) -> bool {
        self.llc(a).is_some() && self.llc(a) == self.llc(b)
    }
}

/// How many parts have something.
pub(crate) fn touched(counts: &[u64]) -> u64 {
    counts.iter().filter(|count| **count > 0).count() as u64
}

/// How many of `cpus` lie in each part, where `parts` tells the part of each CPU.
fn count(parts: &[usize], cpus: impl Iterator<Item = u32>) -> Vec<u64> {
    let mut counts = vec![0; parts.iter().max().map_or(0, |last| last + 1)];
    for cpu in cpus {
        if let Some(part) = parts.get(cpu as usize) {
            counts[*part] += 1;
        }
    }
    counts
}
