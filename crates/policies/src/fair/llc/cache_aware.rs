//! `CacheAware`: what cache-aware load balancing remembers of processes, tasks, queues and LLCs.
//!
//! Source: "Cache aware scheduling", version 4, T. Chen and Y. Chen, 2026-04-01, and Linux 7.2 (spec 08).

use std::cell::RefCell;

use simsched_core::{TaskId, World};
use simsched_topology::{CpuId, Domains, SdFlags, Topology};

use super::homes::Homes;
use super::jiffies::Jiffies;
use super::numa::LlcNuma;
use super::state::{Counts, CpuLlc, Proc, TaskLlc};
use super::{
    CacheAwareVersion, Direction, Footprint, LlcIds, LlcLimits, LlcRule, LlcStats, LlcTunables,
    LlcVerdict, MmId, Occupancy, Processes, RqLlc,
};

/// All of it.
#[derive(Clone, Debug)]
pub struct CacheAware {
    pub(super) limits: LlcLimits,
    tunables: LlcTunables,
    /// The length of an epoch, in ticks.
    pub(super) period: u64,
    rule: LlcRule,
    pub(super) jiffies: Jiffies,
    pub(super) ids: LlcIds,
    /// By CPU.
    pub(super) cpus: Vec<CpuLlc>,
    /// Threads of one core (`cpu_smt_num_threads`).
    smt: u64,
    pub(super) numa: LlcNuma,
    pub(super) processes: Processes,
    pub(super) occupancy: Occupancy,
    pub(super) procs: Vec<Proc>,
    pub(super) tasks: Vec<TaskLlc>,
    /// By CPU.
    pub(super) rqs: Vec<RqLlc>,
    /// By CPU, then by LLC: queued tasks that prefer it (`sd->llc_counts` of the lowest domain).
    pub(super) llc_counts: Vec<u32>,
    /// By LLC: what the balancer has recorded.
    pub(super) stats: Vec<LlcStats>,
    pub(super) counts: Counts,
    /// Which processes have come to prefer another LLC in the call under way.
    changed: RefCell<Homes>,
}

impl CacheAware {
    /// What a machine starts with; none where `llc_balancing.enabled` is 0, or the machine has nothing to gain.
    pub(in crate::fair) fn new(
        world: &World,
        domains: &Domains,
        tunables: LlcTunables,
    ) -> Option<Box<CacheAware>> {
        let is_merged = tunables.version == CacheAwareVersion::Merged;
        let topology = world.topology();
        if tunables.enabled != 1 || !is_present(topology, domains, is_merged) {
            return None;
        }
        let (ids, nr_cpus) = (LlcIds::new(topology), topology.nr_cpus());
        let period = match tunables.epoch_period {
            0 => (world.hz() / 100).max(1),
            ticks => ticks,
        };
        let processes = Processes::new(world);
        let smt = topology.cpus().iter().map(|cpu| topology.smt_mask(cpu).len()).max().unwrap_or(1);
        Some(Box::new(CacheAware {
            limits: LlcLimits {
                version: tunables.version,
                aggr_tolerance: tunables.aggr_tolerance,
            },
            tunables,
            period,
            rule: LlcRule::new(tunables.overaggr_pct, tunables.imb_pct, smt > 1),
            jiffies: Jiffies::new(world),
            cpus: CpuLlc::all(topology, domains, &ids, is_merged),
            smt: smt as u64,
            numa: LlcNuma::new(topology, world.tasks().len()),
            occupancy: Occupancy::new(nr_cpus, &processes, 2, period, world.jiffies()),
            procs: procs(world, &processes),
            tasks: vec![TaskLlc::default(); world.tasks().len()],
            rqs: vec![RqLlc::default(); nr_cpus],
            llc_counts: vec![0; nr_cpus * ids.len()],
            stats: vec![LlcStats::default(); ids.len()],
            counts: Counts::default(),
            changed: RefCell::new(Homes::default()),
            processes,
            ids,
        }))
    }

    /// A call begins: what time it is.
    #[inline]
    pub(in crate::fair) fn enter(&mut self, sched_clock: u64) {
        self.jiffies.enter(sched_clock);
    }

