//! What time it is, in ticks.

use simsched_core::World;

/// The jiffy of the call that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jiffies {
    tick_ns: u64,
    now: u64,
    /// When it ends, in ns.
    ends: u64,
}

impl Jiffies {
    /// Before the first call.
    pub(super) fn new(world: &World) -> Jiffies {
        Jiffies { tick_ns: world.tick().0, now: world.jiffies(), ends: 0 }
    }

    /// A call begins at this time, in ns.
    #[inline]
    pub(super) fn enter(&mut self, sched_clock: u64) {
        if sched_clock >= self.ends {
            self.now = sched_clock / self.tick_ns;
            self.ends = (self.now + 1) * self.tick_ns;
        }
    }

    /// Its jiffy.
    #[inline]
    pub(super) const fn now(&self) -> u64 {
        self.now
    }
}
