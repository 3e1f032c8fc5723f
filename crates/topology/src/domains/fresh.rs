//! `Fresh`: the domain of one CPU at one level as it is made, before any degenerates.

use crate::ids::CpuId;

use super::flags::SdFlags;
use super::groups::{Ring, Tree};

/// A domain being built.
#[derive(Clone, Debug)]
pub(super) struct Fresh {
    /// The index of its level.
    pub(super) level: usize,
    pub(super) weight: u32,
    pub(super) flags: SdFlags,
    pub(super) imb_numa_nr: u32,
    pub(super) ring: Ring,
}

/// The domains of a CPU bottom-up, with the rings still to be filled in.
pub(super) fn tree_of(tree: &Tree<'_>, cpu: CpuId) -> Vec<Fresh> {
    let domain = |level: usize| Fresh {
        level,
        weight: u32::try_from(tree.levels[level].span_of(cpu).len()).expect("at most 1024 CPUs"),
        flags: tree.levels[level].flags_of(cpu),
        imb_numa_nr: 0,
        ring: Ring { start: 0, len: 0 },
    };
    (0..=tree.top[cpu.idx()]).map(domain).collect()
}
