//! Cache-aware load balancing: the threads of a process gather behind one LLC and stay there, as long as
//! they fit. The claims are those of "Cache aware scheduling", version 4, 2026-04-01.

use std::collections::BTreeMap;
use std::sync::Arc;

use simsched_core::observe::{Digest, LlcSeries, Stats};
use simsched_core::{Cause, Config, Nanos, Seed, SimTime, Simulator, Status, Workload};
use simsched_policies::catalog;
use simsched_topology::{Distance, OsCosts, Topology};
use simsched_workloads::lab::{Kernel, WithKthreads};

/// What came of a run.
struct Gathered {
    digest: u64,
    end: SimTime,
    llcs: LlcSeries,
    /// Tasks that went to another LLC.
    far: u64,
    metrics: BTreeMap<&'static str, u64>,
}

fn run(machine: &str, policy: &str, command: &str, seed: u64) -> Gathered {
    run_on(Topology::builtin(machine, None).unwrap(), policy, command, seed)
}

/// [`run`] where it takes no time to account what a process has run and to come to a scan: what is left is what it
/// decides.
fn run_unaccounted(machine: &str, policy: &str, command: &str) -> Gathered {
    let machine = Topology::builtin(machine, None).unwrap();
    let costs = OsCosts { cache_aware_account: 0, task_work: 0, ..*machine.costs() };
    run_on(machine.with_costs(costs), policy, command, 1)
}

fn run_on(machine: Topology, policy: &str, command: &str, seed: u64) -> Gathered {
    let workload = program(&machine, command, seed);
    run_workload(machine, policy, workload, seed)
}

/// [`run`] beside the threads of the kernel.
fn run_beside_kthreads(machine: &str, policy: &str, command: &str, seed: u64) -> Gathered {
    let machine = Topology::builtin(machine, None).unwrap();
    let kernel = Kernel::named(catalog::parse(policy, &[]).unwrap().kernel().unwrap());
    let workload = WithKthreads::new(program(&machine, command, seed), &machine, Seed(seed));
    let workload = Box::new(workload.under(kernel, &machine));
    run_workload(machine, policy, workload, seed)
}

fn program(machine: &Topology, command: &str, seed: u64) -> Box<dyn Workload + Send> {
    let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let benchmark = simsched_workloads::catalog::parse(&argv, seed, machine.nr_cpus());
    benchmark.unwrap().workload()
}

fn run_workload(
    machine: Topology,
    policy: &str,
    workload: Box<dyn Workload + Send>,
    seed: u64,
) -> Gathered {
    let machine = Arc::new(machine);
    let setup = workload.setup();
    let (procs, tasks) = (setup.procs.len(), setup.tasks.len());
    let stats = Stats::new(&machine, tasks, setup.marks.len());
    let llcs = LlcSeries::new(&machine, tasks, procs, Nanos::from_millis(10));
    let watch = (stats, (llcs, Digest::default()));
    let config = Config { seed: Seed(seed), ..Config::default() };
    let policy = catalog::build(policy, &[]).unwrap();
    let mut sim = Simulator::new(machine, policy, workload, watch, config).unwrap();
    assert_eq!(sim.run_until(SimTime::NEVER).unwrap(), Status::Finished);
    let (world, policy, _, (stats, (mut llcs, digest))) = sim.into_parts();
    llcs.finish(world.now());
    let mut metrics = BTreeMap::new();
    policy.metrics(&mut |name, value| {
        metrics.insert(name, value);
    });
    let by_distance = stats.migrations_by_distance();
    let far = Distance::SameNode as usize..by_distance.len();
    let far = by_distance[far].iter().sum();
    Gathered { digest: digest.value(), end: world.now(), llcs, far, metrics }
}

impl Gathered {
    /// The part of the runtime of all processes that was spent in their homes, in thousandths.
    fn at_home(&self) -> u64 {
        let sums = self
            .llcs
            .rows()
            .iter()
            .fold([0; 2], |[home, all], row| [home + row.at_home.0, all + row.runtime.0]);
        sums[0] * 1000 / sums[1]
    }

    /// The part of the runtime of processes with several threads that was spent where they preferred it,
    /// in thousandths.
    fn preferred(&self) -> u64 {
        self.metrics["llc_runtime_preferred_ns"] * 1000 / self.metrics["llc_runtime_ns"]
    }
}

/// It takes some half a second: the recorded kernel's threads are together for up to 0.9 s wherever they were
/// born, and a shorter run sees nothing leave.
const FITS: &str = "hackbench -g 1 -f 6 -l 200000 --threads --pipe";

/// Predictions 1, 3 and 5, and 9 for what decides the variance: where threads are is no matter of luck.
/// Six pairs of which at most eight threads run at once are what version 4 has room for.
#[test]
fn threads_that_fit_an_llc_do_not_leave_it_whatever_the_seed() {
    for seed in [1, 2, 3] {
        let [plain, patched] =
            ["eevdf@7.0", "cache_aware@v4"].map(|policy| run("genoa-4n32", policy, FITS, seed));
        assert!(patched.preferred() > 940, "{} of 1000", patched.preferred());
        assert!(patched.at_home() >= 999 && plain.at_home() < 995, "{}", plain.at_home());
        assert!(patched.far * 10 < plain.far, "{} moves, {} without", patched.far, plain.far);
    }
}

