//! The lab's scenarios of threads that are restricted to LLCs, ask each other, or come and go, held against
//! kernel-lab/CACHE.md and the recordings of kernel 7.3.4 on `n2x8` and `s2x8` (`lockstep-s1`, `-s2`).

use std::sync::Arc;

use simsched_core::{
    Config, MarkId, Nanos, Observer, Op, Outcome, Seed, Setup, SimTime, Simulator, Status, TaskId,
    Tracepoint, Workload, World,
};
use simsched_policies::catalog as policies;
use simsched_topology::{CpuSet, LlcId, Topology};
use simsched_workloads::lab::{Lab, Latency, RELEASE, START};

fn machine(name: &str) -> Topology {
    Topology::builtin(name, None).unwrap()
}

fn lab(name: &str, topology: &Topology) -> Lab {
    Lab::new(name, topology.nr_cpus()).unwrap().on(topology)
}

fn setup(name: &str) -> Setup {
    lab(name, &machine("n2x8")).build(Seed(1)).unwrap().setup()
}

/// Names of tasks, and how many the `NAME.json` of the scenario lists: the launcher is not among them, nor
/// is a first thread that only waits.
#[test]
fn tasks_are_those_of_the_lab() {
    let processes = "p0main p0t00 p0t01 p0t02 p0t03 p1main p1t00 p1t01 p1t02 p1t03";
    let named = [
        ("th-spread-2", "p0t00 p0t01", 2),
        ("th-load-2", "p0t00 p0t01 p0t02 p0t03 p1t00 p1t01", 6),
        ("pc-1x1", "w000 c000", 2),
        ("pc-1x4", "w000 c000 c001 c002 c003", 5),
        ("tpp-1", "lab a000 b000", 2),
        ("life-exit", "p0t00 p0t01 p0t02 p0t03 p0t04", 5),
        ("life-fork", processes, 8),
        ("life-exec", "p0main p0t00 p0t01 p0t02 p0t03 p1t00 p1t01 p1t02 p1t03", 8),
    ];
    for (name, tasks, listed) in named {
        let all = setup(name).tasks;
        let names = all.iter().map(|task| task.name.as_str()).collect::<Vec<_>>().join(" ");
        assert_eq!(names, format!("lab {tasks}"), "{name}");
        let topology = machine("n2x8");
        let lab = lab(name, &topology);
        let reports = (0..all.len()).filter(|nth| lab.reports(TaskId::new(*nth))).count();
        assert_eq!(reports, listed, "{name}");
        assert_eq!(lab.nr_tasks() as usize, all.len(), "{name}");
    }
    for (name, tasks) in [("th-sload-4", 8), ("pr-2x4-same", 8), ("tpp-4", 9), ("life-grow", 13)] {
        assert_eq!(setup(name).tasks.len(), 1 + tasks, "{name}");
    }
    for name in ["th-spread-2", "th-load-4", "pr-2x4-same"] {
        assert_eq!(setup(name).marks[2..], ["release"], "{name}");
    }
    assert_eq!(setup("sl-spread-4-2-2").marks[2..], ["release", "run"]);
}

#[test]
fn an_incomplete_name_is_refused_with_the_nearest() {
    let wrong = "th-spread th-load-0 th-sload-x pr-2x4-other pr-same sl-spread-4-2 sl-spred-4-2-2 pc-2x1 \
        pc-1 pc-1x0 tpp tpp-0 tpp-10001 life life-exe life-5 th-spread-4-4";
    for name in wrong.split_whitespace() {
        let refusal = Lab::new(name, 16).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refusal.starts_with("there is no scenario `"), "{name}: {refusal}");
    }
    let nearest = Lab::new("life-grov", 16).unwrap_err().to_string();
    assert!(nearest.contains("`lab:life-grow`"), "{nearest}");
}

/// By task: the masks that it gives to whom, in its first ops.
fn pins(lab: &Lab, task: u32) -> Vec<(u32, CpuSet)> {
    let mut programs = lab.build(Seed(1)).unwrap();
    let masks = programs.setup().masks;
    // A clock that is past every deadline ends what computes until one.
    let ops = (0..200).map(|_| programs.next_op(TaskId(task), SimTime::NEVER, Outcome::Done));
    let ops = ops.take_while(|op| *op != Op::Exit);
    ops.filter_map(|op| match op {
        Op::SetAffinity { task, mask } => Some((task.0, masks[mask.idx()])),
        _ => None,
    })
    .collect()
}

