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
use crate::page_fault::{FaultLock, TO_PREPARE};
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
    /// From the page fault at a thread's stack to its own work, by [`Code`].
    from_fault: [Dist; 2],
    /// See [`HEAP_MAP`].
    heap_map: [u32; 2],
    /// See [`HEAP_UNMAP`]; by whether two pieces are too many.
    heap_unmap: [[u32; 2]; 2],
    /// See [`HEAP_LEAVE`].
    heap_leave: [u32; 2],
    /// See [`HEAP_FAULTS`].
    heap_faults: &'static [u32],
    /// When a page fault takes the lock of the address space.
    faults_lock: FaultLock,
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
                from_fault: [FROM_FAULT, FROM_FAULT],
                heap_map: HEAP_MAP,
                heap_unmap: [HEAP_UNMAP; 2],
                heap_leave: HEAP_LEAVE,
                heap_faults: &HEAP_FAULTS,
                faults_lock: FaultLock::Whole,
            },
            Kernel::V7_3 => Prices::v7_3(),
        }
    }

    /// Sections of the lock and page faults as they were counted in 6.12.107 (`launch/v6_12.rs`), `heap_unmap` in 7.3.4:
    /// only the first page fault of an area takes the lock ([`FaultLock::FirstTouch`]). The traces of 7.3.4 tell the sums
    /// (`schbench`, 8 and 16 CPUs, 5 seeds): from a sched_wakeup_new to the second sched_process_fork
    /// behind it 53 us (53 and 54, 17 births), where nobody has the lock; later ones 60 (54 to 65, 67
    /// births). The first message thread sleeps for the first time 25 us after its first sched_switch (24 to 28, 10
    /// births), another one or a wakee of `pc` after 14 (14 to 18, 11 births): the code that they run is mapped then.
    /// What is unmapped, and in which order a worker takes the lock until it wakes its message thread, was recorded
    /// with the events of `mmap_lock`, of page faults and of system calls (7.3.4, `schbench` on 8 CPUs, 24 births).
    fn v7_3() -> Prices {
        Prices {
            stack: 3_900,
            stack_leave: 6_500,
            stack_leave_more: Dist::Constant(Nanos::ZERO),
            stack_fault: 7_800,
            to_create: Dist::Constant(Nanos(1_800 + 9_000)),
            fault: 6_800,
            from_fault: [12_000, 1_500].map(|ns| Dist::Constant(Nanos(ns))),
            heap_map: [4_300; 2],
            heap_unmap: [[3_600, 2_500], [8_500, 1_800]],
            heap_leave: [4_000; 2],
            heap_faults: &[12_700, 6_800],
            faults_lock: FaultLock::FirstTouch,
        }
    }
}

/// Whether a thread is the first one of its process to run its code, which it maps by a page fault then. Recorded of
/// message threads and of wakees of `pc`; all others are taken to be [`Code::Known`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// It is.
    Fresh,
    /// It is not.
    Known,
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
        prices.faults_lock.fault(p, self.lock, prices.stack_fault, Some(TO_PREPARE[0]));
        p.run(prices.to_create);
        p.spawn(thread);
    }

    /// The same in a child process whose address space was copied with the stacks of its parent's threads, which
    /// are taken again: 42 to 48 us (8 of 9 creations in `life-fork`, 7.3.4, and 85 once) pass from one
    /// creation to the next, and 61 to 66 (quartiles of 9) where its parent maps stacks.
    pub(super) fn creates_again(self, p: &mut Body<'_>, thread: Operand) {
        let prices = Prices::of(self.kernel);
        p.run(TO_STACK);
        prices.faults_lock.fault(p, self.lock, prices.stack_fault, None);
        p.run(prices.to_create);
        p.spawn(thread);
    }

    /// What a thread does first: it touches its stack.
    pub(super) fn begins(self, p: &mut Body<'_>, code: Code) {
        let prices = Prices::of(self.kernel);
        p.run(TO_FAULT);
        prices.faults_lock.fault(p, self.lock, prices.fault, None);
        let [fresh, known] = prices.from_fault;
        p.run(if code == Code::Fresh { fresh } else { known });
    }

    /// A thread gets a heap of its own with its first allocation.
    pub(super) fn gets_heap(self, p: &mut Body<'_>, pieces: usize) {
        let faults = Prices::of(self.kernel).heap_faults;
        self.makes_heap(p, pieces, faults);
    }

    /// A thread makes a heap with its first allocation, which is too large for it and is mapped by itself.
    pub(super) fn gets_large(self, p: &mut Body<'_>, pieces: usize) {
        let prices = Prices::of(self.kernel);
        let faults = match self.kernel {
            Kernel::V6_1 | Kernel::V6_12 => prices.heap_faults,
            Kernel::V7_3 => &prices.heap_faults[..1],
        };
        self.makes_heap(p, pieces, faults);
        self.maps(p, prices.heap_map[1]);
        p.run(BETWEEN_CALLS);
        prices.faults_lock.fault(p, self.lock, prices.fault, Some(TO_PREPARE[0]));
    }

    fn makes_heap(self, p: &mut Body<'_>, pieces: usize, faults: &[u32]) {
        let prices = Prices::of(self.kernel);
        let row = usize::from(pieces == 0);
        self.maps(p, prices.heap_map[row]);
        for _ in 0..pieces {
            p.run(BETWEEN_CALLS);
            let [written, read] = prices.heap_unmap[usize::from(pieces > 1)];
            self.maps(p, written);
            FaultLock::Whole.fault(p, self.lock, read, None);
        }
        p.run(BETWEEN_CALLS);
        self.maps(p, prices.heap_leave[row]);
        p.run(BETWEEN_CALLS);
        for (nth, &ns) in faults.iter().enumerate() {
            // The first one needs a table.
            let first = (nth == 0).then_some(TO_PREPARE[1]);
            prices.faults_lock.fault(p, self.lock, ns, first);
            p.run(BETWEEN_FAULTS);
        }
    }

    /// `mmap()` or `mprotect()` in the address space.
    fn maps(self, p: &mut Body<'_>, held: u32) {
        p.down_write(self.lock);
        p.up_write(self.lock, held);
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
