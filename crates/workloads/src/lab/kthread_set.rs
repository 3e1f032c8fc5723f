//! The threads of the kernel that a machine of the lab has, and how often they wake up.
//!
//! They are the same for all scenarios, by the numbers of CPUs and nodes; the seed chooses where in
//! their periods a run begins. Their timers expire at ticks. What they are and how often they wake up
//! was read from all traces of kernel 6.1 on the machines of 8 and 16 CPUs (297 traces, 287 s), from
//! the wakeups and the times from switch to switch; counts are those of the 16 CPUs, then of the 8.
//!
//! | thread | where | wakeups | a turn (median) |
//! | --- | --- | --- | --- |
//! | `kworker/N:1` | pinned to CPU N | 0.9 and 1.2 in each second of a busy CPU for 2 s, then 0.1; see [`Vmstat`]; and for stacks, see [`Stacks`](super::stacks::Stacks) | 6 and 5 us |
//! | `kworker/0:1` | pinned to CPU 0 | one each second, for ever | 12 and 8 us |
//! | | | under 7.3 one each two seconds more; see [`Psi`](super::psi::Psi) | |
//! | `kworker/uM:1` | everywhere | one each 504 ticks | 40 and 18 us |
//! | `kcompactdX` | pinned to node X | one each 128 ticks | 5 us |
//! | `rcu_preempt` | everywhere | from the first or second tick on 3 to 8, two ticks apart; then 1.4 a second, in pairs | 5 and 4 us |
//! | `kdamond.0` | everywhere, 7.2 and 7.3 only | see [`damon`](super::damon) | 14 us |
//! | `kworker/uM:2`, `kworker/uM:3` | everywhere, in a series only | see [`Rouses`](super::rouses::Rouses) | |
//!
//! A far timer in the wheel of a CPU wakes up nobody in a run, but it has the CPU set its clock twice
//! when it leaves its idle loop. It is a `kworker/N:2` here, which sleeps.
//!
//! Not here are the rarer ones: `ksoftirqd` (0.8 and 0.9 wakeups a second) and `khugepaged`.

use simsched_core::{Nanos, Seed};
use simsched_topology::{CpuId, CpuSet, NodeId, Topology};

use super::draws::Draws;
use super::kthread::{Kthread, PAIRS, Plan, SLOT, TURN, slot_behind};
use super::vmstat::Vmstat;

/// Ticks between two turns of `kcompactdX`: 584 of 586. Those of all nodes are in one tick (179 of 208 times in three boots
/// of 7.3.4), as all begin with the boot.
const KCOMPACTD: u64 = 128;

/// Ticks between two turns of `kworker/uM:1` (`wb_workfn()`).
const UNBOUND: u64 = 504;

/// How many wakeups of `rcu_preempt` the births of a scenario cause, with how many traces of each (6.1).
pub(super) const LOOKS: &[(u64, u32)] = &[(3, 34), (4, 75), (5, 46), (6, 8), (7, 34), (8, 3)];
/// How many wakeups of `rcu_preempt` the births of a scenario cause under 7.3, with how many scenarios of each: those that
/// take longer in five recordings and five boots of 7.3.4 (8 and 16 CPUs), up to the first look that is more than four
/// ticks behind the one before. On 16 CPUs they grow with the births, from 5 to 7 with one up to 15; here any scenario
/// may have any of them.
pub(super) const LOOKS_OF_7_3: &[(u64, u32)] = &[
    (3, 2),
    (4, 1),
    (5, 24),
    (6, 59),
    (7, 61),
    (8, 45),
    (9, 44),
    (10, 16),
    (11, 4),
    (12, 7),
    (13, 3),
    (14, 2),
    (15, 2),
];
/// How many wakeups of `rcu_preempt` the births of a scenario of the lab's cache set cause, with how many scenarios of each
/// (two boots of 7.3.4 on `s2d2`). There they grow with the births; here any scenario may have any of them.
pub(super) const LOOKS_OF_CACHE_SET: &[(u64, u32)] =
    &[(3, 2), (4, 7), (5, 6), (6, 16), (7, 1), (8, 9), (9, 2), (10, 1)];
/// Whether the first of them is in the first tick of a scenario or in the second, in traces of 6.1, 6.12 and 7.3 (8 and 16
/// CPUs; three of 7.3 have it in the third): a grace period may be under way when the scenario begins.
pub(super) const FIRST: [[u32; 2]; 3] = [[148, 29], [137, 38], [176, 140]];

/// What a turn of `kworker/0:1` takes, as [`TURN`] is what one of the others does.
const TURN_CPU0: Nanos = Nanos(7_200);
/// Likewise of `kworker/uM:1`.
const TURN_UNBOUND: Nanos = Nanos(26_200);

