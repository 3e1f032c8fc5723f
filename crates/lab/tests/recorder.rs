//! What the recorder tells of a run: the tracer's events, the counters, and `/proc`.

use std::path::Path;
use std::sync::Arc;

use simsched_core::testkit::{RoundRobin, Script};
use simsched_core::{
    Config, MarkId, Nanos, Observer, Op, Setup, SimTime, Simulator, Status, TaskId, Tracepoint,
    Workload, World,
};
use simsched_lab::event::{Event, PrevState, What};
use simsched_lab::recorder::{Record, Recorder};
use simsched_lab::tracefs;
use simsched_topology::{CpuId, CpuSet, Topology};

const MS: u64 = 1_000_000;

/// A parent on CPU 0 that forks one child, waits for it, and passes marks around that.
fn family(child: &[Op]) -> Script {
    let marks = ["start", "stop", "release"].map(str::to_owned).to_vec();
    let procs = vec!["lab".to_owned()];
    let mut script = Script::new(Setup { procs, marks, ..Setup::default() });
    let ops = [
        Op::Run(Nanos(500_000)),
        Op::Mark(MarkId(0)),
        Op::Spawn(TaskId(1)),
        Op::Mark(MarkId(2)),
        Op::Join(TaskId(1)),
        Op::Mark(MarkId(1)),
    ];
    script.task(CpuId(0), &ops);
    let child = script.spawned(child);
    script.spec(TaskId(0)).name = "lab".to_owned();
    script.spec(child).name = "hog00".to_owned();
    script.spec(child).nice = 5;
    script
}

fn record(script: Script) -> Record {
    let topology = Arc::new(Topology::builtin("t8", None).unwrap());
    let recorder = Recorder::new(&script.setup(), topology.nr_cpus());
    let config = Config { jitter_1024: 0, ..Config::default() };
    let mut run =
        Simulator::new(topology, Box::new(RoundRobin::default()), script, recorder, config)
            .unwrap();
    assert_eq!(run.run_until(SimTime(10_000 * MS)).unwrap(), Status::Finished);
    let (world, _, _, recorder) = run.into_parts();
    recorder.finish(&world, &[])
}

fn times(events: &[Event], is: impl Fn(&What) -> bool) -> Vec<u64> {
    events.iter().filter(|event| is(&event.what)).map(|event| event.us).collect()
}

#[test]
fn time_and_events_count_from_the_mark_that_starts_the_scenario() {
    let record = record(family(&[Op::Run(Nanos(3 * MS))]));
    assert!(record.started.get() >= 500_000);
    assert!((3 * MS..4 * MS).contains(&record.elapsed_ns), "{}", record.elapsed_ns);
    assert!(record.events.iter().all(|event| event.us >= 500));
    assert_eq!(times(&record.events, |what| matches!(what, What::Fork { .. })).len(), 1);
    assert_eq!(times(&record.events, |what| *what == What::Release).len(), 1);
}

