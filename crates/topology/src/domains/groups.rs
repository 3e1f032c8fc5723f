//! Sched groups: the rings of ordinary domains, and the overlapping groups of NUMA domains.

use std::collections::BTreeMap;

use crate::cpuset::CpuSet;
use crate::ids::CpuId;
use crate::machine::Topology;

use super::flags::SdFlags;
use super::levels::Level;
use super::{GroupId, SchedGroup};

/// A run of the shared array of rings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub(super) start: usize,
    pub(super) len: usize,
}

/// All groups while domains are built.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) groups: Vec<SchedGroup>,
    /// Rings end to end. The ring of an ordinary domain stands twice in a row, so that it can be read
    /// from any of its groups on.
    pub(super) rings: Vec<GroupId>,
    /// By level and first balance CPU: the capacity object that all CPUs share.
    capacities: BTreeMap<(usize, CpuId), u32>,
    /// NUMA groups by the level that owns them, the index of their span there, and their flags.
    numa: BTreeMap<(usize, usize, SdFlags), GroupId>,
    numa_rings: BTreeMap<Vec<GroupId>, usize>,
}

impl Groups {
    /// The number of capacity objects.
    pub(super) fn nr_capacities(&self) -> usize {
        self.capacities.len()
    }

    fn push(
        &mut self,
        topology: &Topology,
        level: usize,
        span: CpuSet,
        mask: CpuSet,
        flags: SdFlags,
    ) -> GroupId {
        let balance_cpu = mask.first().expect("somebody owns the group");
        let next = u32::try_from(self.capacities.len()).expect("few groups");
        let capacity_id = *self.capacities.entry((level, balance_cpu)).or_insert(next);
        self.groups.push(SchedGroup {
            weight: u32::try_from(span.len()).expect("at most 1024 CPUs"),
            capacity: span.iter().map(|cpu| topology.capacity(cpu)).sum(),
            cores: cores(topology, &span),
            span,
            balance_mask: mask,
            balance_cpu,
            flags,
            capacity_id,
        });
        GroupId(u32::try_from(self.groups.len() - 1).expect("few groups"))
    }

    /// The rings of an ordinary level: by CPU, the ring that starts at its own group.
    ///
    /// All CPUs of a span share one ring. The kernel lets every CPU write it, so the last one, the
    /// highest of the span, decides the order.
    pub(super) fn rings_of_level(
        &mut self,
        topology: &Topology,
        levels: &[Level],
        at: usize,
    ) -> Vec<Ring> {
        let nothing = Ring { start: 0, len: 0 };
        let mut rings = vec![nothing; topology.nr_cpus()];
        for idx in 0..levels[at].nr_spans() {
            let span = *levels[at].span(idx);
            let last = span.last().expect("a span has CPUs");
            let (mut ring, mut covered) = (Vec::new(), CpuSet::new());
            let start = self.rings.len();
            for cpu in span.iter_wrap(last) {
                if covered.contains(cpu) {
                    continue;
                }
                let (members, flags) = match at.checked_sub(1).map(|below| &levels[below]) {
                    Some(child) => (*child.span_of(cpu), child.flags_of(cpu)),
                    None => (CpuSet::single(cpu), SdFlags::NONE),
                };
                for member in &members {
                    rings[member.idx()].start = start + ring.len();
                }
                covered.union_with(&members);
                ring.push(self.push(topology, at, members, members, flags));
            }
            for cpu in &span {
                rings[cpu.idx()].len = ring.len();
            }
            self.rings.extend_from_slice(&ring);
            self.rings.extend_from_slice(&ring);
        }
        rings
    }

    /// The group with this span at its owners' level, for a view with these flags.
    pub(super) fn numa_group(
        &mut self,
        topology: &Topology,
        tree: &Tree<'_>,
        owner: NumaOwner,
        flags: SdFlags,
    ) -> GroupId {
        let key = (owner.level, owner.span_idx, flags);
        if let Some(&group) = self.numa.get(&key) {
            return group;
        }
        let child = &tree.levels[owner.level - 1];
        let span = *child.span(owner.span_idx);
        let owns = |cpu: &CpuId| {
            child.span_idx(*cpu) == owner.span_idx && tree.top[cpu.idx()] >= owner.level
        };
        let mask: CpuSet = span.iter().filter(owns).collect();
        let group = self.push(topology, owner.level, span, mask, flags);
        self.numa.insert(key, group);
        group
    }

    /// Keeps a ring of a NUMA domain; equal rings are stored once.
    pub(super) fn numa_ring(&mut self, ring: Vec<GroupId>) -> Ring {
        let len = ring.len();
        let rings = &mut self.rings;
        let start = *self.numa_rings.entry(ring).or_insert_with_key(|ring| {
            rings.extend_from_slice(ring);
            rings.len() - ring.len()
        });
        Ring { start, len }
    }
}

/// The levels, and how many of them each CPU has before any degenerates.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) levels: &'a [Level],
    /// By CPU: the index of its highest level.
    pub(super) top: Vec<usize>,
}

/// Whose child span a NUMA group is: a level, and the index of the span in the level below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumaOwner {
    pub(super) level: usize,
    pub(super) span_idx: usize,
}

/// The groups of the NUMA domain of `cpu` at level `at`, in ring order from its own.
///
/// Walks the span from `cpu` on, wrapping; each CPU that no group covers yet brings the child span of
/// its own domain, or of a lower one when that would reach out of the span (diameter of 3 and more).
pub(super) fn numa_owners(tree: &Tree<'_>, cpu: CpuId, at: usize) -> Vec<NumaOwner> {
    let span = tree.levels[at].span_of(cpu);
    let mut left = *span;
    let mut owners = Vec::new();
    let mut from = cpu;
    while let Some(sibling) = left.next_wrap(from) {
        from = sibling;
        if tree.top[sibling.idx()] < at {
            left.remove(sibling);
            continue;
        }
        let level = descend(tree, sibling, at, span);
        let child = &tree.levels[level - 1];
        owners.push(NumaOwner { level, span_idx: child.span_idx(sibling) });
        left.subtract(child.span_of(sibling));
    }
    owners
}

/// The level of `sibling` whose child stays within `span`, as near to `at` as can be.
fn descend(tree: &Tree<'_>, sibling: CpuId, at: usize, span: &CpuSet) -> usize {
    let child = |level: usize| tree.levels[level - 1].span_of(sibling);
    if child(at).is_subset(span) {
        return at;
    }
    let mut level = at;
    while level > 1 && !child(level).is_subset(span) {
        level -= 1;
    }
    // Domains that will degenerate do not own groups.
    while level > 1 && child(level) == tree.levels[level].span_of(sibling) {
        level -= 1;
    }
    level
}

/// The number of cores with a CPU in the set.
fn cores(topology: &Topology, span: &CpuSet) -> u32 {
    let mut left = *span;
    let mut cores = 0;
    while let Some(cpu) = left.first() {
        left.subtract(topology.smt_mask(cpu));
        cores += 1;
    }
    cores
}
