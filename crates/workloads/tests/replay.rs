//! A scenario of the lab behind those that the lab ran before it.

use std::sync::Arc;

use simsched_core::{Config, MarkId, Observer, Seed, SimTime, Simulator, Start, Status, TaskId};
use simsched_core::{Tracepoint, Workload, World};
use simsched_policies::catalog as policies;
use simsched_topology::{CpuId, Topology};
use simsched_workloads::lab::{Kernel, Lab, RELEASE, START, STOP, WithKthreads};

/// A tick in ns.
const TICK: u64 = 4_000_000;

/// When which mark was passed, and by whom.
#[derive(Debug, Default)]
struct Passed(Vec<(u64, TaskId, MarkId)>);

impl Observer for Passed {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if let Tracepoint::Mark { task, mark } = tracepoint {
            self.0.push((world.now().get(), task, mark));
        }
    }
}

fn run(scenario: &str) -> (Status, Vec<(u64, TaskId, String)>) {
    let topology = Arc::new(Topology::builtin("t8", Some("lab")).unwrap());
    let seed = Seed(3);
    let replay = Lab::new(scenario, 8).unwrap().replay(seed).unwrap();
    let program = WithKthreads::behind(replay, &topology, seed);
    let marks = program.setup().marks;
    let policy = policies::build("cfs@6.1", &[]).unwrap();
    let config = Config { seed, ..Config::default() };
    let mut sim = Simulator::new(topology, policy, program, Passed::default(), config).unwrap();
    let status = sim.run_until(SimTime(60_000_000_000)).unwrap();
    let passed = sim.into_parts().3.0;
    let named = |(at, task, mark): (u64, TaskId, MarkId)| (at, task, marks[mark.idx()].clone());
    (status, passed.into_iter().map(named).collect())
}

#[test]
fn the_tasks_and_marks_of_a_scenario_keep_their_ids_when_others_are_replayed_before_it() {
    let lab = Lab::new("hogs-herd-8", 8).unwrap();
    let alone = lab.build(Seed(1)).unwrap().setup();
    let replayed = lab.replay(Seed(1)).unwrap().setup();
    for (alone, replayed) in alone.tasks.iter().zip(&replayed.tasks) {
        assert_eq!((&alone.name, alone.allowed), (&replayed.name, replayed.allowed));
    }
    for mark in [START, STOP, RELEASE] {
        assert_eq!(alone.marks[mark.idx()], replayed.marks[mark.idx()]);
        let same = |name: &&String| **name == alone.marks[mark.idx()];
        assert_eq!(replayed.marks.iter().filter(same).count(), 1, "others have names of their own");
    }
}

#[test]
fn all_scenarios_that_the_lab_ran_before_are_over_when_one_begins() {
    let (status, passed) = run("forkstorm-2N");
    assert_eq!(status, Status::Finished);
    let at = |name: &str| {
        let times = passed.iter().filter(|(_, _, mark)| mark == name).map(|(at, _, _)| *at);
        times.collect::<Vec<u64>>()
    };
    // Four with pairs, and one storm.
    let (starts, stops) = (at("before: start"), at("before: stop"));
    assert_eq!((starts.len(), stops.len()), (5, 5));
    assert!(starts.iter().skip(1).zip(&stops).all(|(start, stop)| stop < start), "one by one");
    let (start, last) = (at("start")[0], stops[4]);
    // 19.9 to 24 ticks in the hogs' traces, from the last event to the first.
    let gap = (start - last) / TICK;
    assert!((19..=24).contains(&gap), "{gap} ticks");
    // It waits for a grace period, and then prepares for 40 to 490 us.
    assert!((40_000..490_000).contains(&(start % TICK)), "{} ns", start % TICK);
    assert_eq!(at("stop").len(), 1);
}

/// In the lab some 0.1 s, by the console: the tracer is switched on again, and nothing of the counted runs is printed.
#[test]
fn the_traced_runs_of_hackbench_come_behind_the_counted_ones() {
    let (status, passed) = run("hackbench-g1f4l10");
    assert_eq!(status, Status::Finished);
    let at = |name: &str| passed.iter().rfind(|(_, _, mark)| mark == name).unwrap().0;
    assert!(at("before: stop 31") < at("before: start 32"));
    let gap = at("start") - at("before: stop 32");
    assert!((40_000_000..400_000_000).contains(&gap), "{gap} ns");
}

#[test]
fn nothing_is_replayed_before_a_scenario_that_the_lab_did_not_run() {
    let (status, passed) = run("hogs-free-3");
    assert_eq!(status, Status::Finished);
    assert!(passed.iter().all(|(_, _, mark)| !mark.starts_with("before")));
}

/// When tasks were born, and ended.
#[derive(Debug, Default)]
struct Lives {
    forks: Vec<u64>,
    ends: Vec<(TaskId, u64)>,
}

