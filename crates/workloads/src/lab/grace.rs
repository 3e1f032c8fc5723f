//! `Grace`: when the grace periods of RCU begin and end, in ticks.
//!
//! Somebody queues a callback on a CPU. The next tick there finds it, and if no grace period is under
//! way it wakes up `rcu_preempt`, which begins one; else the next one begins when the present one ends.
//! On an idle machine it most often ends two ticks later, and the tick behind that runs the callback. Source:
//! `rcu_core()`, `rcu_gp_kthread()`, Linux 6.1. Counted in the lab's kernel 6.1.176 between scenarios:
//! 157 of 187 grace periods took two ticks, 24 three; who waits for two, one behind the other, waits
//! for eight ticks, or for five if the first one is wanted while another one is under way.

use std::collections::VecDeque;

use rand::distr::{Distribution, Uniform};
use simsched_core::Stream;

use super::draws::at_weight;

/// Ticks between two looks of `rcu_preempt` at a grace period: 904 of 1,109 that are at most three.
pub(super) const LOOK: u64 = 2;

/// Ticks from the begin of a grace period to its end, when no CPU is busy, and how many took that.
const LENGTH: (u64, u32) = (2, 157);
/// The same of those that take a tick more.
const LONGER: (u64, u32) = (3, 24);

/// How many ticks the grace periods took for which the lab's shell waited, with how many of each: two boots of 7.3.4 on the
/// 32 CPUs of `s2d2` and four on `t8` and `t16`, where two that followed each other were told apart by the looks; 13 are not
/// here, five pairs of which with looks that were three ticks apart, and single ones of one, five and six ticks.
const LENGTHS: [(u64, u32); 3] = [(2, 190), (3, 45), (4, 45)];
/// After how many waits of how many another grace period began at once, and after how many that were the last one before a
/// scenario, in the same boots.
const FOLLOWS: (u32, u32) = (148, 227);
const FOLLOWS_LAST: (u32, u32) = (164, 183);

/// A grace period that has begun or is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Period {
    /// The ticks in which it begins and ends.
    begin: u64,
    end: u64,
    /// A task has ended: what was to be freed queues another callback.
    frees: bool,
}

/// Whether a grace period begins when another one ends, though nobody waits for it. Behind the last wait before a scenario
/// they do up to its begin, in all 139 gaps of four boots of 7.3.4 on `t8` and `t16` (in 14 of them from the next tick on):
/// helpers of the shell have callbacks on one CPU or the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Chain {
    /// It does not.
    #[default]
    None,
    /// It does from the next one on that is asked for.
    FromNext,
    /// It does.
    GoesOn,
}

/// The grace periods of a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Grace {
    /// The last one that ended, those under way and planned.
    periods: VecDeque<Period>,
    /// The ticks in which callbacks of an ended task queue another one.
    again: VecDeque<u64>,
    chain: Chain,
    /// Draws how long each is; without, none is longer.
    lengths: Option<Stream>,
}

impl Grace {
    /// Grace periods of which some are longer.
    pub(super) fn drawn(lengths: Stream) -> Grace {
        Grace { lengths: Some(lengths), ..Grace::default() }
    }

    /// Somebody waits behind tick `now` for a whole grace period, without a callback: the tick in which that ends, and
    /// whether none was under way, so that who waits begins one. Source: `synchronize_rcu_normal()`,
    /// `rcu_sr_normal_gp_init()`, Linux 6.10 and later.
    pub(super) fn synchronize(&mut self, now: u64, is_last: bool) -> (u64, bool) {
        self.settle(now);
        let is_first = self.end() <= now;
        let is_planned = self.periods.back().is_some_and(|last| last.begin > now);
        if !is_planned {
            let begin = self.end().max(now);
            let end = begin + self.weighted(&LENGTHS);
            self.periods.push_back(Period { begin, end, frees: false });
        }
        let end = self.end();
        let (follows, of) = if is_last { FOLLOWS_LAST } else { FOLLOWS };
        let is_followed = self.weighted(&[(1, follows), (0, of - follows)]) == 1;
        if is_followed {
            self.follow();
        }
        self.chain = match (is_last, is_followed) {
            (false, _) => Chain::None,
            (true, false) => Chain::FromNext,
            (true, true) => Chain::GoesOn,
        };
        (end, is_first)
    }

    /// Another one begins when the last one ends.
    fn follow(&mut self) {
        let begin = self.end();
        let end = begin + self.weighted(&LENGTHS);
        self.periods.push_back(Period { begin, end, frees: false });
    }

    /// Whether one is under way, and others behind it, when a scenario begins.
    pub(super) fn goes_on(&self) -> bool {
        self.chain == Chain::GoesOn
    }

    /// One of these values, each as often as its weight says; without draws the first.
    fn weighted(&mut self, of: &[(u64, u32)]) -> u64 {
        let all = of.iter().map(|(_, weight)| weight).sum::<u32>();
        let all = Uniform::new(0, all).expect("a range that is not empty");
        let left = self.lengths.as_mut().map_or(0, |stream| all.sample(stream));
        at_weight(of, u64::from(left))
    }

    /// How long the next one is.
    fn length(&mut self) -> u64 {
        self.weighted(&[LENGTH, LONGER])
    }

    /// A callback is queued behind tick `now`: the tick in which it runs.
    pub(super) fn call(&mut self, now: u64) -> u64 {
        self.settle(now);
        self.ask(now, false) + 1
    }

    /// A task ends behind tick `now`: the tick in which its first callback runs.
    pub(super) fn exit(&mut self, now: u64) -> u64 {
        self.settle(now);
        self.ask(now, true) + 1
    }

