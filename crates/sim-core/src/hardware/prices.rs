//! `Prices`: what a switch, a scan, an interrupt and a system call cost on this machine.

use rand::Rng;
use simsched_topology::{Distance, IdleState, OsCosts, Topology};

use super::transfers::Transfers;
use crate::config::Config;
use crate::ids::ProcId;
use crate::ipc::Page;
use crate::policy::{Far, Look, Placement};
use crate::rng::Stream;
use crate::time::{Nanos, SimTime};
use crate::workload::Op;

/// The machine's price list, and how much what is paid varies around it.
#[derive(Clone, Debug)]
pub(crate) struct Prices {
    costs: OsCosts,
    /// Looking at one CPU in a scan: of the same core, behind the same LLC, in the socket, beyond.
    scan: [u32; 4],
    /// How much of that is lines that come.
    scan_lines: [u32; 4],
    idle_states: Vec<IdleState>,
    jitter_1024: u32,
}

impl Prices {
    pub(crate) fn new(topology: &Topology, config: &Config, transfers: &Transfers) -> Prices {
        let costs = *topology.costs();
        let line = |distance| transfers.at(distance) * costs.scan_lines_pct / 100;
        let distances =
            [Distance::SameCore, Distance::SameLlc, Distance::SameSocket, Distance::CrossSocket];
        let scan_lines @ [core, llc, socket, cross] = distances.map(line);
        Prices {
            scan: [
                costs.scan_same_core + core,
                costs.scan_same_llc + llc,
                costs.scan_same_node + socket,
                costs.scan_cross_socket + cross,
            ],
            scan_lines,
            costs,
            idle_states: topology.idle_states().to_vec(),
            jitter_1024: config.jitter_1024,
        }
    }

    /// The same where no idle state takes time to leave, and a line that is written none to be seen.
    fn of_free_hardware(mut self) -> Prices {
        (self.costs.poll_notice_same_llc, self.costs.poll_notice_cross) = (0, 0);
        self.idle_states.iter_mut().for_each(|state| state.measured_exit_ns = 0);
        self
    }

    /// The same where CPUs enter no deeper idle state than this one behind the shallowest.
    pub(crate) fn up_to_state(mut self, max_cstate: u8) -> Prices {
        self.idle_states.truncate(usize::from(max_cstate) + 1);
        self
    }

    /// Where all that the kernel and the hardware do is in the times of the tasks.
    pub(crate) fn nothing(topology: &Topology) -> Prices {
        let (costs, idle_states) = (OsCosts::free(), topology.idle_states().to_vec());
        Prices { scan: [0; 4], scan_lines: [0; 4], costs, idle_states, jitter_1024: 0 }
    }

    /// The same of free hardware, or where timers expire when they are due, as it is recorded when that was.
    pub(crate) fn of(mut self, free: bool, recorded: bool) -> Prices {
        if recorded {
            self.costs.timer_slack = 0;
        }
        if free { self.of_free_hardware() } else { self }
    }

    /// The price list itself.
    #[inline]
    pub(crate) fn list(&self) -> &OsCosts {
        &self.costs
    }

    /// The machine's idle states, shallowest first; at least one.
    #[inline]
    pub(crate) fn idle_states(&self) -> &[IdleState] {
        &self.idle_states
    }

    /// `ns` as it happens to be paid now: uniform in `ns * (1 +- jitter)`.
    #[inline]
    pub(crate) fn jittered(&self, rng: &mut Stream, ns: u32) -> Nanos {
        if self.jitter_1024 == 0 {
            return Nanos(u64::from(ns));
        }
        self.spread(ns, rng.next_u64() >> 48)
    }

    /// Two prices that are paid together, with one random draw.
    #[inline(always)]
    pub(crate) fn jittered_pair(
        &self,
        rng: &mut Stream,
        first: u32,
        second: u32,
    ) -> (Nanos, Nanos) {
        if self.jitter_1024 == 0 {
            return (Nanos(u64::from(first)), Nanos(u64::from(second)));
        }
        let draw = rng.next_u64();
        (self.spread(first, draw >> 48), self.spread(second, draw >> 32 & 0xffff))
    }

    /// The price for a `draw` of 0..2^16.
    #[inline]
    fn spread(&self, ns: u32, draw: u64) -> Nanos {
        let ns = u64::from(ns);
        let spread = ns * u64::from(self.jitter_1024);
        // 2^32 ns times a spread of up to 2^9 times the draw are 58 bits.
        let above = (2 * spread * draw) >> 26;
        Nanos(ns - (spread >> 10) + above)
    }