/// CACHE.md: "thread i restricts itself at birth to LLC i mod nLLC"; all are widened by the launcher.
#[test]
fn spread_threads_restrict_themselves_to_the_llcs_in_turn() {
    for (name, llcs) in [("n2x8", 2), ("s2d2", 4)] {
        let topology = machine(name);
        let all = CpuSet::first_n(topology.nr_cpus());
        for scenario in ["th-spread-6", "sl-spread-6-2-2"] {
            let lab = lab(scenario, &topology);
            assert_eq!(pins(&lab, 0), (1..=6).map(|task| (task, all)).collect::<Vec<_>>());
            for i in 0..6_u32 {
                let llc = *topology.llc_span(LlcId::new(i as usize % llcs));
                assert_eq!(pins(&lab, 1 + i), [(1 + i, llc)], "{scenario} on {name}");
            }
            let tasks = lab.build(Seed(1)).unwrap().setup().tasks;
            assert!(tasks.iter().all(|task| task.allowed.is_none()), "they are born anywhere");
        }
    }
}

/// CACHE.md: "the process restricts itself to LLC 0 before it creates threads", which inherit that; `@LLC0` is
/// not widened.
#[test]
fn a_process_restricts_itself_before_it_creates_threads() {
    let topology = machine("n2x8");
    let (llc, all) = (*topology.llc_span(LlcId(0)), CpuSet::first_n(16));
    let cases = [
        ("th-load-2", vec![1, 5], vec![1, 2, 3, 4]),
        ("pr-2x4-same", vec![1, 5], (1..=8).collect()),
        ("th-sload-4", vec![5], vec![1, 2, 3, 4]),
    ];
    for (name, mains, released) in cases {
        let lab = lab(name, &topology);
        assert_eq!(pins(&lab, 0), released.iter().map(|task| (*task, all)).collect::<Vec<_>>());
        let tasks = lab.build(Seed(1)).unwrap().setup().tasks;
        for main in mains {
            // Before it creates threads, and once more as one of them.
            assert_eq!(pins(&lab, main), [(main, llc); 2], "{name}");
            assert_eq!(tasks[main as usize].allowed, None, "{name}: it is born anywhere");
            assert_eq!(tasks[main as usize + 1].allowed, Some(llc), "{name}: it inherits");
        }
    }
    let free = lab("th-free-4", &topology);
    assert!((0..5).all(|task| pins(&free, task).is_empty()));
}

/// `ops` of the `NAME.json`: 245 turns of each thread; in the small set, which ran for 800 ms, 195.
#[test]
fn a_length_may_be_another() {
    let turns = |lab: &Lab| (0..).take_while(|turn| lab.due(TaskId(4), *turn).is_some()).count();
    let topology = machine("n2x8");
    assert_eq!(turns(&lab("sl-spread-4-2-2", &topology)), 245);
    assert_eq!(turns(&lab("sl-4-2-2", &topology)), 245);
    assert_eq!(turns(&lab("sl-4-2-2", &topology).lasting(Nanos::from_millis(800))), 195);
    let life = lab("life-exit", &topology);
    let same = life.clone().lasting(Nanos::from_millis(1)).build(Seed(1)).unwrap();
    assert_eq!(same.code(), life.build(Seed(1)).unwrap().code(), "it has several");
}

/// What was seen of a run; times are in ns behind the mark `start`.
#[derive(Debug, Default)]
struct Seen {
    names: Vec<String>,
    start: u64,
    marks: Vec<(u64, TaskId, MarkId)>,
    wakings: Vec<TaskId>,
    forks: Vec<u64>,
    exits: Vec<(u64, TaskId)>,
}

impl Observer for Seen {
    fn on(&mut self, world: &World, tracepoint: Tracepoint) {
        let now = world.now().get().saturating_sub(self.start);
        match tracepoint {
            Tracepoint::Mark { mark: START, .. } => self.start = now,
            Tracepoint::Mark { task, mark } => self.marks.push((now, task, mark)),
            Tracepoint::Waking { wakee, .. } => self.wakings.push(wakee),
            Tracepoint::Fork { parent: Some(_), .. } => self.forks.push(now),
            Tracepoint::Exit { task } => self.exits.push((now, task)),
            _ => {}
        }
    }
}

