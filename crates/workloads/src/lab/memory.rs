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
    from_fault: [Dist; 3],
    /// From a thread's own work to the mapping of its heap; second, where the thread has named itself before.
    to_heap: [u32; 2],
    /// See [`HEAP_MAP`]; by the pieces that are too many.
    heap_map: [u32; 3],
    /// See [`HEAP_UNMAP`]; by whether two pieces are too many.
    heap_unmap: [[u32; 2]; 2],
    /// See [`HEAP_LEAVE`]; by the pieces that are too many.
    heap_leave: [u32; 3],
    /// With one piece too many: how much longer `mmap()` of a heap holds the lock, and how much longer its `mprotect()`;
    /// `None` where neither does.
    heap_more: Option<[Dist; 2]>,
    /// See [`HEAP_FAULTS`].
    heap_faults: &'static [u32],
    /// What passes behind each page fault of a heap.
    between_faults: Dist,
    /// A page fault in memory that is mapped by itself, and what passes behind it.
    large_fault: [u32; 2],
    /// When a page fault takes the lock of the address space.
    faults_lock: FaultLock,
}

impl Prices {
    fn of(kernel: Kernel) -> Prices {
        match kernel {
            Kernel::V6_1 => Prices {
                stack: STACK,
                stack_leave: STACK_LEAVE,
                stack_leave_more: stack_leave_more(),
                stack_fault: STACK_FAULT,
                to_create: TO_CREATE,
                fault: FAULT,
                from_fault: [FROM_FAULT, FROM_FAULT, FROM_FAULT],
                to_heap: [0; 2],
                heap_map: [HEAP_MAP[1], HEAP_MAP[0], HEAP_MAP[0]],
                heap_unmap: [HEAP_UNMAP; 2],
                heap_leave: [HEAP_LEAVE[1], HEAP_LEAVE[0], HEAP_LEAVE[0]],
                heap_more: None,
                heap_faults: &HEAP_FAULTS,
                between_faults: BETWEEN_FAULTS,
                large_fault: [FAULT, 0],
                faults_lock: FaultLock::Whole,
            },
            Kernel::V6_12 => Prices::v6_12(),
            Kernel::V7_3 => Prices::v7_3(),
        }
    }

    /// The calls and faults as under 7.3, of which `stack`, `stack_fault` and `fault` were counted here; a page fault does
    /// without the lock ([`FaultLock::Never`]). From a sched_wakeup_new to the next sched_process_fork of `schbench` are
    /// 50 to 103 us, 67.5 in the mean (8 and 16 CPUs, 138 births behind the second): the twelfths of that.
    fn v6_12() -> Prices {
        let us = [9, 10, 10, 13, 17, 21, 25, 28, 32, 39, 43, 61];
        let each = us.map(|us| (Nanos::from_micros(us), 1));
        Prices {
            to_create: Dist::Table(each.to_vec()),
            faults_lock: FaultLock::Never,
            ..Prices::v7_3()
        }
    }

    /// `stack`, `stack_fault` and `fault` as they were counted in 6.12.107 (`launch/v6_12.rs`), where only the first page
    /// fault of an area takes the lock ([`FaultLock::FirstTouch`]); the rest as counted in 7.3.4. Its traces tell the sums
    /// (`schbench`, 8 and 16 CPUs, 5 seeds): from a sched_wakeup_new to the second sched_process_fork
    /// behind it 53 us (53 and 54, 17 births), where nobody has the lock; later ones 60 (54 to 65, 67
    /// births). The first message thread sleeps for the first time 25 us after its first sched_switch (24 to 28, 10
    /// births), another one or a wakee of `pc` after 14 (14 to 18, 11 births): the code that they run is mapped then.
    /// What a worker does until it wakes its message thread was recorded with the events of `mmap_lock`, of page faults
    /// and of system calls (7.3.4, `schbench` on 8 and 16 CPUs, `tpp` and a process of eight on 32, 52 births; an event of
    /// `mmap_lock` takes 0.65 us and is taken off). A fault in memory that is mapped by itself takes the lock in 29 of 35 births, in 10 of
    /// these 5 us later than here.
    fn v7_3() -> Prices {
        Prices {
            stack: 3_900,
            stack_leave: 5_900,
            stack_leave_more: at_times([7, 3]),
            stack_fault: 7_800,
            to_create: Dist::Constant(Nanos(1_800 + 9_000)),
            fault: 6_800,
            from_fault: [12_000, 34_000, 1_500].map(|ns| Dist::Constant(Nanos(ns))),
            to_heap: [1_900, 3_300],
            heap_map: [4_200, 4_500, 4_500],
            heap_unmap: [[3_600, 2_500], [8_500, 1_800]],
            heap_leave: [5_800, 4_000, 4_000],
            heap_more: Some([at_times([3, 5]), at_times([1, 1])]),
            heap_faults: &[12_800],
            between_faults: Dist::Constant(Nanos(2_300)),
            large_fault: [7_800, 900],
            faults_lock: FaultLock::FirstTouch,
        }
    }
}