/// How far the ends of three runs are apart.
fn spread(ends: [u64; 3]) -> u64 {
    ends.iter().max().unwrap() - ends.iter().min().unwrap()
}

/// When three runs of this command end, without cache-aware load balancing and with it.
fn ends(machine: &str, patched: &str, command: &str) -> [[u64; 3]; 2] {
    let end = |policy: &str, seed| run(machine, policy, command, seed).end.get();
    ["eevdf@7.0", patched].map(|policy| [1, 2, 3].map(|seed| end(policy, seed)))
}

/// Predictions 1 and 9: two pairs are faster where they share an LLC. Without it the balancer of an idle
/// machine spreads them in the course of half a second, each time otherwise (published deviations of this cell:
/// 2.9 and 1.2 %).
#[test]
fn staying_behind_one_llc_saves_time() {
    let command = "hackbench -g 1 -f 2 -l 2100000 --threads --pipe";
    let [plain, patched] = ends("genoa-4n32", "cache_aware", command);
    let pairs = plain.into_iter().zip(patched);
    assert!(
        pairs.into_iter().all(|(plain, patched)| patched * 10 < plain * 9),
        "{plain:?} {patched:?}"
    );
    assert!(spread(patched) < spread(plain), "{plain:?} {patched:?}");
}

/// Prediction 9: whether the balancer parts eight pairs within a second is a matter of luck, and no longer
/// with it (published deviations of this cell: 4.69 and 0.03 %).
#[test]
fn staying_behind_one_llc_takes_luck_out_of_time() {
    let command = "hackbench -g 1 -f 8 -l 300000 --threads --pipe";
    let [plain, patched] = ends("spr-2x60", "cache_aware@v4", command);
    assert!(spread(patched) * 5 < spread(plain), "{plain:?} {patched:?}");
}

/// Prediction 2: on both machines what decides is how many threads there are for each CPU of an LLC, 16
/// and 60: with three quarters of one and fewer the process has a preferred LLC and stays there, with two and
/// more it has not for much of the time, however groups and pairs are cut.
#[test]
fn the_knee_is_where_the_llc_ends_on_both_machines() {
    let fits = [
        ("genoa-4n32", "-g 1 -f 4 -l 150000"),
        ("genoa-4n32", "-g 2 -f 2 -l 60000"),
        ("genoa-4n32", "-g 1 -f 6 -l 20000"),
        ("spr-2x30", "-g 4 -f 4 -l 20000"),
        ("spr-2x30", "-g 2 -f 10 -l 10000"),
    ];
    let does_not = [
        ("genoa-4n32", "-g 2 -f 8 -l 50000"),
        ("genoa-4n32", "-g 4 -f 4 -l 100000"),
        ("spr-2x30", "-g 8 -f 8 -l 30000"),
    ];
    let preferred = |(machine, cell): (&str, &str)| {
        let command = format!("hackbench --threads --pipe {cell}");
        run(machine, "cache_aware@v4", &command, 1).preferred()
    };
    let [below, above] = [fits.map(preferred).to_vec(), does_not.map(preferred).to_vec()];
    assert!(below.iter().all(|part| *part > 900), "{below:?} of 1000");
    assert!(above.iter().all(|part| *part < 700), "{above:?} of 1000");
}

/// Prediction 6: eight threads that hardly ever wake each other come to one LLC, by the balancer alone.
#[test]
fn a_model_of_eight_threads_comes_to_run_behind_one_llc() {
    let command = "verilator --threads 8 --cycles 40000";
    let [plain, patched] =
        ["eevdf@7.3", "cache_aware"].map(|policy| run("spr-2x30", policy, command, 1));
    let last = |run: &Gathered| {
        let row = *run.llcs.rows().last().unwrap();
        row.at_home.0 * 1000 / row.runtime.0
    };
    assert!(last(&patched) >= 999 && last(&plain) < 700, "{} {}", last(&patched), last(&plain));
    assert!(patched.end < plain.end);
    // Not by wakeups: those that move there are a handful.
    let by_cause = patched.llcs.rows().iter().fold([0; 2], |[all, wakeups], row| {
        [all + row.into.iter().sum::<u64>(), wakeups + row.into[Cause::Wakeup as usize]]
    });
    assert!(by_cause[0] > 0 && by_cause[1] == 0, "{by_cause:?}");
}

