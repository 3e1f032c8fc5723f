//! `Digest`: a running hash of every tracepoint, by which two runs are known to be the same.

use std::fmt;

use super::lockstep::is_step;
use crate::observer::{Observer, Tracepoint};
use crate::world::World;

/// A running 64-bit hash of what happened and when.
///
/// Every tracepoint but [`Tracepoint::Charge`], [`Tracepoint::Preferred`], [`Tracepoint::CacheWork`],
/// [`Tracepoint::UtilAvg`] and [`Tracepoint::SetNeedResched`] is packed with its time into three words, and each word `w`
/// is mixed in by `h = (rotl(h, 29) ^ w) * K` modulo 2^64; the value shown is the finalizer of SplitMix64 over `h` and the
/// number of tracepoints. Charges are left out because they say how time was cut, not what happened: a run that is paused
/// and continued has more of them; preferences and utilization because they are what a policy thinks, not what it does;
/// requests to reschedule because what comes of them is in the switches. Nothing depends on the platform, so equal runs
/// have equal digests everywhere.
///
/// It tells accidents apart, not adversaries: it is no cryptographic hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    hash: u64,
    steps: u64,
}

/// The start: the first 64 fractional bits of pi.
const START: u64 = 0x243f_6a88_85a3_08d3;
/// An odd multiplier with well spread bits (the last one of Evensen's `rrmxmx`, 2018).
const K: u64 = 0x9fb2_1c65_1e98_df25;

impl Default for Digest {
    fn default() -> Digest {
        Digest { hash: START, steps: 0 }
    }
}

impl Digest {
    /// The hash of all so far.
    #[must_use]
    pub fn value(&self) -> u64 {
        finish(self.hash ^ self.steps.wrapping_mul(K))
    }

    /// How many tracepoints are in it.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    #[inline]
    fn mix(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(29) ^ word).wrapping_mul(K);
    }
}

/// Sixteen hexadecimal digits.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.value())
    }
}

impl Observer for Digest {
    #[inline(always)]
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if !is_step(&tracepoint) {
            return;
        }
        let (what, who) = words(tracepoint);
        self.mix(world.now().get());
        self.mix(what);
        self.mix(who);
        self.steps += 1;
    }
}

/// A tracepoint in two words. `what`: bits 0..8 the kind, 8..32 small fields, 32..48 and 48..64 the
/// CPUs; `who`: the tasks, 32 bits each.
#[inline]
fn words(tracepoint: Tracepoint) -> (u64, u64) {
    match tracepoint {
        Tracepoint::Waking { wakee, waker, .. } => (what(1, 0, waker.0, 0), u64::from(wakee.0)),
        Tracepoint::Wakeup { wakee, cpu, reason, scanned } => {
            (what(2, reason.0.into(), cpu.0, scanned), u64::from(wakee.0))
        }
        Tracepoint::Switch { cpu, prev, next, preempted } => {
            let prev = prev.map_or(u32::MAX, |task| task.0);
            let next = next.map_or(u32::MAX, |task| task.0);
            (what(3, preempted.into(), cpu.0, 0), pair(prev, next))
        }
        Tracepoint::Running { cpu, task } => (what(4, 0, cpu.0, 0), u64::from(task.0)),
        Tracepoint::Migrate { task, from, to, cause, reason, domain } => {
            let small = u16::from(reason.0) << 8 | cause as u16;
            (what(5, small, from.0, to.0), pair(domain.into(), task.0))
        }
        Tracepoint::Fork { parent, child } => {
            (what(6, 0, 0, 0), pair(parent.map_or(u32::MAX, |task| task.0), child.0))
        }
        Tracepoint::Exit { task } => (what(7, 0, 0, 0), u64::from(task.0)),
        Tracepoint::Charge { cpu, what: cost, amount } => {
            (what(8, cost as u16, cpu.0, 0), amount.get())
        }
        Tracepoint::Mark { task, mark } => (what(9, 0, 0, 0), pair(task.0, mark.0)),
        Tracepoint::Stopper { cpu, begins } => (what(10, begins.into(), cpu.0, 0), 0),
        Tracepoint::Preferred { proc, llc } => {
            (what(11, 0, 0, 0), pair(proc.0, llc.map_or(u32::MAX, |llc| u32::from(llc.0))))
        }
        Tracepoint::UtilAvg { cpu, util_avg } => (what(12, 0, cpu.0, 0), util_avg),
        Tracepoint::SetNeedResched { cpu, cause, lazy } => {
            (what(14, cause as u16, cpu.0, 0), lazy.into())
        }
        Tracepoint::CacheWork { task, home, nr_running_avg } => {
            let home = home.map_or(u16::MAX, |llc| llc.0);
            (what(13, 0, home, 0), pair(task.0, u32::try_from(nr_running_avg).unwrap_or(u32::MAX)))
        }
    }
}

