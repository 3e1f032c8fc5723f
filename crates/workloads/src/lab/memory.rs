//! The address space that the threads of a process share: what its lock, its page faults and the births of
//! threads take.

use simsched_core::{Nanos, SemId};

use super::costs::{
    BETWEEN_CALLS, BETWEEN_FAULTS, FAULT, FROM_FAULT, HEAP_FAULTS, HEAP_LEAVE, HEAP_MAP,
    HEAP_UNMAP, STACK, STACK_FAULT, STACK_LEAVE, TO_CREATE, TO_FAULT, TO_STACK, stack_leave_more,
};
use super::kernel::Kernel;
use crate::builder::Body;
use crate::dist::Dist;
use crate::program::Operand;

/// The address space of a process: its lock, and the kernel under which it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) lock: SemId,
    pub(super) kernel: Kernel,
}

/// What a kernel takes for the parts, in nanoseconds.
struct Prices {
    /// See [`STACK`].
    stack: u32,
    /// See [`STACK_LEAVE`].
    stack_leave: u32,
    stack_leave_more: Dist,
    /// See [`STACK_FAULT`].
    stack_fault: u32,
    /// From that page fault to the thread's creation.
    to_create: Dist,
    /// A page fault in memory that no one has touched.
    fault: u32,
    /// From the page fault at a thread's stack to its own work.
    from_fault: Dist,
    /// See [`HEAP_MAP`].
    heap_map: [u32; 2],
    /// See [`HEAP_UNMAP`].
    heap_unmap: [u32; 2],
    /// See [`HEAP_LEAVE`].
    heap_leave: [u32; 2],
    /// See [`HEAP_FAULTS`].
    heap_faults: &'static [u32],
    /// Whether a page fault takes the lock of the address space.
    faults_lock: bool,
}

impl Prices {
    fn of(kernel: Kernel) -> Prices {
        match kernel {
            Kernel::V6_1 | Kernel::V6_12 => Prices {
                stack: STACK,
                stack_leave: STACK_LEAVE,
                stack_leave_more: stack_leave_more(),
                stack_fault: STACK_FAULT,
                to_create: TO_CREATE,
                fault: FAULT,
                from_fault: FROM_FAULT,
                heap_map: HEAP_MAP,
                heap_unmap: HEAP_UNMAP,
                heap_leave: HEAP_LEAVE,
                heap_faults: &HEAP_FAULTS,
                faults_lock: true,
            },
            Kernel::V7_3 => Prices::v7_3(),
        }
    }

    /// Sections of the lock and page faults as they were counted in 6.12.107 (`launch/v6_12.rs`): a page fault
    /// does without the lock (`lock_vma_under_rcu()`, 6.4 and later). The traces of 7.3.4 tell the sums
    /// (`schbench`, 8 and 16 CPUs, 5 seeds): from a sched_wakeup_new to the second sched_process_fork
    /// behind it 53 us (53 and 54, 17 births), where nobody has the lock; later ones 60 (54 to 65, 67
    /// births). A message thread sleeps for the first time 25 us after its first sched_switch (24 to 28,
    /// 20 births), a worker, which gets a heap between, wakes it after 43 to 75 (96 births; 55 to 70 here).
    fn v7_3() -> Prices {
        Prices {
            stack: 3_900,
            stack_leave: 6_500,
            stack_leave_more: Dist::Constant(Nanos::ZERO),
            stack_fault: 7_800,
            to_create: Dist::Constant(Nanos(1_800 + 9_000)),
            fault: 6_800,
            from_fault: Dist::Constant(Nanos(12_000)),
            heap_map: [4_300; 2],
            heap_unmap: [7_900, 6_800],
            heap_leave: [4_000; 2],
            heap_faults: &[12_700, 6_800],
            faults_lock: false,
        }
    }
}

impl Memory {
    /// Creates a thread of the same process: with a stack, which it may use.
    pub(super) fn creates(self, p: &mut Body<'_>, thread: Operand) {
        let prices = Prices::of(self.kernel);
        p.run(TO_STACK);
        self.maps(p, prices.stack);
        p.run(BETWEEN_CALLS);
        p.down_write(self.lock);
        p.run(prices.stack_leave_more.clone());
        p.up_write(self.lock, prices.stack_leave);
        p.run(BETWEEN_CALLS);
        self.faults(p, prices.faults_lock, prices.stack_fault);
        p.run(prices.to_create);
        p.spawn(thread);
    }

    /// The same in a child process whose address space was copied with the stacks of its parent's threads, which
    /// are taken again: 42 to 48 us (8 of 9 creations in `life-fork`, 7.3.4, and 85 once) pass from one
    /// creation to the next, and 61 to 66 (quartiles of 9) where its parent maps stacks.
    pub(super) fn creates_again(self, p: &mut Body<'_>, thread: Operand) {
        let prices = Prices::of(self.kernel);
        p.run(TO_STACK);
        self.faults(p, prices.faults_lock, prices.stack_fault);
        p.run(prices.to_create);
        p.spawn(thread);
    }

    /// Makes room for what a thread measures that is too large for its heap.
    pub(super) fn maps_large(self, p: &mut Body<'_>) {
        let prices = Prices::of(self.kernel);
        self.maps(p, prices.heap_map[1]);
        p.run(BETWEEN_CALLS);
        self.faults(p, prices.faults_lock, prices.fault);
    }

    /// What a thread does first: it touches its stack.
    pub(super) fn begins(self, p: &mut Body<'_>) {
        let prices = Prices::of(self.kernel);
        p.run(TO_FAULT);
        self.faults(p, prices.faults_lock, prices.fault);
        p.run(prices.from_fault);
    }

    /// A thread gets a heap of its own with its first allocation.
    pub(super) fn gets_heap(self, p: &mut Body<'_>, pieces: usize) {
        let prices = Prices::of(self.kernel);
        let row = usize::from(pieces == 0);
        self.maps(p, prices.heap_map[row]);
        for _ in 0..pieces {
            p.run(BETWEEN_CALLS);
            let [written, read] = prices.heap_unmap;
            self.maps(p, written);
            self.faults(p, true, read);
        }
        p.run(BETWEEN_CALLS);
        self.maps(p, prices.heap_leave[row]);
        p.run(BETWEEN_CALLS);
        for &held in prices.heap_faults {
            self.faults(p, prices.faults_lock, held);
            p.run(BETWEEN_FAULTS);
        }
    }

    /// `mmap()` or `mprotect()` in the address space.
    fn maps(self, p: &mut Body<'_>, held: u32) {
        p.down_write(self.lock);
        p.up_write(self.lock, held);
    }

    /// Touches a page that is not there, or takes the lock to read for another reason.
    fn faults(self, p: &mut Body<'_>, locks: bool, held: u32) {
        if locks {
            p.down_read(self.lock);
            p.up_read(self.lock, held);
        } else {
            p.run(Dist::Constant(Nanos(u64::from(held))));
        }
    }
}

/// How many pieces too many the heap of a thread has at first that is the `nth` of its process to get
/// one: those of the first are two, and every second one of the others has one.
pub(super) fn heap_pieces(nth: u32) -> usize {
    match nth {
        0 => 2,
        nth => (nth % 2) as usize,
    }
}
