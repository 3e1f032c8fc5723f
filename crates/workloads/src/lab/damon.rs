//! `Damon`: when `kdamond.0`, the thread that samples accesses to memory (DAMON), wakes up on a machine of the lab.
//!
//! Debian's kernels 7.2 and 7.3 have it from the boot on. It looks at samples of memory, one in each sampling interval,
//! and after 60 of them the interval doubles where little is accessed, as in all recordings: from 5 ms on up to 640.
//! Where it sleeps for more than 20 ms it does so in the timer wheel, so from tick to tick: 6, 11, 21, 41 and 88 ticks
//! for 20, 40, 80, 160 and 320 ms, and 168 for the longest (traces of 7.3.4 on `n2x8`, `s2x8`, `s2d2`, `t8` and
//! `t16`: 284, 205, 219 and 205 wakeups on the first, third and last two, of which five lie elsewhere; the longest in
//! one boot, 17 of 17). The last two end with a slot of the wheel's second level, as the timers of the other threads
//! do: from 272 of 277 such wakeups in seven boots of 7.3.4 to those of `kcompactdX` are multiples of eight ticks. The
//! times before that, of 5 and 10 ms, are over before the first scenario or 0.2 s behind its begin, and are not here.
//!
//! Nothing else wakes up so often on a CPU that computes. Two tasks at a tick are what makes a busy CPU call for an idle
//! one to balance (`nohz_balancer_kick()`): the four threads of `th-free-4` on `s2d2`, one behind each LLC, begin to
//! gather with its first wakeup, 102 ms behind their birth, in the tick behind that.

use std::ops::Range;

use simsched_core::Nanos;

use super::kthread::slot_behind;

/// From its switch to the next one are 14 us (median of 489, 14 to 24), of which 2.8 are the kernel's, as with the
/// other threads.
pub(super) const TURN: Nanos = Nanos(11_200);

/// Samples before an interval doubles.
const SAMPLES: u64 = 60;
/// The first interval in the timer wheel, in ticks.
const FIRST: u64 = 6;
/// Those that follow.
const NEXT: [u64; 3] = [11, 21, 41];
/// 320 ms, and from slot to slot.
const SLOTS: [u64; 2] = [80, 88];
/// The last one, from slot to slot.
const LAST: u64 = 168;

/// The tick in which the first interval ends: the first scenario begins 17 ticks behind the begin of a run, and 400 to
/// 416 later the interval changes (1.60 to 1.66 s, 5 recordings of `t8` and `t16`).
pub(super) const ENDS: Range<u64> = 417..434;
/// The same of the set of `cache.sh`, whose script begins later behind the boot: 1.185 to 1.346 s behind the begin of
/// the first scenario (7 recordings of `n2x8`, `s2x8` and `s2d2`), which comes 20 ticks behind that of a run.
pub(super) const ENDS_BEHIND_PROBES: Range<u64> = 316..357;

/// The wakeups of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damon {
    /// The tick in which the first interval ends.
    ends: u64,
    /// How many wakeups come before that.
    before: u64,
    /// The jiffies at the begin of the run.
    jiffies: u64,
}

impl Damon {
    /// The first interval ends in this tick, from 1 on, of a run that begins with these jiffies.
    pub(super) fn new(ends: u64, jiffies: u64) -> Damon {
        Damon { ends, before: ((ends - 1) / FIRST).min(SAMPLES), jiffies }
    }

    /// The tick of wakeup `nth`, from 0 on.
    pub(super) fn tick(self, nth: u64) -> u64 {
        if nth < self.before {
            return self.ends - FIRST * (self.before - nth);
        }
        let (mut nth, mut tick) = (nth - self.before, self.ends);
        for interval in NEXT {
            if nth < SAMPLES {
                return tick + nth * interval;
            }
            (nth, tick) = (nth - SAMPLES, tick + SAMPLES * interval);
        }
        let [timeout, interval] = SLOTS;
        let first = slot_behind(self.jiffies + tick + timeout) - self.jiffies;
        match nth {
            0 => tick,
            _ if nth <= SAMPLES => first + (nth - 1) * interval,
            _ => first + (SAMPLES - 1) * interval + (nth - SAMPLES) * LAST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first five intervals change 1.310, 3.950 and 8.990 s behind the first scenario in a recording of n2x8.
    #[test]
    fn an_interval_changes_after_sixty_samples() {
        let ends = 20 + 1_310 / 4;
        let damon = Damon::new(ends, 5);
        let ticks: Vec<u64> = (0..400).map(|nth| damon.tick(nth)).collect();
        let gaps: Vec<u64> = ticks.windows(2).map(|two| two[1] - two[0]).collect();
        let mut changes = Vec::new();
        for (nth, two) in gaps.windows(2).enumerate() {
            if two[0] != two[1] {
                changes.push((two[0], two[1], ticks[nth + 1]));
            }
        }
        let at = |ms: u64| 20 + ms / 4;
        let expected = [(6, 11, at(1_310)), (11, 21, at(3_950)), (21, 41, at(8_990))];
        assert_eq!(changes[..3], expected);
        // The wheel's slots: the first interval of 80 ticks is the rest of one longer, and all others are full.
        let slots: Vec<u64> = ticks.iter().copied().filter(|tick| *tick > at(18_830) + 1).collect();
        assert!(slots.iter().all(|tick| tick % 8 == 3), "{slots:?}");
        assert_eq!(changes.last().map(|change| (change.0, change.1)), Some((88, LAST)));
        assert!(ticks[0] >= 1 && ticks[0] <= FIRST, "{}", ticks[0]);
    }
}
