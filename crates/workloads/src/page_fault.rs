//! Page faults of threads that share an address space: when they take its lock (`mmap_lock`).

use simsched_core::{Nanos, SemId};

use crate::builder::Body;
use crate::dist::Dist;

/// When a page fault takes the lock of the address space, to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultLock {
    /// For the whole of it (before 6.4).
    Whole,
    /// Never: where it does without (`lock_vma_under_rcu()`), and what it still takes is left out.
    Never,
    /// Where it is the first one of its area, while that is prepared (`__vmf_anon_prepare()`, 6.10 and later).
    FirstTouch,
}

/// How long the lock is held to prepare an area: 1.63 us, less 0.65 for the two events (7.3.4, `mmap_lock` traced).
const PREPARES: u32 = 1_000;

impl FaultLock {
    /// A page fault of so many ns. The first one of its area has so many of them before that is prepared, if it is one.
    pub(crate) fn fault(self, p: &mut Body<'_>, lock: SemId, ns: u32, first: Option<u32>) {
        let run = |p: &mut Body<'_>, ns: u32| p.run(Dist::Constant(Nanos(u64::from(ns))));
        let reads = |p: &mut Body<'_>, held: u32| {
            p.down_read(lock);
            p.up_read(lock, held);
        };
        match (self, first) {
            (FaultLock::Whole, _) => reads(p, ns),
            (FaultLock::FirstTouch, Some(before)) => {
                run(p, before);
                reads(p, PREPARES);
                run(p, ns.saturating_sub(before + PREPARES));
            }
            (FaultLock::Never | FaultLock::FirstTouch, _) => run(p, ns),
        }
    }
}

/// From a page fault to the preparation of its area, where a page is mapped and where a table is needed for that, too:
/// 1.44 and 6.4 us with the events (7.3.4).
pub(crate) const TO_PREPARE: [u32; 2] = [1_100, 6_100];