    /// The LLCs.
    #[must_use]
    pub fn ids(&self) -> &LlcIds {
        &self.ids
    }

    /// The counts of the queue of `cpu`.
    ///
    /// # Panics
    /// When there is no such CPU.
    #[must_use]
    pub fn rq(&self, cpu: CpuId) -> RqLlc {
        self.rqs[cpu.idx()]
    }

    /// How many tasks that are queued on `cpu` prefer `llc`.
    ///
    /// # Panics
    /// When there is no such CPU.
    #[inline]
    #[must_use]
    pub fn llc_count(&self, cpu: CpuId, llc: u16) -> u32 {
        self.llc_counts[cpu.idx() * self.ids.len() + usize::from(llc)]
    }

    /// The LLC that `task` prefers (`p->preferred_llc`).
    ///
    /// # Panics
    /// When there is no such task.
    #[must_use]
    pub fn pref(&self, task: TaskId) -> Option<u16> {
        self.tasks[task.idx()].pref
    }

    /// The CPU behind whose LLC the process of `task` should run (`mm->sc_stat.cpu`).
    #[must_use]
    pub fn preferred_cpu(&self, task: TaskId) -> Option<CpuId> {
        self.processes.mm(task).and_then(|mm| self.procs[mm.idx()].cpu.get())
    }

    /// How many threads of the process of `task` run at once, on average.
    #[must_use]
    pub fn nr_running_avg(&self, task: TaskId) -> u64 {
        self.processes.mm(task).map_or(0, |mm| self.procs[mm.idx()].nr_running_avg)
    }

    /// What the balancer has last recorded of `llc`.
    ///
    /// # Panics
    /// When there is no such LLC.
    #[must_use]
    pub fn stats(&self, llc: u16) -> LlcStats {
        self.stats[usize::from(llc)]
    }

    /// The balancer has summed up an LLC. Source: `record_sg_llc_stats()`.
    pub(in crate::fair) fn record(&mut self, cpu: CpuId, stats: LlcStats) {
        self.stats[usize::from(self.ids.of(cpu))] = stats;
    }

    /// Whether too many threads of `mm` run at once for the LLC of `cpu`, or just one lives: version 4
    /// asks for that where it accounts only.
    fn has_bad_threads(&self, mm: MmId, cpu: CpuId) -> bool {
        let nr_running_avg = self.procs[mm.idx()].nr_running_avg;
        let llc_size = u64::from(self.cpus[cpu.idx()].llc_size);
        let nr_threads = self.processes.nr_threads(mm);
        self.limits.invalid_llc_nr(nr_threads, nr_running_avg, self.smt, llc_size)
    }

    /// Whether `mm` is larger than the LLC of `cpu`. By NUMA faults none is where NUMA balancing is off, but
    /// each is on a CPU without a scheduling domain. Source: `exceed_llc_capacity()`.
    fn is_too_large(&self, mm: MmId, cpu: CpuId) -> bool {
        let (proc, cpu) = (&self.procs[mm.idx()], self.cpus[cpu.idx()]);
        let bytes = cpu.llc_bytes;
        match self.tunables.footprint {
            Footprint::NumaFaults => {
                let is_on = self.numa.is_on;
                !cpu.has_domain || self.limits.exceed_llc_capacity(is_on, proc.footprint, bytes)
            }
            Footprint::Zero => self.limits.is_too_large(0, bytes),
            Footprint::Rss => self.limits.is_too_large(proc.resident, bytes),
        }
    }

    /// The CPU behind whose LLC `mm` should run.
    pub(super) fn prefer(&self, mm: MmId, cpu: Option<CpuId>) {
        let llc = |cpu: CpuId| self.ids.of(cpu);
        let was = self.procs[mm.idx()].cpu.replace(cpu).map(llc);
        let is = cpu.map(llc);
        if was != is {
            let name = is.map(|llc| self.ids.name(llc));
            self.changed.borrow_mut().changes(self.processes.proc(mm), name);
        }
    }

    /// Which processes prefer another LLC.
    pub(in crate::fair) fn homes(&mut self) -> &mut Homes {
        self.changed.get_mut()
    }

