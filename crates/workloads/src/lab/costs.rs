//! What the parts of the lab's programs in user space take, and what of the kernel's part has no
//! item in a price list.
//!
//! All were read from the traces of kernel 6.1 on the machines of 8 and 16 CPUs, where an
//! instruction takes a nanosecond and each trace event half a microsecond.

use simsched_core::Nanos;

use super::kernel::Kernel;
use crate::builder::Body;
use crate::dist::Dist;

/// A part that always takes as long.
pub(super) const fn us(us: u64) -> Dist {
    Dist::Constant(Nanos::from_micros(us))
}

/// From the tick at which a grace period of RCU ends, for which the parent was waiting, to its first
/// look at the clock. Behind the grace period the buffers of the trace are emptied CPU by CPU
/// (`ring_buffer_reset_online_cpus()`), which takes [`LEAD_CPU`] each: the first fork of hogs comes 207 us
/// after a tick on 8 CPUs (quartiles 201 and 218, 36 runs) and 409 on 16 (400 and 419); with the
/// price of a fork off, 66 and 268 are left. More CPUs were not traced: there it is the same line.
///
/// It is not the tick with which the parent woke up, as it runs through that: under 6.12 a child that is born on the
/// parent's CPU 1.13 to 1.32 ms behind the tick preempts it (16 of 16), one at 2.5 to 2.8 ms does not before
/// the parent's request ends (16 of 17), and a parent that has just moved to CPU 0 is not preempted at 0.2 to
/// 0.9 ms either. So the request of a parent that has not moved began anew in that tick: it had run for more than a
/// slice, 2.8 ms. What it computed in that time is not known ([`LEAD_WORK`]).
pub(super) fn lead(nr_cpus: usize) -> Dist {
    let cpus = u64::try_from(nr_cpus).unwrap_or(u64::MAX);
    let middle = LEAD_CPU.get().saturating_mul(cpus).saturating_add(LEAD_WORK.get());
    Dist::Uniform(Nanos(middle - LEAD_SPREAD.get()), Nanos(middle + LEAD_SPREAD.get()))
}

/// From a tick to the parent's first look at the clock where the lab empties the buffers, sleeps for 20 ms, and then sets
/// probes of the kernel: so it ran the set of `cache.sh`. The first fork comes 2,205 us after a tick on 16 CPUs (quartiles 2,184 and
/// 2,215, 31 runs on `n2x8`) and 2,295 on 32 (2,286 and 2,325, 49 runs on `s2x8` and `s2d2`), 7.3.4; with
/// the price of a fork and what is before it off, 2,048 and 2,138 are left. So a task that
/// sleeps until 20 ms behind the start and runs for 2 ms runs at a tick, which it does not behind [`lead`].
pub(super) fn lead_behind_probes(nr_cpus: usize) -> Dist {
    behind_probes(nr_cpus, Nanos::ZERO)
}

/// The part of [`lead_behind_probes`] that is behind the parent's sched_process_exec.
pub(super) fn lead_of_shell(nr_cpus: usize) -> Dist {
    behind_probes(nr_cpus, TO_EXEC)
}

fn behind_probes(nr_cpus: usize, less: Nanos) -> Dist {
    let cpus = u64::try_from(nr_cpus).unwrap_or(u64::MAX);
    let middle = PROBES_CPU.get().saturating_mul(cpus).saturating_add(PROBES_WORK.get());
    let middle = middle - less.get();
    Dist::Uniform(Nanos(middle - PROBES_SPREAD.get()), Nanos(middle + PROBES_SPREAD.get()))
}

/// From sched_process_exec of a parent that the shell has forked behind a helper that sleeps for 20 ms to its first look
/// at the clock: the first fork of hogs, forks, herds and timers comes 0.57 to 0.68 ms behind a tick on 8 CPUs and 0.74
/// to 0.93 on 16 (7.3.4, 17 runs each).
pub(super) fn lead_of_sleeper() -> Dist {
    let middle = CALIBRATES.get();
    Dist::Uniform(Nanos(middle - SLEEPER_SPREAD.get()), Nanos(middle + SLEEPER_SPREAD.get()))
}

/// How far that is from its middle at most.
const SLEEPER_SPREAD: Nanos = Nanos::from_micros(50);

/// From the tick with which the last grace period ended to sched_process_exec of the parent.
const TO_EXEC: Nanos = Nanos::from_micros(797);

/// What the lab's program takes from sched_process_exec to its work, or to its sleep: it measures how often it turns
/// in a microsecond. Recorded: 5,282 to 5,459 us where it then sleeps, 5,353 to 5,400 where a scenario begins.
pub(super) const CALIBRATES: Nanos = Nanos::from_micros(5_280);