impl Observer for Lives {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        let now = world.now().get();
        match tracepoint {
            Tracepoint::Fork { parent: Some(_), .. } => self.forks.push(now),
            Tracepoint::Exit { task } => self.ends.push((task, now)),
            _ => {}
        }
    }
}

/// A scenario behind all before it under Linux 6.12, on 8 CPUs.
fn lives(scenario: &str, seed: Seed) -> Lives {
    let topology = Arc::new(Topology::builtin("t8", Some("lab-6.12")).unwrap());
    let lab = Lab::new(scenario, 8).unwrap().under(Kernel::V6_12);
    let program = WithKthreads::behind(lab.replay(seed).unwrap(), &topology, seed);
    let policy = policies::build("eevdf@6.12", &[]).unwrap();
    let config = Config { seed, ..Config::default() };
    let mut sim = Simulator::new(topology, policy, program, Lives::default(), config).unwrap();
    sim.run_until(SimTime(20_000_000_000)).unwrap();
    sim.into_parts().3
}

/// 362 to 428 ms in the four recordings where its end is seen, within the first scenarios of a boot.
#[test]
fn a_kernel_of_6_12_still_tests_its_ciphers_when_the_first_scenario_begins() {
    let test = |kernel, scenario| {
        let lab = Lab::new(scenario, 8).unwrap().under(kernel);
        let tasks = lab.replay(Seed(1)).unwrap().setup().tasks;
        tasks.iter().position(|task| task.name == "cryptomgr_test").map(|at| {
            let is_own = matches!(tasks[at].start, Start::Background { cpu: CpuId(0..8), .. });
            assert!(is_own, "{:?}", tasks[at]);
            TaskId::new(at)
        })
    };
    assert_eq!(test(Kernel::V6_1, "pingpong-1"), None);
    assert!(test(Kernel::V6_12, "pingpong-1").is_some());
    let scenario = "periodic-H-stag";
    let lives = lives(scenario, Seed(1));
    // The shell starts the first parent, and that its first child.
    let first = lives.forks[1];
    let test = test(Kernel::V6_12, scenario).unwrap();
    let (_, end) = lives.ends.iter().find(|(task, _)| *task == test).unwrap();
    assert!((350..430).contains(&((end - first) / 1_000_000)), "{} ns", end - first);
}

/// When which mark was passed, and the names of all.
#[derive(Debug)]
struct Named(Vec<(u64, String)>, Vec<String>);

impl Observer for Named {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        if let Tracepoint::Mark { mark, .. } = tracepoint {
            self.0.push((world.now().get(), self.1[mark.idx()].clone()));
        }
    }
}

/// The times from the end of a scenario to the begin of the next one, in the order of the first set.
fn gaps(until: &str, seed: Seed) -> Vec<u64> {
    let topology = Arc::new(Topology::builtin("t8", Some("lab-7.3")).unwrap());
    let lab = Lab::new(until, 8).unwrap().on(&topology).under(Kernel::V7_3);
    let program = WithKthreads::behind(lab.replay(seed).unwrap(), &topology, seed);
    let program = program.under(Kernel::V7_3, &topology);
    let named = Named(Vec::new(), program.setup().marks);
    let policy = policies::build("eevdf@7.3", &[]).unwrap();
    let config = Config { seed, ..Config::default() };
    let mut sim = Simulator::new(topology, policy, program, named, config).unwrap();
    assert_eq!(sim.run_until(SimTime(60_000_000_000)).unwrap(), Status::Finished);
    let passed = sim.into_parts().3.0;
    let at = |name: &str| -> Vec<u64> {
        passed.iter().filter(|(_, mark)| mark.ends_with(name)).map(|(at, _)| *at).collect()
    };
    let (starts, stops) = (at("start"), at("stop"));
    starts[1..].iter().zip(&stops).map(|(start, stop)| start - stop).collect()
}

/// To print the trace of a scenario takes as long as it has lines, those of hogs that preempt each other included. Recorded in
/// six boots of 7.3.4 on `t8`, from the last event of a scenario to the first fork of the next one: 63.7 to 87.5 ms behind
/// `hogs-free-1` to `-9`, 87.4 to 99.5 behind `-12` and 99.5 to 119.5 behind `-16`.
#[test]
fn a_scenario_with_preemptions_has_a_trace_that_takes_longer_to_print() {
    for seed in [1, 2] {
        let gaps = gaps("hogs-herd-4", Seed(seed));
        let recorded = [60..92, 60..92, 60..92, 60..92, 60..92, 60..92, 83..104, 95..124];
        for (gap, recorded) in gaps[gaps.len() - 8..].iter().zip(recorded) {
            let ms = gap / 1_000_000;
            assert!(recorded.contains(&ms), "{ms} ms is not in {recorded:?}: {gaps:?}");
        }
    }
}