impl Seen {
    fn is(&self, task: TaskId, comm: &str) -> bool {
        self.names[task.idx()].starts_with(comm)
    }

    /// Wakeups of tasks whose names begin so, births not among them.
    fn wakeups(&self, comm: &str) -> usize {
        let all = self.wakings.iter().filter(|task| self.is(**task, comm)).count();
        all - self.names.iter().filter(|name| name.starts_with(comm)).count()
    }

    /// When tasks whose names begin so have ended, in ms.
    fn ends(&self, comm: &str) -> Vec<u64> {
        let ends = self.exits.iter().filter(|(_, task)| self.is(*task, comm));
        ends.map(|(at, _)| at / 1_000_000).collect()
    }
}

fn run(lab: &Lab, topology: &Arc<Topology>) -> Seen {
    let programs = lab.build(Seed(1)).unwrap();
    let names = programs.setup().tasks.iter().map(|task| task.name.clone()).collect();
    let seen = Seen { names, ..Seen::default() };
    let policy = policies::build("cache_aware@7.3", &[]).unwrap();
    let config = Config { seed: Seed(1), jitter_1024: 0, ..Config::default() };
    let mut sim = Simulator::new(Arc::clone(topology), policy, programs, seen, config).unwrap();
    let limit = SimTime::ZERO + Nanos::from_secs(20);
    assert_eq!(sim.run_events(limit, u64::MAX).unwrap(), Status::Finished, "{}", lab.name());
    let (.., seen) = sim.into_parts();
    assert_eq!(seen.exits.len(), seen.names.len(), "{}", lab.name());
    seen
}

/// The traces: from the first fork to the next tick are 1,795 us on 16 CPUs (median of 31, quartiles 1,785 and
/// 1,816) and 1,705 on 32 (1,675 and 1,714; 49), where the tick of older scenarios is behind the fork. So the first
/// turn of `sl`, from 20 to 22 ms behind the start, is running at a tick.
#[test]
fn the_start_lies_where_it_does_in_the_lab_between_two_ticks() {
    for (name, before_tick) in [("n2x8", 1_795_u64), ("s2x8", 1_705)] {
        let topology = Arc::new(machine(name));
        for scenario in ["life-exit", "th-spread-2", "pc-1x1"] {
            let seen = run(&lab(scenario, &topology), &topology);
            let left = 4_000 - (seen.start + seen.forks[0]) / 1_000 % 4_000;
            assert!(left.abs_diff(before_tick) < 100, "{scenario} on {name}: {left}");
        }
    }
}

/// The marker `release` is written 100,051 to 100,109 us behind the marker `begin` in 16 of 23 runs, and later
/// where the launcher finds its CPU taken; `begin` itself lies some 25 to 45 us behind the start.
#[test]
fn threads_are_let_go_at_100_ms_and_end_at_their_deadline() {
    let topology = Arc::new(machine("n2x8"));
    for (name, length) in [("th-spread-4", 1_000), ("th-load-2", 1_000), ("pr-2x4-same", 1_200)] {
        let seen = run(&lab(name, &topology), &topology);
        let (released, ..) = seen.marks.iter().find(|(.., mark)| *mark == RELEASE).unwrap();
        assert!((100_050_000..103_500_000).contains(released), "{name}: {released}");
        assert!(seen.ends("p").iter().all(|end| *end == length), "{name}");
    }
}

/// `ops` and wakeups of the runs of 600 ms: 1,883 and 1,882 rounds with one wakee; 964 with 4, which are
/// woken once each (4,828 wakeups of all, of which 968 to 971 are the waker's), and 965. The question is answered
/// within 217.8 us (median), and by all within 420.9.
#[test]
fn a_star_turns_as_often_as_in_the_lab() {
    let topology = Arc::new(machine("n2x8"));
    for (name, rounds, trip) in [("pc-1x1", 1_883, 217_831), ("pc-1x4", 964, 420_854)] {
        let lab = lab(name, &topology);
        let seen = run(&lab, &topology);
        let trips = trips(&lab, &seen, TaskId(1));
        assert!(trips.len().abs_diff(rounds) <= rounds / 100, "{name}: {}", trips.len());
        assert!(near(trips[trips.len() / 2], trip), "{name}: {}", trips[trips.len() / 2]);
        let wakees = seen.names.len() - 2;
        let each = seen.wakeups("c") / wakees;
        assert!(each.abs_diff(rounds) <= rounds / 100, "{name}: {each}");
    }
}

