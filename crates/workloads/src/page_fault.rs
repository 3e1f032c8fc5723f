//! Page faults of threads that share an address space: when they take its lock (`mmap_lock`).

use simsched_core::{Nanos, SemId};

use crate::builder::Body;
use crate::dist::Dist;

/// When a page fault takes the lock of the address space, to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultLock {
    /// For the whole of it (before 6.4).
    Whole,
    /// Never (`lock_vma_under_rcu()`). So under 6.12, where the first fault of an area takes it for about 1 us: that is
    /// left out.
    Never,
    /// Where it is the first one of its area, while that is prepared (`__vmf_anon_prepare()`, 6.10 and later). Somebody
    /// who writes there or waits for the lock lets its `mmap_read_trylock()` fail: then the fault is begun anew, waits for
    /// the lock and holds it to its end.
    FirstTouch,
}

/// How long the lock is held to prepare an area, in ns: 1.63 us, less 0.65, which is what an event takes that is written
/// while it is held (7.3.4, `mmap_lock` traced).
const PREPARES: u32 = 1_000;
/// From a trylock that fails to the call that waits for the lock, in ns: 2.2 us with one more trylock, less 1.9 for three
/// events (7.3.4, 52 faults of 55).
const RETRIES: u32 = 300;

impl FaultLock {
    /// A page fault that takes `ns`. `first`, where it is the first one of its area: how many of these pass before the
    /// area is prepared.
    pub(crate) fn fault(self, p: &mut Body<'_>, lock: SemId, ns: u32, first: Option<u32>) {
        let run = |p: &mut Body<'_>, ns: u32| p.run(Dist::Constant(Nanos(u64::from(ns))));
        let reads = |p: &mut Body<'_>, held: u32| {
            p.down_read(lock);
            p.up_read(lock, held);
        };
        match (self, first) {
            (FaultLock::Whole, _) => reads(p, ns),
            (FaultLock::FirstTouch, Some(before)) => {
                debug_assert!(before + PREPARES <= ns, "the preparation is part of the fault");
                run(p, before);
                let taken = |p: &mut Body<'_>| {
                    p.up_read(lock, PREPARES);
                    run(p, ns.saturating_sub(before + PREPARES));
                };
                // The tables that it has made before are there; all else is done again. Recorded: 7.8 us, both where
                // the way to the preparation was the short one and where it was the long one (8.4 to 8.6 less 0.65
                // for an event, 49 of 55; the others 7.4 and 11.3 to 26.6, interrupted or begun late).
                let busy = |p: &mut Body<'_>| {
                    run(p, RETRIES);
                    reads(p, ns.saturating_sub(before.saturating_sub(TO_PREPARE[0])));
                };
                p.down_read_trylock(lock, taken, busy);
            }
            (FaultLock::Never | FaultLock::FirstTouch, _) => run(p, ns),
        }
    }
}

/// In ns, from a page fault to the preparation of its area: where there is a page table, and where one is made first. 1.44
/// and 6.4 us, less 0.3 for the event of the page fault (7.3.4, `mmap_lock` traced).
pub(crate) const TO_PREPARE: [u32; 2] = [1_100, 6_100];