    /// The first tick behind `now` in which `rcu_preempt` has something to do, as far as is known.
    pub(super) fn next(&mut self, now: u64) -> Option<u64> {
        self.settle(now);
        while self.goes_on() && self.end() <= now {
            self.follow();
        }
        let end = self.end();
        let again = self.again.iter().map(|again| end.max(again + 1));
        // Where nobody has a callback, a look finds a longer one not over yet.
        let chained = self.chain != Chain::None;
        let looks = move |period: &Period| {
            let Period { begin, end, .. } = *period;
            let is_looked_at = chained || end - begin == 2 * LOOK;
            let between = if is_looked_at { end.min(begin + LOOK) } else { end };
            [begin, between, end]
        };
        self.periods.iter().flat_map(looks).chain(again).filter(|tick| *tick > now).min()
    }

    /// The end of the last period.
    fn end(&self) -> u64 {
        self.periods.back().map_or(0, |last| last.end)
    }

    /// What has been queued up to now by callbacks that have run.
    fn settle(&mut self, now: u64) {
        while let Some(tick) = self.again.front().copied().filter(|again| *again <= now) {
            self.again.pop_front();
            self.ask(tick, false);
        }
        while self.periods.len() > 1 && self.periods[0].end < now {
            self.periods.pop_front();
        }
    }

    /// The end of the grace period that begins behind `now`.
    fn ask(&mut self, now: u64, frees: bool) -> u64 {
        let begin = self.end().max(now + 1);
        if self.periods.back().is_none_or(|last| last.begin <= now) {
            let end = begin + self.length();
            self.periods.push_back(Period { begin, end, frees: false });
            if self.chain == Chain::FromNext {
                self.chain = Chain::GoesOn;
            }
        }
        let Some(last) = self.periods.back_mut() else { return begin };
        if frees && !last.frees {
            last.frees = true;
            self.again.push_back(last.end + 1);
        }
        last.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted in the lab's kernel: a scenario ended behind tick 1316, its trace was opened in that tick
    /// too and read up to tick 1320, two more helpers ended in 1320 and 1321, and the shell then emptied the
    /// trace. Grace periods began in 1317, 1321, 1323, 1325, 1327 and, for the next scenario, 1331
    /// and 1335; the waits were over in 1320, 1326, 1330, 1334 and 1338.
    #[test]
    fn waits_between_two_scenarios_end_in_the_ticks_that_were_counted() {
        let mut grace = Grace::default();
        grace.exit(1316);
        let mut begins = vec![grace.next(1316)];
        assert_eq!(grace.call(1316), 1320);
        grace.exit(1320);
        begins.push(grace.next(1320));
        grace.exit(1320);
        grace.exit(1321);
        assert_eq!(grace.call(1321), 1326);
        begins.extend([1322, 1324].map(|tick| grace.next(tick)));
        assert_eq!(grace.call(1326), 1330);
        begins.push(grace.next(1326));
        assert_eq!(grace.next(1329), None);
        assert_eq!(grace.call(1330), 1334);
        assert_eq!(grace.call(1334), 1338);
        begins.push(grace.next(1334));
        assert_eq!(begins, [1317, 1321, 1323, 1325, 1327, 1335].map(Some));
    }

    #[test]
    fn who_waits_while_none_is_under_way_waits_for_four_ticks() {
        let mut grace = Grace::default();
        assert_eq!((grace.call(10), grace.next(10)), (14, Some(11)));
        assert_eq!((grace.next(11), grace.next(13)), (Some(13), None));
    }

    /// Recorded under 7.3.4 before `th-spread-4`: the shell wakes up `rcu_preempt` behind tick 0 and waits until tick 2,
    /// waits again, while the next period is under way, until tick 6, and the scenario's first look is in tick 8.
    #[test]
    fn waits_without_a_callback_end_with_the_look_that_finds_the_period_over() {
        let mut grace = Grace::default();
        assert_eq!(grace.synchronize(0, false), (2, true));
        assert_eq!(grace.next(0), Some(2));
        assert_eq!(grace.synchronize(2, true), (6, false));
        assert_eq!([2, 4, 6].map(|tick| grace.next(tick)), [4, 6, 8].map(Some));
        // A callback of the parent is behind that period, and wakes up nobody.
        assert_eq!((grace.call(6), grace.next(6)), (11, Some(8)));
    }

    /// Recorded under 7.3.4 on `t8` and `t16`: looks are two ticks apart from the end of the last wait up to the begin of the
    /// scenario, eight ticks behind that, and go on there; one that ends in the third tick has been looked at in the second.
    #[test]
    fn behind_the_last_wait_periods_follow_one_another() {
        let mut grace = Grace::default();
        assert_eq!(grace.synchronize(0, true), (2, true));
        assert_eq!([2, 4, 6, 8].map(|tick| grace.next(tick)), [4, 6, 8, 10].map(Some));
        assert!(grace.goes_on());
        grace.periods.push_back(Period { begin: 10, end: 13, frees: false });
        assert_eq!([10, 12, 13].map(|tick| grace.next(tick)), [12, 13, 15].map(Some));
        assert_eq!(grace.synchronize(13, false), (17, false));
        assert!(!grace.goes_on());
    }

    #[test]
    fn a_period_that_takes_twice_as_long_is_looked_at_in_between() {
        let mut grace = Grace::default();
        grace.periods.push_back(Period { begin: 0, end: 2 * LOOK, frees: false });
        assert_eq!([0, 2].map(|tick| grace.next(tick)), [2, 4].map(Some));
    }
}
