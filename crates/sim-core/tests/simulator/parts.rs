//! A run that an observer makes pause, and what is counted of its parts.

use simsched_core::observe::{Digest, Stats};
use simsched_core::testkit::RoundRobin;
use simsched_core::{MarkId, Observer, Op, SimTime, Simulator, Status, Tracepoint, World};
use simsched_topology::{CpuId, Distance};

use super::rig::{config, four_pairs_with};

/// Counts a run as a whole, and by the marks at which it pauses.
struct Parts {
    whole: (Stats, Digest),
    part: Stats,
    at_mark: bool,
}

impl Observer for Parts {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        self.whole.on(world, tracepoint);
        self.part.on(world, tracepoint);
        self.at_mark |= matches!(tracepoint, Tracepoint::Mark { .. });
    }

    fn pauses(&self) -> bool {
        self.at_mark
    }
}

/// All that can be asked of what was counted.
fn told(stats: &Stats) -> String {
    let latencies = (stats.wakeup_latency(), stats.runqueue_wait());
    let counts = [
        stats.context_switches(),
        stats.preemptions(),
        stats.forks(),
        stats.exits(),
        stats.scanned(),
        stats.idle_while_waiting().get(),
    ];
    let by = (
        stats.migrations_by_cause(),
        stats.migrations_by_distance(),
        stats.migrations_by_reason(),
        stats.migrations_by_domain(),
        stats.migrations_by_llc(),
    );
    let wakeups = (stats.wakeups_by_reason(), stats.new_by_reason());
    let spans: Vec<_> = stats.spans().iter().map(|it| (it.lengths(), it.shortest())).collect();
    let time: Vec<_> = (0..8).map(|cpu| stats.cpu_time(CpuId::new(cpu))).collect();
    format!("{latencies:?} {counts:?} {by:?} {wakeups:?} {spans:?} {:?} {time:?}", stats.marks())
}

/// Four pairs on two CPUs pass twelve marks, at instants at which others wait, run and are woken.
#[test]
fn the_parts_of_a_run_add_up_to_the_whole() {
    let (machine, script) = four_pairs_with(300, |task, mut ops| {
        for at in [30, 120, 270] {
            ops.insert(at, Op::Mark(MarkId::new(task % 2)));
        }
        ops
    });
    let spans = [(MarkId(0), MarkId(0)), (MarkId(1), MarkId(1))];
    let new = || Stats::new(&machine, 8, 2).with_spans(&spans);
    let watch = Parts { whole: (new(), Digest::default()), part: new(), at_mark: false };
    let setup = (machine.clone(), Box::new(RoundRobin::default()), script.clone());
    let mut sim = Simulator::new(setup.0, setup.1, setup.2, watch, config()).unwrap();
    let mut parts = Vec::new();
    while sim.run_until(SimTime(10_000_000_000)).unwrap() == Status::Paused {
        let now = sim.world().now();
        sim.observer_mut().at_mark = false;
        // All time up to here is charged, and what else happens at this instant does.
        while sim.run_until(now).unwrap() == Status::Paused {
            sim.observer_mut().at_mark = false;
        }
        // Where CPUs take turns, that is as far as the one that is most ahead.
        let now = sim.world().now();
        parts.push((now, sim.observer_mut().part.restart(now)));
    }
    let watch = sim.observer();
    assert!(parts.len() > 12, "{} parts", parts.len());
    let mut sum = parts[0].1.clone();
    parts[1..].iter().for_each(|(_, part)| sum.merge(part));
    sum.merge(&watch.part);
    assert_eq!(told(&sum), told(&watch.whole.0));
    assert!(sum.context_switches() > 1_000 && sum.spans()[0].lengths().count() > 4);
    assert!(sum.migrations_by_distance()[Distance::ALL.len() - 1] == 0);
    let mut before = SimTime::ZERO;
    for (now, part) in &parts {
        let time: u64 = (0..8).flat_map(|cpu| *part.cpu_time(CpuId::new(cpu))).sum();
        assert_eq!(time, 8 * now.since(before).get(), "all CPU time of the part");
        before = *now;
    }
    // Pauses change nothing.
    let plain = (Stats::new(&machine, 8, 2), Digest::default());
    let setup = (machine.clone(), Box::new(RoundRobin::default()), script);
    let mut once = Simulator::new(setup.0, setup.1, setup.2, plain, config()).unwrap();
    assert_eq!(once.run_until(SimTime(10_000_000_000)), Ok(Status::Finished));
    assert_eq!(once.observer().1.to_string(), watch.whole.1.to_string());
    assert_eq!(once.events(), sim.events());
}
