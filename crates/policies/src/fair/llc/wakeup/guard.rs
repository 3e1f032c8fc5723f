//! Whether an LLC has room for more of a process, by what the periodic balancer has last seen of it.

use simsched_core::TaskId;
use simsched_topology::{CpuId, CpuSet};

use super::LlcWakeup;

/// What the balancer leaves of an LLC (`sd_llc_shared`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlcAvg {
    /// The utilization of its CPUs, all together (`util_avg`).
    pub util_avg: u64,
    /// How many tasks run there, on average (`nr_avg`).
    pub nr_avg: i64,
}

impl LlcAvg {
    /// A sample: the utilization is taken as it is; the number of tasks comes nearer to it by an eighth
    /// of the difference, which is rounded towards nothing: it stays where that is less than eight.
    /// Source: `update_sg_lb_stats()` of the patch (spec 07 section 6).
    pub const fn refresh(&mut self, util: u64, nr_running: u32) {
        self.util_avg = util;
        self.nr_avg += (nr_running as i64 - self.nr_avg) / 8;
    }
}

/// The question whether a process may be sent to an LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlcRoom {
    /// How many CPUs the LLC has.
    pub llc_cpus: u32,
    /// What is known of it.
    pub avg: LlcAvg,
    /// How many threads the process has.
    pub nr_threads: u32,
    /// A process with fewer threads than the LLC has CPUs is asked, too.
    pub always_check: bool,
}

impl LlcAvg {
    /// Whether an LLC of so many CPUs uses less than a quarter of its capacity, and runs fewer tasks than
    /// a third of its CPUs.
    #[must_use]
    pub const fn has_room(self, llc_cpus: u32) -> bool {
        self.util_avg * 4 < llc_cpus as u64 * 1024 && self.nr_avg * 3 < llc_cpus as i64
    }
}

impl LlcRoom {
    /// Less than a quarter of its capacity is used, and fewer tasks run than a third of its CPUs; or the
    /// process is small, whatever others do there.
    /// Source: `valid_target_cpu()` of the patch (spec 07 section 5).
    #[must_use]
    pub fn is_valid(self) -> bool {
        let LlcRoom { llc_cpus, avg, nr_threads, always_check } = self;
        nr_threads < llc_cpus && !always_check || avg.has_room(llc_cpus)
    }
}

impl LlcWakeup {
    /// Whether the process of `task` may be sent behind the LLC of `cpu`. An LLC of one CPU has no shared
    /// object, and so no room.
    #[must_use]
    pub fn is_valid(&self, cpu: CpuId, task: TaskId) -> bool {
        let llc = usize::from(self.ids.of(cpu));
        let llc_cpus = self.llc_cpus[llc];
        let Some(mm) = self.processes.mm(task).filter(|_| llc_cpus > 1) else { return false };
        let (nr_threads, always_check) = (self.processes.nr_threads(mm), self.always_check);
        LlcRoom { llc_cpus, avg: self.shared[llc], nr_threads, always_check }.is_valid()
    }

    /// What is known of the LLC of `cpu`, to change.
    #[cfg(feature = "testkit")]
    pub(in crate::fair) fn shared_mut(&mut self, cpu: CpuId) -> &mut LlcAvg {
        &mut self.shared[usize::from(self.ids.of(cpu))]
    }

    /// The balancer has summed up the LLC of `cpu`.
    pub(in crate::fair) fn refresh(&mut self, cpu: CpuId, util: u64, nr_running: u32) {
        let llc = usize::from(self.ids.of(cpu));
        self.shared[llc].refresh(util, nr_running);
        self.counts.refreshed(llc, self.shared[llc].has_room(self.llc_cpus[llc]));
    }

    /// Whether the guard decides where `task` goes: its process has a preference, and is not small.
    pub(in crate::fair) fn is_guarded(&self, task: TaskId) -> bool {
        let Some(mm) = self.processes.mm(task) else { return false };
        self.procs[mm.idx()].pref_cpu.is_some_and(|pref| {
            let llc_cpus = self.llc_cpus[usize::from(self.ids.of(pref))];
            self.always_check || self.processes.nr_threads(mm) >= llc_cpus
        })
    }

    /// A wakee that the guard has let pass goes behind the LLC of `cpu`, of which this is true now.
    pub(in crate::fair) fn admitted(&mut self, cpu: CpuId, now: LlcAvg) {
        let llc = usize::from(self.ids.of(cpu));
        self.counts.admitted(llc, now.has_room(self.llc_cpus[llc]));
    }

    /// The CPUs behind the LLC of `cpu`.
    #[must_use]
    pub fn span(&self, cpu: CpuId) -> &CpuSet {
        self.ids.span(self.ids.of(cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(llc_cpus: u32, util_avg: u64, nr_avg: i64, nr_threads: u32) -> LlcRoom {
        LlcRoom { llc_cpus, avg: LlcAvg { util_avg, nr_avg }, nr_threads, always_check: false }
    }

    /// 16 CPUs have a capacity of 16384: 4095 * 4 < 16384 = 4096 * 4. 5 * 3 < 16 <= 6 * 3.
    #[test]
    fn an_llc_has_room_below_a_quarter_of_its_capacity_and_a_third_of_its_cpus() {
        assert!(room(16, 4095, 0, 16).is_valid());
        assert!(!room(16, 4096, 0, 16).is_valid());
        assert!(room(16, 0, 5, 16).is_valid());
        assert!(!room(16, 0, 6, 16).is_valid());
    }

    #[test]
    fn a_process_with_fewer_threads_than_cpus_is_never_asked_unless_all_are() {
        let small = room(16, 16_384, 100, 15);
        assert!(small.is_valid());
        assert!(!LlcRoom { always_check: true, ..small }.is_valid());
        assert!(!room(16, 16_384, 100, 16).is_valid());
    }

    /// Power10: 1 * 3 < 4 <= 2 * 3.
    #[test]
    fn an_llc_of_four_cpus_has_room_while_at_most_one_task_runs() {
        assert!(room(4, 0, 1, 8).is_valid());
        assert!(!room(4, 0, 2, 8).is_valid());
    }

    fn settle(nr_avg: i64, sample: u32) -> i64 {
        let mut avg = LlcAvg { util_avg: 0, nr_avg };
        (0..100).for_each(|_| avg.refresh(0, sample));
        avg.nr_avg
    }

    /// 7 / 8 is nothing; from 0 to 16 by eighths: 2, 3, 4, 5, 6, 7, 8, 9, and 7 / 8 is nothing again. From
    /// above it settles seven too high: the division rounds towards zero.
    #[test]
    fn the_average_of_running_tasks_settles_seven_short_of_where_it_goes() {
        assert_eq!(settle(0, 7), 0);
        assert_eq!(settle(0, 16), 9);
        assert_eq!(settle(30, 16), 23);
    }

    /// For 16 CPUs the limit is 6, so that about 13 tasks must run: 13 - 7.
    #[test]
    fn a_third_of_sixteen_cpus_is_seen_when_thirteen_tasks_run() {
        assert_eq!((settle(0, 12), settle(0, 13)), (5, 6));
    }
}