/// Whether a thread is the first one of its process to run its code, which it maps by page faults then. Recorded of
/// `schbench`, `tpp` and `pc`; all other threads are taken to be [`Code::Known`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// The first message thread: one page fault more.
    Messages,
    /// The first asking thread of `tpp`, or the first thread that a process whose threads sleep in turns creates: six page
    /// faults more, 32.5 us in all (one recorded birth of each).
    Fresh,
    /// It is not the first one.
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
        p.run(prices.from_fault[code as usize].clone());
    }

    /// A thread gets a heap of its own with its first allocation.
    pub(super) fn gets_heap(self, p: &mut Body<'_>, pieces: usize) {
        self.makes_heap(p, pieces, Prices::of(self.kernel).to_heap[1]);
    }

    /// A thread makes a heap with its first allocation, which is too large for it and is mapped by itself.
    pub(super) fn gets_large(self, p: &mut Body<'_>, pieces: usize) {
        let prices = Prices::of(self.kernel);
        self.makes_heap(p, pieces, prices.to_heap[0]);
        self.maps(p, prices.heap_map[0]);
        p.run(BETWEEN_CALLS);
        let [fault, behind] = prices.large_fault;
        prices.faults_lock.fault(p, self.lock, fault, Some(TO_PREPARE[0]));
        runs(p, behind);
    }

    fn makes_heap(self, p: &mut Body<'_>, pieces: usize, before: u32) {
        let prices = Prices::of(self.kernel);
        let row = pieces.min(2);
        let [map_more, leave_more] = match prices.heap_more {
            Some([map, leave]) if pieces == 1 => [Some(map), Some(leave)],
            _ => [None, None],
        };
        runs(p, before);
        self.maps_longer(p, prices.heap_map[row], map_more);
        for _ in 0..pieces {
            p.run(BETWEEN_CALLS);
            let [written, read] = prices.heap_unmap[usize::from(pieces > 1)];
            self.maps(p, written);
            FaultLock::Whole.fault(p, self.lock, read, None);
        }
        p.run(BETWEEN_CALLS);
        self.maps_longer(p, prices.heap_leave[row], leave_more);
        p.run(BETWEEN_CALLS);
        for (nth, &ns) in prices.heap_faults.iter().enumerate() {
            // The first one needs a table.
            let first = (nth == 0).then_some(TO_PREPARE[1]);
            prices.faults_lock.fault(p, self.lock, ns, first);
            p.run(prices.between_faults.clone());
        }
    }

    /// `mmap()` or `mprotect()` in the address space.
    fn maps(self, p: &mut Body<'_>, held: u32) {
        self.maps_longer(p, held, None);
    }

    /// `mmap()` or `mprotect()` in the address space that holds its lock for `held` ns, and for `more` besides.
    fn maps_longer(self, p: &mut Body<'_>, held: u32, more: Option<Dist>) {
        p.down_write(self.lock);
        if let Some(more) = more {
            p.run(more);
        }
        p.up_write(self.lock, held);
    }
}

/// Nothing or 4.2 us, with these weights: how much longer the kernel sometimes holds the lock in a call under 7.3.4.
/// `mprotect()` of a stack holds it for 4.9, 5.1, 6.6, 9.2 or 10 to 11 us (9 or more in 22 of 66 births, of these above
/// 20 us by interrupts in 4), `mmap()` of a
/// heap with one piece too many for 4.5 or 8.2 us (8.2 in 5 of 8), its `mprotect()` for 4.0 or 8.1 us (8.1 in 4 of 8).
/// Why was not looked for; an allocation that finds no free object on its CPU would look the same.
fn at_times([not, more]: [u32; 2]) -> Dist {
    Dist::Table(vec![(Nanos::ZERO, not), (Nanos(4_200), more)])
}

/// Computes for so many ns, if any.
fn runs(p: &mut Body<'_>, ns: u32) {
    if ns > 0 {
        p.run(Dist::Constant(Nanos(u64::from(ns))));
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
