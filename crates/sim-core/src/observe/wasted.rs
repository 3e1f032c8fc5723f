//! `Wasted`: how much CPU time idled away while tasks waited for a CPU.

use crate::time::{Nanos, SimTime};

/// Counts idle CPUs and waiting tasks, and sums up the lesser of the two over time.
///
/// A task waits from its enqueue, or from its preemption, until a CPU switches to it; affinity is
/// not asked for. A work-conserving scheduler wastes next to nothing. Source: the question of Lozi
/// et al., "The Linux scheduler: a decade of wasted cores", 2016.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wasted {
    idle: u64,
    waiting: u64,
    since: SimTime,
    total: u64,
}

impl Wasted {
    /// A machine all of whose CPUs idle.
    pub(super) fn new(nr_cpus: usize) -> Wasted {
        Wasted { idle: nr_cpus as u64, waiting: 0, since: SimTime::ZERO, total: 0 }
    }

    /// Begins to sum up anew at `now`, which is returned; what was summed up before stays.
    pub(super) fn restart(&mut self, now: SimTime) -> Wasted {
        self.pass(now);
        Wasted { total: 0, ..*self }
    }

    /// Adds the sum of a later part of the same run.
    pub(super) fn merge(&mut self, later: &Wasted) {
        *self = Wasted { total: self.total + later.total, ..*later };
    }

    /// The sum up to the last change: idle CPU time that a waiting task could have used.
    pub(super) fn total(&self) -> Nanos {
        Nanos(self.total)
    }

    /// A task was enqueued.
    #[inline]
    pub(super) fn enqueued(&mut self, now: SimTime) {
        self.pass(now);
        self.waiting += 1;
    }

    /// A CPU has changed from the idle task (or not) to the idle task (or not); `preempted` if the
    /// task that it left waits again.
    #[inline]
    pub(super) fn switched(
        &mut self,
        now: SimTime,
        from_idle: bool,
        to_idle: bool,
        preempted: bool,
    ) {
        self.pass(now);
        // Who is told of a part of a run only may miss where a task or a CPU came from.
        self.waiting = (self.waiting + u64::from(preempted)).saturating_sub(u64::from(!to_idle));
        self.idle = (self.idle + u64::from(to_idle)).saturating_sub(u64::from(from_idle));
    }

    /// The stopper begins to run on a CPU that had just been switched to no task, or ends before that
    /// is switched on.
    pub(super) fn stopper(&mut self, now: SimTime, begins: bool) {
        self.pass(now);
        self.idle = if begins { self.idle.saturating_sub(1) } else { self.idle + 1 };
    }

    #[inline]
    fn pass(&mut self, now: SimTime) {
        self.total += self.idle.min(self.waiting) * now.since(self.since).0;
        self.since = self.since.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four CPUs. From 10 to 40 three tasks wait; at 40 one gets a CPU, at 50 another is preempted
    /// by the third: 3 * 30, then 2 * 10; then one waits still, with three CPUs idle.
    #[test]
    fn the_lesser_of_idle_and_waiting_counts() {
        let mut wasted = Wasted::new(4);
        for _ in 0..3 {
            wasted.enqueued(SimTime(10));
        }
        wasted.switched(SimTime(40), true, false, false);
        assert_eq!(wasted.total(), Nanos(90));
        wasted.switched(SimTime(50), false, false, true);
        assert_eq!(wasted.total(), Nanos(110));
        wasted.switched(SimTime(100), false, true, false);
        assert_eq!(wasted.total(), Nanos(210));
    }

    /// Two CPUs, one busy: of three that wait, one could run.
    #[test]
    fn more_waiting_tasks_than_idle_cpus_waste_the_idle_cpus() {
        let mut wasted = Wasted::new(2);
        wasted.enqueued(SimTime(0));
        wasted.switched(SimTime(0), true, false, false);
        for _ in 0..3 {
            wasted.enqueued(SimTime(5));
        }
        wasted.switched(SimTime(25), false, false, true);
        assert_eq!(wasted.total(), Nanos(20));
    }
}
