//! `Overlap`: transfers that go on at once, and the lines of a message's bytes.

use simsched_topology::{CpuId, Distance, OsCosts, Topology};

use super::divisor::Divisor;

/// Bytes of a cache line.
const LINE: u32 = 64;

/// Lines of a message's bytes that are read one after the other; what follows is a copy of many,
/// whose accesses do not wait for each other.
const FIRST_LINES: u32 = 2;

/// How many transfers go on at once.
#[derive(Clone, Debug)]
pub(super) struct Overlap {
    pct: u32,
    divisor: Divisor,
    /// The same for the many lines of a long message, within an LLC and beyond, in percent.
    copy_pct: [u32; 2],
}

impl Overlap {
    pub(super) fn new(costs: &OsCosts) -> Overlap {
        let pct = costs.message_overlap_pct.max(100);
        let copy_pct = [costs.dirty_overlap_near_pct, costs.dirty_overlap_far_pct];
        Overlap { pct, divisor: Divisor::new(pct), copy_pct }
    }

    /// What lines take to come that do not wait for each other, if one after the other they take `ns`.
    #[inline(always)]
    pub(super) fn at_once(&self, ns: u32) -> u64 {
        self.divisor.divide(u64::from(ns) * 100)
    }

    /// What `bytes` take from `writer` to `reader`, with so many lines `beside` them, one after the other,
    /// if one line takes `line` ns.
    #[inline(always)]
    pub(super) fn message(
        &self,
        topology: &Topology,
        [writer, reader]: [CpuId; 2],
        (beside, bytes): (u32, u32),
        line: u32,
    ) -> u32 {
        if line == 0 {
            return 0;
        }
        let all = bytes.div_ceil(LINE);
        let first = all.min(FIRST_LINES);
        let ns = beside.saturating_add(first).saturating_mul(line);
        if all == first {
            return ns;
        }
        let near = topology.distance_class(writer, reader) <= Distance::SameLlc;
        ns.saturating_add(self.copy((all - first).saturating_mul(line), near))
    }

    /// The many lines of a long message, as if they overlapped like a few.
    #[cold]
    fn copy(&self, ns: u32, near: bool) -> u32 {
        let copied = self.copy_pct[usize::from(!near)].max(self.pct);
        let ns = u64::from(ns) * u64::from(self.pct) / u64::from(copied);
        u32::try_from(ns).unwrap_or(u32::MAX)
    }
}