    /// The exit latency of `state` as the scheduler is told it, in us. A machine with a single state
    /// has no driver that could tell.
    pub(crate) fn advertised(&self, state: &IdleState) -> Option<u32> {
        (self.idle_states.len() > 1).then_some(state.exit_ns / 1000)
    }

    /// A context switch between tasks of these processes; `None` is the idle task, which borrows
    /// the address space of whoever ran before it.
    #[inline]
    pub(crate) fn switch(&self, prev: Option<ProcId>, next: Option<ProcId>) -> u32 {
        match (prev, next) {
            (Some(prev), Some(next)) if prev == next => self.costs.context_switch_thread,
            (Some(_), Some(_)) => self.costs.context_switch_process,
            (None, Some(_)) => self.costs.context_switch_from_idle,
            _ => self.costs.context_switch_idle,
        }
    }

    /// Reading the state of the CPUs that a choice looked at.
    #[inline]
    pub(crate) fn scan(&self, placement: &Placement) -> u32 {
        let Placement { scanned, groups, .. } = *placement;
        let cpus = by_distance(placement, &self.scan);
        if groups == 0 {
            return cpus;
        }
        cpus + u32::from(groups) * self.costs.idlest_group
            + u32::from(scanned) * self.costs.idlest_cpu
    }

    /// The lines among these.
    #[inline]
    pub(crate) fn scan_lines(&self, placement: &Placement) -> u32 {
        by_distance(placement, &self.scan_lines)
    }

    /// Reading the statistics of the CPUs and summing up the groups that a balancer looks at, were all
    /// behind the LLC of the reader.
    pub(crate) fn balance_look(&self, look: &Look) -> u32 {
        let search = if look.groups > 0 { self.costs.balance_domain } else { 0 };
        search
            + u32::from(look.cpus) * self.costs.balance_cpu_same_llc
            + u32::from(look.groups) * self.costs.balance_group
    }

    /// Reading the CPUs that a task looks at when it returns to user mode, were all behind the LLC of the reader.
    pub(crate) fn task_work_look(&self, look: &Look) -> u32 {
        u32::from(look.cpus) * self.costs.occupancy_scan_cpu
    }

    /// What a look takes longer since lines come from other LLCs, whatever the clock of the reader.
    pub(crate) fn balance_lines(&self, look: &Look) -> u32 {
        let near = self.costs.balance_cpu_same_llc;
        let Far { same_socket, cross_socket, .. } = look.far;
        u32::from(same_socket) * self.costs.balance_cpu_same_socket.saturating_sub(near)
            + u32::from(cross_socket) * self.costs.balance_cpu_cross_socket.saturating_sub(near)
    }

    /// Taking `tasks` tasks off one runqueue and putting them on another.
    pub(crate) fn move_tasks(&self, tasks: usize) -> u32 {
        let tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
        tasks.saturating_mul(self.costs.detach_task + self.costs.attach_task)
    }

    /// Locking the runqueue of a CPU that is `distance` away and queueing a task there.
    #[inline]
    pub(crate) fn enqueue(&self, distance: Distance) -> u32 {
        let far = match distance {
            Distance::SameCpu => 0,
            Distance::SameCore | Distance::SameLlc => self.costs.remote_enqueue_same_llc,
            _ => self.costs.remote_enqueue_cross_socket,
        };
        self.costs.activate + far
    }

    /// How long a CPU's turn is on a machine whose CPUs take turns, in ns; 0 or 1 on all others.
    #[inline]
    pub(crate) fn quantum(&self) -> u64 {
        u64::from(self.costs.turn)
    }

    /// When an interrupt that another CPU sends arrives, if nothing but the distance delayed it
    /// until `at`. Where CPUs take turns, it waits for the next one ([`Agenda`](crate::agenda::Agenda)).
    #[inline]
    pub(crate) fn on_grid(&self, at: SimTime) -> SimTime {
        match self.costs.ipi_grid {
            grid @ 1.. if self.quantum() <= 1 => SimTime(at.0.next_multiple_of(u64::from(grid))),
            _ => at,
        }
    }

    /// From sending an interrupt to its arrival.
    #[inline]
    pub(crate) fn ipi_delivery(&self, distance: Distance) -> u32 {
        match distance {
            Distance::CrossSocket => self.costs.ipi_cross_socket,
            _ => self.costs.ipi_same_socket,
        }
    }

    /// From storing the need-resched flag of a polling CPU to that CPU's seeing it.
    #[inline]
    pub(crate) fn poll_notice(&self, distance: Distance) -> u32 {
        match distance {
            Distance::SameCpu | Distance::SameCore | Distance::SameLlc => {
                self.costs.poll_notice_same_llc
            }
            _ => self.costs.poll_notice_cross,
        }
    }

