//! `hackbench`: a run of it, timed from outside.

mod v6_12;

use simsched_core::{Nanos, Seed};

use super::costs::{FAULT, STACK, STACK_FAULT, STACK_LEAVE};
use super::kernel::Kernel;
use crate::error::WorkloadError;
use crate::hackbench::{Hackbench, Mode, Outside, Space};
use crate::page_fault::FaultLock;
use crate::program::Programs;

/// What surrounds the messages, read from the traces of `hackbench-g1f4l10` and `-g2f4l10`. From fork
/// to the wait for its end 1,620 us lie before the first thread or behind the main task's exit, of
/// which that takes 45, and the creation of the first thread 49 beside its price; from the last worker's exit to that of the main
/// task are 390 us, 20 of them a price. A worker sleeps 17 or 18 us after its first
/// sched_switch under 6.12 and 7.3 (the first two of a run 23) and 16 under 6.1, unless it has to wait for the lock: the
/// fault at its stack and two calls, which leave nothing for its own code. A sender's last message is followed by its exit's price and
/// nothing else. A receiver's own work at its end is short: the rest is under the lock.
const OUTSIDE: Outside = Outside {
    before: Nanos::from_micros(1_532),
    between: [Nanos::ZERO; 12],
    birth: [Nanos::ZERO; 6],
    before_start: BEFORE_START,
    sender_start: Nanos::ZERO,
    sender_round: SENDER_ROUND,
    receiver_end: Nanos::from_micros(5),
    receiver_leaves: Nanos::ZERO,
    sender_end: Nanos::ZERO,
    sender_leaves: Nanos::ZERO,
    space: Some(SPACE),
    reap: Nanos::ZERO,
    after: [Nanos::ZERO, Nanos::from_micros(370 + 45)],
    grace_period: Some(GRACE_PERIOD),
};

/// The page fault of the main task before it writes the start signal: counted in the lab's kernel 6.1.176 where nothing
/// traced, and taken to be as long in traces, where 27 to 29 us lie from the last sched_wakeup_new to the first
/// sched_waking of the start, if the main task does not sleep between the two.
const BEFORE_START: Nanos = Nanos(2_200);

/// The lock of the address space, from the same traces, where the sleeps on it are seen (state D). Of 96
/// workers born before a sender 92 run into the mapping of its stack: they fault 4.5 us after their
/// sched_switch, and the main task, whose section begins before that, wakes them 9.3 us after
/// sched_wakeup_new; of 80 born before a receiver only 15 do, and are woken 5 us later. When the receivers
/// of a group end, each takes the lock to write again and again for 270 to 300 us in all; from one wakeup
/// of the chain to the next are 15 us, then 10 and 14, and from the last of one thread to the end of its
/// life as the main task sees it 10. The first section is not seen; it is taken for one like that of a
/// stack. A sender sleeps on the lock, or exits, 8 us after its last message. What a stack and a fault
/// take was counted in the lab's kernel: [`STACK`]; from fork to fork are 94 us where nobody waits for the
/// lock, 4 of them between the events and 43 the price of a thread.
const SPACE: Space = Space {
    to_stack: Nanos(1_500),
    to_pipe: Nanos(6_000),
    stack: [STACK, STACK_LEAVE],
    stack_fault: STACK_FAULT,
    to_create: [Nanos(16_500); 12],
    to_fault: Nanos(3_000),
    fault: FAULT,
    faults_lock: FaultLock::Whole,
    heap: [7_000, 15_000, 9_000, 13_000],
    heap_fault: FAULT,
    leave: 500,
};

/// The same when nothing traces, counted function by function in the lab's kernel 6.1.176 (15 births). A worker
/// is in user space 2.4 us after its first switch, as the price of that says, and takes the lock 0.6 us later;
/// 2.65 us behind the fault is the call that says that it is ready. The fault at a thread's descriptor
/// holds the lock for 7.1 us. From there to the event sched_wakeup_new are 59 us, but 95 where no stack of
/// an ended thread is left for the new one (5 of 15), of which the price of a thread has 43 and the
/// choice of a CPU with what follows 3.5.
const SPACE_COUNTED: Space = Space {
    stack_fault: 7_100,
    to_create: nanos([
        12_900, 12_900, 12_900, 12_900, 12_900, 12_900, 12_900, 12_900, 48_500, 48_500, 48_500,
        48_500,
    ]),
    to_fault: Nanos(630),
    ..SPACE
};

/// Counted in the lab's kernel 6.1.176: from a write to the next 1,218 instructions, and 1,209 within a
/// round.
const SENDER_ROUND: Nanos = Nanos(9);

