//! What surrounds hackbench's messages when a run is timed from outside: births, ends, and what threads do
//! under the lock of the address space that they share.

use simsched_core::Nanos;

use super::Plan;
use crate::builder::Body;
use crate::dist::Dist;
use crate::page_fault::{FaultLock, TO_PREPARE};
use crate::program::Operand;

/// What surrounds the messages, when a run is timed from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    /// Before the main task creates its first worker.
    pub(crate) before: Nanos,
    /// Before the main task creates each further worker, beyond the price of that; one as likely as
    /// another.
    pub(crate) between: [Nanos; 12],
    /// From a worker's first instruction to its saying that it is ready; one as likely as another.
    pub(crate) birth: [Nanos; 6],
    /// From the last worker's saying that it is ready to the start.
    pub(crate) before_start: Nanos,
    /// From the start to a sender's first message.
    pub(crate) sender_start: Nanos,
    /// Between a sender's last message of a round and the first of the next.
    pub(crate) sender_round: Nanos,
    /// From a receiver's last message to its end (`do_exit()`), without what happens under the lock of
    /// the address space.
    pub(crate) receiver_end: Nanos,
    /// From there to the price of its exit.
    pub(crate) receiver_leaves: Nanos,
    /// From a sender's last message to its end, without the same.
    pub(crate) sender_end: Nanos,
    /// From there to the price of its exit.
    pub(crate) sender_leaves: Nanos,
    /// What threads do under the lock of their address space.
    pub(crate) space: Option<Space>,
    /// Behind the wait for a process.
    pub(crate) reap: Nanos,
    /// Behind the last wait, up to the main task's end and behind that.
    pub(crate) after: [Nanos; 2],
    /// Where threads share the table of open files: how long the main task sleeps when that grows.
    pub(crate) grace_period: Option<[Nanos; 2]>,
}

/// What threads do under the lock of the address space that they share (`mmap_lock`): who maps, unmaps
/// or protects memory writes, a page fault or an exit reads. In ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    /// From a worker's birth to the main task's mapping of the next stack.
    pub(crate) to_stack: Nanos,
    /// The pipe that comes before that if the next worker is a receiver.
    pub(crate) to_pipe: Nanos,
    /// `mmap()` of a stack, and `mprotect()` of it.
    pub(crate) stack: [u32; 2],
    /// The page fault at the thread's descriptor on that.
    pub(crate) stack_fault: u32,
    /// From there to the thread's creation; one as likely as another.
    pub(crate) to_create: [Nanos; 12],
    /// From a worker's first instruction to its first page fault.
    pub(crate) to_fault: Nanos,
    /// A page fault.
    pub(crate) fault: u32,
    /// When a page fault takes the lock.
    pub(crate) faults_lock: FaultLock,
    /// The heap of its own that a thread gets when it first frees something: `mmap()`, `munmap()` of what is too much
    /// before and behind, and `mprotect()` for writing.
    pub(crate) heap: [u32; 4],
    /// The page fault at that.
    pub(crate) heap_fault: u32,
    /// Leaving the address space.
    pub(crate) leave: u32,
}

/// One of these lengths, each with the same chance.
pub(super) fn one_of(lengths: &[Nanos]) -> Dist {
    Dist::Table(lengths.iter().map(|&length| (length, 1)).collect())
}

/// Files that a process has open beside those of its groups: three, and both ends of the ready and the
/// wake channel.
const FILES: u64 = 7;

/// How many files fit into a process at its birth; later twice as many each time.
const TABLE: u64 = 64;

impl Plan {
    /// Starts the workers, group by group. A table of open files that threads use already grows only
    /// after a grace period (`expand_fdtable()`).
    pub(super) fn spawn(&self, p: &mut Body<'_>, workers: u32) {
        let each = 2 * self.hackbench.fds;
        let grace_period = self.outside.and_then(|outside| outside.grace_period);
        let mut started = 0;
        for group in (1..self.hackbench.groups).filter(|&group| self.grows(group)) {
            let Some([least, most]) = grace_period else { break };
            self.spawn_some(p, started, group * each - started);
            p.sleep(Dist::Uniform(least, most));
            started = group * each;
        }
        self.spawn_some(p, started, workers - started);
    }

    fn spawn_some(&self, p: &mut Body<'_>, started: u32, count: u32) {
        let Some((lock, space)) = self.space else {
            return self.fork_some(p, started, count);
        };
        let fds = self.hackbench.fds;
        let end = 1 + started + count;
        // Behind each receiver but the last of its group comes another, and behind the last sender.
        let parts = [
            (fds - 1, space.to_stack + space.to_pipe),
            (fds, space.to_stack),
            (1, space.to_stack + space.to_pipe),
        ];
        let mut next = 1 + started;
        while next < end {
            for (workers, to_stack) in parts {
                let is_last = next + 1 == end && end > self.hackbench.groups * 2 * fds;
                if is_last {
                    p.spawn(Operand::fixed(next));
                } else if workers > 0 {
                    p.repeat(workers, |p, nth| {
                        p.spawn(Operand::fixed(next).plus(nth));
                        p.run(Dist::Constant(to_stack));
                        for held in space.stack {
                            p.down_write(lock);
                            p.up_write(lock, held);
                        }
                        space.faults_lock.fault(p, lock, space.stack_fault, Some(TO_PREPARE[0]));
                        p.run(one_of(&space.to_create));
                    });
                }
                next += workers;
            }
        }
    }

    /// The same for processes.
    fn fork_some(&self, p: &mut Body<'_>, started: u32, count: u32) {
        let first = u32::from(started == 0);
        if first > 0 {
            p.spawn(Operand::fixed(1));
        }
        p.repeat(count - first, |p, nth| {
            if let Some(outside) = self.outside {
                p.run(one_of(&outside.between));
            }
            p.spawn(Operand::fixed(1 + started + first).plus(nth));
        });
    }

    /// Whether the table of open files grows for the channels of this group.
    pub(super) fn grows(&self, group: u32) -> bool {
        let files = |groups: u32| FILES + 2 * u64::from(groups) * u64::from(self.hackbench.fds);
        let size = |files: u64| files.next_power_of_two().max(TABLE);
        size(files(group + 1)) > size(files(group))
    }

    /// A worker touches its stack.
    pub(super) fn first_fault(&self, p: &mut Body<'_>) {
        if let Some((lock, space)) = self.space {
            p.run(Dist::Constant(space.to_fault));
            space.faults_lock.fault(p, lock, space.fault, None);
        }
    }

    /// A receiver frees what the main task has given to it: it gets a heap of its own and touches it.
    pub(super) fn own_heap(&self, p: &mut Body<'_>) {
        if let Some((lock, space)) = self.space {
            for held in space.heap {
                p.down_write(lock);
                p.up_write(lock, held);
            }
            space.faults_lock.fault(p, lock, space.heap_fault, Some(TO_PREPARE[1]));
        }
    }

    /// `exit_mm()`.
    pub(super) fn leave(&self, p: &mut Body<'_>) {
        if let Some((lock, space)) = self.space {
            p.down_read(lock);
            p.up_read(lock, space.leave);
        }
    }
}
