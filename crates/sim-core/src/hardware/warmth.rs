//! `Warmth`: how much of a task's footprint its caches still hold, and the refill it owes.

use simsched_topology::{CpuId, Distance, LlcId, OsCosts, PackageId, Topology};

use super::decay::decay;
use super::occupancy::{ALL, Occupancy};
use super::transfers::Transfers;
use crate::ids::TaskId;
use crate::time::Nanos;

/// Bytes of a cache line.
const LINE: u64 = 64;

/// What was filled into an LLC since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Llc {
    /// Until it was full, in bytes.
    filled: u64,
    /// In place of something else.
    evicted: u64,
}

impl Llc {
    /// `bytes` come in, of which as many as there is room throw out nothing.
    fn fills(&mut self, bytes: u64, size: u64) {
        let room = bytes.min(size.saturating_sub(self.filled));
        self.filled += room;
        self.evicted += bytes - room;
    }
}

/// `amount * part / whole`.
fn part(amount: u64, part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(amount) * u128::from(part) / u128::from(whole)).unwrap_or(u64::MAX)
}

/// Where a task left its data.
#[derive(Clone, Copy, Debug)]
struct Left {
    cpu: Option<CpuId>,
    /// The socket whose memory it has: where it ran first (first touch).
    home: Option<PackageId>,
    /// What had been filled into that core by then, in bytes.
    core_filled: u64,
    /// What had been thrown out of its LLC.
    llc_evicted: u64,
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
/// and the sum is `lines * fill`. What others fill evicts in the same way, once a cache is full. Of a
/// working set that is larger than the second-level cache, the rest comes from the LLC all the time,
/// which is part of the length of what is computed; and from memory as far as the LLC cannot hold
/// it beside the others that run there ([`Occupancy`]), which is not. Source: section 6 of the cost
/// model.
#[derive(Clone, Debug)]
pub(crate) struct Warmth {
    tasks: Vec<Left>,
    /// By core: bytes filled into its caches since the start.
    cores: Vec<u64>,
    llcs: Vec<Llc>,
    occupancy: Occupancy,
    private_lines: u64,
    near_pct: u64,
    far_pct: u64,
    fill_llc_ps: u64,
    fill_dram_ps: u64,
    fill_remote_ps: u64,
    /// 0.7 of the second-level cache.
    core_bytes: u64,
    /// By LLC.
    llc_bytes: Vec<u64>,
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
            llc_evicted: 0,
            core_warm: 0,
            llc_warm: 0,
            lines: footprint.div_ceil(LINE),
        };
        let l2_bytes = bytes(cache.l2.as_ref().map(|fact| fact.rounded()));
        let llcs = (0..topology.nr_llcs()).map(LlcId::new);
        let llc_bytes: Vec<u64> = llcs.map(|llc| bytes(topology.llc_kib(llc))).collect();
        Warmth {
            occupancy: Occupancy::new(topology, &llc_bytes, l2_bytes),
            tasks: footprints.map(left).collect(),
            cores: vec![0; topology.nr_cores()],
            llcs: vec![Llc::default(); topology.nr_llcs()],
            private_lines: u64::from(costs.private_lines),
            near_pct: u64::from(costs.dirty_overlap_near_pct.max(100)),
            far_pct: u64::from(costs.dirty_overlap_far_pct.max(100)),
            fill_llc_ps: u64::from(costs.fill_llc_ps),
            fill_dram_ps: u64::from(costs.fill_dram_local_ps),
            fill_remote_ps: u64::from(costs.fill_dram_remote_ps),
            core_bytes: l2_bytes * 7 / 10,
            llc_bytes,
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
            let evicted = others(self.llcs[llc].evicted, left.llc_evicted);
            llc_warm = decay(left.llc_warm, evicted, self.llc_bytes[llc]);
        }
        if distance.is_none_or(|distance| distance > Distance::SameCore) {
            self.cores[core] += lines * LINE;
        }
        if left.lines > 0 {
            self.occupancy.enters(topology, cpu, left.lines * LINE);
        }
        let home = left.home.or(Some(topology.package_of(cpu)));
        self.tasks[task.idx()] = Left { cpu: Some(cpu), home, core_warm, llc_warm, ..left };
        Nanos(ps / 1000)
    }

    /// `task` leaves `cpu`.
    pub(crate) fn leaves(&mut self, topology: &Topology, task: TaskId, cpu: CpuId) {
        let left = &mut self.tasks[task.idx()];
        left.core_filled = self.cores[topology.core_of(cpu).idx()];
        left.llc_evicted = self.llcs[topology.llc_of(cpu).idx()].evicted;
        if left.lines > 0 {
            self.occupancy.leaves(topology, cpu);
        }
    }

    /// Whether `task` has a working set of its own.
    #[inline]
    pub(crate) fn has_footprint(&self, task: TaskId) -> bool {
        self.tasks[task.idx()].lines > 0
    }

    /// Where `task` ran last, if it has run.
    #[inline]
    pub(crate) fn last(&self, task: TaskId) -> Option<CpuId> {
        self.tasks[task.idx()].cpu
    }

    /// Whose memory `task` has, once it has run.
    pub(crate) fn home(&self, task: TaskId) -> Option<PackageId> {
        self.tasks[task.idx()].home
    }

    /// `task` computes for `length` on `cpu`: how long it stalls for what is missing of its working
    /// set, when memory takes `loaded_1024` 1024ths of its time alone. It touches all of it once in the time that fetching all of it from the LLC takes.
    pub(crate) fn computes(
        &mut self,
        topology: &Topology,
        task: TaskId,
        cpu: CpuId,
        length: Nanos,
        loaded_1024: u64,
    ) -> Nanos {
        if self.fill_llc_ps == 0 {
            return Nanos::ZERO;
        }
        let (llc, core) = (topology.llc_of(cpu).idx(), topology.core_of(cpu).idx());
        let row = &mut self.tasks[task.idx()];
        let all = u64::from(ALL);
        let in_core = self.occupancy.in_core(row.lines * LINE) / LINE;
        let core_cold = decay(ALL - row.core_warm, length.0, in_core * self.fill_llc_ps / 1000);
        // In lines times `ALL`, as all counts here.
        let fetched = in_core * u64::from((ALL - row.core_warm).saturating_sub(core_cold));
        // What the LLC lacks the core lacks, too: of what comes, that part comes from memory.
        let core_lacks = (row.lines * all - in_core * u64::from(row.core_warm)).max(1);
        let llc_lacks = row.lines * u64::from(ALL - row.llc_warm);
        let first = part(fetched, llc_lacks.min(core_lacks), core_lacks);
        // What the core cannot hold comes from the LLC again and again, and what that cannot hold
        // from memory: the rest comes to what is missing in the long run.
        let touched = length.0 * 1000 / self.fill_llc_ps;
        let reached = touched * (row.lines - in_core) / row.lines;
        let before = (llc_lacks - first) / row.lines;
        let at_rest = u64::from(ALL - self.occupancy.held(topology, cpu));
        let gap = u32::try_from(before.abs_diff(at_rest)).unwrap_or(ALL);
        let left = u64::from(decay(gap, reached, row.lines));
        let after = if before > at_rest { at_rest + left } else { at_rest - left };
        let again = (at_rest * reached + before * row.lines).saturating_sub(after * row.lines);
        let again = if reached == 0 { 0 } else { again };
        let lacks = if reached == 0 { before } else { after };

        let remote = row.home.is_some_and(|home| home != topology.package_of(cpu));
        let dram_ps = if remote { self.fill_remote_ps } else { self.fill_dram_ps };
        let dram_ps = dram_ps * loaded_1024 / 1024;
        let more_ps = u128::from(dram_ps.saturating_sub(self.fill_llc_ps));
        let ps = u128::from(fetched) * u128::from(self.fill_llc_ps)
            + u128::from(first + again) * more_ps;
        row.core_warm = ALL - core_cold;
        row.llc_warm = ALL - u32::try_from(lacks).unwrap_or(ALL);
        self.cores[core] += (fetched + reached * all) / all * LINE;
        self.llcs[llc].fills((first + again) / all * LINE, self.llc_bytes[llc]);
        Nanos(u64::try_from(ps / u128::from(all) / 1000).unwrap_or(u64::MAX))
    }

    /// `bytes` have come through the caches of `cpu` in sequence.
    pub(crate) fn streams(&mut self, topology: &Topology, cpu: CpuId, bytes: u64) {
        self.cores[topology.core_of(cpu).idx()] += bytes;
        let llc = topology.llc_of(cpu).idx();
        self.llcs[llc].fills(bytes, self.llc_bytes[llc]);
    }

    /// The core of `cpu` has lost its first and second-level caches in a deep idle state.
    pub(crate) fn forgets(&mut self, topology: &Topology, cpu: CpuId) {
        self.cores[topology.core_of(cpu).idx()] += 64 * self.core_bytes;
    }
}

#[cfg(test)]
mod tests;
