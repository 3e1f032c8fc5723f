//! `Vmstat`: when the `kworker/N:1` of a CPU folds the memory counters of that CPU (`mm/vmstat.c`), and how it comes back.
//!
//! A CPU counts pages in a place of its own. `vmstat_update()` adds that to the counters of the machine, and comes back
//! after a second if there was something to add. A second is rounded: to where no other CPU's is
//! (`round_jiffies_relative()`), and to the next eight ticks of the timer wheel. Its timer is deferrable, so that on an
//! idle CPU it stays expired until something runs there and a tick finds that: in the recordings every third birth of a set
//! with idle CPUs has a kworker beside it from its first tick on. Once each second `vmstat_shepherd()` looks for CPUs that
//! have counted something and do not come back by themselves, and wakes up their kworkers.
//!
//! What counts pages was seen in five boots of 7.3.4 (`s2d2`, three seeds, and `n2x8` with the sets of `cache.sh`; `t8`
//! with that of `core.sh`), whose works and timers were recorded by a second instance of the tracer: where a task had been
//! born or had forked, executed or ended since the last turn, `vmstat_shepherd()` found 237 of 259 CPUs, else 11 of 322; a
//! turn of `vmstat_update()` that had come back by itself did so again in 844 of 988 cases, else in 190 of 340.

use rand::distr::{Distribution, Uniform};
use simsched_core::{Seed, Stream};

use super::kthread::{HZ, slot_behind};

/// By how many ticks the seconds of two neighbouring CPUs differ.
const SPREAD: u64 = 3;
/// How many turns came back a second time, of how many, with births and ends on their CPU before them and without.
const CAME_BACK: [[u64; 2]; 2] = [[844, 988], [190, 340]];

/// The counters of all CPUs.
#[derive(Clone, Debug)]
pub(super) struct Vmstat {
    cpus: Vec<Counters>,
    /// The jiffies at the begin of the run.
    jiffies: u64,
    draws: Stream,
}

/// What is known of the counters of a CPU.
#[derive(Clone, Copy, Debug)]
struct Counters {
    /// Its kworker comes back by itself.
    is_pending: bool,
    /// Pages have been counted since its last turn.
    has_counted: bool,
}

impl Vmstat {
    /// The counters of so many CPUs behind a boot, at these jiffies: the first look of `vmstat_shepherd()` has found all of
    /// them.
    pub(super) fn new(nr_cpus: usize, jiffies: u64, seed: Seed) -> Vmstat {
        let cpus = vec![Counters { is_pending: true, has_counted: false }; nr_cpus];
        Vmstat { cpus, jiffies, draws: seed.stream("vmstat", 0) }
    }

    pub(super) fn nr_cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The tick at which the kworker of `cpu` comes back for the first time: all had a turn with the last full second
    /// before the run.
    pub(super) fn first(&self, cpu: usize) -> u64 {
        let second = self.jiffies - self.jiffies % HZ;
        expires(second, cpu).saturating_sub(self.jiffies).max(1)
    }

    /// A task was born, was executed or ended on `cpu`, or has forked there.
    pub(super) fn counts(&mut self, cpu: usize) {
        self.cpus[cpu].has_counted = true;
    }

    /// A turn of `vmstat_update()` at `tick`: the one at which it comes back, if it does so by itself.
    pub(super) fn update(&mut self, cpu: usize, tick: u64) -> Option<u64> {
        let Counters { is_pending, has_counted } = self.cpus[cpu];
        let [came, of] = CAME_BACK[usize::from(!has_counted)];
        let comes_back = !is_pending || self.below(of) < came;
        self.cpus[cpu] = Counters { is_pending: comes_back, has_counted: false };
        comes_back.then(|| self.second_behind(cpu, tick))
    }

    /// The tick to which a work of `cpu` is put off by a second.
    pub(super) fn second_behind(&self, cpu: usize, tick: u64) -> u64 {
        expires(self.jiffies + tick, cpu) - self.jiffies
    }

    /// `vmstat_shepherd()`: the CPUs whose kworkers it wakes up.
    pub(super) fn shepherd(&self) -> impl Iterator<Item = usize> {
        let found = |counters: &Counters| counters.has_counted && !counters.is_pending;
        self.cpus
            .iter()
            .enumerate()
            .filter(move |(_, counters)| found(counters))
            .map(|(cpu, _)| cpu)
    }

    /// The jiffies at the begin of the run.
    pub(super) fn jiffies(&self) -> u64 {
        self.jiffies
    }

    fn below(&mut self, end: u64) -> u64 {
        Uniform::new(0, end.max(1)).expect("a range that is not empty").sample(&mut self.draws)
    }
}

/// The jiffy at which the timer of a work expires that `cpu` puts off by a second at `jiffies`
/// (`round_jiffies_relative()`, `calc_index()`).
fn expires(jiffies: u64, cpu: usize) -> u64 {
    let spread = SPREAD * cpu as u64;
    let due = jiffies + HZ + spread;
    let rem = due % HZ;
    let full = if rem < HZ / 4 { due - rem } else { due - rem + HZ };
    let at = full - spread;
    slot_behind(if at > jiffies { at } else { jiffies + HZ })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Timeouts and slots of `delayed_work_timer_fn()` in the boot of 7.3.4, by the CPU and the jiffies of its start.
    #[test]
    fn a_second_is_rounded_as_recorded() {
        for (cpu, timeout, expires_at, slot) in [
            (1, 238, 4_294_893_497, 4_294_893_504_u64),
            (2, 235, 4_294_893_494, 4_294_893_496),
            (3, 232, 4_294_893_491, 4_294_893_496),
        ] {
            assert_eq!(expires(expires_at - timeout, cpu), slot);
        }
        // The first look: CPU 17 comes back 190 ticks later, CPU 18 437.
        let look = 4_294_893_497 - 238;
        let ticks = |cpu: usize| expires(look, cpu) - look;
        assert!((190..=198).contains(&ticks(17)) && (437..=445).contains(&ticks(18)));
    }

    #[test]
    fn who_was_woken_up_comes_back_and_who_comes_back_is_not_woken_up() {
        let mut vmstat = Vmstat::new(2, HZ + 7, Seed(1));
        vmstat.counts(1);
        assert_eq!(vmstat.shepherd().count(), 0);
        // It comes back until it does not find anything, and is woken up only when there is something again.
        let mut tick = vmstat.first(1);
        while let Some(next) = vmstat.update(1, tick) {
            assert!((tick + 188..=tick + 446).contains(&next));
            tick = next;
        }
        assert_eq!(vmstat.shepherd().count(), 0);
        vmstat.counts(1);
        assert_eq!(vmstat.shepherd().collect::<Vec<_>>(), [1]);
        assert!(vmstat.update(1, tick + 100).is_some());
    }
}