/// What `rcu_preempt` does in a scenario, with so many looks, where the first tick and the second have these chances to be
/// its first.
pub(super) fn grace_of(draws: &mut Draws, looks: &[(u64, u32)], [first, second]: [u32; 2]) -> Plan {
    let (looks, later) = (draws.weighted(looks), 20 + draws.below(PAIRS));
    let is_second = draws.below(u64::from(first + second)) >= u64::from(first);
    Plan::Grace { first: 1 + u64::from(is_second), looks, later }
}

/// Where these threads were at the first scenario of the set with probes under 7.3.4: `rcu_preempt` behind the LLC of the
/// boot CPU, CPU 0 (six of seven boots of `s2d2`), `kcompactdX` behind the first LLC of its node (all seven) or,
/// where there is but one node, behind another one than that of the boot CPU (both boots of `n2x8`).
pub(super) fn sleep_where_seen(threads: &mut [Kthread], topology: &Topology, seed: Seed) {
    let mut draws = Draws(seed.stream("kthreads slept", 0));
    threads[0].slept_on(draws.cpu(&llc_of(topology, CpuId(0))));
    for node in (0..topology.nr_nodes()).map(NodeId::new) {
        let llc = first_llc(topology, node);
        threads[1 + node.idx()].slept_on(draws.cpu(&llc));
    }
}

/// The kernel threads of a machine, in the order of their ids.
pub(super) fn threads(topology: &Topology, vmstat: &Vmstat, seed: Seed) -> Vec<Kthread> {
    let draws = &mut Draws(seed.stream("kthreads", 0));
    let (all, nr_cpus) = (topology.cpus(), topology.nr_cpus());
    let thread = Kthread::new;
    let grace = grace_of(draws, LOOKS, [1, 0]);
    let mut threads = vec![thread("rcu_preempt".to_owned(), draws.cpu(all), None, grace, TURN)];
    // Timers of the second level of the wheel expire where a slot ends, on all CPUs in the same ticks.
    let slots = |period: u64, draws: &mut Draws| {
        let due = vmstat.jiffies() + SLOT * draws.below(period / SLOT);
        Plan::Periodic { first: slot_behind(due) - vmstat.jiffies(), period }
    };
    let plan = slots(KCOMPACTD, draws);
    for node in (0..topology.nr_nodes()).map(NodeId::new) {
        let span = topology.node_span(node);
        let cpu = draws.cpu(span);
        threads.push(thread(format!("kcompactd{node}"), cpu, Some(*span), plan, TURN));
    }
    let plan = slots(UNBOUND, draws);
    let name = format!("kworker/u{}:1", 2 * nr_cpus);
    threads.push(thread(name, draws.cpu(all), None, plan, TURN_UNBOUND));
    for cpu in all.iter() {
        let turn = if cpu == CpuId(0) { TURN_CPU0 } else { TURN };
        let plan = Plan::Counters { next: vmstat.first(cpu.idx()) };
        let own = Some(CpuSet::single(cpu));
        threads.push(thread(format!("kworker/{cpu}:1"), cpu, own, plan, turn));
    }
    for cpu in all.iter().filter(|cpu| has_timer(topology, *cpu, draws)) {
        let name = format!("kworker/{cpu}:2");
        threads.push(thread(name, cpu, Some(CpuSet::single(cpu)), Plan::Never, TURN));
    }
    threads
}

/// Whether a far timer has been in the wheel of `cpu` since the boot. Where one is, a task that a timer
/// wakes up runs 7.38 us behind it, else 7.03 (`lat_p50_ns` of `periodic`): 24 of 24 on the machine
/// with one node; else 5 of 5 on the first CPU of a node, 12 of 21 on the others of the boot CPU's node and
/// none of 18 elsewhere.
fn has_timer(topology: &Topology, cpu: CpuId, draws: &mut Draws) -> bool {
    let node = topology.node_of(cpu);
    let is_first = topology.node_span(node).first() == Some(cpu);
    topology.nr_nodes() == 1 || is_first || node.idx() == 0 && draws.below(21) < 12
}

/// The CPUs of the LLC of `cpu`.
pub(super) fn llc_of(topology: &Topology, cpu: CpuId) -> CpuSet {
    *topology.llc_span(topology.llc_of(cpu))
}

/// The first LLC of a node; the second one, where there is but one node, and that has more.
pub(super) fn first_llc(topology: &Topology, node: NodeId) -> CpuSet {
    let span = topology.node_span(node);
    let first = llc_of(topology, span.first().unwrap_or(CpuId(0)));
    let others = span.minus(&first);
    match others.first() {
        Some(other) if topology.nr_nodes() == 1 => llc_of(topology, other),
        _ => first,
    }
}
