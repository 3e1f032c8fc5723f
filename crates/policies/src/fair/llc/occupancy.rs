//! `Occupancy`: what part of each CPU's recent busy time each process has had.
//!
//! Time is cut into epochs, CPU by CPU: no CPU's epochs begin with another's. Whatever was run is worth
//! half of that one epoch later. So after a long time of `x` in each epoch the sum is `2x`, and a
//! thread that stops leaves 1/32 behind after five epochs.
//! Source: `account_mm_sched()`, `fraction_mm_sched()` of the cache-aware scheduling of 2025 and 2026
//! (specs 07 section 2 and 08 section 3).

use simsched_core::{ProcId, TaskId};
use simsched_topology::CpuId;

use super::processes::{MmId, Processes};

/// All of a CPU's busy time: the unit of [`Occupancy::fraction`] (`NICE_0_LOAD` where words have 64
/// bits).
pub const OCCUPANCY_ONE: u64 = 1 << 20;

/// Runtime that halves from epoch to epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Decaying {
    pub(super) epoch: u64,
    /// In ns.
    pub(super) runtime: u64,
}

impl Decaying {
    /// Lets `nr` epochs pass.
    #[inline]
    fn age(&mut self, nr: u64) {
        self.epoch = self.epoch.wrapping_add(nr);
        // A shift by 64 and more leaves nothing (`__shr_u64()`).
        self.runtime =
            u32::try_from(nr).ok().and_then(|nr| self.runtime.checked_shr(nr)).unwrap_or(0);
    }
}

/// The epochs of one CPU, and what it has run of tasks with an address space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epochs {
    pub(super) all: Decaying,
    /// The jiffy after which the next one begins.
    pub(super) next: u64,
}

/// The runtime of every CPU and of every process on it.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    /// The length of an epoch, in ticks; at least 1.
    period: u64,
    /// By CPU.
    pub(super) cpus: Vec<Epochs>,
    /// By address space: where its rows in `parts` begin, if it has any.
    pub(super) rows: Vec<Option<usize>>,
    /// By CPU, for each of those.
    pub(super) parts: Vec<Decaying>,
}

impl Occupancy {
    /// Nothing has been run, and a first epoch begins on all CPUs at `jiffies`; each lasts `period`
    /// ticks. Only processes with at least `min_threads` declared threads have a part that can be asked
    /// for: of the others each CPU knows as its own runtime only.
    #[must_use]
    pub fn new(
        nr_cpus: usize,
        processes: &Processes,
        min_threads: u32,
        period: u64,
        jiffies: u64,
    ) -> Occupancy {
        let mut nr_rows = 0;
        let mms = (0..processes.len()).map(|mm| MmId(u32::try_from(mm).expect("few processes")));
        let row = |mm| {
            (processes.declared(mm) >= min_threads).then(|| {
                nr_rows += nr_cpus;
                nr_rows - nr_cpus
            })
        };
        let rows = mms.map(row).collect();
        Occupancy {
            period: period.max(1),
            cpus: vec![Epochs { all: Decaying::default(), next: jiffies }; nr_cpus],
            rows,
            parts: vec![Decaying::default(); nr_rows],
        }
    }

