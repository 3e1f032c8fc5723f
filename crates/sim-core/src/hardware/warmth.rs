//! `Warmth`: how much of a task's footprint its caches still hold, and the refill it owes.

use simsched_topology::{CpuId, Distance, OsCosts, PackageId, Topology};

use super::decay::decay;
use super::transfers::Transfers;
use crate::ids::TaskId;
use crate::time::Nanos;

/// All of it: parts are in units of 2^-20.
const ALL: u32 = 1 << 20;

/// Bytes of a cache line.
const LINE: u64 = 64;

/// Where a task left its data.
#[derive(Clone, Copy, Debug)]
struct Left {
    cpu: Option<CpuId>,
    /// The socket whose memory it has: where it ran first (first touch).
    home: Option<PackageId>,
    /// What had been filled into that core and its LLC by then, in bytes.
    core_filled: u64,
    llc_filled: u64,
    /// How much of its working set the core's caches held, of [`ALL`].
    core_warm: u32,
    /// The same of the LLC.
    llc_warm: u32,
    /// Its working set, in lines, beside what every task has.
    lines: u64,
}

/// The caches of the machine and what each task has in them.
///
/// A task has lines that it touches whenever it runs and leaves modified (`private_lines`), and a
/// working set that its workload declares. The former are fetched when it gets the CPU: from where
/// it ran last, or from the LLC what others have thrown out since. The latter is fetched while it
/// runs, each missing line with the same probability, so that what is missing falls exponentially
/// and the sum is `lines * fill`. What others fill evicts in the same way. Source: section 6 of the
/// cost model.
#[derive(Clone, Debug)]
pub(crate) struct Warmth {
    tasks: Vec<Left>,
    /// By core: bytes filled into its caches since the start.
    cores: Vec<u64>,
    /// By LLC.
    llcs: Vec<u64>,
    private_lines: u64,
    near_pct: u64,
    far_pct: u64,
    fill_llc_ps: u64,
    fill_dram_ps: u64,
    fill_remote_ps: u64,
    /// 0.7 of the second-level cache.
    core_bytes: u64,
    llc_bytes: u64,
}

impl Warmth {
    /// Cold caches; `footprints` are the tasks' working sets in bytes.
    pub(crate) fn new(
        topology: &Topology,
        footprints: impl Iterator<Item = u64>,
        costs: &OsCosts,
    ) -> Warmth {
        let bytes = |kib: Option<u64>| kib.unwrap_or(0) * 1024;
        let cache = &topology.facts().cache_kib;
        let left = |footprint: u64| Left {
            cpu: None,
            home: None,
            core_filled: 0,
            llc_filled: 0,
            core_warm: 0,
            llc_warm: 0,
            lines: footprint.div_ceil(LINE),
        };
        Warmth {
            tasks: footprints.map(left).collect(),
            cores: vec![0; topology.nr_cores()],
            llcs: vec![0; topology.nr_llcs()],
            private_lines: u64::from(costs.private_lines),
            near_pct: u64::from(costs.dirty_overlap_near_pct.max(100)),
            far_pct: u64::from(costs.dirty_overlap_far_pct.max(100)),
            fill_llc_ps: u64::from(costs.fill_llc_ps),
            fill_dram_ps: u64::from(costs.fill_dram_local_ps),
            fill_remote_ps: u64::from(costs.fill_dram_remote_ps),
            core_bytes: bytes(cache.l2.as_ref().map(|fact| fact.rounded())) * 7 / 10,
            llc_bytes: bytes(cache.l3.as_ref().map(|fact| fact.rounded())),
        }
    }

