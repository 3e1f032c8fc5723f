//! How large a process may be to be gathered behind one LLC.

use super::CacheAwareVersion;

/// The size of a page, in bytes.
const PAGE_SIZE: u64 = 4096;

/// What counts as too large. Source: spec 08 section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlcLimits {
    /// The form of cache-aware load balancing.
    pub version: CacheAwareVersion,
    /// `llc_balancing.aggr_tolerance`.
    pub aggr_tolerance: u64,
}

impl LlcLimits {
    /// How many times what an LLC has counts, `mul` the more for each step of tolerance; `None` is any
    /// times. Source: `get_sched_cache_scale()`.
    #[must_use]
    pub fn scale(self, mul: u64) -> Option<u64> {
        match self.aggr_tolerance {
            0 => Some(0),
            100.. => None,
            tolerance => Some(1 + (tolerance - 1) * mul),
        }
    }

    /// Whether so many threads run at once that an LLC of so many CPUs, of which `smt` are a core, has no
    /// room for them.
    ///
    /// ```text
    /// merged: nr_running_avg * smt * 1.25 >= scale * CPUs
    /// v4:     nr_running_avg * smt         > scale * CPUs
    /// ```
    ///
    /// Source: `fits_capacity()` in `invalid_llc_nr()`, 7.2; `exceed_llc_nr()`, version 4.
    #[must_use]
    pub fn are_too_many(self, nr_running_avg: u64, smt: u64, llc_cpus: u64) -> bool {
        let Some(scale) = self.scale(1) else { return false };
        let (threads, room) = (nr_running_avg.wrapping_mul(smt), scale * llc_cpus);
        match self.version {
            CacheAwareVersion::Merged => threads.wrapping_mul(1280) >= room * 1024,
            // Its scale of 0 is refused by itself.
            CacheAwareVersion::V4 => scale == 0 || threads > room,
        }
    }

    /// Whether a process of so many threads is not gathered: [`LlcLimits::are_too_many`], or, whatever the
    /// tolerance, it has one thread; version 4 asks for that elsewhere. Source: `invalid_llc_nr()`.
    #[must_use]
    pub fn invalid_llc_nr(
        self,
        nr_threads: u32,
        nr_running_avg: u64,
        smt: u64,
        llc_cpus: u64,
    ) -> bool {
        let is_single = self.version == CacheAwareVersion::Merged && nr_threads <= 1;
        is_single || self.are_too_many(nr_running_avg, smt, llc_cpus)
    }

    /// Whether a process is too large for an LLC of so many bytes by its NUMA hinting faults, which count so
    /// many pages of 4096 bytes; none is where NUMA balancing is off. Source: `exceed_llc_capacity()`.
    #[must_use]
    pub fn exceed_llc_capacity(
        self,
        numa_balancing: bool,
        footprint_pages: u64,
        llc_bytes: u64,
    ) -> bool {
        numa_balancing && self.is_too_large(footprint_pages.wrapping_mul(PAGE_SIZE), llc_bytes)
    }

    /// Whether a process of so many bytes has no room in an LLC of so many; the size 0 is not known.
    /// Source: `exceed_llc_capacity()`.
    #[must_use]
    pub fn is_too_large(self, footprint: u64, llc_bytes: u64) -> bool {
        let Some(scale) = self.scale(256) else { return false };
        let room = llc_bytes.wrapping_mul(scale);
        match self.version {
            CacheAwareVersion::Merged => room < footprint,
            CacheAwareVersion::V4 => room <= footprint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CacheAwareVersion::{Merged, V4};

    const fn limits(version: CacheAwareVersion, aggr_tolerance: u64) -> LlcLimits {
        LlcLimits { version, aggr_tolerance }
    }

    /// 16 CPUs are 8 cores: 12 * 1280 < 16 * 1024 <= 14 * 1280. Version 4 takes all 8.
    #[test]
    fn four_fifths_of_the_cores_of_an_llc_may_run_threads_of_one_process() {
        let [merged, v4] = [limits(Merged, 1), limits(V4, 1)];
        assert!(!merged.are_too_many(6, 2, 16) && merged.are_too_many(7, 2, 16));
        assert!(!v4.are_too_many(8, 2, 16) && v4.are_too_many(9, 2, 16));
        // Without siblings: 12 * 1280 < 16 * 1024 <= 13 * 1280.
        assert!(!merged.are_too_many(12, 1, 16) && merged.are_too_many(13, 1, 16));
    }

    #[test]
    fn tolerance_is_so_many_times_as_many_threads_none_or_any_number() {
        for version in [Merged, V4] {
            assert!(limits(version, 0).are_too_many(0, 2, 16), "none");
            assert!(!limits(version, 100).are_too_many(1_000_000, 2, 16), "any");
        }
        // 3 * 16 CPUs: 19 * 2 * 1280 < 48 * 1024 <= 20 * 2 * 1280.
        let thrice = limits(Merged, 3);
        assert!(!thrice.are_too_many(19, 2, 16) && thrice.are_too_many(20, 2, 16));
    }

    #[test]
    fn a_process_must_not_be_larger_than_the_llc_and_in_version_4_not_as_large() {
        const MIB: u64 = 1 << 20;
        let [merged, v4] = [limits(Merged, 1), limits(V4, 1)];
        assert!(!merged.is_too_large(32 * MIB, 32 * MIB));
        assert!(merged.is_too_large(32 * MIB + 1, 32 * MIB));
        assert!(!v4.is_too_large(32 * MIB - 1, 32 * MIB) && v4.is_too_large(32 * MIB, 32 * MIB));
        // One step of tolerance is 256 times as much.
        let twice = limits(Merged, 2);
        assert!(!twice.is_too_large(257 * 32 * MIB, 32 * MIB));
        assert!(twice.is_too_large(257 * 32 * MIB + 1, 32 * MIB));
        assert!(!limits(Merged, 100).is_too_large(u64::MAX, 1));
        // Of an LLC of unknown size everything is too large that has a size.
        assert!(merged.is_too_large(1, 0) && !merged.is_too_large(0, 0) && v4.is_too_large(0, 0));
    }
}
