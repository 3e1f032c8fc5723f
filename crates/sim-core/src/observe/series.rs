//! `CpuSeries`: how busy each CPU is over time, in a number of intervals that is known at birth.

use simsched_topology::{CpuId, Topology};

use super::llc::ByCause;
use crate::names::Cause;
use crate::observer::{Observer, Tracepoint};
use crate::time::{Nanos, SimTime};
use crate::world::World;

/// For how long each CPU has run tasks, and how many tasks have moved, interval by interval.
///
/// A task runs on a CPU from the switch to it to the switch away from it. When the intervals are used
/// up, each two of them become one that is twice as long, so a series takes the same memory whatever
/// the length of its run, and more than half of its intervals are in use.
#[derive(Clone, Debug)]
pub struct CpuSeries {
    interval: Nanos,
    nr_cpus: usize,
    /// By interval, then by CPU, in ns.
    busy: Vec<u64>,
    /// By interval.
    moves: Vec<ByCause>,
    /// By CPU: since when a task runs there.
    running: Vec<Option<SimTime>>,
    /// When the run was over.
    end: SimTime,
}

/// At most so many intervals; an even number, as each two can become one.
const MOST: usize = 128;

impl CpuSeries {
    /// Nothing yet, in intervals of this length or, if the run is long, of a power of two times it.
    #[must_use]
    pub fn new(topology: &Topology, interval: Nanos) -> CpuSeries {
        let nr_cpus = topology.nr_cpus();
        CpuSeries {
            interval: Nanos(interval.get().max(1)),
            nr_cpus,
            busy: vec![0; MOST * nr_cpus],
            moves: vec![ByCause::default(); MOST],
            running: vec![None; nr_cpus],
            end: SimTime::ZERO,
        }
    }

    /// The length of all intervals but the last, which may be shorter.
    #[must_use]
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// How many intervals there are, once the run is over.
    #[must_use]
    pub fn intervals(&self) -> usize {
        let nr = self.end.get().div_ceil(self.interval.get());
        usize::try_from(nr).map_or(MOST, |nr| nr.min(MOST))
    }

    /// How long this interval was.
    #[must_use]
    pub fn span(&self, interval: usize) -> Nanos {
        let start = interval as u64 * self.interval.get();
        Nanos(self.end.get().saturating_sub(start).min(self.interval.get()))
    }

    /// For how long each CPU has run tasks in this interval, in ns.
    ///
    /// # Panics
    /// When there is no such interval.
    #[must_use]
    pub fn busy(&self, interval: usize) -> &[u64] {
        &self.busy[interval * self.nr_cpus..][..self.nr_cpus]
    }

    /// How many tasks have changed their CPU in this interval, by [`Cause`].
    ///
    /// # Panics
    /// When there is no such interval.
    #[must_use]
    pub fn moves(&self, interval: usize) -> &ByCause {
        &self.moves[interval]
    }

    /// Ends the last interval when the run is over at `now`.
    pub fn finish(&mut self, now: SimTime) {
        for cpu in 0..self.nr_cpus {
            self.stops(CpuId::new(cpu), now);
        }
        self.end = now;
        self.reach(now);
    }

    /// A task that ran on `cpu` has run up to `now`.
    fn stops(&mut self, cpu: CpuId, now: SimTime) {
        let Some(since) = self.running[cpu.idx()].take() else { return };
        self.reach(now);
        let length = self.interval.get();
        let (mut from, to) = (since.get(), now.get());
        while from < to {
            let interval = from / length;
            let next = to.min((interval + 1) * length);
            let row = usize::try_from(interval).expect("there are few intervals");
            self.busy[row * self.nr_cpus + cpu.idx()] += next - from;
            from = next;
        }
    }

    /// Makes intervals longer until the last one ends at `now` or behind it.
    fn reach(&mut self, now: SimTime) {
        while now.get() > self.interval.get().saturating_mul(MOST as u64) {
            for row in 0..MOST {
                for cpu in 0..self.nr_cpus {
                    let at = |row: usize| self.busy.get(row * self.nr_cpus + cpu).copied();
                    let both = at(2 * row).unwrap_or(0) + at(2 * row + 1).unwrap_or(0);
                    self.busy[row * self.nr_cpus + cpu] = both;
                }
                let at = |row: usize| self.moves.get(row).copied().unwrap_or_default();
                let (first, second) = (at(2 * row), at(2 * row + 1));
                self.moves[row] = std::array::from_fn(|cause| first[cause] + second[cause]);
            }
            self.interval = Nanos(2 * self.interval.get());
        }
    }

