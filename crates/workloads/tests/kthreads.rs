//! The kernel's own threads beside a scenario of the lab, held against what they did there.
//!
//! Numbers are from the traces of kernel 6.1 on `t16`: the first second of the 20 runs of
//! `hogs-free-15` to `-32`, where all CPUs are busy, but for one at times.

use std::sync::Arc;

use simsched_core::{
    Config, Cost, Nanos, Observer, Seed, SimTime, Simulator, Start, Status, TaskId, TaskSpec,
    Tracepoint, Workload, World,
};
use simsched_policies::catalog as policies;
use simsched_topology::{CpuId, CpuSet, Topology};
use simsched_workloads::lab::{Lab, WithKthreads};
use simsched_workloads::{Builder, Dist};

/// A tick in ns.
const TICK: u64 = 4_000_000;

/// Who was woken when, and the times from switch to switch.
#[derive(Debug, Default)]
struct Told {
    wakings: Vec<(u64, String)>,
    since: Vec<u64>,
    turns: Vec<(u64, String)>,
    /// When the tasks ended whose names begin so.
    ends: Vec<u64>,
    /// When ticks of CPU 3 were over.
    ticks: Vec<u64>,
}

impl Observer for Told {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        let now = world.now().get();
        let name = |task: TaskId| world.tasks().name(task).to_owned();
        match tracepoint {
            Tracepoint::Waking { wakee, .. } => self.wakings.push((now, name(wakee))),
            Tracepoint::Charge { cpu: CpuId(3), what: Cost::Tick, .. } => self.ticks.push(now),
            Tracepoint::Exit { task } if name(task).starts_with("ends") => self.ends.push(now),
            Tracepoint::Switch { cpu, prev, .. } => {
                self.since.resize(16, 0);
                let since = std::mem::replace(&mut self.since[cpu.idx()], now);
                self.turns.extend(prev.map(|prev| (now - since, name(prev))));
            }
            _ => {}
        }
    }
}

fn topology(name: &str) -> Arc<Topology> {
    Arc::new(Topology::builtin(name, Some("lab")).unwrap())
}

fn run(scenario: &str, seed: u64) -> (Status, Nanos, Told) {
    let (topology, seed) = (topology("t16"), Seed(seed));
    let program = Lab::new(scenario, 16).unwrap().build(seed).unwrap();
    let program = WithKthreads::new(program, &topology, seed);
    let policy = policies::build("cfs@6.1", &[]).unwrap();
    let config = Config { seed, ..Config::default() };
    let mut sim = Simulator::new(topology, policy, program, Told::default(), config).unwrap();
    let status = sim.run_until(SimTime(20_000_000_000)).unwrap();
    let elapsed = sim.elapsed();
    (status, elapsed, sim.into_parts().3)
}

fn background(topology: &Topology, seed: u64) -> Vec<TaskSpec> {
    let program = Lab::new("pingpong-1", topology.nr_cpus()).unwrap().build(Seed(seed)).unwrap();
    let tasks = WithKthreads::new(program, topology, Seed(seed)).setup().tasks;
    tasks.into_iter().filter(|spec| matches!(spec.start, Start::Background { .. })).collect()
}

fn is_of_a_cpu(name: &str) -> bool {
    name.starts_with("kworker/") && !name.starts_with("kworker/u")
}

#[test]
fn in_a_second_of_busy_cpus_the_threads_wake_up_as_often_as_they_did_in_the_lab() {
    for seed in 1..=3 {
        let (_, _, told) = run("hogs-free-16", seed);
        let count = |of: fn(&str) -> bool| {
            told.wakings.iter().filter(|(at, name)| *at < 1_000_000_000 && of(name)).count()
        };
        for (what, wakeups, range) in [
            ("kworker/N", count(is_of_a_cpu), 14..=28),
            ("kworker/u", count(|name| name.starts_with("kworker/u")), 0..=2),
            ("kcompactd", count(|name| name.starts_with("kcompactd")), 2..=4),
            ("rcu_preempt", count(|name| name == "rcu_preempt"), 4..=9),
        ] {
            assert!(range.contains(&wakeups), "seed {seed}: {wakeups} of {what}");
        }
    }
}

