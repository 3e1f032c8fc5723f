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
/// and gives itself a name. Who touches a page first, parent or child, copies it, so that this varies
/// by 22 us in all programs. `forkstorm`: 5387 to 5412 us (5 to 95 %) from the switch to its end, of
/// which 5004 are its work and ticks, and [`REPORT`] and the price of an exit its end.
pub(super) fn birth() -> Dist {
    birth_from(97)
}

/// The same for a task with timers, which also sets its timer slack and makes room for what it
/// measures: 130 to 159 us to its first sleep.
pub(super) fn birth_timer() -> Dist {
    birth_from(128)
}

/// The same for `ping`: 136 to 164 us to its first sleep, with 20 us of work in it.
pub(super) fn birth_ping() -> Dist {
    birth_from(110)
}

/// The same for `pong`: 154 to 182 us to its first wakeup, with 20 us of work in it.
pub(super) fn birth_pong() -> Dist {
    birth_from(130)
}

fn birth_from(least: u64) -> Dist {
    let later = [(0, 3), (5, 3), (11, 5), (15, 4), (18, 3), (22, 2)];
    table(later.map(|(us, weight)| (least + us, weight)))
}

/// What the parent does before the next fork, beyond its price (the median): it copies pages too. From
/// one fork to the next are 146 us on 8 CPUs and 150 on 16 (medians), 173 and 185 (90 %).
pub(super) fn before_fork() -> Dist {
    table([(0, 11), (3, 3), (8, 2), (15, 2), (32, 1), (50, 1)])
}

/// The same when all stay on one CPU, so that no child runs in between: 138 and 145 us, 153 and 169.
pub(super) fn before_fork_pinned() -> Dist {
    table([(0, 15), (4, 2), (10, 2), (30, 1)])
}

fn table<const N: usize>(rows: [(u64, u32); N]) -> Dist {
    Dist::Table(rows.map(|(us, weight)| (Nanos::from_micros(us), weight)).to_vec())
}

/// The same for a thread of messages that wakes others: 12 to 59 us.
pub(super) fn birth_messenger() -> Dist {
    table([(15, 1), (36, 4), (53, 4)])
}

/// The same for a worker, which makes room for what it measures: 59 to 373 us to its first wakeup,
/// half of them below 100. What is longer waits for the lock of the address space.
pub(super) fn birth_worker() -> Dist {
    table([(74, 3), (82, 4), (94, 4), (108, 3), (140, 3), (180, 2), (270, 1)])
}

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

/// Making the two pipes of a pair: a fork follows the last one after 165 to 171 us (p50) and not 148
/// to 153.
pub(super) const PIPES: Dist = us(17);

/// From the parent's return from its sleep to the widening of the first mask: it writes to the
/// tracer's marker. 13 to 24 us.
pub(super) const RELEASE: Dist = us(14);

/// What the change of another task's affinity takes, beyond the call itself: 4.06 us for each hog of
/// a herd, whether 8 or 32.
pub(super) const AFFINITY: Dist = Dist::Constant(Nanos(3_760));

/// The slack of the parent's own sleeps (`timer_slack_ns` of a normal task). The lab's price list
/// has the 1 ns that the children ask for.
pub(super) const SLACK: Nanos = Nanos::from_micros(50);
