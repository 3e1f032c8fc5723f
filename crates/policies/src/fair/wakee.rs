//! Who wakes whom: how often a task changes the partner that it wakes.

use simsched_core::TaskId;
use simsched_topology::CpuId;

use super::entity::EntityId;

/// What wakeups leave behind on a task, or on a CPU's idle task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakee {
    /// The jiffy in which the count was last halved.
    pub flip_decay_ts: u64,
    /// How often the wakee changed, halved every second (`wakee_flips`).
    pub flips: u32,
    /// The last task that was woken.
    pub last: Option<EntityId>,
    /// A CPU of which the fast path thinks that its cache may still be warm.
    pub recent_used_cpu: CpuId,
}

impl Wakee {
    /// A task that has woken nobody.
    #[must_use]
    pub const fn new(cpu: CpuId) -> Wakee {
        Wakee { flip_decay_ts: 0, flips: 0, last: None, recent_used_cpu: cpu }
    }

    /// The waker, whose row this is, wakes `wakee`: another one than last time is a flip. The
    /// count is halved when more than a second (`hz` jiffies) has passed.
    /// Source: `record_wakee()`.
    #[inline]
    pub fn record_wakee(&mut self, jiffies: u64, hz: u64, wakee: TaskId) {
        let wakee = EntityId::of(wakee);
        if jiffies.wrapping_sub(self.flip_decay_ts.wrapping_add(hz)).cast_signed() > 0 {
            self.flips >>= 1;
            self.flip_decay_ts = jiffies;
        }
        if self.last != Some(wakee) {
            self.last = Some(wakee);
            self.flips = self.flips.wrapping_add(1);
        }
    }
}

/// Whether a waker and a wakee with these counts belong to a crowd too large for one LLC of
/// `llc_size` CPUs: then the waker's CPU is not considered. Source: `wake_wide()`.
#[inline]
#[must_use]
pub fn wake_wide(waker_flips: u32, wakee_flips: u32, llc_size: u32) -> bool {
    let master = waker_flips.max(wakee_flips);
    let slave = waker_flips.min(wakee_flips);
    slave >= llc_size && master >= slave.wrapping_mul(llc_size)
}