    /// Whether `mm` should not be gathered behind the LLC of `cpu`; then it has no preference any more.
    pub(super) fn drops_preference(&self, mm: MmId, cpu: CpuId) -> bool {
        let drops = self.has_bad_threads(mm, cpu) || self.is_too_large(mm, cpu);
        if drops {
            self.prefer(mm, None);
        }
        drops
    }

    /// What the LLCs of two CPUs have to say of a task of utilization `util` that goes from one to the
    /// other. Source: `can_migrate_llc()`.
    pub(in crate::fair) fn can_migrate_llc(
        &self,
        [src, dst]: [CpuId; 2],
        util: u64,
        direction: Direction,
    ) -> LlcVerdict {
        // An LLC of one CPU has no shared object, and so no numbers.
        if [src, dst].iter().any(|cpu| self.cpus[cpu.idx()].llc_size < 2) {
            return LlcVerdict::Unrestricted;
        }
        let [src, dst] = [src, dst].map(|cpu| self.ids.of(cpu));
        self.rule.judge(self.stats(src), self.stats(dst), util, direction)
    }

    /// What the LLCs of two CPUs have to say of `task`, which has this utilization.
    /// Source: `can_migrate_llc_task()`.
    pub(in crate::fair) fn can_migrate_llc_task(
        &self,
        task: TaskId,
        util: u64,
        [src, dst]: [CpuId; 2],
    ) -> LlcVerdict {
        let Some(mm) = self.processes.mm(task) else { return LlcVerdict::Unrestricted };
        let Some(cpu) = self.procs[mm.idx()].cpu.get() else { return LlcVerdict::Unrestricted };
        if self.ids.shares_cache(src, dst) || self.drops_preference(mm, dst) {
            return LlcVerdict::Unrestricted;
        }
        let direction = if self.ids.shares_cache(dst, cpu) {
            Direction::ToPreferred
        } else if self.ids.shares_cache(src, cpu) {
            Direction::Leaving
        } else {
            return LlcVerdict::Unrestricted;
        };
        self.can_migrate_llc([src, dst], util, direction)
    }

    /// Whether it is the form of Linux 7.2.
    #[inline]
    pub(in crate::fair) fn is_merged(&self) -> bool {
        self.limits.version == CacheAwareVersion::Merged
    }

    /// A balance has moved nothing, and some task has stayed for the sake of its LLC.
    pub(in crate::fair) fn note_pinned(&mut self) {
        self.counts.pinned += 1;
    }

    /// After how many epochs without a scan a preference is forgotten.
    pub(super) fn timeout(&self) -> u64 {
        self.tunables.epoch_affinity_timeout
    }

    /// Hands out all counts, by name.
    pub(in crate::fair) fn metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        let counts = &self.counts;
        emit("llc_scans", counts.scans);
        emit("llc_scans_stopped", counts.scans_stopped);
        emit("llc_preferred", counts.preferred);
        emit("llc_pinned", counts.pinned);
        emit("llc_runtime_ns", counts.runtime);
        emit("llc_runtime_preferred_ns", counts.runtime_preferred);
        emit("llc_runtime_free_ns", counts.runtime_free);
    }
}

/// Whether LLCs of at least two CPUs are part of something larger. Version 4 asks for several in one NUMA
/// node. Source: `build_sched_domains()`, 7.2; "sched/cache: Enable cache aware scheduling for multi LLCs
/// NUMA node", version 4.
fn is_present(topology: &Topology, domains: &Domains, is_merged: bool) -> bool {
    let has_several = |cpu: CpuId| {
        let Some(llc) = domains.sd_llc(cpu).filter(|llc| llc.weight >= 2) else { return false };
        let above = domains.of(cpu).iter().find(|sd| sd.weight > llc.weight);
        above.is_some_and(|sd| is_merged || !sd.flags.contains(SdFlags::NUMA))
    };
    topology.cpus().iter().any(has_several)
}

/// All processes, of their size.
fn procs(world: &World, processes: &Processes) -> Vec<Proc> {
    let mut procs = vec![Proc::default(); processes.len()];
    for task in (0..world.tasks().len()).map(TaskId::new) {
        if let Some(mm) = processes.mm(task) {
            procs[mm.idx()].resident = world.resident_bytes(world.task(task).proc);
        }
    }
    procs
}
