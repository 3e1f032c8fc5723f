//! `Found`: what a source says, in the source's own numbers, before anything is concluded from it.

use crate::maker::Maker;
use crate::set::Set;

/// What a source says of a machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// What the source is, such as `hwloc XML 3.0`: for comments and as source of facts.
    pub(crate) kind: String,
    /// The CPUs that run.
    pub(crate) cpus: Set,
    /// CPUs that the machine has and that do not run, or that the source may not see.
    pub(crate) hidden: Set,
    /// CPUs of a core; all sets may name CPUs that do not run.
    pub(crate) cores: Vec<Set>,
    /// CPUs of a package; empty if the source has none.
    pub(crate) packages: Vec<Set>,
    /// Caches of CPUs. One cache may be there several times.
    pub(crate) caches: Vec<Cache>,
    /// Clusters that firmware describes (arm64).
    pub(crate) clusters: Vec<Set>,
    /// The NUMA nodes, memory without CPUs among them; `None` if the source does not look at memory.
    pub(crate) nodes: Option<Vec<Node>>,
    /// Distances of nodes, if the source tells them.
    pub(crate) distances: Option<Distances>,
    /// Kinds of cores, by name; several are no machine of ours.
    pub(crate) kinds: Vec<(String, Set)>,
    /// What the CPUs call themselves.
    pub(crate) processor: Processor,
    /// What was left out while reading.
    pub(crate) notes: Vec<String>,
}

/// A cache.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    /// 1 for the first level.
    pub(crate) level: u32,
    /// Whether it holds instructions only.
    pub(crate) is_instruction: bool,
    /// Its size in KiB, if it is told.
    pub(crate) kib: Option<u64>,
    pub(crate) cpus: Set,
}

/// A NUMA node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) number: u32,
    /// The CPUs that are local to it.
    pub(crate) cpus: Set,
    /// Whether it is known to be memory of a special kind (HBM and the like), which has no CPUs in Linux
    /// beside the ordinary memory of the same CPUs.
    pub(crate) is_special: bool,
}

/// A table of distances between nodes.
#[derive(Clone, Debug)]
pub(crate) struct Distances {
    /// The nodes in the order of rows and columns.
    pub(crate) nodes: Vec<u32>,
    /// Row by row.
    pub(crate) values: Vec<u64>,
}

impl Distances {
    /// The distance from one node to another, if both are in the table.
    pub(crate) fn get(&self, from: u32, to: u32) -> Option<u64> {
        let place = |node| self.nodes.iter().position(|&n| n == node);
        self.values.get(place(from)? * self.nodes.len() + place(to)?).copied()
    }
}

/// What the CPUs call themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Processor {
    /// As in `uname -m`: `x86_64`, `ppc64le`, `aarch64`.
    pub(crate) architecture: Option<String>,
    /// As in CPUID: `GenuineIntel`.
    pub(crate) vendor: Option<String>,
    pub(crate) family: Option<u32>,
    pub(crate) model: Option<u32>,
    /// The name that is sold: `AMD EPYC 9654 96-Core Processor`.
    pub(crate) name: Option<String>,
    /// Bytes of a cache line.
    pub(crate) line_bytes: Option<u64>,
    /// The highest clocks in MHz: the least and the greatest of all CPUs.
    pub(crate) max_mhz: Option<(u64, u64)>,
    /// Its maker by what only that maker's CPUs show, where no vendor is told.
    pub(crate) sign: Option<Maker>,
}
