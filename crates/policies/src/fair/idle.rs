//! What is remembered about idleness: how long a CPU is idle on average, whether an LLC has an
//! idle core, and how many CPUs an idle scan may visit.

use simsched_core::World;
use simsched_topology::{CpuId, CpuSet};

use super::Fair;
use super::tunables::Tunables;

/// The expected idle time of one CPU (fields of `struct rq`). Times are in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleStats {
    /// When the CPU last ran out of tasks, on its clock; 0 once a wakeup has ended that.
    pub idle_stamp: u64,
    /// A moving average of the time until a wakeup.
    pub avg_idle: u64,
    /// The jiffy in which `wake_avg_idle` was last aged.
    pub wake_stamp: u64,
    /// The part of `avg_idle` that `SIS_PROP` has not spent yet.
    pub wake_avg_idle: u64,
    /// What an idle scan by this CPU costs on average (`sd_llc->avg_scan_cost`).
    pub avg_scan_cost: u64,
}

impl IdleStats {
    /// A CPU that has just run out of tasks at `clock`.
    ///
    /// Source: `sched_init()`; the stamp is not zero, since every CPU of a booted machine has been
    /// idle before.
    #[must_use]
    pub fn new(clock: u64, tunables: &Tunables) -> IdleStats {
        let avg_idle = 2 * tunables.migration_cost_ns;
        IdleStats {
            idle_stamp: clock,
            avg_idle,
            wake_stamp: 0,
            wake_avg_idle: avg_idle,
            avg_scan_cost: 0,
        }
    }

    /// A wakeup has put a task on the CPU: the idle time is over. The average is at most `max`.
    /// Source: `ttwu_do_activate()`.
    pub fn task_woken(&mut self, clock: u64, jiffies: u64, max: u64) {
        if self.idle_stamp == 0 {
            return;
        }
        update_avg(&mut self.avg_idle, clock.wrapping_sub(self.idle_stamp));
        self.avg_idle = self.avg_idle.min(max);
        self.wake_stamp = jiffies;
        self.wake_avg_idle = self.avg_idle / 2;
        self.idle_stamp = 0;
    }

    /// How many CPUs an idle scan over `span` CPUs may visit, less one.
    ///
    /// ```text
    /// nr = span * wake_avg_idle / (avg_scan_cost + 1), at least 4
    /// ```
    ///
    /// Source: `select_idle_cpu()` of 5.16 with `SIS_PROP`.
    pub fn sis_prop_limit(&mut self, jiffies: u64, span: u64) -> u64 {
        // A busy CPU has not been idle for a while: each jiffy halves what is expected.
        while self.wake_stamp < jiffies && self.wake_avg_idle != 0 {
            self.wake_stamp += 1;
            self.wake_avg_idle >>= 1;
        }
        let avg_cost = self.avg_scan_cost + 1;
        let span_avg = span.saturating_mul(self.wake_avg_idle);
        let nr = if span_avg > 4 * avg_cost { span_avg / avg_cost } else { 4 };
        nr - 1
    }

    /// A scan that took `time_ns` is paid from the expected idle time.
    pub fn sis_prop_account(&mut self, time_ns: u64) {
        self.wake_avg_idle -= self.wake_avg_idle.min(time_ns);
        update_avg(&mut self.avg_scan_cost, time_ns);
    }
}

/// Moves an average by an eighth of the difference. Source: `update_avg()`.
fn update_avg(avg: &mut u64, sample: u64) {
    let diff = sample.wrapping_sub(*avg).cast_signed();
    *avg = avg.wrapping_add_signed(diff / 8);
}

/// What the CPUs of an LLC share (`struct sched_domain_shared`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlcShared {
    /// A core may be idle: set by a CPU that goes idle beside idle siblings, cleared by a scan
    /// that found none.
    pub has_idle_cores: bool,
    /// How many CPUs an idle scan may visit (`SIS_UTIL`).
    pub nr_idle_scan: u32,
    /// How many CPUs have had a tick with a task since they were last idle without a tick.
    pub nr_busy_cpus: u32,
}

impl LlcShared {
    /// An LLC of `llc_weight` CPUs on a machine that has been up and idle: the balancer has published
    /// the hint that follows from no utilization. Source: `sd_init()` for the rest, where the hint is
    /// 0 until the first balance.
    #[must_use]
    pub fn new(has_idle_cores: bool, llc_weight: u32, imbalance_pct: u32) -> LlcShared {
        LlcShared {
            has_idle_cores,
            nr_idle_scan: nr_idle_scan(llc_weight, imbalance_pct, 0),
            nr_busy_cpus: llc_weight,
        }
    }
}

/// How many CPUs of an LLC of `llc_weight` an idle scan may visit, by their summed utilization.
///
/// ```text
/// x = sum_util / llc_weight      y = 1024 - x^2 * (imbalance_pct / 100)^2 / 1024
/// nr_idle_scan = llc_weight * y / 1024
/// ```
///
/// Source: `update_idle_cpu_scan()`, Linux 6.1.
#[must_use]
pub fn nr_idle_scan(llc_weight: u32, imbalance_pct: u32, sum_util: u64) -> u32 {
    let weight = u64::from(llc_weight);
    let pct = u64::from(imbalance_pct);
    let x = sum_util / weight;
    let used = (x * x * pct * pct / (10_000 * 1024)).min(1024);
    let scan = (1024 - used) * weight / 1024;
    u32::try_from(scan).expect("at most the weight")
}

