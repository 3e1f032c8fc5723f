//! `RunqueueLocks`: the lock of each runqueue, and the lines that move with it.

use simsched_topology::{CpuId, OsCosts, Topology};

use super::transfers::Transfers;
use crate::time::{Nanos, SimTime};

/// The locks of all runqueues, in order of arrival.
///
/// Who takes the lock of another CPU's runqueue waits for those before, and for `rq_lines` lines to
/// come from there; it holds the lock for `rq_lock_hold`. Source: section 5 of the cost model (4 to 6
/// lines at the distance of the two CPUs) and its section 8 (200 to 500 ns).
#[derive(Clone, Debug)]
pub(crate) struct RunqueueLocks {
    free: Vec<SimTime>,
    lines: u32,
    hold: Nanos,
}

impl RunqueueLocks {
    pub(crate) fn new(nr_cpus: usize, costs: &OsCosts) -> RunqueueLocks {
        RunqueueLocks {
            free: vec![SimTime::ZERO; nr_cpus],
            lines: costs.rq_lines,
            hold: Nanos(u64::from(costs.rq_lock_hold)),
        }
    }

    /// What the lines of the runqueue of `cpu` take to come to `taker`, ns.
    pub(crate) fn transfer(
        &self,
        topology: &Topology,
        transfers: &Transfers,
        taker: CpuId,
        cpu: CpuId,
    ) -> u32 {
        let home = topology.package_of(cpu);
        self.lines.saturating_mul(transfers.ns(cpu, taker, home))
    }

    /// The lock of `cpu` is asked for at `at` and, with it in hand, `transfer` goes by before the work
    /// begins: how long the lock takes to come.
    pub(crate) fn lock(&mut self, cpu: CpuId, at: SimTime, transfer: Nanos) -> Nanos {
        let free = &mut self.free[cpu.idx()];
        let wait = free.since(at);
        *free = (*free).max(at) + transfer + self.hold;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_second_waits_until_the_first_is_done() {
        let topology = Topology::builtin("spr", None).unwrap();
        let mut locks = RunqueueLocks::new(2, topology.costs());
        let mut lock = |at| locks.lock(CpuId(1), SimTime(at), Nanos(285)).0;
        assert_eq!([lock(1000), lock(1100), lock(5000)], [0, 485, 0]);
        let transfers = Transfers::new(&topology);
        assert_eq!(locks.transfer(&topology, &transfers, CpuId(0), CpuId(1)), 5 * 57);
    }
}
