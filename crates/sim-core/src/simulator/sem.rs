//! Writers spin at a semaphore before they sleep.
//!
//! Source: `rwsem_optimistic_spin()` and `rwsem_spin_on_owner()` in `kernel/locking/rwsem.c`, Linux 6.1.

use simsched_topology::CpuId;

use super::cpu::Stage;
use super::state::Simulator;
use crate::ids::SemId;
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
/// They look at the clock once in so many looks at the semaphore. Where CPUs take turns (`ipi_grid`) there
/// is one look in each, for the pause between two of them ends it; elsewhere so many take no time.
const RSPIN_LOOKS: u64 = 16;

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// A writer is at a semaphore for the first time: whether it looks again a moment later. It does
    /// while the holder is a writer on a CPU or readers who have not held it long, and nobody wants its
    /// CPU.
    pub(super) fn spins_on(&mut self, cpu: CpuId, sem: SemId) -> bool {
        let run = &self.cpus[cpu.idx()].run;
        if run.retry || self.cpus[cpu.idx()].need_resched.is_hard() {
            return false;
        }
        let turn = u64::from(self.prices.list().ipi_grid);
        let until = &mut self.sems_spin[sem.idx()];
        let spins = match self.ipc.sem_holder(sem) {
            Holder::Readers(readers) => {
                let now = self.world.now();
                if *until == SimTime::ZERO {
                    let more = RSPIN_READER * u64::from(readers.min(RSPIN_READERS));
                    let limit = RSPIN.0 + more;
                    let looks = (RSPIN_LOOKS * turn).max(1);
                    *until = now + Nanos(limit.next_multiple_of(looks));
                }
                now < *until
            }
            Holder::Writer(task) => {
                *until = SimTime::ZERO;
                self.world.task(task).on_cpu
            }
            Holder::Nobody => {
                *until = SimTime::ZERO;
                false
            }
        };
        if spins {
            let ns = match turn {
                0 => self.jittered(cpu, self.prices.list().recheck),
                _ => Nanos(turn - self.world.now().0 % turn),
            };
            self.begin(cpu, Stage::Op, Cost::Syscall, ns);
        }
        spins
    }
}