impl Fair {
    /// The idle task has become current: if the whole core is idle now, its LLC is told.
    /// Source: `__update_idle_core()`.
    pub(super) fn update_idle_core(&mut self, world: &World, cpu: CpuId) {
        let topology = world.topology();
        let siblings = topology.smt_mask(cpu);
        let llc = &mut self.llcs[topology.llc_of(cpu).idx()];
        if llc.has_idle_cores || !self.has_smt {
            return;
        }
        let is_idle = |sibling| sibling == cpu || world.is_idle(sibling);
        if siblings.iter().all(is_idle) {
            llc.has_idle_cores = true;
        }
    }
}

impl Fair {
    /// Whether only tasks of `SCHED_IDLE` are runnable on `cpu`: not the stopper either, and nobody is leaving.
    /// Source: `sched_idle_cpu()`.
    #[inline]
    pub(super) fn sched_idle_cpu(&self, world: &World, cpu: CpuId) -> bool {
        self.sched_idle.contains(cpu) && {
            let rq = world.rq(cpu);
            rq.nr_running == rq.nr_tasks()
        }
    }

    /// The first CPU of `mask`, in wrap order from `start`, of which that is so.
    #[inline]
    pub(super) fn next_sched_idle_cpu(
        &self,
        world: &World,
        mask: &CpuSet,
        start: CpuId,
    ) -> Option<CpuId> {
        if self.sched_idle.is_empty() {
            return None;
        }
        mask.and(&self.sched_idle).iter_wrap(start).find(|&cpu| self.sched_idle_cpu(world, cpu))
    }

    /// Keeps in mind whether the tasks of `cpu` are all of `SCHED_IDLE`; true if they are and were not.
    #[inline]
    pub(super) fn note_sched_idle(&mut self, cpu: CpuId) -> bool {
        if self.all.root(cpu).has_only_sched_idle() {
            return self.sched_idle.insert(cpu);
        }
        if !self.sched_idle.is_empty() {
            self.sched_idle.remove(cpu);
        }
        false
    }

    /// A task has left the queue of `cpu`. Where only tasks of `SCHED_IDLE` stay, the next tick balances, to get
    /// others. Source: `dequeue_task_fair()`, `dequeue_entities()`.
    #[inline]
    pub(super) fn note_dequeued(&mut self, world: &World, cpu: CpuId) {
        let has_come_to_it = self.note_sched_idle(cpu);
        self.balance_early(world, cpu, has_come_to_it);
    }

    /// The same behind a choice of a task, in which sleepers may have left one after the other.
    #[inline]
    pub(super) fn note_picked(&mut self, world: &World, cpu: CpuId) {
        if self.all.asked.has_blocked() {
            self.note_sched_idle(cpu);
            let has_come_to_it = self.all.asked.take_sched_idle();
            self.balance_early(world, cpu, has_come_to_it);
        }
    }

    #[inline]
    fn balance_early(&mut self, world: &World, cpu: CpuId, has_come_to_it: bool) {
        let rq = world.rq(cpu);
        if has_come_to_it && rq.nr_running == rq.nr_tasks() {
            self.balance.rqs[cpu.idx()].next_balance = world.jiffies();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats() -> IdleStats {
        IdleStats::new(1_000_000_000, &Tunables::default())
    }

    #[test]
    fn a_scan_may_visit_as_many_cpus_as_the_idle_time_pays_for() {
        // 16 CPUs * 50,000 ns / (9,999 + 1) ns = 80 CPUs, less one.
        let mut stats = IdleStats { wake_avg_idle: 50_000, avg_scan_cost: 9_999, ..stats() };
        assert_eq!(stats.sis_prop_limit(0, 16), 79);
        // What is left after 12 jiffies without a wakeup, 12 ns, pays for less than the minimum.
        assert_eq!(stats.sis_prop_limit(12, 16), 3);
        assert_eq!((stats.wake_avg_idle, stats.wake_stamp), (12, 12));
    }

    #[test]
    fn a_scan_is_paid_from_the_idle_time() {
        let mut stats = IdleStats { wake_avg_idle: 1_000, avg_scan_cost: 0, ..stats() };
        stats.sis_prop_account(400);
        assert_eq!((stats.wake_avg_idle, stats.avg_scan_cost), (600, 50));
        stats.sis_prop_account(4_050);
        assert_eq!((stats.wake_avg_idle, stats.avg_scan_cost), (0, 550));
    }

    #[test]
    fn the_expected_idle_time_is_capped_and_a_second_wakeup_does_not_count() {
        let mut stats = stats();
        stats.task_woken(1_100_000_000, 275, 1_000_000);
        assert_eq!(stats.avg_idle, 1_000_000);
        let once = stats;
        stats.task_woken(1_200_000_000, 300, 1_000_000);
        assert_eq!(stats, once);
    }
}
