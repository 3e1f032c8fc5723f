//! What surrounds hackbench's messages under Linux 6.12 and 7.3, where that differs from 6.1.
//!
//! Counted in the lab's kernel, 6.12.107, beside the same runs of 6.1.176: `hackbench -T -p -g 1`
//! with 4 and 8 workers, untraced and traced, 20 births and 8 ends.

use simsched_core::Nanos;

use super::super::kernel::Kernel;
use super::{Outside, Space, nanos};
use crate::page_fault::FaultLock;

/// By how much the main task is sooner at its first thread: 212 and 265 us.
const SOONER: Nanos = Nanos::from_micros(238);

/// By how much it is later there under 7.3 than under 6.12, traced: what it measures less the time from its first
/// sched_process_fork to the sched_waking of its parent is 1.38 ms and not 1.32 (4 and 5 runs of 8 workers).
const LATER_7_3: Nanos = Nanos::from_micros(55);

/// Under 7.3 the end of a process does not take the address space down where it has had five threads beside the first
/// one: the fifth makes the table of its futexes grow, on a machine of five CPUs and more as all of the lab are, which
/// holds the address space until two grace periods of RCU are over, 40 to 50 ms. A kernel thread takes it down then.
/// Counted in 7.3.4 (`hackbench -T -p` on 8 CPUs): in all 8 runs of 8 and 16 workers it stays, in all 5 of 4 it goes.
const FEWEST_THAT_STAY: u64 = 5;

/// The most workers of a run that ends before that, of the lab's lengths: 32 take up to 35 ms, 64 take 60 and more.
const MOST_THAT_STAY: u64 = 32;

/// The lock of the address space: a page fault does without it (`lock_vma_under_rcu()`, 6.4 and later; under 7.3 the
/// first one of an area takes it),
/// and who writes holds it for less. A mapping holds it for 3.9 us, `mprotect()` of the stack for 6.5; the fault at
/// the thread's descriptor takes 7.8, the first one at a worker's stack 6.8. From there to sched_wakeup_new
/// are 23.7 us with a stack of an ended thread and what belongs to it at hand (3 of 20 births), 40.8
/// (12 of 20), or 77 where it has to be cleared; the price of a thread has 20 of them, and 3.5 follow it.
/// The heap of a thread: a mapping 4.3, unmapping 7.9 and 6.8, `mprotect()` 4.0, then one fault
/// with a table 12.7.
fn space(space: Space) -> Space {
    Space {
        to_pipe: Nanos(4_000),
        stack: [3_900, 6_500],
        stack_fault: 7_800,
        to_create: nanos([
            200, 200, 17_300, 17_300, 17_300, 17_300, 17_300, 17_300, 17_300, 53_500, 53_500,
            53_500,
        ]),
        fault: 6_800,
        heap: [4_300, 7_900, 6_800, 4_000],
        heap_fault: 12_700,
        faults_lock: FaultLock::Never,
        ..space
    }
}

/// The same traced: from one sched_wakeup_new to the next sched_process_fork are 57 to 64 us (two thirds), 66
/// to 79 (a fifth), or 44 (one in eleven), of 84 on 8 CPUs: a stack is there nearly always.
fn traced(space: Space) -> Space {
    Space {
        to_create: nanos([
            200, 17_300, 17_300, 17_300, 17_300, 17_300, 17_300, 17_300, 17_300, 22_000, 22_000,
            26_000,
        ]),
        ..space
    }
}

/// The same under 7.3: from one sched_wakeup_new to the next sched_process_fork are 61 to 87 us (88 births on 8
/// and 16 CPUs, 68.2 and 69.5 in the mean), and never 44: a stack is to be found each time. 43 of them are not in these
/// twelfths, but in the stack, the fault at it, and the price of a thread.
fn traced_7_3(space: Space) -> Space {
    Space {
        to_create: nanos([
            18_500, 20_000, 22_000, 23_000, 24_000, 24_300, 25_000, 25_700, 27_000, 28_500, 31_000,
            37_000,
        ]),
        faults_lock: FaultLock::FirstTouch,
        ..space
    }
}

/// The same under 7.3, untraced, counted in 7.3.4 as in 6.12.107 (88 births and ends in chains of 12 runs): `mprotect()`
/// of a stack is 0.2 us longer, its mapping 0.6 to 1.0, a fault 0.3 to 0.6; `clone3()` takes 38.7 us at least, 43.1 in the
/// median and 57 in the mean of 76 births. Of the four calls for the heap of a thread two are longer and two shorter.
fn untraced_7_3(space: Space) -> Space {
    Space {
        stack: [4_800, 6_750],
        stack_fault: 8_200,
        to_create: nanos([
            14_700, 17_600, 17_900, 18_600, 19_300, 19_500, 20_000, 22_100, 31_400, 52_000, 55_500,
            83_000,
        ]),
        fault: 7_060,
        heap: [4_750, 6_300, 6_200, 4_330],
        heap_fault: 13_250,
        faults_lock: FaultLock::FirstTouch,
        ..space
    }
}

/// From the last worker's end to the wakeup of the waiter for the process, beside what is `apart`, of a process of so many
/// workers that are threads, where nothing but scheduler events is traced (8 CPUs, 4 runs each of 4, 8, 16, 32 and 64).
/// Under 6.12 388, 446, 544, 720 and 1,070 us: 342 and 12 for each stack that goes. Under 7.3 with 4 workers 434, and
/// where the address space stays 80, 101, 139 and 217: 61 and 2.4 for each; in the traces of `hackbench-g1f4l10` and
/// `-g2f4l10` 81 to 89 and 103 or 104.
fn ends(after: Nanos, workers: u64, is_new: bool, apart: Nanos) -> Nanos {
    let whole = match (is_new, workers) {
        (false, _) => 342_000 + 12_000 * workers,
        (true, ..FEWEST_THAT_STAY) => 434_000,
        (true, FEWEST_THAT_STAY..=MOST_THAT_STAY) => 61_500 + 2_430 * workers,
        (true, _) => return after,
    };
    Nanos(whole).saturating_sub(apart)
}

/// Of that the price of an exit has 87 us where that is timed, and 5 are the way to the main task.
const AN_END: Nanos = Nanos(92_000);
const A_WAY: Nanos = Nanos(5_000);

/// These surroundings of a run of so many workers under that kernel.
pub(super) fn under(kernel: Kernel, outside: Outside, workers: u64, is_traced: bool) -> Outside {
    if kernel == Kernel::V6_1 {
        return outside;
    }
    let is_new = kernel == Kernel::V7_3;
    let later = if is_new && is_traced { LATER_7_3 } else { Nanos::ZERO };
    let of = |own| match (is_traced, is_new) {
        (true, true) => traced_7_3(space(own)),
        (true, false) => traced(space(own)),
        (false, true) => untraced_7_3(space(own)),
        (false, false) => space(own),
    };
    let after = match outside.after {
        [_, after] if outside.space.is_some() && (is_new || !is_traced) => {
            let apart = if is_traced { A_WAY } else { AN_END };
            [Nanos::ZERO, ends(after, workers, is_new, apart)]
        }
        after => after,
    };
    Outside {
        before: Nanos(outside.before.get() - SOONER.get() + later.get()),
        space: outside.space.map(of),
        after,
        ..outside
    }
}