    /// From user space to the mutex of a pipe.
    #[inline]
    pub(crate) fn pipe_entry(&self, op: Op) -> u32 {
        let read = matches!(op, Op::Read { .. });
        self.costs.syscall
            + if read { self.costs.pipe_read_entry } else { self.costs.pipe_write_entry }
    }

    /// What turning a page of a pipe takes.
    #[inline]
    pub(crate) fn pipe_page(&self, page: Page) -> u32 {
        match page {
            Page::Stays => 0,
            Page::Begun => self.costs.pipe_new_page,
            Page::Allocated => self.costs.pipe_new_page + self.costs.pipe_alloc_page,
            Page::Ended => self.costs.pipe_old_page,
            Page::Freed => self.costs.pipe_old_page + self.costs.pipe_free_page,
        }
    }

    /// What an op on a pipe leaves to do when it has had its effect.
    #[inline]
    pub(crate) fn pipe_tail(&self, op: Op) -> u32 {
        match op {
            Op::Read { .. } => self.costs.pipe_read_tail,
            Op::Write { .. } => self.costs.pipe_write_tail,
            _ => 0,
        }
    }

    /// A copy of `bytes` to or from a pipe.
    #[inline(always)]
    pub(crate) fn pipe_copy(&self, bytes: u32) -> u32 {
        let copy = (u64::from(bytes) * u64::from(self.costs.copy_per_kib)) >> 10;
        u32::try_from(copy + u64::from(self.costs.pipe_copy)).unwrap_or(u32::MAX)
    }

    /// Copying `bytes` between user space and the kernel, on top of a small copy.
    #[inline]
    pub(crate) fn copy(&self, bytes: u32) -> u32 {
        let ns = (u64::from(bytes) * u64::from(self.costs.copy_per_kib)) >> 10;
        u32::try_from(ns).unwrap_or(u32::MAX)
    }
}

/// What the CPUs that a choice looked at take together, at so much for one of the waker's core, behind its
/// LLC, in its socket and beyond.
#[inline]
fn by_distance(placement: &Placement, prices: &[u32; 4]) -> u32 {
    let Placement { scanned, far: Far { same_core, same_socket, cross_socket }, .. } = *placement;
    if scanned == 0 {
        return 0;
    }
    let same_llc = scanned - same_core - same_socket - cross_socket;
    let looks = [same_core, same_llc, same_socket, cross_socket];
    looks.into_iter().zip(prices).map(|(looks, ns)| u32::from(looks) * ns).sum()
}

#[cfg(test)]
mod tests {
    use simsched_topology::CpuId;

    use super::*;
    use crate::names::Reason;
    use crate::rng::Seed;

    /// On Sapphire Rapids a look is 10 ns and three quarters of a line's transfer, which is 8 ns in the core
    /// and 57 ns behind the LLC.
    #[test]
    fn a_look_at_the_wakers_own_core_has_a_price_of_its_own() {
        let topology = Topology::builtin("spr", None).unwrap();
        let prices = Prices::new(&topology, &jitter(0), &Transfers::new(&topology));
        let far = Far { same_core: 2, ..Far::default() };
        let placement = Placement { scanned: 3, far, ..Placement::at(CpuId(0), Reason(0)) };
        assert_eq!(prices.scan(&placement), 2 * (10 + 6) + (10 + 42));
        assert_eq!(prices.scan_lines(&placement), 2 * 6 + 42);
    }

    fn jitter(jitter_1024: u32) -> Config {
        Config { jitter_1024, ..Config::default() }
    }

    #[test]
    fn the_highest_price_has_jitter_too() {
        let topology = Topology::builtin("t8", None).unwrap();
        let prices = Prices::new(&topology, &jitter(512), &Transfers::free());
        let mut rng = Seed(1).stream("jitter", 0);
        let paid: Vec<u64> = (0..100).map(|_| prices.jittered(&mut rng, u32::MAX).0).collect();
        assert!(paid.iter().all(|ns| (1 << 31..=3 << 31).contains(ns)));
        assert!(paid.iter().any(|ns| *ns > 1 << 32));
    }

    #[test]
    fn jitter_stays_within_its_spread_and_has_the_price_as_its_mean() {
        let topology = Topology::builtin("t8", None).unwrap();
        let prices = Prices::new(&topology, &jitter(51), &Transfers::free());
        let mut rng = Seed(1).stream("jitter", 0);
        let paid: Vec<u64> = (0..10_000).map(|_| prices.jittered(&mut rng, 10_240).0).collect();
        assert!(paid.iter().all(|ns| (9_730..=10_750).contains(ns)));
        let mean = paid.iter().sum::<u64>() / 10_000;
        assert!((10_230..=10_250).contains(&mean), "{mean}");
    }
}
