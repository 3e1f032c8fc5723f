//! `Occupancy`: which part of its working set a task can keep in an LLC that others use, too.

use simsched_topology::{CpuId, LlcId, Topology};

/// All of it: parts are in units of 2^-20.
pub(super) const ALL: u32 = 1 << 20;

/// One that computes with a working set.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// Its working set.
    bytes: u64,
    /// Which part of its accesses its core cannot serve, of [`ALL`].
    reach: u64,
}

/// The tasks with working sets that run behind each LLC, and how hard they press there.
///
/// A full cache loses what it holds at the rate at which lines come in, from everybody alike. Those who
/// touch their sets at one rate, each line with the same probability, have
///
/// ```text
/// dO/dt = m - O/C * (sum of m)     m = reach * (1 - O/W)
/// ```
///
/// where O of W bytes are held in C, and come to rest at `O = W * reach / (reach + l * W)`, with the one
/// `l` for which these fill the cache. If all sets fit, `l` is 0 and all is held. Source: section 6 of the
/// cost model, with hits proportional to what is held (its exponent is 0.5 to 1).
#[derive(Clone, Debug)]
pub(super) struct Occupancy {
    /// By CPU.
    running: Vec<Member>,
    /// By LLC: `l`, in units of 2^-48 for each byte.
    pressure: Vec<u64>,
    /// By LLC.
    llc_bytes: Vec<u64>,
    core_bytes: u64,
}

impl Occupancy {
    /// Nobody runs. `core_bytes` are those of the second-level cache; 0 where a size is not known, and
    /// then it holds all.
    pub(super) fn new(topology: &Topology, llc_bytes: &[u64], core_bytes: u64) -> Occupancy {
        let or_all = |bytes: u64| if bytes == 0 { u64::MAX } else { bytes };
        Occupancy {
            running: vec![Member::default(); topology.nr_cpus()],
            pressure: vec![0; topology.nr_llcs()],
            llc_bytes: llc_bytes.iter().map(|&bytes| or_all(bytes)).collect(),
            core_bytes: or_all(core_bytes),
        }
    }

    /// How many bytes of a working set a core holds at most.
    pub(super) fn in_core(&self, bytes: u64) -> u64 {
        bytes.min(self.core_bytes)
    }

    /// A task with a working set of `bytes` runs on `cpu` now.
    pub(super) fn enters(&mut self, topology: &Topology, cpu: CpuId, bytes: u64) {
        let beyond = bytes - self.in_core(bytes);
        let reach = u64::from(ALL) * beyond / bytes.max(1);
        self.replaces(topology, cpu, Member { bytes, reach });
    }

    /// It does not any more.
    pub(super) fn leaves(&mut self, topology: &Topology, cpu: CpuId) {
        self.replaces(topology, cpu, Member::default());
    }

    /// Which part of the working set of the task on `cpu` its LLC holds in the long run, of [`ALL`].
    pub(super) fn held(&self, topology: &Topology, cpu: CpuId) -> u32 {
        let pressure = self.pressure[topology.llc_of(cpu).idx()];
        self.running[cpu.idx()].held(pressure)
    }

    fn replaces(&mut self, topology: &Topology, cpu: CpuId, member: Member) {
        let before = std::mem::replace(&mut self.running[cpu.idx()], member);
        if before.reach > 0 || member.reach > 0 {
            self.balances(topology, topology.llc_of(cpu));
        }
    }

    /// Finds the least pressure under which what is held fits, by halving.
    fn balances(&mut self, topology: &Topology, llc: LlcId) {
        let span = topology.llc_span(llc);
        let fits = |pressure: u64| {
            let all = span.iter().map(|cpu| self.running[cpu.idx()].bytes_held(pressure));
            all.sum::<u64>() <= self.llc_bytes[llc.idx()]
        };
        let (mut lo, mut hi) = (0, 1 << 48);
        if fits(0) {
            hi = 0;
        }
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            if fits(middle) {
                hi = middle;
            } else {
                lo = middle + 1;
            }
        }
        self.pressure[llc.idx()] = hi;
    }
}

