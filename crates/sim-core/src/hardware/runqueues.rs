//! `RunqueueLocks`: the lock of each runqueue, and the lines that move with it.

use simsched_topology::{CpuId, OsCosts, Topology};

use super::transfers::Transfers;
use crate::time::{Nanos, SimTime};

/// The locks of all runqueues, in order of arrival.
///
/// Who takes the lock of another CPU's runqueue waits for those before, and for `rq_lines` lines to
/// come from who has written them last; it holds the lock for `rq_lock_hold`. Source: section 5 of the cost model (4 to 6
/// lines at the distance of the two CPUs) and its section 8 (200 to 500 ns).
///
/// Who hands a wakee over takes no lock, but lines all the same: those of the wakee from where it ran,
/// and of the target's list, runqueue and idle task; what it has written comes to the target then.
#[derive(Clone, Debug)]
pub(crate) struct RunqueueLocks {
    free: Vec<SimTime>,
    lines: u32,
    hold: Nanos,
    wakee_lines: u32,
    handoff_lines: u32,
    taken_lines: u32,
}

impl RunqueueLocks {
    pub(crate) fn new(nr_cpus: usize, costs: &OsCosts) -> RunqueueLocks {
        RunqueueLocks {
            free: vec![SimTime::ZERO; nr_cpus],
            lines: costs.rq_lines,
            hold: Nanos(u64::from(costs.rq_lock_hold)),
            wakee_lines: costs.wakee_lines,
            handoff_lines: costs.handoff_lines,
            taken_lines: costs.handoff_taken_lines,
        }
    }

    /// What the lines of the runqueue of `cpu` take to come to `taker`, ns: from the cache of its last
    /// `writer`, or not at all if that is `taker` itself. A CPU does not wait for those of its own.
    pub(crate) fn transfer(
        &self,
        topology: &Topology,
        transfers: &Transfers,
        [writer, taker]: [CpuId; 2],
        cpu: CpuId,
    ) -> u32 {
        if taker == cpu || taker == writer {
            return 0;
        }
        self.lines.saturating_mul(transfers.ns(writer, taker, topology.package_of(cpu)))
    }

    /// What the lines take to come to `waker`, ns, that puts a wakee on the list of `cpu`; the wakee ran
    /// on `last`.
    pub(crate) fn handing(
        &self,
        topology: &Topology,
        transfers: &Transfers,
        waker: CpuId,
        [last, cpu]: [CpuId; 2],
    ) -> u32 {
        let line = |from| transfers.ns(from, waker, topology.package_of(from));
        let wakee = self.wakee_lines.saturating_mul(line(last));
        wakee.saturating_add(self.handoff_lines.saturating_mul(line(cpu)))
    }

    /// What the lines that `waker` has written take to come to `cpu`, ns, that takes a wakee from its
    /// list.
    pub(crate) fn taking(
        &self,
        topology: &Topology,
        transfers: &Transfers,
        waker: CpuId,
        cpu: CpuId,
    ) -> u32 {
        let home = topology.package_of(cpu);
        self.taken_lines.saturating_mul(transfers.ns(waker, cpu, home))
    }

    /// The lock of `cpu` is asked for at `at` and, with it in hand, `transfer` goes by before the work
    /// begins: how long the lock takes to come.
    pub(crate) fn lock(&mut self, cpu: CpuId, at: SimTime, transfer: Nanos) -> Nanos {
        let free = &mut self.free[cpu.idx()];
        let wait = free.since(at);
        *free = (*free).max(at) + transfer + self.hold;
        wait
    }

    /// Who has the lock of `cpu` does not give it back before `until`.
    pub(crate) fn keep(&mut self, cpu: CpuId, until: SimTime) {
        let free = &mut self.free[cpu.idx()];
        *free = (*free).max(until);
    }
}

#[cfg(test)]
mod tests {
    use simsched_topology::PackageId;

    use super::*;

    #[test]
    fn who_comes_second_waits_until_the_first_is_done() {
        let topology = Topology::builtin("spr", None).unwrap();
        let mut locks = RunqueueLocks::new(2, topology.costs());
        let mut lock = |at| locks.lock(CpuId(1), SimTime(at), Nanos(285)).0;
        assert_eq!([lock(1000), lock(1100), lock(5000)], [0, 485, 0]);
        let transfers = Transfers::new(&topology);
        let transfer =
            |cpus: [u16; 2]| locks.transfer(&topology, &transfers, cpus.map(CpuId), CpuId(1));
        assert_eq!(transfer([1, 0]), 5 * 57, "from the CPU itself");
        assert_eq!(transfer([2, 0]), 5 * 57, "from who came before");
        assert_eq!([transfer([0, 0]), transfer([0, 1])], [0, 0], "here still, or its own");
    }

    #[test]
    fn a_lock_that_is_kept_comes_later_and_never_earlier() {
        let topology = Topology::builtin("spr", None).unwrap();
        let mut locks = RunqueueLocks::new(1, topology.costs());
        locks.keep(CpuId(0), SimTime(5_000));
        locks.keep(CpuId(0), SimTime(3_000));
        assert_eq!(locks.lock(CpuId(0), SimTime(1_000), Nanos(0)).0, 4_000);
    }

    /// As the lab's kernel was counted to do with a pair of UDP sockets on two cores: a wakeup by the
    /// list moves ten lines to the waker and four to the target. On two sockets the wakee's lines come
    /// from where it ran, the list's from where it goes.
    #[test]
    fn a_hand_off_moves_the_wakee_and_the_list_to_the_waker_and_both_to_the_target() {
        let topology = Topology::builtin("icelake", None).unwrap();
        let locks = RunqueueLocks::new(2, topology.costs());
        let transfers = Transfers::new(&topology);
        let other = topology.package_span(PackageId(1)).first().unwrap();
        let [waker, near] = [0, 1].map(CpuId);
        let handing = |cpus| locks.handing(&topology, &transfers, waker, cpus);
        let far = transfers.ns(other, waker, PackageId(1));
        assert_eq!(handing([near, near]), 10 * 51);
        assert_eq!(handing([other, near]), 4 * far + 6 * 51);
        assert_eq!(handing([waker, near]), 6 * 51, "it slept on the waker's own CPU");
        assert_eq!(locks.taking(&topology, &transfers, waker, near), 4 * 51);
    }
}
