//! What holds across the patches.

use simsched_core::{Cost, Seed};
use simsched_topology::OsCosts;

use super::{Priced, Run, UPDATE_CFS_GROUP, UPDATE_LOAD_AVG, two_ccx};

/// Invariant I2: a migration costs three things, work on another CPU's runqueue, the line of
/// tg->load_avg and a refill. Each can be taken away alone, and the others stay: the control.
#[test]
fn the_three_costs_of_a_migration_are_separate() {
    const PARTS: [Cost; 4] = [Cost::RqLock, Cost::Refill, UPDATE_LOAD_AVG, UPDATE_CFS_GROUP];
    let run = |change: fn(&mut OsCosts)| {
        let machine = two_ccx();
        let mut costs = *machine.costs();
        change(&mut costs);
        let command = "hackbench -g 3 -f 20 -T -p -l 100";
        let run = Run::on(&machine.with_costs(costs), "cfs", "container", command, Priced);
        PARTS.map(|part| run.cost(part))
    };
    let all = run(|_| {});
    assert!(all.iter().all(|part| *part > 0), "{all:?}");
    let without_rq = run(|costs| {
        (costs.rq_lines, costs.rq_lock_hold) = (0, 0);
        (costs.wakee_lines, costs.handoff_lines, costs.handoff_taken_lines) = (0, 0, 0);
    });
    assert!(without_rq[0] * 3 < all[0], "what is left is waiting: {all:?} {without_rq:?}");
    let without_refill = run(|costs| costs.private_lines = 0);
    assert_eq!(without_refill[1], 0);
    for (part, rest) in [(0, without_rq), (1, without_refill)] {
        let others = (0..4).filter(|other| *other != part);
        assert!(others.into_iter().all(|other| rest[other] * 4 > all[other]), "{all:?} {rest:?}");
    }
    // In the root group nobody tells a group's load.
    let root = Run::on(&two_ccx(), "cfs", "root", "hackbench -g 3 -f 20 -T -p -l 100", Priced);
    assert_eq!([root.cost(UPDATE_LOAD_AVG), root.cost(UPDATE_CFS_GROUP)], [0, 0]);
    assert!(root.cost(Cost::Refill) > 0 && root.cost(Cost::RqLock) > 0);
}

/// Invariant I3: effects have a window of load. That of tg->load_avg begins where pairs no longer have
/// CPUs to themselves and ends where no CPU is idle: the edges are the controls. Where all CPUs are
/// taken, a run keeps for long the placement that it began with, and its throughput is off by up to 15 %.
#[test]
fn a_line_for_each_node_pays_between_half_and_full_load_only() {
    let gain = |(nr_pairs, seeds)| {
        let wakeups = |policy| -> i64 {
            let run = |seed| Run::seeded("spr-2x48", policy, nr_pairs, Seed(seed)).wakeups();
            (1..=seeds).map(|seed| i64::try_from(run(seed)).unwrap()).sum()
        };
        wakeups("cfs+tg_per_node") * 100 / wakeups("cfs") - 100
    };
    let [below, inside, beyond] = [(72, 1), (168, 1), (384, 5)].map(gain);
    assert!(below.abs() <= 3 && inside >= 20, "{below} {inside}");
    assert!(beyond.abs() * 4 <= inside, "{beyond} {inside}");
}
