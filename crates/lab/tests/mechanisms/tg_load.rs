//! "sched/fair: Make tg->load_avg per node", A. Lu, 2023-05-16: one number that all CPUs of a task
//! group write and read.

use simsched_core::{Config, Nanos, Seed, SimTime};
use simsched_topology::{OsCosts, Topology};

use super::{Free, Priced, Run, UPDATE_CFS_GROUP, UPDATE_LOAD_AVG, cut};

/// What `patched` has more than `base`, in percent.
fn more(base: u64, patched: u64) -> i64 {
    i64::try_from(patched).unwrap() * 100 / i64::try_from(base).unwrap() - 100
}

/// A machine on which the two functions take no time of their own: what is left is what lines cost.
fn lines_alone(machine: &str) -> Topology {
    let machine = Topology::builtin(machine, None).unwrap();
    let costs = OsCosts { update_load_avg: 0, update_cfs_group: 0, ..*machine.costs() };
    machine.with_costs(costs)
}

/// Prediction P1.1: what the two functions wait for follows the migrations of wakeups, not the load.
/// Controls: pairs that find their CPUs idle do not migrate, nor do pairs on a machine that has no
/// CPU left; both pay nothing.
#[test]
fn the_load_of_a_group_costs_where_wakeups_migrate() {
    let machine = lines_alone("spr-2x48");
    let crowded = Run::steady_on(&machine, "cfs", 192, Priced);
    assert!(crowded.share() > 200, "{}", crowded.share());
    for nr_pairs in [24, 384] {
        let still = Run::steady_on(&machine, "cfs", nr_pairs, Priced);
        assert!(crowded.wakeup_migrations() > 50 * still.wakeup_migrations(), "{nr_pairs}");
        assert!(still.share() < 30, "{nr_pairs}: {}", still.share());
    }
}

/// Prediction P1.2: the node that does not hold the line pays more of its time for it. Controls:
/// without a preference for waiters at the line's home both pay the same; with a line for each node
/// none is far from its own.
#[test]
fn the_node_far_from_the_line_pays_more_for_it() {
    let fair = |costs: &mut OsCosts| {
        (costs.line_handoff_pct, costs.line_home_reader_pct) = (0, 100);
    };
    let far_over_near = |policy, change: &dyn Fn(&mut OsCosts)| {
        let machine = Topology::builtin("spr-2x48", None).unwrap();
        let mut costs = *machine.costs();
        change(&mut costs);
        let command = "hackbench -g 10 -f 20 -T -p -l 200";
        let run = Run::on(&machine.with_costs(costs), policy, "container", command, Priced);
        let both = [UPDATE_CFS_GROUP, UPDATE_LOAD_AVG];
        run.package(1, &both).1 * 100 / run.package(0, &both).1
    };
    let found = [
        far_over_near("cfs", &|_| {}),
        far_over_near("cfs", &fair),
        far_over_near("cfs+tg_per_node", &fair),
    ];
    assert!(found[0] >= 120, "{found:?}");
    assert!(found[1] * 110 < found[0] * 100 && found[2] * 110 < found[0] * 100, "{found:?}");
}

/// Predictions P1.3 and P1.5: splitting the line pays where it is fought for. Each answered question
/// is two wakeups. Controls: few pairs on the same machine, and a machine whose lines cost nothing.
#[test]
fn a_counter_for_each_node_pays_where_the_line_is_fought_for() {
    let gain = |nr_pairs, model| {
        let machine = Topology::builtin("spr-2x48", None).unwrap();
        let wakeups = |policy| Run::steady_on(&machine, policy, nr_pairs, model).wakeups();
        more(wakeups("cfs"), wakeups("cfs+tg_per_node"))
    };
    let fought_for = gain(192, Priced);
    assert!(fought_for >= 20, "{fought_for} %");
    let few = gain(24, Priced);
    assert!(few.abs() <= 3, "{few} %");
    let free = gain(192, Free);
    assert!(free.abs() <= 3, "{free} %");
}

/// Prediction P1.4: share and throughput are not locked together. On Sapphire Rapids throughput gains
/// more than the readers' share loses (published: +50 % and -5 %); with a database on Ice Lake the share
/// changes and throughput does not (published: +27 % and -0.4 %; the share's sign is not reproduced here).
/// Control: that time saved is share saved is refused in both.
#[test]
fn share_and_throughput_are_not_locked_together() {
    let share = |run: &Run| run.part(&[UPDATE_CFS_GROUP]).max(1);
    let [one, each] = ["cfs", "cfs+tg_per_node"].map(|policy| Run::steady("spr-2x48", policy, 192));
    let (less, throughput) = (more(share(&one), share(&each)), more(one.wakeups(), each.wakeups()));
    assert!(throughput >= 20 && throughput + less >= 10, "{less} % {throughput} %");
    let [one, each] = ["cfs", "cfs+tg_per_node"].map(|policy| {
        let machine = Topology::builtin("icelake", None).unwrap();
        let span = [100, 300].map(|ms| SimTime::ZERO + Nanos::from_millis(ms));
        let config = Config { seed: Seed(1), hardware: Priced, ..Config::default() };
        let command = "sysbench oltp_read_write --threads=128 run";
        Run::between(&machine, policy, "container", command, config, span)
    });
    let (other, throughput) = (more(share(&one), share(&each)), more(one.done(), each.done()));
    assert!(other.abs() >= 5 && throughput.abs() <= 1, "{other} % {throughput} %");
}