#[test]
fn a_child_has_its_parents_name_until_it_has_run() {
    let record = record(family(&[Op::Sleep(Nanos(MS)), Op::Run(Nanos(MS))]));
    let names: Vec<String> = record
        .events
        .iter()
        .filter_map(|event| match event.what {
            What::Fork { child, .. } => Some(format!("fork {}", child.comm)),
            What::WakeupNew { wakee, .. } => Some(format!("new {}", wakee.comm)),
            What::Switch { next, .. } if next.pid == 2001 => Some(format!("in {}", next.comm)),
            What::Exit { task } if task.pid == 2001 => Some(format!("exit {}", task.comm)),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["fork lab", "new lab", "in lab", "in hog00", "exit hog00"]);
}

#[test]
fn the_first_wakeup_of_a_task_is_one_of_a_new_task_and_nobody_calls_for_it() {
    let record = record(family(&[Op::Sleep(Nanos(MS)), Op::Run(Nanos(MS))]));
    let of_child = |event: &&Event| match event.what {
        What::Waking { wakee, .. } | What::Wakeup { wakee, .. } | What::WakeupNew { wakee, .. } => {
            wakee.pid == 2001
        }
        _ => false,
    };
    let kinds: Vec<&str> = record
        .events
        .iter()
        .filter(of_child)
        .map(|event| match event.what {
            What::Waking { .. } => "waking",
            What::Wakeup { .. } => "wakeup",
            _ => "new",
        })
        .collect();
    assert_eq!(kinds, ["new", "waking", "wakeup"]);
}

#[test]
fn a_task_sees_its_cpu_time_as_of_the_last_tick_or_switch() {
    // Ticks are 4 ms apart; it runs for 9.5 ms on its own, so the last tick is less than 4 ms ago.
    let record = record(family(&[Op::Run(Nanos(9_500_000))]));
    let [parent, child] = [record.tasks[0], record.tasks[1]];
    assert!((5_500_000..9_500_000).contains(&child.exec_ns), "{}", child.exec_ns);
    assert_eq!((parent.pid, child.pid, parent.nice, child.nice), (2000, 2001, 0, 5));
    // The counters take the whole time.
    assert!(record.task_clock_ns > 10 * MS, "{}", record.task_clock_ns);
}

#[test]
fn a_switch_at_the_end_of_a_task_does_not_count_and_a_sleep_does() {
    let sleeps = record(family(&[Op::Sleep(Nanos(MS)), Op::Sleep(Nanos(MS))]));
    let runs = record(family(&[Op::Run(Nanos(MS))]));
    assert_eq!(sleeps.context_switches, runs.context_switches + 2);
    assert_eq!((sleeps.cpu_migrations, runs.cpu_migrations), (0, 0));
    let last = sleeps.events.iter().rev().find_map(|event| match event.what {
        What::Switch { prev, state, .. } if prev.pid == 2001 => Some(state),
        _ => None,
    });
    assert_eq!(last, Some(PrevState::Dead('Z')));
}

#[test]
fn what_is_recorded_reads_as_a_trace_of_the_kernel() {
    let events = record(family(&[Op::Sleep(Nanos(MS)), Op::Run(Nanos(9 * MS))])).events;
    let text = tracefs::write(&events, 8);
    let read = tracefs::read(&text, Path::new("x")).unwrap();
    assert_eq!((read.len(), tracefs::write(&read, 8)), (events.len(), text.clone()));
    assert!(text.contains("prev_prio=125"), "{text}");
}

#[test]
fn a_switch_to_nobody_before_a_stopper_is_one_to_the_stopper() {
    let mut script = Script::new(Setup { procs: vec!["p".to_owned()], ..Setup::default() });
    let task = script.task(CpuId(3), &[]);
    script.spec(task).allowed = Some(CpuSet::single(CpuId(3)));
    let setup = script.setup();
    let world = World::new(Arc::new(Topology::builtin("t8", None).unwrap()), &setup.tasks, 250);
    let mut recorder = Recorder::new(&setup, 8);
    let cpu = CpuId(3);
    let switch = |prev, next| Tracepoint::Switch { cpu, prev, next, preempted: prev.is_some() };
    for tracepoint in [
        switch(None, Some(task)),
        switch(Some(task), None),
        Tracepoint::Stopper { cpu, begins: true },
        Tracepoint::Stopper { cpu, begins: false },
        switch(None, Some(task)),
        switch(Some(task), None),
    ] {
        recorder.on(&world, tracepoint);
    }
    let names = |event: &Event| match event.what {
        What::Switch { prev, next, .. } => format!("{} > {}", prev.comm, next.comm),
        _ => String::new(),
    };
    let found: Vec<String> = recorder.finish(&world, &[]).events.iter().map(names).collect();
    let expected = ["swapper/3 > t0", "t0 > migration/3", "migration/3 > t0", "t0 > swapper/3"];
    assert_eq!(found, expected);
}

/// The first thread of `th-load-8` is born behind another LLC than the one that it sets its affinity to: the stopper of its
/// CPU moves it, and the event stands on that CPU (`migration/15-108 [015]` in `7.3-n2x8/off-s1`).
#[test]
fn a_stopper_moves_on_its_own_cpu() {
    let bed = crate::bed::of_7_3("n2x8", "eevdf@7.3");
    let moves = |seed| {
        let events = crate::bed::run(&bed, "th-load-8", seed).events;
        let births = events[0].us + 400;
        let first = events.into_iter().take_while(move |event| event.us < births);
        let of_stoppers = first.filter_map(|event| match event.what {
            What::Migrate { from, .. } if event.by.comm.as_str().starts_with("migration/") => {
                Some((event.cpu, from))
            }
            _ => None,
        });
        of_stoppers.collect::<Vec<_>>()
    };
    let moves: Vec<_> = (1..=3).flat_map(moves).collect();
    assert!(!moves.is_empty());
    assert!(moves.iter().all(|(cpu, from)| cpu == from), "{moves:?}");
}