    #[inline(never)]
    fn switch(&mut self, now: SimTime, cpu: CpuId, runs: bool) {
        self.stops(cpu, now);
        self.running[cpu.idx()] = runs.then_some(now);
    }

    #[inline(never)]
    fn moved(&mut self, now: SimTime, cause: Cause) {
        // An event at the very end of an interval belongs to the next one.
        self.reach(now + Nanos(1));
        let row = usize::try_from(now.get() / self.interval.get()).expect("intervals are few");
        self.moves[row][cause as usize] += 1;
    }
}

impl Observer for CpuSeries {
    #[inline(always)]
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        match tracepoint {
            Tracepoint::Switch { cpu, next, .. } => self.switch(world.now(), cpu, next.is_some()),
            Tracepoint::Migrate { cause, .. } => self.moved(world.now(), cause),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(interval: u64) -> CpuSeries {
        CpuSeries::new(&Topology::builtin("t8", None).unwrap(), Nanos(interval))
    }

    /// CPU 3 runs from 150 to 320: 50 of the second interval of 100, all of the third, 20 of the last.
    #[test]
    fn what_runs_across_intervals_is_cut_at_their_ends() {
        let mut series = series(100);
        series.switch(SimTime(150), CpuId(3), true);
        series.switch(SimTime(320), CpuId(3), false);
        series.finish(SimTime(330));
        assert_eq!((series.intervals(), series.interval()), (4, Nanos(100)));
        let busy: Vec<u64> = (0..4).map(|interval| series.busy(interval)[3]).collect();
        assert_eq!(busy, [0, 50, 100, 20]);
        assert_eq!((series.span(2), series.span(3)), (Nanos(100), Nanos(30)));
    }

    #[test]
    fn a_move_counts_in_the_interval_in_which_it_happens() {
        let mut series = series(100);
        for at in [0, 99, 100, 250] {
            series.moved(SimTime(at), Cause::NewIdle);
        }
        series.finish(SimTime(300));
        let moves: Vec<u64> =
            (0..3).map(|interval| series.moves(interval)[Cause::NewIdle as usize]).collect();
        assert_eq!(moves, [2, 1, 1]);
    }

    /// 128 intervals of 10 ns end at 1,280; a run of 5,121 needs intervals of 80.
    #[test]
    fn intervals_double_when_they_are_used_up() {
        let mut series = series(10);
        series.switch(SimTime(5), CpuId(0), true);
        series.finish(SimTime(5_121));
        assert_eq!((series.interval(), series.intervals()), (Nanos(80), 65));
        let busy: u64 = (0..65).map(|interval| series.busy(interval)[0]).sum();
        assert_eq!(busy, 5_116);
        assert_eq!((series.busy(0)[0], series.busy(64)[0], series.span(64)), (75, 1, Nanos(1)));
    }

    proptest! {
        #[test]
        fn doubling_loses_nothing(
            steps in proptest::collection::vec((1u64..5_000, 0usize..8, any::<bool>()), 1..200),
        ) {
            let (mut fine, mut coarse) = (series(1), series(1 << 20));
            let mut now = 0;
            for (step, cpu, runs) in &steps {
                now += step;
                for series in [&mut fine, &mut coarse] {
                    series.switch(SimTime(now), CpuId::new(*cpu), *runs);
                    series.moved(SimTime(now), Cause::Wakeup);
                }
            }
            for series in [&mut fine, &mut coarse] {
                series.finish(SimTime(now + 1));
            }
            let sum = |series: &CpuSeries, cpu: usize| -> u64 {
                (0..series.intervals()).map(|interval| series.busy(interval)[cpu]).sum()
            };
            for cpu in 0..8 {
                prop_assert_eq!(sum(&fine, cpu), sum(&coarse, cpu));
            }
            let moves: u64 = (0..fine.intervals()).map(|at| fine.moves(at)[0]).sum();
            prop_assert_eq!(moves, steps.len() as u64);
            for interval in 0..fine.intervals() {
                let most = fine.span(interval).get();
                prop_assert!(fine.busy(interval).iter().all(|busy| *busy <= most));
            }
        }
    }
}
