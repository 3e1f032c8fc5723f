//! The lab's scenarios as they are named and declared, held against the lab's folders.

use simsched_core::{MarkId, Nanos, Op, Outcome, Seed, SimTime, Start, TaskId, Workload};
use simsched_topology::{CpuId, CpuSet};
use simsched_workloads::lab::{self, Kernel, Lab, Latency};

/// The files of `lockstep-s1` and `lockstep-lblong-s1` on 8 and on 16 CPUs.
const ON_8: &str = "forkstorm-2N forkstorm-3N-gap200 forkstorm-N hackbench-g1f4l10 \
    hackbench-g2f4l10 hogper-1-1 hogper-1-1-long hogper-1-1-n0-5 hogper-1-1-n5-0 hogper-2-2 \
    hogs-free-1 hogs-free-12 hogs-free-16 hogs-free-2 hogs-free-4 hogs-free-7 hogs-free-8 \
    hogs-free-9 hogs-herd-16 hogs-herd-4 hogs-herd-8 periodic-2N-stag periodic-H-stag periodic-N \
    pingpong-1 pingpong-1w20 pingpong-2w20 pingpong-H-w20 schbench-1x4 schbench-1xN schbench-2xH \
    share-0-0 share-0-19 share-0-5 share-0x4 share-m5-0-5-10";
const ON_16: &str = "forkstorm-2N forkstorm-3N-gap200 forkstorm-N hackbench-g1f4l10 \
    hackbench-g2f4l10 hogper-1-1 hogper-1-1-long hogper-1-1-n0-5 hogper-1-1-n5-0 hogper-2-2 \
    hogs-free-1 hogs-free-15 hogs-free-16 hogs-free-17 hogs-free-24 hogs-free-32 hogs-free-4 \
    hogs-free-8 hogs-herd-16 hogs-herd-32 hogs-herd-8 hogs-long-free-24 hogs-long-free-32 \
    hogs-long-herd-24 periodic-2N-stag periodic-H-stag periodic-N pingpong-1 pingpong-1w20 \
    pingpong-2w20 pingpong-H-w20 schbench-1x4 schbench-1xN schbench-2xH share-0-0 share-0-19 \
    share-0-5 share-0x4 share-m5-0-5-10";

#[test]
fn every_scenario_that_the_lab_has_run_is_known() {
    for (nr_cpus, recorded) in [(8, ON_8), (16, ON_16)] {
        let names = lab::names(nr_cpus);
        for name in recorded.split_whitespace() {
            assert!(names.iter().any(|known| known == name), "{name} on {nr_cpus} CPUs");
        }
    }
}

#[test]
fn every_scenario_can_be_built_on_any_machine() {
    for nr_cpus in [1, 2, 3, 8, 16, 32, 64, 384] {
        for name in lab::names(nr_cpus) {
            let lab = Lab::new(&name, nr_cpus).unwrap();
            let setup = lab.build(Seed(3)).unwrap().setup();
            assert_eq!(setup.tasks.len(), lab.nr_tasks() as usize, "{name} on {nr_cpus} CPUs");
            let starts = setup.tasks.iter().filter(|task| task.start != Start::Spawned).count();
            assert_eq!((setup.marks[0].as_str(), setup.marks[1].as_str()), ("start", "stop"));
            assert_eq!(starts, 1, "{name}");
        }
    }
}

/// How many tasks the `NAME.json` of a scenario lists, besides the parent.
#[test]
fn a_scenario_has_as_many_tasks_as_the_lab_counted() {
    let counted = [
        (8, "pingpong-H-w20", 8),
        (16, "pingpong-H-w20", 16),
        (8, "forkstorm-3N-gap200", 24),
        (16, "forkstorm-3N-gap200", 48),
        (16, "periodic-2N-stag", 32),
        (16, "schbench-1x4", 5),
        (16, "schbench-1xN", 17),
        (16, "schbench-2xH", 18),
        (8, "schbench-2xH", 10),
        (8, "hogs-herd-16", 16),
        (16, "share-m5-0-5-10", 4),
        (16, "share-0x4", 4),
        (16, "hogper-2-2", 4),
        // Printed by hackbench itself: "(== 8 tasks)", "(== 16 tasks)" with `-g 1` and `-g 2`.
        (16, "hackbench-g1f4l10", 8),
        (16, "hackbench-g2f4l10", 16),
        (64, "pingpong-H-w20", 64),
        (32, "periodic-H-stag", 16),
        (64, "forkstorm-2N", 128),
        (64, "hogs-free-N", 64),
        (64, "hogs-herd-3Q", 48),
    ];
    for (nr_cpus, name, tasks) in counted {
        assert_eq!(Lab::new(name, nr_cpus).unwrap().nr_tasks(), tasks + 1, "{name} on {nr_cpus}");
    }
}

