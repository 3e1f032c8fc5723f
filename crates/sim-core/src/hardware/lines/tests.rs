//! The controls of the cost model: what a single server with a queue must show.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::Rng;

use super::*;
use crate::rng::Seed;

/// CPUs that write one line again and again.
struct Loop {
    topology: Topology,
    transfers: Transfers,
    lines: SharedLines,
    cpus: Vec<CpuId>,
}

/// What came of it.
struct Outcome {
    /// From one write to the next, ns.
    service: u64,
    /// Mean stall of the CPUs of each package, ns.
    stall: Vec<u64>,
}

impl Loop {
    /// `change` sets prices; the line's memory is in the first package.
    fn new(machine: &str, nr_cpus: usize, change: impl FnOnce(&mut OsCosts)) -> Loop {
        let topology = Topology::builtin(machine, None).unwrap();
        let mut costs = *topology.costs();
        change(&mut costs);
        let topology = topology.with_costs(costs);
        // Half of the CPUs in each socket, spread over its cores.
        let packages = topology.nr_packages();
        let each = nr_cpus.div_ceil(packages);
        let cpus = (0..packages).flat_map(|package| {
            let span = topology.package_span(PackageId::new(package));
            span.iter().take(each).collect::<Vec<_>>()
        });
        let cpus = cpus.take(nr_cpus).collect();
        let lines = SharedLines::new(&topology, &[PackageId(0)]);
        Loop { transfers: Transfers::new(&topology), topology, lines, cpus }
    }

    /// Writes with up to `think` ns in between, in no fixed order.
    fn run(mut self, think: u64) -> Outcome {
        const WRITES: u64 = 40_000;
        let mut rng = Seed(1).stream("lines", 0);
        let mut next: BinaryHeap<_> = self.cpus.iter().map(|cpu| Reverse((0, cpu.0))).collect();
        let mut stall = vec![(0, 0); self.topology.nr_packages()];
        let mut end = 0;
        for _ in 0..WRITES {
            let Reverse((at, cpu)) = next.pop().unwrap();
            let cpu = CpuId(cpu);
            let access = Access::Write;
            let (topology, transfers) = (&self.topology, &self.transfers);
            let ns = self.lines.touch(topology, transfers, 0, cpu, access, SimTime(at));
            let row = &mut stall[self.topology.package_of(cpu).idx()];
            *row = (row.0 + ns.0, row.1 + 1);
            end = end.max(at + ns.0);
            next.push(Reverse((at + ns.0 + rng.next_u64() % (think + 1), cpu.0)));
        }
        let stall = stall.into_iter().map(|(sum, n): (u64, u64)| sum / n.max(1)).collect();
        Outcome { service: (end + WRITES / 2) / WRITES, stall }
    }
}

fn fifo(costs: &mut OsCosts) {
    (costs.line_handoff_pct, costs.line_queue, costs.line_home_reader_pct) = (0, 0, 100);
}

fn near(found: u64, want: u64, percent: u64) -> bool {
    found.abs_diff(want) * 100 <= want * percent
}

#[test]
fn two_cpus_that_write_one_line_saturate_at_one_transfer() {
    for (machine, transfer) in [("icelake", 51), ("genoa", 27)] {
        let mut both = Loop::new(machine, 2, fifo);
        both.cpus = vec![CpuId(0), CpuId(1)];
        assert_eq!(both.run(0).service, transfer, "{machine}");
    }
}

#[test]
fn one_cpu_that_writes_its_own_line_hits() {
    let alone = Loop::new("spr", 1, fifo).run(0);
    assert_eq!(alone.service, 6);
}

/// Cost model, 3.1: s = (T of the LLC + T far) / 2 on two equal sockets: SPR 104, ICX 80, CLX 90.
#[test]
fn in_order_of_arrival_two_sockets_pay_the_mean_of_near_and_far() {
    for (machine, mean) in [("spr", 104), ("icelake", 80), ("cascadelake", 90)] {
        let service = Loop::new(machine, 64, fifo).run(4_000).service;
        assert!(near(service, mean, 4), "{machine}: {service} for {mean}");
    }
}

