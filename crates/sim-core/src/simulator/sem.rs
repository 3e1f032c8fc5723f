//! Writers spin at a semaphore before they sleep.
//!
//! Source: `rwsem_optimistic_spin()` and `rwsem_spin_on_owner()` in `kernel/locking/rwsem.c`, `osq_lock()`, Linux 6.1
//! and 7.3.

use std::collections::VecDeque;

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::Simulator;
use crate::ids::{SemId, TaskId};
use crate::ipc::Holder;
use crate::observer::{Cost, Observer};
use crate::policy::Policy;
use crate::time::{Nanos, SimTime};
use crate::workload::Workload;

/// How long writers spin at readers (`rwsem_rspin_threshold()`): 10 us, half a microsecond for each
/// reader up to 30.
const RSPIN: Nanos = Nanos::from_micros(10);
const RSPIN_READER: u64 = 500;
const RSPIN_READERS: u32 = 30;
/// They look at the clock once in so many looks at the semaphore. Where CPUs take turns there
/// is one look in each, for the pause between two of them ends it; elsewhere so many take no time.
const RSPIN_LOOKS: u64 = 16;

/// Who spins at a semaphore.
#[derive(Clone, Debug, Default)]
pub(super) struct Spinners {
    /// In the order in which they came (`sem->osq`): the first looks at the semaphore.
    queue: VecDeque<TaskId>,
    /// Until when the first spins at readers, if it does.
    until: Option<SimTime>,
    /// Readers have had it for so long that nobody spins at it (`RWSEM_NONSPINNABLE`), until a writer has it.
    too_long: bool,
}

impl Spinners {
    /// `task` does not spin any more.
    fn leave(&mut self, task: TaskId) {
        if self.queue.front() == Some(&task) {
            self.until = None;
        }
        self.queue.retain(|&other| other != task);
    }

    /// Whether a spin at readers, so many of them, is worth it. `looks` is how long as many looks take as are between two
    /// at the clock.
    fn spins_at_readers(&mut self, now: SimTime, readers: u32, looks: u64) -> bool {
        if !self.too_long {
            let limit = RSPIN.0 + RSPIN_READER * u64::from(readers.min(RSPIN_READERS));
            let until = now + Nanos(limit.next_multiple_of(looks.max(1)));
            self.too_long = *self.until.get_or_insert(until) <= now;
        }
        !self.too_long
    }
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// A writer, `task`, is at a semaphore for the first time: whether it looks again a moment later. It does
    /// while another one spins before it, or the holder is a writer on a CPU or readers who have not had it long; and
    /// only as long as nobody wants its CPU.
    pub(super) fn spins_on(&mut self, cpu: CpuId, task: TaskId, sem: SemId) -> bool {
        let spins = self.is_worth_a_spin(cpu, task, sem);
        if !spins {
            self.sems_spin[sem.idx()].leave(task);
        } else if self.in_turns() {
            self.begin_pause(cpu, Stage::Op, Cost::Syscall, 0);
        } else {
            let ns = self.jittered(cpu, self.prices.list().recheck);
            self.begin(cpu, Stage::Op, Cost::Syscall, ns);
        }
        spins
    }

    fn is_worth_a_spin(&mut self, cpu: CpuId, task: TaskId, sem: SemId) -> bool {
        let row = &self.cpus[cpu.idx()];
        if row.run.retry || row.need_resched.is_hard() {
            return false;
        }
        let holder = self.ipc.sem_holder(sem);
        let runs = matches!(holder, Holder::Writer(task) if self.world.task(task).on_cpu);
        let looks = RSPIN_LOOKS * if self.in_turns() { self.prices.quantum() } else { 0 };
        let now = self.world.now();
        let spinners = &mut self.sems_spin[sem.idx()];
        let first = spinners.queue.front() == Some(&task);
        let waits = !first && spinners.queue.contains(&task);
        if waits {
            return true;
        }
        let spins = match holder {
            Holder::Nobody => false,
            Holder::Writer(_) => {
                (spinners.until, spinners.too_long) = (None, false);
                runs
            }
            // Who comes behind others has no look at the clock yet.
            Holder::Readers(_) if !first && !spinners.queue.is_empty() => !spinners.too_long,
            Holder::Readers(readers) => spinners.spins_at_readers(now, readers, looks),
        };
        if spins && !first {
            spinners.queue.push_back(task);
        }
        spins
    }
}