/// What each CPU adds to [`lead_behind_probes`]: its slope between 16 and 32 CPUs.
const PROBES_CPU: Nanos = Nanos(5_600);
/// What it takes beside that, with a tick through which the parent runs.
const PROBES_WORK: Nanos = Nanos::from_micros(4_000 + 1_958);
/// How far it is from its middle at most, twice as far as its quartiles.
const PROBES_SPREAD: Nanos = Nanos::from_micros(35);

/// What each CPU adds to [`lead`]: its slope between 8 and 16 CPUs.
pub(super) const LEAD_CPU: Nanos = Nanos(25_250);
/// What it takes beside that.
const LEAD_WORK: Nanos = Nanos::from_micros(4_000 - 136);
/// How far it is from its middle at most.
const LEAD_SPREAD: Nanos = Nanos::from_micros(12);

/// From a child's first instruction to the start of its work: it copies the pages that it touches,
/// and gives itself a name. Who touches a page first, parent or child, copies it, so that this varies
/// by 22 us in all programs. `forkstorm`: 5387 to 5412 us (5 to 95 %) from the switch to its end, of
/// which 5004 are its work and ticks, and [`REPORT`] and the price of an exit its end.
pub(super) fn birth(kernel: Kernel) -> Dist {
    birth_from(kernel, 97)
}

/// The same for a task with timers, which also sets its timer slack and makes room for what it
/// measures: 130 to 159 us to its first sleep.
pub(super) fn birth_timer(kernel: Kernel) -> Dist {
    birth_from(kernel, 128)
}

/// The same for `ping`: 136 to 164 us to its first sleep, with 20 us of work in it.
pub(super) fn birth_ping(kernel: Kernel) -> Dist {
    birth_from(kernel, 110)
}

/// The same for `pong`: 154 to 182 us to its first wakeup, with 20 us of work in it.
pub(super) fn birth_pong(kernel: Kernel) -> Dist {
    birth_from(kernel, 130)
}

/// The same for the first thread of a process that makes a pipe and 4 MiB of room before it creates others:
/// 255 to 268 us (median 264, 5 runs of `pc`, 7.3.4) from its first switch to the creation of the next one, where
/// other first threads have 172 to 226 (median 197). Of the difference, 8 belong to [`PIPE`].
pub(super) fn birth_waker(kernel: Kernel) -> Dist {
    birth_from(kernel, WAKER)
}

/// The least of [`birth_waker`], in us: 59 more than other first threads have, less what 7.3 has longer
/// ([`LONGER`]), for it was read from recordings of that.
const WAKER: u64 = 97 + 59 - LONGER;

/// Under 7.3 a child is at its first sleep or wakeup [`LONGER`] later: `birth_timer` 147 to 165 us and `ping` 146 to
/// 189 (116 births on 8 and 16 CPUs, 10 to 90 %).
fn birth_from(kernel: Kernel, least: u64) -> Dist {
    let least = least + if kernel == Kernel::V7_3 { LONGER } else { 0 };
    let later = [(0, 3), (5, 3), (11, 5), (15, 4), (18, 3), (22, 2)];
    table(later.map(|(us, weight)| (least + us, weight)))
}

/// How much longer a child's birth takes under 7.3, in us: the mean of 136 births of `periodic`, `ping` and `pong`
/// on 8 and 16 CPUs less that of the same births with the times of 6.1 (6 to 20 by program and machine).
const LONGER: u64 = 9;

/// What the parent does before the next fork, beyond its price (the median): it copies pages too. From
/// one fork to the next are 146 us on 8 CPUs and 150 on 16 (medians), 173 and 185 (90 %).
pub(super) fn before_fork(birth: Birth) -> Dist {
    let rows = [(0, 11), (3, 3), (8, 2), (15, 2), (32, 1), (50, 1)];
    if birth.is_kept_stack() { table(KEPT_STACK) } else { later(birth, rows) }
}

/// What the parent does before it forks its second child under 7.3, beyond the price of a fork: the child has one of the
/// two stacks that the parent's CPU keeps (`NR_CACHED_STACKS`), and none is allocated. From the first fork to the second
/// are 141 us on 8 CPUs and 147 on 16 (medians of 45 each in recordings and boots of 7.3.4; at most 154 and 162), to
/// later ones 146 and 153 (296 and 525; 179 and 188 are the 95 %).
const KEPT_STACK: [(u64, u32); 6] = [(0, 2), (1, 1), (3, 1), (4, 2), (5, 2), (13, 2)];

/// The same between the two forks of a pair: 153 us on 8 CPUs and 150 on 16 (medians), 166 and 183 (75 %),
/// 173 and 196 (90 %).
pub(super) fn before_pong(birth: Birth) -> Dist {
    later(birth, [(0, 11), (7, 3), (20, 3), (33, 3), (46, 1)])
}