    /// `task` gets `cpu`: what fetching its private lines takes.
    pub(crate) fn arrives(
        &mut self,
        topology: &Topology,
        transfers: &Transfers,
        task: TaskId,
        cpu: CpuId,
    ) -> Nanos {
        let left = self.tasks[task.idx()];
        let (core, llc) = (topology.core_of(cpu).idx(), topology.llc_of(cpu).idx());
        let others = |filled: u64, then: u64| filled.saturating_sub(then);
        let (mut core_warm, mut llc_warm) = (0, 0);
        let distance = left.cpu.map(|last| topology.distance_class(last, cpu));
        let lines = self.private_lines;
        let ps = match distance {
            None => 0,
            Some(Distance::SameCpu | Distance::SameCore) => {
                let filled = others(self.cores[core], left.core_filled);
                core_warm = decay(left.core_warm, filled, self.core_bytes);
                let kept = u64::from(decay(ALL, filled, self.core_bytes));
                lines * (u64::from(ALL) - kept) / u64::from(ALL) * self.fill_llc_ps
            }
            Some(far) => {
                let percent = if far == Distance::SameLlc { self.near_pct } else { self.far_pct };
                lines * u64::from(transfers.at(far)) * 1000 * 100 / percent
            }
        };
        if distance.is_some_and(|distance| distance <= Distance::SameLlc) {
            let filled = others(self.llcs[llc], left.llc_filled);
            llc_warm = decay(left.llc_warm, filled, self.llc_bytes);
        }
        if distance.is_none_or(|distance| distance > Distance::SameCore) {
            self.cores[core] += lines * LINE;
        }
        let home = left.home.or(Some(topology.package_of(cpu)));
        self.tasks[task.idx()] = Left { cpu: Some(cpu), home, core_warm, llc_warm, ..left };
        Nanos(ps / 1000)
    }

    /// `task` leaves `cpu`.
    pub(crate) fn leaves(&mut self, topology: &Topology, task: TaskId, cpu: CpuId) {
        let left = &mut self.tasks[task.idx()];
        left.core_filled = self.cores[topology.core_of(cpu).idx()];
        left.llc_filled = self.llcs[topology.llc_of(cpu).idx()];
    }

    /// Whether `task` has a working set of its own.
    #[inline]
    pub(crate) fn has_footprint(&self, task: TaskId) -> bool {
        self.tasks[task.idx()].lines > 0
    }

    /// `task` computes for `length` on `cpu`: how long it stalls for what is missing of its working
    /// set. It touches all of it once in the time that fetching all of it from the LLC takes.
    pub(crate) fn computes(
        &mut self,
        topology: &Topology,
        task: TaskId,
        cpu: CpuId,
        length: Nanos,
    ) -> Nanos {
        let row = &mut self.tasks[task.idx()];
        let all_from_llc = row.lines * self.fill_llc_ps / 1000;
        let missing = |warm: u32| u64::from(ALL - warm);
        let core_cold = decay(ALL - row.core_warm, length.0, all_from_llc);
        let fetched = u64::from((ALL - row.core_warm).saturating_sub(core_cold));
        // What the LLC lacks the core lacks, too: of what comes, that part comes from memory.
        let (core, llc) = (missing(row.core_warm).max(1), missing(row.llc_warm));
        let from_dram = fetched * llc.min(core) / core;
        let from_llc = fetched - from_dram;
        let remote = row.home.is_some_and(|home| home != topology.package_of(cpu));
        let dram_ps = if remote { self.fill_remote_ps } else { self.fill_dram_ps };
        let ps = row.lines * (from_llc * self.fill_llc_ps + from_dram * dram_ps);
        row.core_warm = ALL - core_cold;
        row.llc_warm = (row.llc_warm + u32::try_from(from_dram).unwrap_or(0)).min(ALL);
        let bytes = |part: u64| row.lines * LINE * part / u64::from(ALL);
        self.cores[topology.core_of(cpu).idx()] += bytes(fetched);
        self.llcs[topology.llc_of(cpu).idx()] += bytes(from_dram);
        Nanos(ps / u64::from(ALL) / 1000)
    }

