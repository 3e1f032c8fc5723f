//! `Psi`: when the averages of pressure stall information are computed (`psi_avgs_work()`, `kernel/sched/psi.c`).
//!
//! The work comes back two seconds and a tick behind the begin of its period, by a timer that is not deferrable, on the CPU
//! where it has run. Under 7.3.4 that is CPU 0 in nine recordings and boots of the first set (`t8` and `t16`): its kworker
//! wakes up each 496 or 504 ticks, as timers of 64 ticks and more expire with the slots of eight ticks of the timer wheel.
//! In the set with probes the work moves: there it is not.
//!
//! The first period begins 27 to 32 ticks behind the boot, and each takes a tick more than two seconds. So the work comes
//! in the tick 4544 behind the boot in 13 of 13 recordings and boots of 7.3.4 on `t8` and `t16`, next in 5040 (8) or 5048
//! (5), in 5544 (13), in 6040 (3) or 6048 (10), in 6544 (8) or 6552 (5) and in 7048 (12; one in 7056), each
//! where a period of 501 ticks has it that began with the boot.

use std::ops::RangeInclusive;

use rand::distr::{Distribution, Uniform};
use simsched_core::Seed;

use super::kthread::{HZ, slot_behind};
use super::since_boot::BOOT;

/// Ticks of a period (`PSI_FREQ`).
const PERIOD: u64 = 2 * HZ + 1;
/// Ticks from the boot to the begin of the first one.
const BEGINS: RangeInclusive<u64> = 27..=32;

/// The periods of the averages of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Psi {
    /// The jiffies at the begin of the run.
    jiffies: u64,
    /// The jiffies at which the timer is due.
    due: u64,
}

impl Psi {
    /// That of a machine of which a run begins at `jiffies`.
    pub(super) fn new(jiffies: u64, seed: Seed) -> Psi {
        let begins = Uniform::try_from(BEGINS).expect("a range that is not empty");
        let begin = BOOT + begins.sample(&mut seed.stream("psi", 0));
        Psi { jiffies, due: begin + (jiffies.saturating_sub(begin) / PERIOD + 1) * PERIOD }
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
    use super::super::draws::Draws;
    use super::super::kernel::Kernel;
    use super::super::since_boot;
    use super::super::vmstat::Vmstat;
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

    /// Recorded in 13 boots of 7.3.4, in ticks behind the boot.
    #[test]
    fn it_is_due_where_the_boot_has_left_it() {
        for seed in 0..200 {
            let jiffies = BOOT + 4_300;
            let mut psi = Psi::new(jiffies, Seed(seed));
            let mut next = || {
                let tick = psi.tick();
                assert!(psi.behind(tick).is_some());
                jiffies + tick - BOOT
            };
            let recorded = [
                [4_544, 4_544],
                [5_040, 5_048],
                [5_544, 5_544],
                [6_040, 6_048],
                [6_544, 6_552],
                [7_048, 7_048],
            ];
            for of in recorded {
                let at = next();
                assert!(of.contains(&at), "{at} is not one of {of:?}");
            }
        }
    }

    /// Recorded in `share-0-19` under 7.3.4, whose tasks keep CPU 0 busy: `vmstat_update()` comes back there 352 ms before the
    /// turn of this work that is 22.1 s behind the boot (five of five recordings and boots on `t8`), and 672 ms behind it
    /// (eight of eight on `t16`).
    #[test]
    fn it_comes_where_it_did_between_the_turns_of_the_memory_counters() {
        for seed in (0..100).map(Seed) {
            let draws = &mut Draws(seed.stream("boot", 0));
            let jiffies = since_boot::first_set(Kernel::V7_3, 16, draws);
            let (vmstat, mut psi) = (Vmstat::new(16, jiffies, seed), Psi::new(jiffies, seed));
            while psi.behind(BOOT + 5_400 - jiffies).is_some() {}
            let mut turns = vec![vmstat.first(0)];
            while turns[turns.len() - 1] < psi.tick() {
                turns.push(vmstat.second_behind(0, turns[turns.len() - 1]));
            }
            let [.., last, next] = turns[..] else { panic!("{turns:?}") };
            let ms = |ticks: u64| 4 * ticks;
            assert_eq!([ms(psi.tick() - last), ms(next - psi.tick())], [352, 672]);
        }
    }

    #[test]
    fn a_late_turn_is_one_turn() {
        let mut psi = Psi { jiffies: 96, due: 100 };
        assert_eq!(psi.tick(), 8);
        assert_eq!(psi.behind(1_000), Some(1_008));
    }
}