/// The same for the 24 LLCs of Genoa: 143 without a home; where the line lives in the other socket,
/// half of the pairs in one socket pay 196 in place of 100.
#[test]
fn in_order_of_arrival_genoa_pays_mostly_far_transfers() {
    let service = Loop::new("genoa", 192, fifo).run(20_000).service;
    assert!(near(service, 165, 4), "{service}");
}

#[test]
fn each_of_n_writers_waits_n_services() {
    for n in [16, 32, 64] {
        let run = Loop::new("spr", n, fifo).run(100);
        let mean = run.stall.iter().sum::<u64>() / 2;
        let thinks = 50;
        assert!(near(mean + thinks, n as u64 * run.service, 5), "{n}: {mean} for {}", run.service);
    }
}

#[test]
fn handing_the_line_to_a_neighbour_lies_between_order_of_arrival_and_one_llc() {
    let service = |percent| {
        let change = move |costs: &mut OsCosts| {
            fifo(costs);
            costs.line_handoff_pct = percent;
        };
        Loop::new("spr", 64, change).run(4_000).service
    };
    let (none, half, most) = (service(0), service(50), service(90));
    assert!(57 < most && most < half && half < none, "{none} {half} {most}");
}

/// Measured: 144 threads of two sockets add to one line every 40 ns, less than a transfer within an LLC
/// takes; and by what Ice Lake's netperf reaches, a line there is served within 62 ns. Control: where
/// every second hand-off goes to a neighbour it takes longer than that. This holds the constant to its source.
#[test]
fn writers_of_two_sockets_have_the_line_as_often_as_was_measured() {
    for machine in ["icelake", "cascadelake"] {
        let service = |percent: Option<u32>| {
            let change = move |costs: &mut OsCosts| {
                costs.line_handoff_pct = percent.unwrap_or(costs.line_handoff_pct);
            };
            Loop::new(machine, 96, change).run(0).service
        };
        let [found, half] = [None, Some(50)].map(service);
        assert!((40..=62).contains(&found) && half > 62, "{machine}: {found} {half}");
    }
}

/// Cost model, 3.1: who writes a line that others have read waits for it and for their copies, also
/// where it comes from a neighbour.
#[test]
fn a_neighbour_that_writes_withdraws_the_copies_of_those_who_read_before() {
    let mut one = Loop::new("spr", 4, |costs| {
        fifo(costs);
        costs.line_handoff_pct = 100;
    });
    let mut touch = |cpu, access| {
        let (topology, transfers) = (&one.topology, &one.transfers);
        one.lines.touch(topology, transfers, 0, CpuId(cpu), access, SimTime::ZERO).0
    };
    let stalls = [touch(1, Access::Write), touch(2, Access::Read), touch(3, Access::Write)];
    assert_eq!(stalls, [57, 2 * 57, 2 * 57 + 57 + 57]);
}

/// Prediction P1.2: the node that does not hold the line stalls about 1.5 times as long.
#[test]
fn who_is_far_from_the_line_waits_longer() {
    let change = |costs: &mut OsCosts| costs.line_queue = 0;
    let stall = Loop::new("spr", 96, change).run(1000).stall;
    assert!(stall[1] * 10 > stall[0] * 13, "{stall:?}");
    let stall = Loop::new("spr", 96, fifo).run(1000).stall;
    assert!(near(stall[1], stall[0], 5), "{stall:?}");
}

/// The same of readers who find the line shared behind a queue of writers, of whom most are elsewhere.
#[test]
fn who_reads_far_from_the_line_waits_longer_too() {
    let topology = Topology::builtin("spr", None).unwrap();
    let transfers = Transfers::new(&topology);
    let far: Vec<CpuId> = topology.package_span(PackageId(1)).iter().collect();
    let reads = |reader: CpuId| {
        let mut lines = SharedLines::new(&topology, &[PackageId(0)]);
        let mut touch =
            |cpu, access| lines.touch(&topology, &transfers, 0, cpu, access, SimTime::ZERO).0;
        far[..20].iter().for_each(|cpu| {
            touch(*cpu, Access::Write);
        });
        touch(far[20], Access::Read);
        touch(reader, Access::Read)
    };
    let [home, elsewhere] = [CpuId(1), far[21]].map(reads);
    assert!(home * 13 < elsewhere * 10, "{home} {elsewhere}");
}