/// Prediction P1.6, as far as it is a mechanism: a node without an idle CPU has no wakeup that migrates
/// and writes nothing. That Ice Lake comes to it with a thread for each CPU, in some runs and on one
/// node, is not shown here: it takes twice as many. Control: nodes that have idle CPUs pay.
#[test]
fn a_node_without_idle_cpus_stops_migrating_and_pays_no_writers() {
    let nodes = |machine: &Topology, nr_pairs| {
        let run = Run::steady_on(machine, "cfs", nr_pairs, Priced);
        [0, 1].map(|node| run.package(node, &[UPDATE_LOAD_AVG]))
    };
    let machine = lines_alone("icelake");
    for (busy, writers) in nodes(&machine, 256) {
        assert!(busy >= 9_900 && writers < 50, "busy {busy}, writers {writers}");
    }
    for (busy, writers) in nodes(&machine, 128) {
        assert!(busy < 9_000 && writers > 500, "busy {busy}, writers {writers}");
    }
    // What the function takes itself is calibrated: 2.3 % are the least that was published.
    for (_, writers) in nodes(&Topology::builtin("icelake", None).unwrap(), 256) {
        assert!((200..300).contains(&writers), "writers {writers}");
    }
}

/// Prediction P1.7: where little migrates, a reader that has to sum both nodes' counters pays more
/// than with one, over four seeds. Controls: on one node there is nothing to sum, and where more migrates the
/// writers that keep to their node outweigh it.
#[test]
fn readers_pay_for_the_sum_where_little_migrates() {
    let readers = |machine: &Topology, policy, nr_pairs| {
        let command = format!("netperf -t UDP_RR -n {nr_pairs} -l 0.02");
        let run = |seed| {
            let config = Config { seed: Seed(seed), hardware: Priced, ..Config::default() };
            let whole = [SimTime::ZERO, SimTime::NEVER];
            Run::between(machine, policy, "container", &command, config, whole)
        };
        (1..=4).map(|seed| run(seed).cost(UPDATE_CFS_GROUP)).sum::<u64>()
    };
    let two_nodes = Topology::builtin("icelake", None).unwrap();
    let one_node = cut("icelake", None, &[("sockets = 2", "sockets = 1")]);
    let both =
        |machine, pairs| ["cfs", "cfs+tg_per_node"].map(|policy| readers(machine, policy, pairs));
    let [one, each] = both(&two_nodes, 4);
    assert!(each > one, "{one} {each}");
    let [one, each] = both(&two_nodes, 16);
    assert!(each < one, "{one} {each}");
    let [one, each] = both(&one_node, 4);
    assert_eq!(one, each);
}

/// Prediction P1.8: wakeups migrate where idle CPUs are found: hardly on an idle machine, whose
/// previous CPUs are free, most on a part-idle one, hardly on a full one. Control: nobody is moved to
/// an idle CPU where none is, and the CPUs that are looked at are none where the first is free.
#[test]
fn wakeups_migrate_where_idle_cpus_are_found() {
    let runs = [16, 128, 256].map(|nr_pairs| Run::steady("icelake", "cfs", nr_pairs));
    let [idle, part, full] = &runs;
    let moved = runs.each_ref().map(Run::moved);
    assert!(moved[1] > 100 && moved[0] < 10 && moved[2] < 10, "{moved:?}");
    let found = |run: &Run| {
        ["target", "recent", "sibling", "idle_core", "idle_cpu"].map(|why| run.migrated_for(why))
    };
    assert!(found(part).iter().filter(|count| **count > 0).count() >= 4, "{:?}", found(part));
    assert!(found(full).iter().sum::<u64>() * 100 < full.wakeups(), "{:?}", found(full));
    assert!(idle.looks() < 50 && part.looks() > 100, "{} {}", idle.looks(), part.looks());
}

/// The merged limit and the patch that writes nothing on migration take most of the writers' cost.
#[test]
fn who_writes_less_stalls_less() {
    let stall = |policy| Run::pairs("spr-2x48", policy, 192, Priced).cost(UPDATE_LOAD_AVG);
    let all = stall("cfs");
    for policy in ["cfs+tg_ratelimit", "cfs+tg_nomig"] {
        assert!(stall(policy) * 4 < all, "{policy}");
    }
}