/// A grace period of RCU. Not traced; from the tables of `BIAS.md`, where the runs of 64 threads, which
/// need 71 files, take 23 to 43 ms longer than hackbench's own time, and those of 16 to 40 threads, which
/// need at most 47, 4 to 8: 11 ms of the former are what those have, too.
const GRACE_PERIOD: [Nanos; 2] = [Nanos::from_millis(12), Nanos::from_millis(32)];

/// The same where the workers are processes, counted in the lab's kernel 6.1.176 on 8 and 16 CPUs (64
/// births and ends; the forks in 12 runs). Between two forks lie 229 to 305 us, of which the price of a process
/// has 141.5, and 6 are behind it: the
/// address space of a dynamically linked program has more pages and tables to copy, four counters are
/// inherited, and the parent copies the two to four pages that it touches first (12.4 us each). The first
/// fork comes 60 us later. A child is ready after 88 to 105 us with five or six copied pages; a sender
/// faults once more behind the start; at the end 13 to 16 faults take 115 to 136 us, and the address
/// space 144 (senders) or 152, 87 of them a price. From one found child to the next the main task needs
/// 3.1 us, and 320 from the last to its own parent's return from the wait.
const OF_PROCESSES: Outside = Outside {
    before: Nanos::from_micros(1_558),
    between: nanos([
        81_900, 88_100, 92_500, 95_300, 97_900, 101_500, 106_500, 111_800, 115_700, 125_400,
        137_100, 157_600,
    ]),
    birth: nanos([88_000, 88_000, 89_500, 91_000, 97_000, 100_000]),
    before_start: Nanos::ZERO,
    sender_start: Nanos(5_700),
    sender_round: SENDER_ROUND,
    receiver_end: Nanos::from_micros(127),
    receiver_leaves: Nanos::from_micros(152 - 87),
    sender_end: Nanos::from_micros(118),
    sender_leaves: Nanos::from_micros(144 - 87),
    space: None,
    reap: Nanos(2_750),
    after: [Nanos::ZERO, Nanos::from_micros(320)],
    grace_period: None,
};

const fn nanos<const N: usize>(ns: [u64; N]) -> [Nanos; N] {
    let mut all = [Nanos::ZERO; N];
    let mut i = 0;
    while i < N {
        all[i] = Nanos(ns[i]);
        i += 1;
    }
    all
}

/// What is different when nothing traces, counted likewise from hackbench's own first instruction to its end
/// (132 runs): 1,385 us to the creation of the first thread, which takes 52 with what is not in its price,
/// or 1,355 to the first fork; from the last worker's `do_exit()` to its own are 28 us, or 186 with the end of
/// a process. From there to the waiter's return are 304 us for processes, and with threads it depends on how
/// many there were, whose stacks go: 367 with 4 of them, 410 with 8, 450 to 515 with 16 and 560 to 620 with 32,
/// 810 with 64. Of that the price of an exit has 87, and the waiter some 12.
fn outside(hackbench: &Hackbench) -> Outside {
    let workers = hackbench.workers();
    match hackbench.mode {
        Mode::Threads => Outside {
            before: Nanos::from_micros(1_394),
            birth: [Nanos(2_650); 6],
            space: Some(SPACE_COUNTED),
            after: [Nanos::from_micros(16), Nanos::from_micros(350 - 99) + Nanos(7_200 * workers)],
            ..OUTSIDE
        },
        Mode::Processes => Outside {
            before: Nanos::from_micros(1_355 + 60),
            after: [28, 304 - 99].map(Nanos::from_micros),
            ..OF_PROCESSES
        },
    }
}

/// hackbench with these options as the lab has counted it, behind its start and before its end.
///
/// # Errors
/// When a run cannot hold it.
pub(super) fn counted(
    hackbench: &Hackbench,
    kernel: Kernel,
    seed: Seed,
) -> Result<Programs, WorkloadError> {
    let outside = v6_12::under(kernel, outside(hackbench), hackbench.workers(), false);
    hackbench.build_within(outside, seed)
}

/// hackbench with these options as the lab times it under kernel 6.1: from the start of its process to its
/// end.
///
/// # Errors
/// When there are more tasks than a run can hold, or an option is 0.
pub fn timed(hackbench: &Hackbench, seed: Seed) -> Result<Programs, WorkloadError> {
    timed_under(hackbench, Kernel::V6_1, seed)
}

fn timed_under(
    hackbench: &Hackbench,
    kernel: Kernel,
    seed: Seed,
) -> Result<Programs, WorkloadError> {
    let outside = match hackbench.mode {
        Mode::Threads => OUTSIDE,
        Mode::Processes => OF_PROCESSES,
    };
    hackbench.build_within(v6_12::under(kernel, outside, hackbench.workers(), true), seed)
}

/// A run that is timed from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch(pub(super) Hackbench);

impl Launch {
    pub(super) fn build(self, kernel: Kernel, seed: Seed) -> Result<Programs, WorkloadError> {
        timed_under(&self.0, kernel, seed)
    }
}
