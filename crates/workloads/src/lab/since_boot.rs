//! The jiffies at which the lab's scripts begin: where timers that began with the boot are in their periods.
//!
//! A boot is the same each time, but for some ticks: in all recordings of one kernel on one machine `vmstat_update()` comes
//! back on CPU 0 in the same ticks since the boot, 204 behind it and each second from there on (where jiffies are a
//! multiple of `HZ`), and the first scenario begins within 50 ticks.

use std::ops::RangeInclusive;

use super::draws::Draws;
use super::kernel::Kernel;

/// The jiffies at the boot (`INITIAL_JIFFIES`, `CONFIG_HZ=250`).
pub(super) const BOOT: u64 = 4_294_892_296;

/// Ticks in which a machine of which nothing is known has been up: some hours, so that any timer is anywhere.
const UP: u64 = 1 << 22;

/// Ticks from the boot to the first fork of the first scenario, with 8 CPUs and with 16.
type Begins = [RangeInclusive<u64>; 2];

/// Of the first set: four recordings of 6.1 and of 6.12 on `t8` and on `t16`, and two and three of 7.3 with three and five
/// more boots.
const FIRST_SET: [Begins; 3] =
    [[451..=451, 493..=501], [332..=338, 346..=356], [447..=497, 635..=671]];
/// Of the set with probes: two recordings of 7.3 on `n2x8` and one of 7.2; two on `s2x8` and, with 32 CPUs, two on `s2d2`
/// with three more boots.
const PROBES: Begins = [675..=698, 1043..=1066];

/// Ticks from the begin of a run here to that fork: a run begins with a part of the shell's waits.
const LEAD: [u64; 3] = [18, 18, 15];
const LEAD_BEHIND_PROBES: u64 = 21;

/// The jiffies when a run of the first set begins under this kernel on so many CPUs.
pub(super) fn first_set(kernel: Kernel, nr_cpus: usize, draws: &mut Draws) -> u64 {
    let nth = kernel as usize;
    begins(&FIRST_SET[nth], nr_cpus, draws) - LEAD[nth]
}

/// The jiffies when a run of the set with probes begins on so many CPUs.
pub(super) fn probes(nr_cpus: usize, draws: &mut Draws) -> u64 {
    begins(&PROBES, nr_cpus, draws) - LEAD_BEHIND_PROBES
}

/// The jiffies of a machine that has been up for long.
pub(super) fn any(draws: &mut Draws) -> u64 {
    BOOT + UP + draws.below(UP)
}

/// Drawn from what was recorded with 8 CPUs or fewer, or with 16 or more; between the two from what lies between.
fn begins([few, many]: &Begins, nr_cpus: usize, draws: &mut Draws) -> u64 {
    let more = u64::try_from(nr_cpus.clamp(8, 16)).unwrap_or(16) - 8;
    let at = |few: &u64, many: &u64| (few * (8 - more) + many * more) / 8;
    let (start, end) = (at(few.start(), many.start()), at(few.end(), many.end()));
    BOOT + start + draws.below(end - start + 1)
}

#[cfg(test)]
mod tests {
    use simsched_core::Seed;

    use super::super::kthread::HZ;
    use super::*;

    /// Recorded: under 7.3 on 16 CPUs the first fork is 180 to 215 ticks behind a full second of jiffies (eight boots),
    /// under 6.12 on 8 CPUs 128 to 134.
    #[test]
    fn the_first_scenario_begins_where_it_did_behind_a_full_second() {
        for seed in 0..100 {
            let mut draws = Draws(Seed(seed).stream("boot", 0));
            let at = first_set(Kernel::V7_3, 16, &mut draws) + LEAD[2];
            assert!((181..=217).contains(&(at % HZ)), "{}", at % HZ);
            let at = first_set(Kernel::V6_12, 8, &mut draws) + LEAD[1];
            assert!((128..=134).contains(&(at % HZ)), "{}", at % HZ);
            let between = begins(&PROBES, 12, &mut draws) - BOOT;
            assert!((859..=882).contains(&between), "{between}");
        }
    }
}
