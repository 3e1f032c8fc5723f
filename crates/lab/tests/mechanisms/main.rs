//! What the authors of published patches say about causes, seen inside short runs, each with a
//! control in which it must not appear. The numbers of the claims themselves are held by
//! `simsched validate claims/`.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::Arc;

use simsched_core::observe::Stats;
use simsched_core::{
    Cause, Config, Cost, HardwareModel, Seed, SimTime, Simulator, Status, Workload,
};
use simsched_policies::catalog;
use simsched_topology::Topology;

/// What came of a run.
struct Run {
    stats: Stats,
}

impl Run {
    fn new(machine: &str, policy: &str, group: &str, command: &str, model: HardwareModel) -> Run {
        let topology = Topology::builtin(machine, None).unwrap();
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let benchmark = simsched_workloads::catalog::parse(&argv, 1, topology.nr_cpus()).unwrap();
        let workload = benchmark.workload();
        let setup = workload.setup();
        let settings = [("group".to_owned(), group.to_owned())];
        let policy = catalog::build(policy, &settings).unwrap();
        let stats = Stats::new(&topology, setup.tasks.len(), setup.marks.len());
        let config = Config { seed: Seed(1), hardware: model, ..Config::default() };
        let mut run = Simulator::new(Arc::new(topology), policy, workload, stats, config).unwrap();
        assert_eq!(run.run_until(SimTime::NEVER).unwrap(), Status::Finished);
        Run { stats: run.into_parts().3 }
    }

    /// A run of so many pairs that ask and answer, for 5 ms.
    fn pairs(machine: &str, policy: &str, nr_pairs: u32, model: HardwareModel) -> Run {
        let command = format!("netperf -t UDP_RR -n {nr_pairs} -l 0.005");
        Run::new(machine, policy, "container", &command, model)
    }

    /// The part of the busy CPU time that went into the two functions, in thousandths.
    fn share(&self) -> u64 {
        let spent = self.stats.total_cpu_time();
        let idle = spent[Cost::Idle as usize] + spent[Cost::IdleExit as usize];
        let both = spent[Cost::UpdateCfsGroup as usize] + spent[Cost::UpdateLoadAvg as usize];
        both * 1000 / (spent.iter().sum::<u64>() - idle)
    }

    fn wakeup_migrations(&self) -> u64 {
        self.stats.migrations_by_cause()[Cause::Wakeup as usize]
    }
}

use HardwareModel::{Free, Priced};

/// Prediction P1.1: what the two functions cost follows the migrations of wakeups, not the load.
/// Control: pairs that find their CPUs idle do not migrate, and pay nothing.
#[test]
fn the_load_of_a_group_costs_where_wakeups_migrate() {
    let crowded = Run::pairs("spr-2x48", "cfs", 192, Priced);
    let alone = Run::pairs("spr-2x48", "cfs", 24, Priced);
    assert!(crowded.wakeup_migrations() > 50 * alone.wakeup_migrations());
    assert!(crowded.share() > 200, "{}", crowded.share());
    assert!(alone.share() < 10, "{}", alone.share());
}

/// Predictions P1.3 and P1.5: splitting the line pays where it is fought for. Each answered question
/// is two wakeups. Controls: few pairs on the same machine, and a machine whose lines cost nothing.
#[test]
fn a_counter_for_each_node_pays_where_the_line_is_fought_for() {
    let gain = |nr_pairs, model| {
        let wakeups = |policy| Run::pairs("spr-2x48", policy, nr_pairs, model).stats.wakeups();
        let (one, each) = (wakeups("cfs"), wakeups("cfs+tg_per_node"));
        i64::try_from(each).unwrap() * 100 / i64::try_from(one).unwrap() - 100
    };
    let fought_for = gain(192, Priced);
    assert!(fought_for >= 20, "{fought_for} %");
    let few = gain(24, Priced);
    assert!(few.abs() <= 3, "{few} %");
    let free = gain(192, Free);
    assert!(free.abs() <= 3, "{free} %");
}

/// The merged limit and the patch that writes nothing on migration take most of the writers' cost.
#[test]
fn who_writes_less_stalls_less() {
    let stall = |policy| {
        let spent = Run::pairs("spr-2x48", policy, 192, Priced).stats.total_cpu_time();
        spent[Cost::UpdateLoadAvg as usize]
    };
    let all = stall("cfs");
    for policy in ["cfs+tg_ratelimit", "cfs+tg_nomig"] {
        assert!(stall(policy) * 4 < all, "{policy}");
    }
}

/// The seed of `WAKEUP_BIAS_PREV`: wakeups jump to idle CPUs although the previous one has room, and
/// each jump costs a refill.
#[test]
fn a_bias_for_the_previous_cpu_saves_migrations_and_refills() {
    let command = "hackbench -g 16 -f 20 -T -p -l 250";
    let run = |policy| Run::new("genoa", policy, "root", command, Priced);
    let (plain, biased) = (run("cfs"), run("cfs+wakeup_bias_prev"));
    assert!(biased.wakeup_migrations() * 4 < plain.wakeup_migrations());
    let refill = |run: &Run| run.stats.total_cpu_time()[Cost::Refill as usize];
    assert!(refill(&biased) * 2 < refill(&plain));
}

/// Closed queues: nobody can wait longer for a line than all others need it for. The bound is what two
/// levels of groups can at most add to one: as many waits again, for lines as contended as the first.
#[test]
fn a_second_level_of_groups_at_most_doubles_what_the_lines_cost() {
    let command = "hackbench -g 10 -f 20 -T -p -l 200";
    let spent = |group| {
        let run = Run::new("spr-2x48", "cfs", group, command, Priced);
        let spent = run.stats.total_cpu_time();
        let lines = spent[Cost::UpdateCfsGroup as usize] + spent[Cost::UpdateLoadAvg as usize];
        let busy = spent.iter().sum::<u64>() - spent[Cost::Idle as usize];
        (lines, busy)
    };
    let (one, busy) = spent("nested:1");
    let (two, busy_with_two) = spent("nested:2");
    assert!(one * 50 > busy, "{one} of {busy} ns: the lines are contended");
    assert!(two < 2 * busy && busy_with_two < 2 * busy, "{two} and {busy_with_two} for {busy}");
}
