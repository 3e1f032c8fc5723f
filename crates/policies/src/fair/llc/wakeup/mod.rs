//! Cache-aware wakeups: a wakee is sent to the LLC in which its process has run most.
//!
//! What is remembered is here; `account` follows where processes run, `scan` chooses their LLC, `guard`
//! says whether that LLC has room, `redirect` where a wakee goes and what a balancer leaves alone.
//!
//! Source: "sched: Inhibit cache aware scheduling if the preferred LLC is over aggregated" and what goes
//! before it, RFC of 2025-04-21 (spec 07).

mod account;
mod counts;
mod guard;
mod level;
mod redirect;
mod scan;

use simsched_core::{TaskId, World};
use simsched_topology::CpuId;

use self::counts::Counts;
pub use self::guard::{LlcAvg, LlcRoom};
pub use self::level::WakeupLevel;
use super::homes::Homes;
use super::jiffies::Jiffies;
use super::{LlcIds, MmId, Occupancy, Processes};

/// Epochs without a scan after which a preference is forgotten. Source: `EPOCH_OLD`.
const EPOCH_OLD: u64 = 5;

/// How much of the series there is, and what is changed of it.
#[derive(Clone, Copy, Debug)]
pub(in crate::fair) struct WakeupRules {
    /// Its patches (`cache_aware_wakeup_level`).
    pub(in crate::fair) level: WakeupLevel,
    /// Small processes are guarded, too (`always_check`).
    pub(in crate::fair) always_check: bool,
    /// The guard's numbers become new at each enqueue (`refresh_at_enqueue`).
    pub(in crate::fair) refresh_at_enqueue: bool,
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Proc {
    /// The CPU behind whose LLC it should run (`mm->mm_sched_cpu`).
    pref_cpu: Option<CpuId>,
    /// The epoch of the last request for a scan (`mm->mm_sched_epoch`).
    epoch: u64,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct LlcWakeup {
    level: WakeupLevel,
    /// The rule for small processes is dropped (`always_check`).
    always_check: bool,
    /// Its numbers become new at each enqueue (`refresh_at_enqueue`).
    refreshes: bool,
    jiffies: Jiffies,
    ids: LlcIds,
    nr_cpus: usize,
    /// By LLC: how many CPUs it has.
    llc_cpus: Vec<u32>,
    processes: Processes,
    occupancy: Occupancy,
    procs: Vec<Proc>,
    /// By process and CPU: the occupancy of its LLC at the last scan; of level 1 only.
    occ: Vec<u64>,
    /// By task: a scan waits for its return to user mode.
    has_work: Vec<bool>,
    /// By LLC: what the periodic balancer has left.
    shared: Vec<LlcAvg>,
    homes: Homes,
    counts: Counts,
}

impl LlcWakeup {
    /// What a machine starts with.
    pub(in crate::fair) fn new(world: &World, rules: WakeupRules) -> Box<LlcWakeup> {
        let (topology, processes) = (world.topology(), Processes::new(world));
        let (ids, nr_cpus) = (LlcIds::new(topology), topology.nr_cpus());
        let level = rules.level;
        // HZ / 100 as an integer: 8 ms at 250 ticks a second.
        let period = (world.hz() / 100).max(1);
        // The prototype has data for processes of one thread, too.
        let min_threads = if level == WakeupLevel::L1 { 1 } else { 2 };
        let spans = (0..ids.len()).map(|llc| ids.span(u16::try_from(llc).expect("few LLCs")).len());
        let has_occ = level == WakeupLevel::L1;
        Box::new(LlcWakeup {
            level,
            always_check: rules.always_check,
            refreshes: rules.refresh_at_enqueue,
            jiffies: Jiffies::new(world),
            nr_cpus,
            llc_cpus: spans.map(|cpus| u32::try_from(cpus).expect("few CPUs")).collect(),
            occupancy: Occupancy::new(nr_cpus, &processes, min_threads, period, world.jiffies()),
            procs: vec![Proc::default(); processes.len()],
            occ: vec![u64::MAX; if has_occ { processes.len() * nr_cpus } else { 0 }],
            has_work: vec![false; world.tasks().len()],
            shared: vec![LlcAvg::default(); ids.len()],
            homes: Homes::default(),
            counts: Counts::default(),
            processes,
            ids,
        })
    }

    /// Whether the guard's numbers become new at each enqueue.
    #[inline]
    pub(in crate::fair) fn refreshes_at_enqueue(&self) -> bool {
        self.refreshes
    }

    /// A call begins: what time it is.
    #[inline]
    pub(in crate::fair) fn enter(&mut self, sched_clock: u64) {
        self.jiffies.enter(sched_clock);
    }

    /// The CPU behind whose LLC the process of `task` should run.
    #[must_use]
    pub fn pref_cpu(&self, task: TaskId) -> Option<CpuId> {
        self.processes.mm(task).and_then(|mm| self.procs[mm.idx()].pref_cpu)
    }

    /// What the balancer has last left of the LLC of `cpu`.
    ///
    /// # Panics
    /// When there is no such CPU.
    #[must_use]
    pub fn shared(&self, cpu: CpuId) -> LlcAvg {
        self.shared[usize::from(self.ids.of(cpu))]
    }

    /// Whose home has changed.
    pub(in crate::fair) fn homes(&mut self) -> &mut Homes {
        &mut self.homes
    }

    /// Hands out all counts, by name.
    pub(in crate::fair) fn metrics(&self, emit: &mut dyn FnMut(&'static str, u64)) {
        self.counts.emit(emit);
    }

    /// `mm` should run behind the LLC of this CPU from now on, or wherever.
    fn prefer(&mut self, mm: MmId, cpu: Option<CpuId>) {
        let was = std::mem::replace(&mut self.procs[mm.idx()].pref_cpu, cpu);
        let llc = |cpu: Option<CpuId>| cpu.map(|cpu| self.ids.name(self.ids.of(cpu)));
        if llc(was) != llc(cpu) {
            self.counts.elections += u64::from(cpu.is_some());
            self.homes.changes(self.processes.proc(mm), llc(cpu));
        }
    }

    fn occ_idx(&self, mm: MmId, cpu: CpuId) -> usize {
        mm.idx() * self.nr_cpus + cpu.idx()
    }
}