/// Section 3.3: the queue of the home overflows with 192 and more CPUs, not with 128 (64 cores)
/// where half of them compute.
#[test]
fn beyond_its_queue_the_home_of_a_line_gets_slower_for_all_its_socket() {
    let service = |n, queue| {
        let change = move |costs: &mut OsCosts| {
            fifo(costs);
            costs.line_queue = queue;
        };
        Loop::new("spr", n, change).run(2000).service
    };
    assert_eq!(service(64, 80), service(64, 0));
    assert!(service(192, 80) * 10 > service(192, 0) * 15);
}

/// Section 3.3: what overflows is the queue of requests, and who waits to read has sent one, too.
#[test]
fn readers_who_wait_fill_the_queue_of_the_home_like_writers() {
    let topology = Topology::builtin("spr", None).unwrap();
    let transfers = Transfers::new(&topology);
    let slowed = |readers: u16| {
        let mut lines = SharedLines::new(&topology, &[PackageId(0), PackageId(0)]);
        let mut touch = |line, cpu, access| {
            lines.touch(&topology, &transfers, line, CpuId(cpu), access, SimTime::ZERO).0
        };
        (0..40).for_each(|cpu| {
            touch(0, cpu, Access::Write);
        });
        (40..40 + readers).for_each(|cpu| {
            touch(0, cpu, Access::Read);
        });
        touch(1, 3, Access::Write)
    };
    assert_eq!(slowed(40), 57, "80 requests are no more than the queue holds");
    assert!(slowed(140) > 57 * 3 / 2, "180 requests");
}

/// One writer, whose own line it was, needs nobody; nine requests are under way then. They have been
/// answered when the line has come to them.
#[test]
fn what_has_been_answered_fills_no_queue() {
    let topology = Topology::builtin("spr", None).unwrap();
    let transfers = Transfers::new(&topology);
    let mut lines = SharedLines::new(&topology, &[PackageId(0)]);
    let mut touch = |cpu, access, at| {
        lines.touch(&topology, &transfers, 0, CpuId(cpu), access, SimTime(at));
        lines.lines[0].pending()
    };
    touch(0, Access::Write, 0);
    touch(1, Access::Write, 0);
    assert_eq!((2..10).map(|cpu| touch(cpu, Access::Read, 0)).last(), Some(9));
    assert_eq!(touch(11, Access::Write, 100_000), 1);
}

#[test]
fn a_socket_whose_home_overflows_is_slow_for_other_lines_too() {
    let topology = Topology::builtin("spr", None).unwrap();
    let transfers = Transfers::new(&topology);
    let mut lines = SharedLines::new(&topology, &[PackageId(0), PackageId(0), PackageId(1)]);
    let mut touch = |line, cpu| {
        let (cpu, at) = (CpuId(cpu), SimTime::ZERO);
        lines.touch(&topology, &transfers, line, cpu, Access::Write, at).0
    };
    let other = topology.package_span(PackageId(1)).iter().nth(1).unwrap().0;
    let calm = touch(2, other);
    (1..200).for_each(|cpu| {
        touch(0, cpu);
    });
    assert!(touch(1, 40) > 57, "a line of the same home");
    assert!(touch(1, 41) > 57, "which does not end the overflow");
    assert_eq!(calm, 57, "a line of the other socket, before");
}

#[test]
fn readers_share_a_line_until_somebody_writes_it() {
    let topology = Topology::builtin("icelake", None).unwrap();
    let transfers = Transfers::new(&topology);
    let mut lines = SharedLines::new(&topology, &[PackageId(0)]);
    let mut at = 0;
    let mut touch = |cpu, access| {
        at += 10_000;
        lines.touch(&topology, &transfers, 0, CpuId(cpu), access, SimTime(at)).0
    };
    assert_eq!(touch(1, Access::Read), 51, "the first read of a modified line is a transfer");
    assert_eq!(touch(2, Access::Read), 20, "the next one is served by the cache");
    assert_eq!(touch(2, Access::Read), 1, "a copy is at hand");
    let other = topology.package_span(PackageId(1)).first().unwrap().0;
    assert_eq!(touch(other, Access::Read), 44);
    assert_eq!(touch(2, Access::Write), 110, "the farthest copy is withdrawn");
    assert_eq!(touch(2, Access::Write), 6);
    assert_eq!(touch(1, Access::Read), 51);
}
