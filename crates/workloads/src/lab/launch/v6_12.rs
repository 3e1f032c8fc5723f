//! What surrounds hackbench's messages under Linux 6.12 and 7.3, where that differs from 6.1.
//!
//! Counted in the lab's kernel, 6.12.107, beside the same runs of 6.1.176: `hackbench -T -p -g 1`
//! with 4 and 8 workers, untraced and traced, 20 births and 8 ends.

use simsched_core::Nanos;

use super::super::kernel::Kernel;
use super::{Outside, Space, nanos};

/// By how much the main task is sooner at its first thread: 212 and 265 us.
const SOONER: Nanos = Nanos::from_micros(238);

/// By how much it is later there under 7.3 than under 6.12, traced: what it measures less the time from its first
/// sched_process_fork to the sched_waking of its parent is 1.38 ms and not 1.32 (4 and 5 runs of 8 workers).
const LATER_7_3: Nanos = Nanos::from_micros(55);

/// By how much it ends sooner under 7.3, traced: from the sched_process_exit of the last thread to the sched_waking of
/// its parent are 81 to 89 us with 8 workers and 103 or 104 with 16 (4 runs each), where 6.12 takes 402 to 455 and
/// 468 to 580 (5 and 6 runs). The address space is not taken down in that time.
const SOONER_AT_THE_END: Nanos = Nanos::from_micros(375);

/// The lock of the address space: a page fault does without it (`lock_vma_under_rcu()`, 6.4 and later),
/// and who writes holds it for less. A mapping holds it for 3.9 us, leave to use the stack for 6.5; the fault at
/// the thread's descriptor takes 7.8, the first one at a worker's stack 6.8. From there to sched_wakeup_new
/// are 23.7 us with a stack of an ended thread and what belongs to it at hand (3 of 20 births), 40.8
/// (12 of 20), or 77 where it has to be cleared; the price of a thread has 20 of them, and 3.5 follow it.
/// The heap of a thread: a mapping 4.3, unmapping 7.9 and 6.8, leave to write 4.0, then one fault
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
        faults_lock: false,
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

/// The same under 7.3: from one sched_wakeup_new to the next sched_process_fork are 65 to 74 us (80 births on 8
/// and 16 CPUs, 10 to 90 %; medians 68 and 70), and never 44: a stack is to be found each time. 1.8 of them
/// are in the price of a thread.
fn traced_7_3(space: Space) -> Space {
    Space {
        to_create: nanos([
            18_000, 18_000, 18_000, 20_300, 20_300, 20_300, 20_300, 20_300, 22_000, 22_000, 24_000,
            26_000,
        ]),
        ..space
    }
}

/// These surroundings under that kernel.
pub(super) fn under(kernel: Kernel, outside: Outside, is_traced: bool) -> Outside {
    if kernel == Kernel::V6_1 {
        return outside;
    }
    let is_new = kernel == Kernel::V7_3 && is_traced;
    let (later, less) =
        if is_new { (LATER_7_3, SOONER_AT_THE_END) } else { (Nanos::ZERO, Nanos::ZERO) };
    let of = |own| match (is_traced, kernel) {
        (true, Kernel::V7_3) => traced_7_3(space(own)),
        (true, _) => traced(space(own)),
        (false, _) => space(own),
    };
    Outside {
        before: Nanos(outside.before.get() - SOONER.get() + later.get()),
        space: outside.space.map(of),
        after: [outside.after[0], Nanos(outside.after[1].get().saturating_sub(less.get()))],
        ..outside
    }
}