fn names_of(name: &str, nr_cpus: usize) -> String {
    let setup = lab::build(name, nr_cpus, Seed(1)).unwrap().setup();
    setup.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// In the order of their process numbers.
#[test]
fn tasks_have_the_names_and_the_order_of_the_lab() {
    assert_eq!(names_of("pingpong-2w20", 16), "lab ping00 pong00 ping01 pong01");
    assert_eq!(names_of("forkstorm-3", 16), "lab fk000 fk001 fk002");
    assert_eq!(names_of("hogper-2-2", 16), "lab hog00 hog01 per00 per01");
    assert_eq!(names_of("periodic-2-stag", 16), "lab per00 per01");
    assert_eq!(names_of("schbench-1x2", 16), "lab msg000 wrk001 wrk002");
    assert_eq!(
        names_of("schbench-2xH", 4),
        "lab msg000 wrk002 wrk003 msg001 wrk004 wrk005",
        "workers are numbered behind the message threads"
    );
}

fn refusal(name: &str) -> String {
    Lab::new(name, 16).err().unwrap_or_else(|| panic!("{name} is taken")).to_string()
}

/// Numbers of threads, and the order of their numbers, are those of the `NAME.json` in `7.3-n2x8`.
#[test]
fn processes_of_threads_have_the_names_and_the_order_of_the_lab() {
    let threads = "lab p0t00 p0t01 p0t02 p0t03";
    assert_eq!(names_of("th-free-4", 16), threads);
    assert_eq!(names_of("sl-4-2-2", 16), threads);
    assert_eq!(names_of("pr-2x2", 16), "lab p0t00 p0t01 p1t00 p1t01");
    assert_eq!(names_of("mix-4-4", 16), format!("{threads} p1t00 p2t00 p3t00 p4t00"));
    assert_eq!(names_of("sb-1x4", 16), "lab msg000 wrk001 wrk002 wrk003 wrk004");
    for wrong in ["th-4", "th-free-0", "pr-2", "pr-0x2", "mix-4", "sl-4-2", "sl-4-0-2", "sb-1xN"] {
        assert!(refusal(wrong).starts_with("there is no scenario `"), "{wrong}");
    }
    assert!(refusal("th-fre-4").contains("`lab:th-free-4`"));
    let procs = |name: &str| {
        let setup = lab::build(name, 16, Seed(1)).unwrap().setup();
        setup.tasks.iter().map(|task| task.proc.0).collect::<Vec<_>>()
    };
    assert_eq!(procs("pr-2x2"), [0, 1, 1, 2, 2]);
    assert_eq!(procs("sb-1x1"), [0, 0, 0]);
}

/// `ops` in the `NAME.json` of `7.3-n2x8`, `lockstep-s1`: turns of the first and of the last thread.
#[test]
fn threads_take_as_many_turns_as_in_the_lab() {
    let turns = |name, task| {
        let lab = Lab::new(name, 16).unwrap();
        (0..).take_while(|turn| lab.due(TaskId(task), *turn).is_some()).count()
    };
    assert_eq!((turns("sl-4-2-2", 1), turns("sl-4-2-2", 4)), (245, 245));
    assert_eq!((turns("sl-8-2-6", 1), turns("sl-8-2-6", 8)), (123, 123));
    assert_eq!((turns("sl-4-1-9", 1), turns("sl-4-1-9", 4)), (98, 98));
    assert_eq!((turns("sl-12-1-3", 1), turns("sl-12-1-3", 12)), (245, 245));
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    let see = "(see `simsched workloads lab:NAME`)";
    let near = [
        ("hogs-hurd-16", "; did you mean `lab:hogs-herd-16`?"),
        ("pingpong-1w2O", "; did you mean `lab:pingpong-1w20`?"),
        ("forkstrom-N", "; did you mean `lab:forkstorm-N`?"),
        ("zzz", ""),
    ];
    for (name, nearest) in near {
        assert_eq!(refusal(name), format!("there is no scenario `{name}` {see}{nearest}"));
    }
    let wrong = "pingpong pingpong-0 pingpong-1w forkstorm-N-gap forkstorm-N-gap0 hogs-free \
        hogs-free-010 hogs-free-+4 hogs-long-4 hogs-free-10001 periodic-N-stag-stag schbench-4 \
        schbench-0x4 schbench-1x share share- share-20 share-m21 share-mm1 share-0x0 hogper-1 \
        hogper-1-1-n0 hogper-1-1-short hackbench-g0f1l1 hackbench-g1f4 hackbench-g9999f9999l1 -";
    for name in wrong.split_whitespace() {
        assert!(refusal(name).starts_with("there is no scenario `"), "{name}");
    }
    assert!(refusal("hackbench -z").starts_with("hackbench: invalid option -- 'z'"));
}

/// The first ops of a task, each of which ends as it should.
fn first_ops(name: &str, nr_cpus: usize, task: u32, count: usize) -> Vec<Op> {
    let mut programs = lab::build(name, nr_cpus, Seed(1)).unwrap();
    let next = |_| programs.next_op(TaskId(task), SimTime::ZERO, Outcome::Done);
    (0..count).map(next).collect()
}

/// FINDINGS: "hogs pinned to CPU 0 with nice A, B, .. (m5 = -5)"; `share-0x4` are four of nice 0.
#[test]
fn shares_have_the_nice_values_of_their_name() {
    let nice_of = |name, task| {
        let ops = first_ops(name, 8, task, 3);
        ops.iter().find_map(|op| if let Op::SetNice(nice) = op { Some(*nice) } else { None })
    };
    let of = |name| (1..=4).map(|task| nice_of(name, task)).collect::<Vec<_>>();
    assert_eq!(of("share-m5-0-5-10"), [Some(-5), None, Some(5), Some(10)]);
    assert_eq!(of("share-0x4"), [None; 4]);
    assert_eq!(nice_of("hogper-1-1-n5-0", 1), Some(5));
    assert_eq!(nice_of("hogper-1-1-n5-0", 2), None);
    assert_eq!(nice_of("hogper-1-1-n0-m5", 2), Some(-5));
}

/// The traces: `lab` pins itself, forks, and wakes up to widen the affinity of one after the other.
#[test]
fn a_herd_is_born_on_cpu_0_and_let_go_one_by_one() {
    let programs = lab::build("hogs-herd-4", 8, Seed(1)).unwrap();
    let setup = programs.setup();
    assert_eq!(setup.masks, [CpuSet::single(CpuId(0)), CpuSet::first_n(8)]);
    let allowed: Vec<_> = setup.tasks.iter().map(|task| task.allowed).collect();
    assert_eq!(allowed[0], None);
    assert_eq!(allowed[1..], [Some(CpuSet::single(CpuId(0))); 4]);
    let ops = first_ops("hogs-herd-4", 8, 0, 40);
    let confined: Vec<(u32, usize)> = ops
        .iter()
        .filter_map(|op| match op {
            Op::SetAffinity { task, mask } => Some((task.0, mask.idx())),
            _ => None,
        })
        .collect();
    assert_eq!(confined, [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1)]);
    let place = |wanted: Op| ops.iter().position(|op| *op == wanted).unwrap();
    let slept = place(Op::Sleep(Nanos(100_050_000)));
    assert!(place(Op::Spawn(TaskId(4))) < slept && slept < place(Op::Mark(lab::RELEASE)));
}

