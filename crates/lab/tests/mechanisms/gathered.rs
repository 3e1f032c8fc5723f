//! Whether the threads of one hackbench stay behind one LLC, beside a kernel 7.3.4 on virtual machines of two
//! sockets with one LLC each, cache-aware scheduling off and on: kernel-lab/CACHE.md, the tables of
//! hackbench, two seeds where there are two.

use std::sync::Arc;

use simsched_core::observe::LlcSeries;
use simsched_core::{Cause, Config, Launcher, Nanos, Seed, SimTime, Simulator, Status, Workload};
use simsched_policies::catalog;
use simsched_topology::Topology;

/// A machine of the lab whose prices are those of 7.3, nothing traced.
fn machine(name: &str) -> Arc<Topology> {
    Arc::new(Topology::builtin(name, Some("untraced-7.3")).unwrap())
}

/// What came of `hackbench -T -p -g 1`, which is started as in the lab.
struct Cell {
    seconds: f64,
    /// Tasks that were taken to the other LLC while they ran.
    active: u64,
    /// All that went to the other LLC.
    moves: u64,
    /// The part of the run time outside the LLC where most of it was, by intervals of 10 ms.
    outside: f64,
}

#[expect(clippy::cast_precision_loss, reason = "ns of a few seconds")]
fn run(machine: &Arc<Topology>, policy: &str, [pairs, loops]: [u32; 2], seed: u64) -> Cell {
    let command = format!("hackbench -T -p -g 1 -f {pairs} -l {loops}");
    let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let benchmark = simsched_workloads::catalog::parse(&argv, 1, machine.nr_cpus()).unwrap();
    let workload = benchmark.workload();
    let setup = workload.setup();
    let (procs, tasks) = (setup.procs.len(), setup.tasks.len());
    let llcs = LlcSeries::new(machine, tasks, procs, Nanos::from_millis(10));
    let config = Config {
        seed: Seed(seed),
        launcher: Some(Launcher::Lab),
        jitter_1024: 0,
        irq_accounting: false,
        ..Config::default()
    };
    let policy = catalog::build(policy, &[]).unwrap();
    let mut sim = Simulator::new(machine.clone(), policy, workload, llcs, config).unwrap();
    assert_eq!(sim.run_until(SimTime::NEVER), Ok(Status::Finished));
    let (world, _, _, mut llcs) = sim.into_parts();
    llcs.finish(world.now());
    let mut cell = Cell { seconds: world.now().0 as f64 / 1e9, active: 0, moves: 0, outside: 0.0 };
    let (mut home, mut all) = (0, 0);
    for row in llcs.rows() {
        cell.active += row.moves[Cause::Active as usize];
        cell.moves += row.moves.iter().sum::<u64>();
        (home, all) = (home + row.at_home.0, all + row.runtime.0);
    }
    cell.outside = 1.0 - home as f64 / all as f64;
    cell
}

/// A running thread is taken away by active balance of the NUMA level, as often as recorded, within a factor of
/// 1.5: on 64 CPUs some 3 a second, 1 in the only run of 0.58 s (4 threads), and 2 in 1.05 s (16); on 32 CPUs
/// 2 in 0.43 s and 4 in 0.99 s (16). One move more or less is chance, none is not. What does not hold is in docs/trust.md.
#[test]
fn a_gathered_baseline_loses_a_thread_as_often_as_recorded() {
    let [small, large] = ["s2x8", "s2x16"].map(machine);
    let cells = [
        (&large, 2, 200_000, [1.7, 3.0]),
        (&large, 8, 75_000, [1.9, 1.9]),
        (&small, 8, 70_000, [4.0, 4.7]),
    ];
    for (machine, pairs, loops, [least, most]) in cells {
        let runs = [1, 2, 3].map(|seed| run(machine, "eevdf@7.3", [pairs, loops], seed));
        let seconds: f64 = runs.iter().map(|off| off.seconds).sum();
        let active: u64 = runs.iter().map(|off| off.active).sum();
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let a_second = active as f64 / seconds;
        let one = 1.0 / seconds;
        let holds = (least / 1.5 - one..=most * 1.5 + one).contains(&a_second);
        assert!(holds, "{pairs} pairs, {} CPUs: {a_second:.1} a second", machine.nr_cpus());
    }
}

/// Enabled, nothing leaves that fits: 0 moves on 32 CPUs (4 threads) and on 64 (16), and 28 in 1.95 s, by which
/// 0.009 of 8 threads are outside in the mean. Sixteen threads behind an LLC of 16 CPUs do not fit, and leave as without it.
#[test]
fn enabled_what_fits_stays_and_what_does_not_leaves() {
    let [small, large] = ["s2x8", "s2x16"].map(machine);
    for (machine, pairs, loops) in [(&small, 2, 300_000), (&large, 4, 140_000), (&large, 8, 70_000)]
    {
        let on = run(machine, "cache_aware@7.3", [pairs, loops], 1);
        assert!(
            on.outside <= 0.009 / 8.0 && on.moves <= 28,
            "{pairs}: {} {}",
            on.outside,
            on.moves
        );
    }
    let on = run(&small, "cache_aware@7.3", [8, 70_000], 1);
    assert!(on.active > 0 && on.outside > 0.01, "{} {}", on.active, on.outside);
}
