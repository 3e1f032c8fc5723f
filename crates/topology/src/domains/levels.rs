//! The topology levels of a machine, bottom to top, and the mask of every CPU at each.

use std::collections::BTreeMap;

use crate::cpuset::CpuSet;
use crate::ids::{CpuId, NodeId};
use crate::machine::{Arch, Topology};

use super::Kernel;
use super::flags::SdFlags;

/// One level of the kernel's topology table.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) name: &'static str,
    /// The distance of a NUMA level; none below.
    pub(super) distance: Option<u32>,
    /// The distinct masks.
    spans: Vec<CpuSet>,
    /// By CPU: the index of its mask.
    of_cpu: Vec<usize>,
    /// By mask: the flags of a fresh domain.
    flags: Vec<SdFlags>,
}

impl Level {
    fn new(name: &'static str, flags: SdFlags, masks: Masks) -> Self {
        let flags = vec![SdFlags::EVERYWHERE | flags; masks.spans.len()];
        Self { name, distance: None, spans: masks.spans, of_cpu: masks.of_cpu, flags }
    }

    /// A NUMA level: spread no more, one balancer at a time, and beyond the reclaim distance no placement.
    fn numa(distance: u32, reclaim_distance: u32, kernel: Kernel, masks: Masks) -> Self {
        let mut flags = SdFlags::EVERYWHERE & !SdFlags::PREFER_SIBLING;
        flags |= SdFlags::NUMA | SdFlags::SERIALIZE;
        if kernel != Kernel::V7_3 {
            flags |= SdFlags::OVERLAP;
        }
        if distance > reclaim_distance {
            flags = flags & !SdFlags::NEARBY_ONLY;
        }
        let flags = vec![flags; masks.spans.len()];
        Self {
            name: "NUMA",
            distance: Some(distance),
            spans: masks.spans,
            of_cpu: masks.of_cpu,
            flags,
        }
    }

    /// The index of the mask of a CPU.
    pub(super) fn span_idx(&self, cpu: CpuId) -> usize {
        self.of_cpu[cpu.idx()]
    }

    pub(super) fn span(&self, idx: usize) -> &CpuSet {
        &self.spans[idx]
    }

    pub(super) fn span_of(&self, cpu: CpuId) -> &CpuSet {
        &self.spans[self.of_cpu[cpu.idx()]]
    }

    /// The flags of a fresh domain with this mask.
    pub(super) fn flags(&self, idx: usize) -> SdFlags {
        self.flags[idx]
    }

    pub(super) fn flags_of(&self, cpu: CpuId) -> SdFlags {
        self.flags[self.of_cpu[cpu.idx()]]
    }

    pub(super) const fn is_numa(&self) -> bool {
        self.distance.is_some()
    }

    pub(super) fn nr_spans(&self) -> usize {
        self.spans.len()
    }
}

/// Distinct sets, and which is whose.
struct Masks {
    spans: Vec<CpuSet>,
    of_cpu: Vec<usize>,
}

impl Masks {
    /// The sets that `mask` gives the CPUs, the same content being the same set.
    fn new<'t>(nr_cpus: usize, mask: impl Fn(CpuId) -> &'t CpuSet) -> Self {
        let mut known: BTreeMap<Vec<CpuId>, usize> = BTreeMap::new();
        let (mut spans, mut of_cpu): (Vec<CpuSet>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut last: Option<(*const CpuSet, usize)> = None;
        for cpu in (0..nr_cpus).map(CpuId::new) {
            let span = mask(cpu);
            let idx = match last {
                Some((set, idx)) if std::ptr::eq(set, span) => idx,
                _ => *known.entry(span.iter().collect()).or_insert_with(|| {
                    spans.push(*span);
                    spans.len() - 1
                }),
            };
            last = Some((span, idx));
            of_cpu.push(idx);
        }
        Self { spans, of_cpu }
    }
}