/// The same for the fork of a process with four more threads, whose stacks are copied too: 158, 199 and 307
/// us (3 runs of `life-fork`, 7.3.4) from the marker before it to the fork; 125 to 142 from the
/// marker `begin` to the first fork of the lab's launcher (36 of 39 runs; 214 at most).
pub(super) fn before_fork_of_threads() -> Dist {
    table([(33, 1), (70, 1), (180, 1)])
}

/// The same when all stay on one CPU, so that no child runs in between: 138 and 145 us, 153 and 169.
pub(super) fn before_fork_pinned(birth: Birth) -> Dist {
    let rows = [(0, 15), (4, 2), (10, 2), (30, 1)];
    if birth.is_kept_stack() { table(KEPT_STACK) } else { later(birth, rows) }
}

/// A birth by fork: of which kernel, and whether it is the parent's second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    pub(super) kernel: Kernel,
    pub(super) is_second: bool,
}

impl Birth {
    /// Whether [`KEPT_STACK`] is what comes before it.
    fn is_kept_stack(self) -> bool {
        self.is_second && self.kernel == Kernel::V7_3
    }
}

/// Under 6.12 the second child comes 20 us sooner than under 6.1, on 8 and 16 CPUs: 126 and 127 us behind the
/// first and not 145 and 146 (means of 27 each), 120 and 123 and not 136 and 137 where all are pinned (39
/// each), 128 to 134 and not 144 to 152 for a pair (12 each); the others come when they do under 6.1. So the
/// price of a fork is less by that, and before the others the parent computes longer. Under 7.3 the others come when
/// they do under 6.1, and the second [`SOONER_7_3`] sooner.
fn later<const N: usize>(birth: Birth, rows: [(u64, u32); N]) -> Dist {
    let longer = match birth {
        Birth { kernel: Kernel::V6_12, is_second: false } => SOONER,
        Birth { kernel: Kernel::V7_3, is_second: false } => SOONER_7_3,
        _ => 0,
    };
    table(rows.map(|(us, weight)| (us + longer, weight)))
}

/// By how much a parent's second child comes sooner than others under 6.12, in us: see [`later`].
const SOONER: u64 = 20;
/// By how much a parent's second child comes sooner than others under 7.3, in us: the price of a fork is that of the second
/// one, and before the others the parent computes longer by this. The counts are at [`KEPT_STACK`].
const SOONER_7_3: u64 = 7;

pub(super) fn table<const N: usize>(rows: [(u64, u32); N]) -> Dist {
    Dist::Table(rows.map(|(us, weight)| (Nanos::from_micros(us), weight)).to_vec())
}

/// What the parent does before it creates a thread, beyond the price of that: it maps a stack, calls
/// `mprotect()` for it, and writes to the thread's descriptor on it, all under the lock of the address space.
/// This and all below was counted in the lab's kernel 6.1.176, in ns, where nobody waited, from taking the
/// lock to releasing it. From fork to fork are 79.6 us then, 73 to 90 in the traces.
pub(super) const STACK: u32 = 6_000;
/// See [`STACK`].
pub(super) const STACK_LEAVE: u32 = 12_000;
/// How much longer that takes: it splits an area, or joins one.
pub(super) fn stack_leave_more() -> Dist {
    Dist::Table([(0, 5), (4_500, 4)].map(|(ns, weight)| (Nanos(ns), weight)).to_vec())
}
/// See [`STACK`]: a page, and a page for its table.
pub(super) const STACK_FAULT: u32 = 11_800;
/// From the birth of the last thread to the mapping.
pub(super) const TO_STACK: Dist = Dist::Constant(Nanos(1_900));
/// From the page fault to the thread's creation.
pub(super) const TO_CREATE: Dist = Dist::Constant(Nanos(1_800));

/// A page fault in memory that no one has touched.
pub(super) const FAULT: u32 = 6_100;
/// From a thread's first instruction to the page fault at its stack, and from there to its own work.
pub(super) const TO_FAULT: Dist = Dist::Constant(Nanos(1_800));
/// See [`TO_FAULT`].
pub(super) const FROM_FAULT: Dist = Dist::Constant(Nanos(2_200));

/// A worker makes room for what it measures, so it gets a heap: a mapping, then what is too much of it
/// before or behind is unmapped (written, then read), and `mprotect()` makes it writable. What is left
/// behind a mapping is twice its size for every other worker, so that the next one finds its place
/// without. The first one has two pieces too many.
pub(super) const HEAP_MAP: [u32; 2] = [10_500, 6_200];
/// See [`HEAP_MAP`].
pub(super) const HEAP_UNMAP: [u32; 2] = [11_800, 4_500];
/// See [`HEAP_MAP`].
pub(super) const HEAP_LEAVE: [u32; 2] = [10_000, 15_000];
/// It faults three times there; the first fault brings a table. A worker's first wakeup comes 78 us after
/// its first sched_switch where nobody is in its way, and 59 if it need not unmap, as in the traces.
pub(super) const HEAP_FAULTS: [u32; 3] = [11_900, FAULT, FAULT];
/// Between two calls, and between two faults.
pub(super) const BETWEEN_CALLS: Dist = Dist::Constant(Nanos(400));
/// See [`BETWEEN_CALLS`].
pub(super) const BETWEEN_FAULTS: Dist = Dist::Constant(Nanos(1_000));