impl Member {
    /// Which part it holds under this pressure; all of it if it never gets to the LLC.
    fn held(self, pressure: u64) -> u32 {
        if self.reach == 0 || pressure == 0 {
            return ALL;
        }
        let pressed = (u128::from(pressure) * u128::from(self.bytes)) >> 28;
        let reach = u128::from(self.reach);
        u32::try_from(u128::from(ALL) * reach / (reach + pressed)).unwrap_or(ALL)
    }

    fn bytes_held(self, pressure: u64) -> u64 {
        match self.reach {
            0 => 0,
            _ => self.bytes * u64::from(self.held(pressure)) / u64::from(ALL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// What the tasks of these working sets on the first CPUs hold of 32 MiB, in KiB; cores hold 1.
    fn held(sets: &[u64]) -> Vec<u64> {
        let topology = Topology::builtin("genoa", None).unwrap();
        let mut occupancy = Occupancy::new(&topology, &vec![32 * MIB; topology.nr_llcs()], MIB);
        for (cpu, bytes) in (0..).map(CpuId).zip(sets) {
            occupancy.enters(&topology, cpu, *bytes);
        }
        let kib = |(cpu, bytes): (u16, &u64)| {
            bytes * u64::from(occupancy.held(&topology, CpuId(cpu))) / u64::from(ALL) / 1024
        };
        (0..).zip(sets).map(kib).collect()
    }

    fn near(found: &[u64], want: &[u64]) {
        let close = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= b / 100;
        assert!(found.len() == want.len() && found.iter().zip(want).all(close), "{found:?}");
    }

    #[test]
    fn sets_that_fit_are_held() {
        assert_eq!(held(&[8 * MIB, 24 * MIB]), [8 << 10, 24 << 10]);
        assert_eq!(held(&[MIB, 64 << 10, 32 * MIB]), [1 << 10, 64, 32 << 10], "in the cores");
    }

    #[test]
    fn one_that_is_too_large_holds_the_cache_and_equals_share_it() {
        near(&held(&[64 * MIB]), &[32 << 10]);
        near(&held(&[24 * MIB, 24 * MIB]), &[16 << 10, 16 << 10]);
    }

    /// Sets of W and 3 W that press alike: with `l W = x`, 1 / (1 + x) + 3 / (1 + 3 x) = C / W. For
    /// C = 2 W the root is x = 0.4343.
    #[test]
    fn who_misses_more_holds_more_and_none_all_of_it() {
        let found = held(&[16 * MIB, 48 * MIB]);
        // The reach of 15/16 and 47/48 moves this by a percent.
        assert!(found[0].abs_diff(11_423) < 150 && found[1].abs_diff(21_345) < 150, "{found:?}");
    }

    #[test]
    fn who_goes_leaves_his_part_to_the_others() {
        let topology = Topology::builtin("genoa", None).unwrap();
        let mut occupancy = Occupancy::new(&topology, &vec![32 * MIB; topology.nr_llcs()], MIB);
        occupancy.enters(&topology, CpuId(0), 24 * MIB);
        occupancy.enters(&topology, CpuId(8), 24 * MIB);
        assert_eq!(occupancy.held(&topology, CpuId(0)), ALL, "the other has its own LLC");
        occupancy.enters(&topology, CpuId(1), 24 * MIB);
        assert!(occupancy.held(&topology, CpuId(0)) < ALL * 7 / 10);
        occupancy.leaves(&topology, CpuId(1));
        assert_eq!(occupancy.held(&topology, CpuId(0)), ALL);
    }

    #[test]
    fn each_cache_has_its_own_size() {
        let topology = Topology::builtin("genoa", None).unwrap();
        let mut sizes = vec![32 * MIB; topology.nr_llcs()];
        sizes[topology.llc_of(CpuId(8)).idx()] = 96 * MIB;
        let mut occupancy = Occupancy::new(&topology, &sizes, MIB);
        for cpu in [CpuId(0), CpuId(8)] {
            occupancy.enters(&topology, cpu, 64 * MIB);
        }
        let half = occupancy.held(&topology, CpuId(0));
        assert!(half.abs_diff(ALL / 2) < ALL / 100, "32 of 64 MiB: {half}");
        assert_eq!(occupancy.held(&topology, CpuId(8)), ALL);
    }
}