    /// The present epoch of `cpu`, as of its last accounting (`rq->cpu_epoch`).
    ///
    /// # Panics
    /// When there is no such CPU.
    #[inline]
    #[must_use]
    pub fn epoch(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.idx()].all.epoch
    }

    /// Ends the epochs of `cpu` that have passed, and ages what it and `mm` have run there. Jiffies and epochs
    /// may wrap round; nothing is left of a process that is ahead of the CPU.
    /// Source: `__update_mm_sched()`.
    #[inline]
    fn advance(
        &mut self,
        jiffies: u64,
        cpu: CpuId,
        mm: MmId,
    ) -> (&mut Decaying, Option<&mut Decaying>) {
        let epochs = &mut self.cpus[cpu.idx()];
        let passed = jiffies.wrapping_sub(epochs.next);
        if passed.cast_signed() > 0 {
            let nr = passed.div_ceil(self.period);
            epochs.all.age(nr);
            epochs.next = epochs.next.wrapping_add(nr * self.period);
        }
        let mut part = self.rows[mm.idx()].map(|row| &mut self.parts[row + cpu.idx()]);
        if let Some(part) = &mut part {
            part.age(epochs.all.epoch.wrapping_sub(part.epoch));
        }
        (&mut epochs.all, part)
    }

    /// A task of `mm` has run for `ns` on `cpu`. Returns the epoch of the CPU.
    /// Source: the first half of `account_mm_sched()`.
    ///
    /// # Panics
    /// When there is no such CPU or address space.
    #[inline]
    pub fn account(&mut self, jiffies: u64, cpu: CpuId, mm: MmId, ns: u64) -> u64 {
        let (all, part) = self.advance(jiffies, cpu, mm);
        all.runtime += ns;
        let epoch = all.epoch;
        if let Some(part) = part {
            part.runtime += ns;
        }
        epoch
    }

    /// The part of the recent busy time of `cpu` that `mm` has had, of [`OCCUPANCY_ONE`]; the product wraps
    /// modulo 2^64.
    /// Source: `fraction_mm_sched()`.
    ///
    /// # Panics
    /// When there is no such CPU or address space.
    #[inline]
    pub fn fraction(&mut self, jiffies: u64, cpu: CpuId, mm: MmId) -> u64 {
        let (all, part) = self.advance(jiffies, cpu, mm);
        let all = all.runtime;
        part.map_or(0, |part| OCCUPANCY_ONE.wrapping_mul(part.runtime) / (all + 1))
    }

    /// `task` leaves its address space for that of `proc`; returns the latter if `task` is its first thread. An address
    /// space for which one thread was declared has two of them now, so its runtime is kept by CPU from here on.
    /// Source: `exec_mmap()`.
    pub(super) fn exec(
        &mut self,
        processes: &mut Processes,
        task: TaskId,
        proc: ProcId,
    ) -> Option<MmId> {
        let (mm, is_first) = processes.exec(task, proc)?;
        if processes.declared(mm) > 1 && self.rows[mm.idx()].is_none() {
            self.rows[mm.idx()] = Some(self.parts.len());
            self.parts.resize(self.parts.len() + self.cpus.len(), Decaying::default());
        }
        is_first.then_some(mm)
    }

    /// A process begins: it has run nowhere. Returns the epoch of the last CPU, in which its first scan
    /// counts as asked for. Source: `mm_init_sched()`.
    pub fn begin(&mut self, mm: MmId) -> u64 {
        if let Some(row) = self.rows[mm.idx()] {
            let parts = &mut self.parts[row..row + self.cpus.len()];
            for (part, epochs) in parts.iter_mut().zip(&self.cpus) {
                *part = Decaying { epoch: epochs.all.epoch, runtime: 0 };
            }
        }
        self.cpus.last().map_or(0, |last| last.all.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: CpuId = CpuId(0);
    const A: MmId = MmId(0);
    const B: MmId = MmId(1);

    /// One CPU, two processes of two threads each, epochs of two ticks from jiffy 100 on.
    fn occupancy() -> Occupancy {
        let processes = Processes::of_tasks([0, 0, 1, 1].map(Some).into_iter());
        Occupancy::new(1, &processes, 2, 2, 100)
    }

    #[test]
    fn an_epoch_begins_behind_the_jiffy_for_which_it_is_due_and_lasts_its_period() {
        let mut all = occupancy();
        // n = ceil((now - next) / 2), and next moves by 2n.
        for (jiffies, epoch) in [(100, 0), (101, 1), (102, 1), (103, 2), (104, 2), (111, 6)] {
            assert_eq!(all.account(jiffies, CPU, A, 1), epoch, "at {jiffies}");
        }
    }

    #[test]
    fn runtime_halves_with_each_epoch_and_nothing_is_left_after_sixty_four() {
        let mut all = occupancy();
        all.account(100, CPU, A, 1 << 20);
        all.account(100, CPU, B, 1 << 20);
        // Three epochs on, both have an eighth left: half of the CPU each, but for the +1.
        assert_eq!(all.fraction(105, CPU, A), OCCUPANCY_ONE * (1 << 17) / ((1 << 18) + 1));
        assert_eq!(all.epoch(CPU), 3);
        let mut later = all.clone();
        assert_eq!(later.fraction(105 + 2 * 64, CPU, A), 0);
        // Five more, and a 32nd of that is left: 4096 ns.
        all.account(115, CPU, B, 31 << 12);
        assert_eq!(
            all.fraction(115, CPU, A),
            OCCUPANCY_ONE * 4096 / (4096 + 4096 + (31 << 12) + 1)
        );
    }

    #[test]
    fn steady_runtime_sums_up_to_twice_that_of_an_epoch() {
        let mut all = occupancy();
        for epoch in 0..64 {
            all.account(101 + 2 * epoch, CPU, A, 8_000_000);
        }
        let runtime = all.cpus[0].all.runtime;
        assert!((15_999_000..=16_000_000).contains(&runtime), "{runtime}");
    }

    #[test]
    fn it_is_a_part_of_busy_time_and_not_of_all_time() {
        let mut all = occupancy();
        // 1 us in an epoch of 8 ms, but nobody else ran.
        all.account(100, CPU, A, 1000);
        assert_eq!(all.fraction(100, CPU, A), OCCUPANCY_ONE * 1000 / 1001);
    }

    #[test]
    fn a_process_without_a_row_counts_as_busy_time_only() {
        let processes = Processes::of_tasks([Some(0), Some(0), Some(1)].into_iter());
        let mut all = Occupancy::new(1, &processes, 2, 2, 100);
        all.account(100, CPU, A, 3000);
        all.account(100, CPU, B, 1000);
        assert_eq!(all.fraction(100, CPU, A), OCCUPANCY_ONE * 3000 / 4001);
        assert_eq!(all.fraction(100, CPU, B), 0);
    }

    #[test]
    fn a_process_that_begins_has_run_nowhere() {
        let mut all = occupancy();
        all.account(100, CPU, A, 1000);
        all.account(107, CPU, B, 1000);
        assert_eq!(all.begin(A), 4, "the epoch of the last CPU");
        assert_eq!(all.fraction(107, CPU, A), 0);
    }
}