/// `ops` of the runs of 600 ms: 5,071 and 5,070 trips of one pair, and 2,745 or 2,746 of each of 4; 67.83 us
/// (median) from the question to the answer, and 117.83.
#[test]
fn pairs_ask_and_answer_until_the_deadline() {
    let topology = Arc::new(machine("n2x8"));
    for (name, pairs, rounds, trip) in [("tpp-1", 1, 5_071, 67_832), ("tpp-4", 4, 2_746, 117_832)] {
        let lab = lab(name, &topology);
        let seen = run(&lab, &topology);
        for pair in 0..pairs {
            let trips = trips(&lab, &seen, TaskId(2 + 2 * pair));
            assert!(trips.len().abs_diff(rounds) <= rounds / 50, "{name}: {}", trips.len());
            assert!(near(trips[trips.len() / 2], trip), "{name}: {}", trips[trips.len() / 2]);
        }
        let wakeups = seen.wakeups("b");
        let expected = rounds * pairs as usize;
        assert!(wakeups.abs_diff(expected) <= expected / 50, "{name}: {wakeups}");
    }
}

/// The latencies of a task that measures round trips, in ascending order, in ns.
fn trips(lab: &Lab, seen: &Seen, task: TaskId) -> Vec<u64> {
    let Some(Latency::RoundTrip { from, to }) = lab.latency() else { panic!("it asks") };
    let passed = |mark| {
        let all = seen.marks.iter().filter(move |(_, by, passed)| (*by, *passed) == (task, mark));
        all.map(|(at, ..)| *at)
    };
    let mut trips: Vec<u64> = passed(from).zip(passed(to)).map(|(from, to)| to - from).collect();
    trips.sort_unstable();
    trips
}

/// Within 3 %.
fn near(found: u64, recorded: u64) -> bool {
    found.abs_diff(recorded) <= recorded * 3 / 100
}

/// The traces: threads of `life-exit` end at 600, 1000 and 1600 ms. Those of `life-grow` are born two by two,
/// 250 ms apart, and all end at 2000 ms. `life-fork` forks at 800.2 to 800.4 ms, and 8 threads end at 2000.
#[test]
fn threads_come_and_go_when_they_do_in_the_lab() {
    let topology = Arc::new(machine("n2x8"));
    let births = |seen: &Seen| seen.forks.iter().map(|at| at / 1_000_000).collect::<Vec<_>>();
    let exit = run(&lab("life-exit", &topology), &topology);
    assert_eq!(exit.ends("p0t"), [600, 600, 1_000, 1_000, 1_600]);
    assert_eq!(births(&exit), [0; 5]);
    let grow = run(&lab("life-grow", &topology), &topology);
    let pairs = [0, 0, 0, 250, 250, 500, 500, 750, 750, 1_000, 1_000, 1_250, 1_250];
    let late = births(&grow).iter().zip(pairs).map(|(at, on)| at - on).max().unwrap();
    assert!(late <= 3, "a slice at most: {:?}", births(&grow));
    assert_eq!(grow.ends("p0"), [2_000; 13]);
    let fork = run(&lab("life-fork", &topology), &topology);
    assert_eq!(births(&fork), [0, 0, 0, 0, 0, 800, 800, 800, 800, 800]);
    let forked = fork.forks[5] / 1_000;
    assert!((800_150..800_450).contains(&forked), "{forked}");
    assert_eq!(fork.ends("p"), [2_000; 10]);
}

/// The traces of `life-exec`: 4 threads end within 3 us of each other, 800.16 to 800.19 ms behind the marker, and 4
/// others are born from 0.58 to 0.64 ms later on, which end at 2000 ms.
#[test]
fn threads_end_with_a_new_program_and_others_are_born() {
    let topology = Arc::new(machine("n2x8"));
    let exec = run(&lab("life-exec", &topology), &topology);
    let killed = exec.forks[5] / 1_000;
    assert_eq!(exec.forks.len(), 9);
    assert_eq!(exec.ends("p0t"), [800; 4]);
    assert!((800_650..800_950).contains(&killed), "{killed}");
    assert_eq!(exec.ends("p1t"), [2_000; 4]);
    assert_eq!(exec.ends("p0main"), [2_000]);
}
