//! "Adjust the allowed NUMA imbalance when SD_NUMA spans multiple LLCs", drafts of December 2021: where
//! threads start decides where their memory is, and nothing repairs it.

use std::sync::Arc;

use simsched_core::observe::Stats;
use simsched_core::{
    Cause, Config, MarkId, Nanos, Observer, Seed, SimTime, Simulator, Status, Tracepoint, Workload,
    World,
};
use simsched_policies::catalog;
use simsched_topology::{CpuId, Topology};
use simsched_workloads::catalog::{MarkTimes, SpanTimes};

/// Where tasks run first, and who moves them when.
#[derive(Clone, Debug, Default)]
struct Seats {
    first: Vec<Option<CpuId>>,
    /// When all are there: the first mark.
    start: Option<SimTime>,
    /// When tasks were moved, but at a fork.
    moves: Vec<SimTime>,
}

impl Observer for Seats {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        match tracepoint {
            Tracepoint::Running { cpu, task } => {
                self.first.resize(self.first.len().max(task.idx() + 1), None);
                self.first[task.idx()].get_or_insert(cpu);
            }
            Tracepoint::Migrate { cause, .. } if cause != Cause::Fork => {
                self.moves.push(world.now());
            }
            Tracepoint::Mark { mark: MarkId(0), .. } => {
                self.start.get_or_insert(world.now());
            }
            _ => {}
        }
    }
}

/// What came of a program.
struct Placed {
    topology: Arc<Topology>,
    seats: Seats,
    /// Its results by name, and what it reports as its time in ns.
    values: Vec<(&'static str, u64)>,
    elapsed: u64,
}

impl Placed {
    /// On two sockets of Zen 3 in this mode, with the rule for NUMA imbalance.
    fn new(mode: &str, rule: &str, command: &str) -> Placed {
        let topology = Arc::new(Topology::builtin("milan-7763", Some(mode)).unwrap());
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let bench = simsched_workloads::catalog::parse(&argv, 1, topology.nr_cpus()).unwrap();
        let (workload, setup) = (bench.workload(), bench.workload().setup());
        let policy = catalog::build(&format!("cfs@5.16+numa_imbalance={rule}"), &[]).unwrap();
        let stats = Stats::new(&topology, setup.tasks.len(), setup.marks.len());
        let watch = (stats.with_spans(&setup.spans), Seats::default());
        let config = Config { seed: Seed(1), ..Config::default() };
        let mut run = Simulator::new(topology.clone(), policy, workload, watch, config).unwrap();
        assert_eq!(run.run_until(SimTime::NEVER).unwrap(), Status::Finished);
        let (stats, seats) = run.into_parts().3;
        let marks: Vec<MarkTimes> = stats
            .marks()
            .iter()
            .map(|mark| MarkTimes {
                count: mark.count,
                first_ns: mark.first.get(),
                last_ns: mark.last.get(),
            })
            .collect();
        let spans = stats.spans().iter().map(|span| SpanTimes {
            count: span.lengths().count(),
            min_ns: span.shortest().map_or(0, Nanos::get),
            ..SpanTimes::default()
        });
        let result = bench.result(&marks, &spans.collect::<Vec<_>>());
        Placed { topology, seats, values: result.values, elapsed: result.elapsed_ns }
    }

    fn stream(mode: &str, rule: &str, threads: u32, array: u32) -> Placed {
        let sizes = format!("--array-size {array} --ntimes 5");
        Placed::new(mode, rule, &format!("stream --threads {threads} {sizes}"))
    }

    /// How many tasks start on each node.
    fn nodes(&self) -> Vec<u32> {
        let mut nodes = vec![0; self.topology.nr_nodes()];
        for cpu in self.seats.first.iter().flatten() {
            nodes[self.topology.node_of(*cpu).idx()] += 1;
        }
        nodes
    }

    /// How many tasks start in each LLC.
    fn llcs(&self) -> Vec<u32> {
        let mut llcs = vec![0; self.topology.nr_llcs()];
        for cpu in self.seats.first.iter().flatten() {
            llcs[self.topology.llc_of(*cpu).idx()] += 1;
        }
        llcs
    }

    /// Moves after all were there.
    fn later_moves(&self) -> usize {
        let start = self.seats.start.unwrap();
        self.seats.moves.iter().filter(|at| **at > start).count()
    }

