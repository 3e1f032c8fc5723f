//! What the parts of the lab's programs in user space take, and what of the kernel's part has no
//! item in a price list.
//!
//! All were read from the traces of kernel 6.1 on the machines of 8 and 16 CPUs, where an
//! instruction takes a nanosecond and each trace event half a microsecond.

use simsched_core::Nanos;

use crate::dist::Dist;

/// A part that always takes as long.
pub(super) const fn us(us: u64) -> Dist {
    Dist::Constant(Nanos::from_micros(us))
}

/// From the tick that wakes the parent, for it was waiting for a grace period of RCU, to its first
/// look at the clock: 40 to 490 us, mostly 60 to 160 on 8 CPUs and 240 to 350 on 16.
pub(super) const LEAD: Dist = Dist::Uniform(Nanos::from_micros(60), Nanos::from_micros(300));

/// From a child's first instruction to the start of its work: it copies the pages that it touches,
/// and gives itself a name. `forkstorm`: 5391 us (p50) from the switch to the exit, of which 5003 are
/// its work and [`REPORT`] and the price of an exit its end.
pub(super) const BIRTH: Dist = us(110);

/// The same for a task with timers, which also sets its timer slack and makes room for what it
/// measures: 146 us (p50, 130 to 171) to its first sleep.
pub(super) const BIRTH_TIMER: Dist = us(143);

/// The same for a task with pipes: 136 us (t8) to the first wakeup by `pong`, and 152 (p50) to the
/// first sleep of `ping`.
pub(super) const BIRTH_PIPE: Dist = us(130);

/// The same for a thread of messages that wakes others (38 us without what page faults of others
/// delay), and for a worker, which makes room for what it measures (81 to 87 us).
pub(super) const BIRTH_MESSENGER: Dist = us(35);
/// See [`BIRTH_MESSENGER`].
pub(super) const BIRTH_WORKER: Dist = us(80);

/// From the end of a child's work to the price of its exit (20 us there): it reads its own
/// statistics from `/proc` and leaves its address space. 278 us to the exit in all.
pub(super) const REPORT: Dist = us(258);

/// The same for a thread, which keeps its address space: 187 us to the exit of a message thread, and
/// 262 for a worker, which sorts about 350 latencies.
pub(super) const REPORT_MESSENGER: Dist = us(165);
/// See [`REPORT_MESSENGER`].
pub(super) const REPORT_WORKER: Dist = us(240);

/// The same for `ping`, which sorts its round trips: 393 us for 300, 348 for 200, 312 for 60.
pub(super) const fn report_of(round_trips: u32) -> Dist {
    Dist::Constant(Nanos(258_000 + 380 * round_trips as u64))
}

/// A call of the function that burns a length of time takes half a microsecond more: 5000.50 us for
/// 5000 when no tick came, and 20.55 for 20.
pub(super) const fn work(length: Nanos) -> Dist {
    Dist::Constant(Nanos(length.get() + 500))
}

/// How long a hog computes between two looks at the clock: 24,989 to 24,993 pieces in 999.78 ms with
/// 250 ticks.
pub(super) const PIECE: Dist = Dist::Constant(Nanos(39_980));

/// What `wait` does when it has found a dead child, beyond the call itself: it adds up its
/// statistics and frees it. 34 waits in 400 us (`forkstorm-3N-gap200` on 16 CPUs).
pub(super) const REAP: Dist = us(11);

/// Making the two pipes of a pair: a fork follows the last one after 162 us (p50) and not 143.
pub(super) const PIPES: Dist = us(20);

/// From the parent's return from its sleep to the widening of the first mask: it writes to the
/// tracer's marker. 13 to 24 us.
pub(super) const RELEASE: Dist = us(14);

/// What the change of another task's affinity takes, beyond the call itself: 4.06 us for each hog of
/// a herd, whether 8 or 32.
pub(super) const AFFINITY: Dist = Dist::Constant(Nanos(3_760));

/// The slack of the parent's own sleeps (`timer_slack_ns` of a normal task). The lab's price list
/// has the 1 ns that the children ask for.
pub(super) const SLACK: Nanos = Nanos::from_micros(50);