/// From the end of a child's work to the price of its exit (87 us there): it reads its own
/// statistics from `/proc`. 278 us in all.
pub(super) const REPORT: Dist = us(191);

/// The same for a thread, which keeps its address space: 187 us to the exit of a message thread, and
/// 262 for a worker, which sorts about 350 latencies.
pub(super) const REPORT_MESSENGER: Dist = us(178);
/// See [`REPORT_MESSENGER`].
pub(super) const REPORT_WORKER: Dist = us(253);

/// The same for `ping`, which sorts its round trips: 393 us for 300, 348 for 200, 312 for 60.
pub(super) const fn report_of(round_trips: u32) -> Dist {
    Dist::Constant(Nanos(191_000 + 380 * round_trips as u64))
}

/// The same for a thread: 2,018 us from its last wakeup of the other side to its exit with 5,071 round trips
/// (`tpp-1`, 7.3.4 on `n2x8`), 361 ns for each beyond [`REPORT_MESSENGER`].
pub(super) const fn report_of_thread(round_trips: u32) -> Dist {
    Dist::Constant(Nanos(178_000 + 361 * round_trips as u64))
}

/// The work of a program between two of its calls ([`Op::Pause`](simsched_core::Op::Pause)): the lab's program
/// reads the counter of time stamps behind each `PAUSE` (`work_us()` of `lab.c`, option `LABPAUSE`), which gives
/// up the rest of a turn of the virtual machine's CPU, and ends when less than half a turn is missing. From there
/// to the next system call are 24 instructions (gcc -O2).
pub(super) fn work(p: &mut Body<'_>, length: Nanos) {
    p.pause(Dist::Constant(length));
    p.run(Dist::Constant(Nanos(24)));
}

/// How long a hog computes between two looks at the clock: 24,989 to 24,993 pieces in 999.78 ms with
/// 250 ticks.
pub(super) const PIECE: Dist = Dist::Constant(Nanos(39_980));

/// What `wait` does when it has found a dead child, beyond the call itself: it adds up its
/// statistics and frees it. 34 waits in 400 us (`forkstorm-3N-gap200` on 16 CPUs).
pub(super) const REAP: Dist = us(11);

/// What `ping` does between a round trip and the next, two looks at the clock included: each trip is
/// measured as 15,914 ns, and begins 16 us after the last.
pub(super) const CLOCK: Dist = Dist::Constant(Nanos(86));

/// What of these two looks is inside a round trip: a program that does the same takes 159 ns from a read
/// to the next write longer than `pong` (counted in the lab's kernel 6.1.176), of which [`CLOCK`] is outside.
pub(super) const CLOCKS: Dist = Dist::Constant(Nanos(73));

/// What a thread of `schbench` does from its return from a wait to where it reads the clock: a look at that takes some
/// 80 ns ([`CLOCK`] and [`CLOCKS`] are two), and the loop around it some 20.
pub(super) const TO_STAMP: Dist = Dist::Constant(Nanos(60));
/// From there to the next call, or to its work.
pub(super) const FROM_STAMP: Dist = Dist::Constant(Nanos(40));

/// Making the two pipes of a pair: a fork follows the last one after 165 to 171 us (p50) and not 148
/// to 153.
pub(super) const PIPES: Dist = us(17);

/// One pipe, half of [`PIPES`]: from one creation of a thread to the next are 64 to 74 us (median 71, 9
/// in `pc-1x4`, 7.3.4), where no pipe is made in between the
/// medians are 64 to 67 (`th`, 68 creations).
pub(super) const PIPE: Dist = Dist::Constant(Nanos(8_500));

/// From the parent's return from its sleep to the widening of the first mask: it writes to the
/// tracer's marker. 13 to 24 us.
pub(super) const RELEASE: Dist = us(14);

/// What the change of another task's affinity takes, beyond the call itself: 4.06 us for each hog of
/// a herd, whether 8 or 32.
pub(super) const AFFINITY: Dist = Dist::Constant(Nanos(3_760));

/// The slack of the parent's own sleeps (`timer_slack_ns` of a normal task). The lab's price list
/// has the 1 ns that the children ask for.
pub(super) const SLACK: Nanos = Nanos::from_micros(50);