    /// One of its results.
    fn value(&self, name: &str) -> u64 {
        self.values.iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// MB/s of a loop.
    fn bandwidth(&self, kernel: &str) -> u64 {
        self.value(kernel)
    }
}

const KERNELS: [&str; 4] =
    ["bandwidth_copy", "bandwidth_scale", "bandwidth_add", "bandwidth_triad"];

/// Predictions P4.2 and P4.6, and the example of the thread: where nodes may differ by 2, the rule that does
/// not count the child starts three on the node that forks, and the fix two on each.
#[test]
fn the_rule_that_forgets_the_child_starts_one_more_where_it_forks() {
    let nodes = |mode, rule, threads| Placed::stream(mode, rule, threads, 4_000_000).nodes();
    assert_eq!(nodes("nps2", "v4.1", 8), [3, 2, 3, 0]);
    assert_eq!(nodes("nps2", "v4.1fix", 8), [2, 2, 2, 2]);
    for mode in ["nps1", "nps2", "nps4"] {
        let first = |rule| nodes(mode, rule, 4)[0];
        assert_eq!([first("v4.1"), first("v4.1fix"), first("v4.2")], [3, 2, 2], "{mode}");
    }
}

/// With the fix sixteen threads on sixteen LLCs have one each, in every mode of the machine.
#[test]
fn threads_that_spread_early_have_an_llc_each() {
    for mode in ["nps1", "nps2", "nps4"] {
        let placed = Placed::stream(mode, "v4.1fix", 16, 4_000_000);
        assert_eq!(placed.llcs(), [1; 16], "{mode}");
    }
}

/// Prediction P4.3: a quarter of 256 CPUs may be taken by one node of 32, which then is all that sixteen
/// threads have; a node's part of what its socket moves, of which STREAM does not count the line that is
/// fetched to be overwritten (three of four arrays).
#[test]
fn before_the_drafts_all_start_on_one_node_and_have_its_memory() {
    let placed = Placed::stream("nps4", "5.16", 16, 64_000_000);
    assert_eq!(placed.nodes(), [16, 0, 0, 0, 0, 0, 0, 0]);
    let socket = placed.topology.facts().bandwidth_gbs.triad_per_socket.as_ref().unwrap();
    let node = socket.rounded() * 1000 / 4;
    let found = placed.bandwidth("bandwidth_triad") * 4 / 3;
    assert!(found <= node && found * 100 >= node * 98, "{found} of {node}");
}

/// Prediction P4.4. Control: with a thread for each CPU all rules fill the machine.
#[test]
fn bandwidth_grows_with_the_nodes_on_which_threads_start() {
    let runs = ["5.16", "v4", "v4.1", "v4.1fix", "v4.2"]
        .map(|rule| Placed::stream("nps4", rule, 16, 64_000_000));
    let used = runs.each_ref().map(|run| run.nodes().iter().filter(|tasks| **tasks > 0).count());
    assert_eq!(used, [1, 4, 8, 8, 8]);
    for kernel in KERNELS {
        let [tip, v4, v4_1, fix, v4_2] = runs.each_ref().map(|run| run.bandwidth(kernel));
        let found = [tip, v4, v4_1, fix, v4_2];
        assert!(tip * 5 < v4 * 4 && v4 * 2 < v4_1 && v4_1 * 5 < fix * 4, "{kernel} {found:?}");
        assert!(fix.abs_diff(v4_2) * 20 < fix, "{kernel} {found:?}");
    }
    let all = ["5.16", "v4.2"]
        .map(|rule| Placed::stream("nps4", rule, 256, 64_000_000).bandwidth("bandwidth_triad"));
    assert!(all[0].abs_diff(all[1]) * 20 < all[0], "{all:?}");
}

/// Prediction P4.2: nodes that differ by no more than they may are left alone for the whole run, be they
/// well filled (two threads each) or not (three on some).
#[test]
fn a_start_within_the_limit_is_never_repaired() {
    for rule in ["v4.1", "v4.1fix", "v4.2"] {
        let placed =
            Placed::new("nps4", rule, "stream --threads 16 --array-size 128000000 --ntimes 10");
        assert_eq!(placed.later_moves(), 0, "{rule}");
    }
}

/// Predictions P4.5 and P4.7: four threads that share data end two and two on the sockets where these may
/// differ by 2, and stay together where they may differ by 4 (`v4` on this machine), which is what such
/// threads want: what they fetch from each other comes from their own socket.
#[test]
fn threads_that_share_data_pay_for_spreading_early() {
    let run = |rule| Placed::new("nps1", rule, "verilator --threads 4 --cycles 3000");
    let (together, apart) = (run("v4"), run("v4.1fix"));
    assert_eq!((together.nodes(), apart.nodes()), (vec![4, 0], vec![2, 2]));
    assert_eq!([together.later_moves(), apart.later_moves()], [0, 0]);
    assert!(apart.elapsed * 100 > together.elapsed * 103, "{} {}", together.elapsed, apart.elapsed);
}

/// Prediction P4.8: a database at NPS1 (there MongoDB, here sysbench's model of MySQL) does as much where the
/// nodes may differ by 2 as where they may differ by 4. Control: the threads do start elsewhere.
#[test]
fn a_database_does_not_tell_a_limit_of_two_from_one_of_four() {
    let run = |rule, threads| {
        let command = format!("sysbench oltp_read_write --threads={threads} --time=1 run");
        let placed = Placed::new("nps1", rule, &command);
        (placed.value("transactions"), placed.nodes())
    };
    for threads in [16, 64] {
        let [(two, early), (four, late)] = ["v4.1fix", "v4"].map(|rule| run(rule, threads));
        assert_ne!(early, late, "{threads} threads");
        assert!(two.abs_diff(four) * 20 < four, "{threads} threads: {two} {four}");
    }
}