#[test]
fn a_turn_of_a_thread_takes_as_long_as_it_did_in_the_lab() {
    let (_, _, told) = run("hogs-free-16", 1);
    let median = |of: &dyn Fn(&str) -> bool| {
        let mut turns: Vec<u64> =
            told.turns.iter().filter(|(_, name)| of(name)).map(|(ns, _)| *ns).collect();
        turns.sort_unstable();
        turns[turns.len() / 2]
    };
    // From 4 us (rcu_preempt on 8 CPUs) to 6 (a kworker on 16), and 8 and 12.
    let usual = median(&|name| name.starts_with("kcompactd") || name == "rcu_preempt");
    assert!((4_000..7_000).contains(&usual), "{usual}");
    let of_a_cpu = median(&|name| is_of_a_cpu(name) && name != "kworker/0:1");
    assert!((5_000..7_000).contains(&of_a_cpu), "{of_a_cpu}");
    let of_cpu0 = median(&|name| name == "kworker/0:1");
    assert!((8_000..13_000).contains(&of_cpu0), "{of_cpu0}");
}

#[test]
fn a_scenario_ends_when_its_own_tasks_have_ended() {
    let (status, elapsed, told) = run("forkstorm-N", 1);
    assert_eq!(status, Status::Finished);
    assert!(elapsed < Nanos::from_millis(20), "{elapsed:?}");
    assert!(told.wakings.iter().any(|(_, name)| name == "rcu_preempt"));
}

#[test]
fn they_wake_up_at_ticks() {
    let (_, _, told) = run("hogs-free-16", 2);
    let own = |name: &str| name.starts_with('k') || name == "rcu_preempt";
    let woken: Vec<u64> =
        told.wakings.iter().filter(|(_, name)| own(name)).map(|(at, _)| at % TICK).collect();
    assert!(woken.len() > 20);
    assert!(woken.iter().all(|behind| *behind < 50_000), "{woken:?}");
}

/// Where a second has another number of ticks they wake up at those, as often.
#[test]
fn at_another_rate_of_ticks_they_wake_up_at_its_ticks() {
    let wakings = |hz: u32| {
        let (topology, seed) = (topology("t16"), Seed(1));
        let program = Lab::new("hogs-free-16", 16).unwrap().build(seed).unwrap();
        let program = WithKthreads::new(program, &topology, seed).ticking(hz);
        let policy = policies::build("cfs@6.1", &[]).unwrap();
        let config = Config { seed, hz, ..Config::default() };
        let mut sim = Simulator::new(topology, policy, program, Told::default(), config).unwrap();
        sim.run_until(SimTime(20_000_000_000)).unwrap();
        let told = sim.into_parts().3;
        let own = |name: &str| name.starts_with('k') || name == "rcu_preempt";
        told.wakings.iter().filter(|(_, name)| own(name)).map(|(at, _)| *at).collect::<Vec<_>>()
    };
    let usual = wakings(250).len();
    for hz in [100, 300, 1000] {
        let (woken, tick) = (wakings(hz), 1_000_000_000 / u64::from(hz));
        assert!(woken.iter().all(|at| at % tick < 60_000), "{hz}: {woken:?}");
        assert!(woken.len().abs_diff(usual) < 6, "{hz}: {} and {usual}", woken.len());
    }
}

#[test]
fn each_cpu_and_each_node_has_its_thread_which_may_not_leave_it() {
    for (name, cpus, nodes) in [("t16", 16, 2), ("t8", 8, 1)] {
        let topology = topology(name);
        let specs = background(&topology, 1);
        let sleeps =
            |spec: &&TaskSpec| spec.name.starts_with("kworker/") && spec.name.ends_with(":2");
        let far = specs.iter().filter(sleeps).count();
        assert_eq!(specs.len() - far, cpus + nodes + 2);
        let allowed = |name: &str| {
            let spec = specs.iter().find(|spec| spec.name == name).unwrap();
            spec.allowed
        };
        for cpu in topology.cpus().iter() {
            assert_eq!(allowed(&format!("kworker/{cpu}:1")), Some(CpuSet::single(cpu)));
        }
        let last = CpuId::new(cpus - 1);
        let node = topology.node_span(topology.node_of(last));
        assert_eq!(allowed(&format!("kcompactd{}", nodes - 1)), Some(*node));
        assert_eq!(allowed("rcu_preempt"), None);
    }
}

/// Which CPUs of the lab's machines have a timer in the wheel, by what their timers take.
#[test]
fn a_machine_with_one_node_has_far_timers_on_all_cpus_and_another_one_on_some_of_the_boot_cpus_node()
 {
    let cpus = |name: &str| -> Vec<usize> {
        let specs = background(&topology(name), 3);
        let far = specs.iter().filter(|spec| spec.name.ends_with(":2"));
        far.filter_map(|spec| spec.allowed?.first()).map(CpuId::idx).collect()
    };
    assert_eq!(cpus("t8"), Vec::from_iter(0..8));
    let far = cpus("t16");
    assert!(far.contains(&0) && far.contains(&8) && far.iter().all(|cpu| *cpu <= 8), "{far:?}");
}