    /// The core of `cpu` has lost its first and second-level caches in a deep idle state.
    pub(crate) fn forgets(&mut self, topology: &Topology, cpu: CpuId) {
        self.cores[topology.core_of(cpu).idx()] += 64 * self.core_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bed {
        topology: Topology,
        transfers: Transfers,
        warmth: Warmth,
    }

    impl Bed {
        fn new(machine: &str, footprints: &[u64]) -> Bed {
            let topology = Topology::builtin(machine, None).unwrap();
            let transfers = Transfers::new(&topology);
            let warmth = Warmth::new(&topology, footprints.iter().copied(), topology.costs());
            Bed { topology, transfers, warmth }
        }

        fn arrives(&mut self, task: u32, cpu: u16) -> u64 {
            let (topology, transfers) = (&self.topology, &self.transfers);
            self.warmth.arrives(topology, transfers, TaskId(task), CpuId(cpu)).0
        }

        fn leaves(&mut self, task: u32, cpu: u16) {
            self.warmth.leaves(&self.topology, TaskId(task), CpuId(cpu));
        }

        fn computes(&mut self, task: u32, cpu: u16, ns: u64) -> u64 {
            self.warmth.computes(&self.topology, TaskId(task), CpuId(cpu), Nanos(ns)).0
        }
    }

    /// Section 6 of the cost model: 200 modified lines take 3 to 6 us within an Intel LLC, 2.5 on an
    /// AMD CCX, 8 to 12 to another CCX or socket.
    #[test]
    fn the_private_lines_follow_a_task_that_moves() {
        for (machine, to, range) in [
            ("spr", 1, 3_000..=6_000),
            ("genoa", 1, 2_000..=3_000),
            ("genoa", 8, 6_000..=12_000),
            ("genoa", 96, 8_000..=13_000),
        ] {
            let mut bed = Bed::new(machine, &[0]);
            assert_eq!(bed.arrives(0, 0), 0);
            bed.leaves(0, 0);
            assert_eq!(bed.arrives(0, 0), 0, "nobody else ran there");
            bed.leaves(0, 0);
            let ns = bed.arrives(0, to);
            assert!(range.contains(&ns), "{machine} to {to}: {ns}");
        }
    }

    /// The same section: 1 MiB costs 50 to 67 us from the L3, 85 from memory; 256 KiB 6 to 17.
    #[test]
    fn the_sum_of_a_refill_is_lines_times_the_price_of_a_line() {
        let mut bed = Bed::new("spr", &[1 << 20, 1 << 18]);
        bed.arrives(0, 0);
        let cold: u64 = (0..1000).map(|_| bed.computes(0, 0, 10_000)).sum();
        assert!((93_000..=99_000).contains(&cold), "from memory at 6 ns a line: {cold}");
        bed.leaves(0, 0);
        bed.arrives(0, 1);
        let moved: u64 = (0..1000).map(|_| bed.computes(0, 1, 10_000)).sum();
        assert!((50_000..=67_000).contains(&moved), "from the L3: {moved}");
        assert_eq!(bed.computes(0, 1, 10_000), 0, "all is there");
        bed.arrives(1, 0);
        bed.computes(1, 0, 10_000_000);
        bed.leaves(1, 0);
        bed.arrives(1, 1);
        let small = bed.computes(1, 1, 10_000_000);
        assert!((6_000..=17_000).contains(&small), "{small}");
    }

    /// The ratio of the prices: 9 to 12 ns a line from the other socket's memory, 5 to 7 from the own.
    #[test]
    fn memory_of_the_other_socket_takes_longer() {
        let mut bed = Bed::new("spr", &[1 << 20]);
        let far = bed.topology.package_span(PackageId(1)).first().unwrap().0;
        bed.arrives(0, 0);
        let near: u64 = bed.computes(0, 0, 10_000_000);
        bed.leaves(0, 0);
        bed.arrives(0, far);
        let remote = bed.computes(0, far, 10_000_000);
        assert!((near * 17 / 10..near * 18 / 10).contains(&remote), "{near} {remote}");
    }

    #[test]
    fn the_length_of_the_pieces_does_not_change_the_sum() {
        let sum = |pieces: u64| {
            let mut bed = Bed::new("spr", &[1 << 20]);
            bed.arrives(0, 0);
            (0..pieces).map(|_| bed.computes(0, 0, 100_000 / pieces)).sum::<u64>()
        };
        assert!(sum(1).abs_diff(sum(20)) < sum(1) / 20, "{} {}", sum(1), sum(20));
    }

    #[test]
    fn who_runs_in_between_throws_out_what_he_fills() {
        let mut bed = Bed::new("spr", &[1 << 19, 1 << 22]);
        bed.arrives(0, 0);
        bed.computes(0, 0, 1_000_000_000);
        bed.leaves(0, 0);
        bed.arrives(1, 0);
        bed.computes(1, 0, 1_000_000_000);
        bed.leaves(1, 0);
        assert!(bed.arrives(0, 0) > 0, "some of the private lines are gone");
        assert!(bed.computes(0, 0, 1_000_000_000) > 10_000, "and most of the rest");
    }

    #[test]
    fn a_deep_idle_state_leaves_a_cold_core() {
        let mut bed = Bed::new("spr", &[0]);
        bed.arrives(0, 0);
        bed.leaves(0, 0);
        bed.warmth.forgets(&bed.topology, CpuId(0));
        assert_eq!(bed.arrives(0, 0), 700, "200 lines of 3.5 ns from the LLC");
    }
}