#[test]
fn who_is_pinned_stays_and_who_is_free_may_go() {
    let allowed = |name| {
        let setup = lab::build(name, 8, Seed(1)).unwrap().setup();
        setup.tasks[1].allowed
    };
    for name in ["share-0-5", "hogper-1-1"] {
        assert_eq!(allowed(name), Some(CpuSet::single(CpuId(0))), "{name}");
        let pins = |op: &Op| matches!(op, Op::SetAffinity { task: TaskId(0), .. });
        assert!(first_ops(name, 8, 0, 4).iter().any(pins), "{name}");
    }
    for name in ["hogs-free-8", "periodic-N", "pingpong-1", "forkstorm-N", "schbench-1x4"] {
        assert_eq!(allowed(name), None, "{name}");
    }
}

/// The first timer interrupts in the traces: 20 ms and then 137 us each behind the start, 50 ms for
/// `hogper`; 54 ms for the second of two, whose period is 8 ms.
#[test]
fn timers_are_due_on_the_grid_of_the_lab() {
    let due = |name, nr_cpus, task, turn| {
        let lab = Lab::new(name, nr_cpus).unwrap();
        lab.due(TaskId(task), turn).map(|due| due.get() / 1_000)
    };
    assert_eq!(due("periodic-H-stag", 16, 1, 0), Some(20_000));
    assert_eq!(due("periodic-H-stag", 16, 6, 0), Some(20_685));
    assert_eq!(due("periodic-H-stag", 16, 1, 34), Some(292_000));
    assert_eq!(due("periodic-H-stag", 16, 1, 35), None);
    assert_eq!(due("periodic-N", 8, 8, 27), Some(290_000));
    assert_eq!(due("periodic-N", 8, 9, 0), None);
    assert_eq!(due("hogper-1-1", 8, 1, 0), None, "a hog sets no timer");
    assert_eq!(due("hogper-1-1", 8, 2, 189), Some(995_000));
    assert_eq!(due("hogper-1-1-long", 8, 2, 79), Some(998_000));
    assert_eq!(due("hogper-2-2", 8, 4, 0), Some(54_000));
    assert_eq!(due("hogs-free-8", 8, 1, 0), None);
}