/// Prediction 4, first half: four groups of eight pairs are more than an LLC has cores. The control has
/// no such limit. The first scans come before the average has risen: by the seed an LLC is preferred for a quarter or for
/// half of so short a run, so five seeds are taken together.
#[test]
fn a_process_with_more_running_threads_than_an_llc_has_cores_prefers_none() {
    let command = "hackbench -g 4 -f 8 -l 2000 --threads --pipe";
    let runs = |policy: &str| [1, 2, 3, 4, 5].map(|seed| run("genoa-4n32", policy, command, seed));
    let gated = runs("cache_aware");
    let control = runs("cache_aware+llc_balancing.aggr_tolerance=100");
    assert!(gated.iter().all(|run| run.metrics["llc_scans_stopped"] > 0));
    let preferred = |runs: &[Gathered]| runs.iter().map(Gathered::preferred).sum::<u64>();
    let [with, without] = [&gated, &control].map(|runs| preferred(runs));
    assert!(with * 2 < without, "{with} {without}");
    let free = |runs: &[Gathered]| {
        let sum = |name: &str| runs.iter().map(|run| run.metrics[name]).sum::<u64>();
        sum("llc_runtime_free_ns") * 1000 / sum("llc_runtime_ns")
    };
    assert!(free(&gated) > free(&control) + 200, "{} {}", free(&gated), free(&control));
}

/// Eight threads that spin, one behind each of eight LLCs: no CPU has two tasks and no LLC two busy CPUs, so no tick
/// kicks an idle CPU, and nobody gathers them (fact 8 of CACHE.md; published are 48 % less time with version 4). A
/// `kworker` of a thread's CPU, which has to wait for it until the next tick, is that second task: it gathers them in three
/// of five runs within their second. Under 7.3 it waits 2.75 ms in place of 3.95, by the trace of such a run: the timer of
/// the slice ends that before the tick, and nothing is kicked.
#[test]
fn threads_one_behind_each_llc_are_gathered_where_a_kernel_thread_waits_for_one_of_them() {
    let command = "verilator --threads 8 --cycles 40000";
    let policy = |base: &str| format!("{base}+llc_balancing.aggr_tolerance=100");
    let (v4, merged) = (policy("cache_aware@v4"), policy("cache_aware"));
    let alone = run("genoa-4n32", &v4, command, 1);
    let beside = |it: &str| {
        let run = |seed| run_beside_kthreads("genoa-4n32", it, command, seed).preferred();
        (1..=5).map(run).collect::<Vec<_>>()
    };
    // One of eight is where it should be.
    assert!(alone.preferred() < 150, "{}", alone.preferred());
    assert!(beside(&merged).iter().all(|preferred| *preferred < 150));
    let gathered = beside(&v4).iter().filter(|preferred| **preferred > 200).count();
    assert!(gathered >= 2, "{gathered} of 5");
}

/// Prediction 4, second half: the arrays of STREAM are larger than an LLC, so that version 4 leaves it as
/// it is, event by event but for the time of its accounts. The control takes no notice of memory.
#[test]
fn stream_is_untouched_by_version_4_unless_its_memory_does_not_count() {
    let command = "stream --threads 8";
    let plain = run("genoa-4n32", "eevdf@7.0", command, 1);
    let gated = run_unaccounted("genoa-4n32", "cache_aware@v4", command);
    assert_eq!((gated.digest, gated.preferred()), (plain.digest, 0));
    let control = run("genoa-4n32", "cache_aware@v4+llc_footprint=zero", command, 1);
    assert!(control.digest != plain.digest && control.metrics["llc_preferred"] > 0);
}

/// Processes of one thread are never gathered: they run as without it, but for the time of its accounts and for the
/// scans of version 4, which asks for the second thread later.
#[test]
fn processes_of_one_thread_have_no_preference() {
    let command = "hackbench -g 1 -f 6 -l 5000 --pipe";
    let plain = run("genoa-4n32", "eevdf@7.3", command, 1);
    let [merged, v4] = ["cache_aware", "cache_aware@v4"]
        .map(|policy| run_unaccounted("genoa-4n32", policy, command));
    assert_eq!((merged.digest, merged.metrics["llc_scans"]), (plain.digest, 0));
    assert!(v4.metrics["llc_scans"] > 0);
    for run in [merged, v4] {
        assert_eq!((run.metrics["llc_preferred"], run.metrics["llc_runtime_ns"]), (0, 0));
    }
}

/// With the switch off, or behind one LLC, a run is what it is without the feature.
#[test]
fn without_the_switch_or_the_hardware_every_event_is_the_same() {
    let off = "cache_aware+llc_balancing.enabled=0";
    let digest = |machine, policy| run(machine, policy, "hackbench -g 2 -f 4 -l 1000 -T", 1).digest;
    assert_eq!(digest("genoa-4n32", off), digest("genoa-4n32", "eevdf@7.3"));
    assert_ne!(digest("genoa-4n32", "cache_aware"), digest("genoa-4n32", "eevdf@7.3"));
    assert_eq!(Topology::builtin("t8", None).unwrap().nr_llcs(), 1);
    for (policy, plain) in [("cache_aware", "eevdf@7.3"), ("cache_aware@v4", "eevdf@7.0")] {
        assert_eq!(digest("t8", policy), digest("t8", plain));
    }
}
