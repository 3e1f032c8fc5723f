//! `Psi`: when the averages of pressure stall information are computed (`psi_avgs_work()`, `kernel/sched/psi.c`).
//!
//! The work comes back two seconds and a tick behind the begin of its period, by a timer that is not deferrable, on the CPU
//! where it has run. Under 7.3.4 that is CPU 0 in nine recordings and boots of the first set (`t8` and `t16`): its kworker
//! wakes up each 496 or 504 ticks, as timers of 64 ticks and more expire with the slots of eight ticks of the timer wheel.
//! In the set with probes the work moves: there it is not.

use rand::distr::{Distribution, Uniform};
use simsched_core::Seed;

use super::kthread::{HZ, slot_behind};

/// Ticks of a period (`PSI_FREQ` less its one tick).
const PERIOD: u64 = 2 * HZ;

/// The periods of the averages of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Psi {
    /// The jiffies at the begin of the run.
    jiffies: u64,
    /// The jiffies at which the timer is due.
    due: u64,
}

impl Psi {
    /// That of a machine of which a run begins at `jiffies`, anywhere in a period.
    pub(super) fn new(jiffies: u64, seed: Seed) -> Psi {
        let periods = Uniform::new(0, PERIOD).expect("a range that is not empty");
        Psi { jiffies, due: jiffies + periods.sample(&mut seed.stream("psi", 0)) }
    }

    /// The tick of the run at which the timer expires.
    pub(super) fn tick(&self) -> u64 {
        slot_behind(self.due) - self.jiffies
    }

    /// A turn of the kworker ends behind `tick`: when it is woken up again, if this was what it was woken up for.
    pub(super) fn behind(&mut self, tick: u64) -> Option<u64> {
        if self.tick() > tick {
            return None;
        }
        while self.tick() <= tick {
            self.due += PERIOD;
        }
        Some(self.tick())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded under 7.3.4 on `t8`, in seconds since the boot: 18.128, 20.112, 22.128, 24.112, 26.128 (`kworker/0:1` in
    /// share-0-0, share-0-5, share-0-19 and, twice, share-m5-0-5-10).
    #[test]
    fn it_comes_back_when_a_slot_of_the_timer_wheel_ends() {
        let mut psi = Psi { jiffies: 0, due: 9_000 };
        let mut ticks = vec![psi.tick()];
        assert_eq!(psi.behind(ticks[0] - 1), None);
        while ticks.len() < 5 {
            ticks.extend(psi.behind(ticks[ticks.len() - 1]));
        }
        let steps: Vec<u64> = ticks.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(steps, [496, 504, 496, 504]);
    }

    #[test]
    fn a_late_turn_is_one_turn() {
        let mut psi = Psi { jiffies: 96, due: 100 };
        assert_eq!(psi.tick(), 8);
        assert_eq!(psi.behind(1_000), Some(1_008));
    }
}