/// `ops` in the `NAME.json` of all seeds: turns of each task.
#[test]
fn timers_expire_as_often_as_in_the_lab() {
    let turns = |name, nr_cpus, task| {
        let lab = Lab::new(name, nr_cpus).unwrap();
        (0..).take_while(|turn| lab.due(TaskId(task), *turn).is_some()).count()
    };
    assert_eq!(turns("periodic-N", 16, 1), 28);
    assert_eq!(turns("periodic-H-stag", 16, 8), 35);
    // 33 for the first fifteen, whose last turn begins before the end.
    assert_eq!((turns("periodic-2N-stag", 16, 15), turns("periodic-2N-stag", 16, 16)), (33, 32));
    assert_eq!(turns("hogper-1-1", 8, 2), 190);
    assert_eq!(turns("hogper-1-1-long", 8, 2), 80);
    assert_eq!((turns("hogper-2-2", 8, 3), turns("hogper-2-2", 8, 4)), (119, 119));
}

#[test]
fn a_scenario_says_which_marks_bound_its_latency() {
    let marks = |name: &str| lab::build(name, 4, Seed(1)).unwrap().setup().marks;
    let latency = |name: &str| Lab::new(name, 4).unwrap().latency();
    let (from, to) = (MarkId(2), MarkId(3));
    assert_eq!(latency("pingpong-1"), Some(Latency::RoundTrip { from, to }));
    assert_eq!(marks("pingpong-1")[2..], ["ping", "pong"]);
    assert_eq!(latency("hogper-1-1"), Some(Latency::Timer { run: MarkId(2) }));
    assert_eq!(marks("periodic-N")[2..], ["run"]);
    let wakes = [(4, 2), (5, 3), (6, 5), (7, 6)].map(|(m, t)| (MarkId(m), TaskId(t))).to_vec();
    assert_eq!(latency("schbench-2xH"), Some(Latency::Wake { wakes, run: MarkId(2) }));
    let names = ["run", "timed", "wake wrk002", "wake wrk003", "wake wrk004", "wake wrk005"];
    assert_eq!(marks("schbench-2xH")[2..], names);
    assert_eq!(marks("hogs-herd-4")[2..], ["release"]);
    assert_eq!((latency("hogs-herd-4"), latency("forkstorm-N")), (None, None));
}

/// In the lab the parent begins on any CPU of the first node (t16: 0, 1, 2, 3, 4, 5, 6 and 7), and 40
/// to 490 us behind a tick, through which it runs: its request of 2.8 ms has ended there.
#[test]
fn a_seed_chooses_where_the_parent_begins_and_when() {
    let of = |seed| {
        let mut programs = lab::build("hogs-free-4", 16, Seed(seed)).unwrap();
        let Start::AtZero(cpu) = programs.setup().tasks[0].start else { panic!("it starts") };
        let Op::Run(lead) = programs.next_op(TaskId(0), SimTime::ZERO, Outcome::Started) else {
            panic!("it runs first")
        };
        let (ticks, phase) = (lead.get() / 4_000_000, lead.get() % 4_000_000);
        assert!(ticks == 1 && (60_000..=300_000).contains(&phase) && cpu.idx() < 8);
        (cpu, lead)
    };
    assert_eq!(of(1), of(1));
    let mut cpus: Vec<CpuId> = (0..200).map(|seed| of(seed).0).collect();
    cpus.sort_unstable();
    cpus.dedup();
    assert_eq!(cpus.len(), 8, "each of them, sooner or later");
}

/// Under 6.12 and 7.3 the lab's shell is in the other node of t16 as often (of five boots of 6.12 in three, of seven of
/// 7.3 in three).
#[test]
fn under_newer_kernels_the_parent_begins_in_any_node() {
    for kernel in [Kernel::V6_12, Kernel::V7_3] {
        let of = |seed| {
            let lab = Lab::new("hogs-free-4", 16).unwrap().under(kernel);
            let Start::AtZero(cpu) = lab.build(Seed(seed)).unwrap().setup().tasks[0].start else {
                panic!("it starts")
            };
            cpu.idx() / 8
        };
        let second: usize = (0..200).map(of).sum();
        assert!((70..=130).contains(&second), "{kernel:?}: {second}");
    }
}