#[inline]
fn what(kind: u8, small: u16, a: u16, b: u16) -> u64 {
    u64::from(kind) | u64::from(small) << 8 | u64::from(a) << 32 | u64::from(b) << 48
}

#[inline]
fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
fn finish(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use simsched_topology::{CpuId, Topology};

    use super::*;
    use crate::ids::{MarkId, TaskId};
    use crate::names::{Cause, Reason};
    use crate::observer::Cost;
    use crate::testkit::WorldKit;
    use crate::time::Nanos;
    use crate::world::BOOT_CLOCK;

    const CPU: CpuId = CpuId(3);
    const TASK: TaskId = TaskId(5);
    const REASON: Reason = Reason(2);

    fn kit() -> WorldKit {
        WorldKit::new(Topology::builtin("t8", None).unwrap(), 250)
    }

    fn of(tracepoints: &[(u64, Tracepoint)]) -> Digest {
        let (mut kit, mut digest) = (kit(), Digest::default());
        for &(at, tracepoint) in tracepoints {
            kit.set_clock(BOOT_CLOCK + at);
            digest.on(kit.world(), tracepoint);
        }
        digest
    }

    /// One of each kind, and one more for each field that differs from it.
    fn all() -> Vec<Tracepoint> {
        let migrate = |task, from, to, cause, reason| Tracepoint::Migrate {
            task,
            from: CpuId(from),
            to: CpuId(to),
            cause,
            reason,
            domain: 2,
        };
        let switch = |prev, next, preempted| Tracepoint::Switch { cpu: CPU, prev, next, preempted };
        let wakeup =
            |reason, scanned| Tracepoint::Wakeup { wakee: TASK, cpu: CPU, reason, scanned };
        vec![
            Tracepoint::Waking { wakee: TASK, waker: CPU, sync: false },
            Tracepoint::Waking { wakee: TASK, waker: CpuId(4), sync: false },
            Tracepoint::Waking { wakee: TaskId(3), waker: CPU, sync: false },
            wakeup(REASON, 0),
            wakeup(REASON, 1),
            wakeup(Reason(0), 0),
            switch(None, Some(TASK), false),
            switch(Some(TASK), None, false),
            switch(Some(TASK), None, true),
            switch(Some(TASK), Some(TaskId(0)), true),
            Tracepoint::Running { cpu: CPU, task: TASK },
            Tracepoint::Running { cpu: CpuId(5), task: TaskId(3) },
            migrate(TASK, 1, 2, Cause::Wakeup, REASON),
            migrate(TASK, 2, 1, Cause::Wakeup, REASON),
            migrate(TASK, 1, 2, Cause::Nohz, REASON),
            migrate(TASK, 1, 2, Cause::Wakeup, Reason::PINNED),
            Tracepoint::Fork { parent: None, child: TASK },
            Tracepoint::Fork { parent: Some(TaskId(0)), child: TASK },
            Tracepoint::Exit { task: TASK },
            Tracepoint::Mark { task: TASK, mark: MarkId(0) },
            Tracepoint::Mark { task: TASK, mark: MarkId(1) },
            Tracepoint::Stopper { cpu: CPU, begins: true },
            Tracepoint::Stopper { cpu: CPU, begins: false },
            Tracepoint::Stopper { cpu: CpuId(4), begins: true },
        ]
    }

    #[test]
    fn every_field_of_every_tracepoint_counts() {
        let mut seen: Vec<u64> = all().iter().map(|what| of(&[(7, *what)]).value()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all().len());
    }

    #[test]
    fn time_and_order_count() {
        let (a, b) = (all()[0], all()[4]);
        let digest = of(&[(1, a), (2, b)]).value();
        assert_eq!(digest, of(&[(1, a), (2, b)]).value());
        assert_ne!(digest, of(&[(1, a), (3, b)]).value());
        assert_ne!(digest, of(&[(1, b), (2, a)]).value());
        assert_ne!(digest, of(&[(1, a)]).value());
    }

    #[test]
    fn charges_do_not_count() {
        let charge = Tracepoint::Charge { cpu: CPU, what: Cost::User, amount: Nanos(9) };
        assert_eq!(of(&[(1, all()[0]), (2, charge)]), of(&[(1, all()[0])]));
    }

    /// From the definition, with arithmetic modulo 2^64: `Exit` of task 5 at 7 ns is the words 7, 7
    /// and 5. The expected value was computed with Python's integers.
    #[test]
    fn the_hash_is_the_one_that_is_documented() {
        let digest = of(&[(7, Tracepoint::Exit { task: TASK })]);
        assert_eq!(digest.to_string(), "7f28653cc956d62e");
    }
}