/// All levels of the machine for a kernel, bottom to top.
pub(super) fn levels(topology: &Topology, kernel: Kernel) -> Vec<Level> {
    let share = SdFlags::SHARE_LLC;
    let cluster = match kernel {
        Kernel::V6_1 => share,
        Kernel::V6_12 | Kernel::V7_3 => share | SdFlags::CLUSTER,
    };
    let n = topology.nr_cpus();
    let smt = || Masks::new(n, |cpu| topology.smt_mask(cpu));
    let llc = || Masks::new(n, |cpu| topology.llc_span(topology.llc_of(cpu)));
    let mut levels = Vec::new();
    // Since 7.2 x86 does not make what would be taken out.
    let is_left_out = kernel == Kernel::V7_3 && topology.arch() == Arch::X86;
    if !is_left_out || topology.nr_cores() < n {
        levels.push(Level::new("SMT", share | SdFlags::SHARE_CPUCAPACITY, smt()));
    }
    match topology.arch() {
        Arch::X86 | Arch::Generic => {
            let masks = listed(topology, &topology.clusters);
            let masks = masks.unwrap_or_else(smt);
            levels.push(Level::new("CLS", cluster, masks));
            levels.push(Level::new("MC", share, llc()));
        }
        Arch::Power => {
            // Since 6.9 the table is made at boot, and the level is left out where it adds nothing.
            if kernel == Kernel::V6_1 || topology.nr_llcs() != topology.nr_cores() {
                levels.push(Level::new("CACHE", share, llc()));
            }
            if let Some(masks) = listed(topology, &topology.coregroups) {
                levels.push(Level::new("MC", SdFlags::NONE, masks));
            }
        }
    }
    let node = || Masks::new(n, |cpu| topology.node_span(topology.node_of(cpu)));
    if topology.arch() != Arch::X86 || !has_numa_in_package(topology) {
        let name = if kernel == Kernel::V6_1 { "DIE" } else { "PKG" };
        levels.push(Level::new(name, SdFlags::NONE, node()));
    }
    levels.push(Level::new("NODE", SdFlags::NONE, node()));
    levels.extend(numa_levels(topology, kernel));
    levels
}

/// The masks of parts that a machine may or may not list.
fn listed(topology: &Topology, parts: &[CpuSet]) -> Option<Masks> {
    let part = |cpu| parts.iter().find(|p| p.contains(cpu)).expect("parts hold all CPUs");
    (!parts.is_empty()).then(|| Masks::new(topology.nr_cpus(), part))
}

/// Whether a package contains several nodes: then x86 drops the package level.
fn has_numa_in_package(topology: &Topology) -> bool {
    topology
        .packages
        .iter()
        .any(|package| topology.nodes.iter().filter(|node| node.intersects(package)).count() > 1)
}

/// The distinct distances of the machine beyond the local one, in increasing order.
pub(super) fn numa_distances(topology: &Topology) -> Vec<u32> {
    let mut distances = topology.distances.clone();
    distances.sort_unstable();
    distances.dedup();
    distances.into_iter().filter(|&d| d > 10).collect()
}

/// One level for each distance: all nodes at most that far.
fn numa_levels(topology: &Topology, kernel: Kernel) -> Vec<Level> {
    let nodes = || (0..topology.nr_nodes()).map(NodeId::new);
    numa_distances(topology)
        .into_iter()
        .map(|distance| {
            let near = |a| {
                let within = nodes().filter(move |&b| topology.node_distance(a, b) <= distance);
                within.fold(CpuSet::new(), |all, b| all.or(topology.node_span(b)))
            };
            let spans: Vec<CpuSet> = nodes().map(near).collect();
            let masks = Masks::new(topology.nr_cpus(), |cpu| &spans[topology.node_of(cpu).idx()]);
            Level::numa(distance, topology.reclaim_distance(), kernel, masks)
        })
        .collect()
}