#[test]
fn the_seed_chooses_where_in_their_periods_a_run_begins() {
    let topology = topology("t16");
    assert_eq!(background(&topology, 1), background(&topology, 1));
    assert_ne!(background(&topology, 1), background(&topology, 2));
}

/// When so many tasks end on CPU 3 of t16, 1 ms apart, when `kworker/3:1` wakes up, and when ticks are over there, in ns;
/// for 80 ms.
fn ends_on_a_cpu(nr_tasks: u32, seed: u64) -> [Vec<u64>; 3] {
    let (cpu, topology) = (CpuId(3), topology("t16"));
    let mut b = Builder::new();
    let proc = b.process("p");
    let own = b.mask(CpuSet::single(cpu));
    for nth in 0..nr_tasks {
        let runs = Dist::Constant(Nanos::from_millis(1));
        let program = b.program("runs", |p| p.run(runs));
        let task = b.start_on(cpu, &format!("ends{nth}"), proc, program, [0; 2]);
        b.allow(task, own);
    }
    let sleeps = Dist::Constant(Nanos::from_millis(80));
    let program = b.program("sleeps", |p| p.sleep(sleeps));
    b.start_on(CpuId(8), "sleeps", proc, program, [0; 2]);
    let program = WithKthreads::new(b.build(Seed(seed)).unwrap(), &topology, Seed(seed));
    let policy = policies::build("cfs@6.1", &[]).unwrap();
    let config = Config { seed: Seed(seed), ..Config::default() };
    let mut sim = Simulator::new(topology, policy, program, Told::default(), config).unwrap();
    sim.run_until(SimTime(200_000_000)).unwrap();
    let told = sim.into_parts().3;
    let wakings = told.wakings.into_iter().filter(|(_, name)| name == "kworker/3:1");
    [told.ends, wakings.map(|(at, _)| at).collect(), told.ticks]
}

/// A CPU keeps two stacks of tasks that ended there. In six boots of the kernel 808 of 881 further ends were followed by
/// the kworker of their CPU, which frees theirs, four to seven ticks later, and 58 eight or nine.
#[test]
fn the_third_task_that_ends_on_a_cpu_and_those_behind_it_have_their_stacks_freed_by_its_kworker() {
    let mut others = 0;
    for seed in 1..=5 {
        let [ends, wakings, _] = ends_on_a_cpu(6, seed);
        assert_eq!(ends.len(), 6);
        for end in &ends[2..] {
            let ticks = |at: u64| (at / TICK).saturating_sub(end / TICK);
            assert!(wakings.iter().any(|at| (4..=9).contains(&ticks(*at))), "{seed}: {wakings:?}");
        }
        // What it does once a second may come in this time, too.
        others += ends_on_a_cpu(2, seed)[1].len();
    }
    assert!(others <= 1, "{others}");
}

/// How many ticks of a CPU there are from the end of the last of so many tasks there to the first one that is left out.
fn ticks_behind_an_end(nr_tasks: u32, seed: u64) -> usize {
    let [ends, _, ticks] = ends_on_a_cpu(nr_tasks, seed);
    let end = ends[nr_tasks as usize - 1];
    let behind: Vec<u64> = ticks.into_iter().filter(|at| *at > end).map(|at| at / TICK).collect();
    (end / TICK + 1..).zip(behind).take_while(|(next, tick)| next == tick).count()
}

/// The tick of an idle CPU goes on while callbacks of RCU wait there: on 255 of 262 CPUs of t16 where a task ended last
/// there were four to eleven ticks more, on 108 of them five.
#[test]
fn behind_an_end_the_tick_of_its_cpu_goes_on_for_the_callbacks_of_rcu() {
    for nr_tasks in [1, 3] {
        let counts = (1..=40).map(|seed| ticks_behind_an_end(nr_tasks, seed));
        let counts: Vec<usize> = counts.filter(|count| *count < 12).collect();
        assert!(counts.len() >= 36, "{nr_tasks}: {counts:?}");
        assert!(counts.iter().all(|count| *count >= 5), "{nr_tasks}: {counts:?}");
        let five = counts.iter().filter(|count| **count == 5).count();
        assert!((4..=32).contains(&five), "{nr_tasks}: {counts:?}");
    }
}
