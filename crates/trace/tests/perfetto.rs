//! Schedules as Perfetto traces.

use proptest::prelude::*;
use simsched_trace::perfetto::PerfettoWriter;
use simsched_trace::{Event, PrevState, Sink, Thread, ThreadIx, Threads, What};

const IDLE_0: ThreadIx = ThreadIx(0);
const IDLE_1: ThreadIx = ThreadIx(1);
const BASH: ThreadIx = ThreadIx(2);
const MAIN: ThreadIx = ThreadIx(3);
const CHILD: ThreadIx = ThreadIx(4);

fn threads() -> Threads {
    let mut threads = Threads::default();
    let all = [
        (0, 0, "swapper/0"),
        (0, 0, "swapper/1"),
        (100, 100, "bash"),
        (200, 200, "hackbench"),
        (201, 200, "sender"),
    ];
    for (pid, tgid, comm) in all {
        threads.push(Thread { pid, tgid, comm: comm.to_owned(), prio: 120 });
    }
    threads
}

/// A shell starts a program, which starts a thread on the other CPU and waits for it.
fn schedule() -> Vec<Event> {
    let running = |preempted| PrevState::Running { preempted };
    let switch = |prev, prev_state, next| What::Switch { prev, prev_state, next };
    let all = [
        (1_000, 0, IDLE_0, switch(IDLE_0, running(false), BASH)),
        (2_000, 0, BASH, What::Fork { parent: BASH, child: MAIN }),
        (2_500, 0, BASH, What::WakeupNew { wakee: MAIN, target_cpu: 0 }),
        (3_000, 0, BASH, switch(BASH, PrevState::Interruptible, MAIN)),
        (4_000, 0, MAIN, What::Fork { parent: MAIN, child: CHILD }),
        (4_500, 0, MAIN, What::WakeupNew { wakee: CHILD, target_cpu: 1 }),
        (5_000, 1, IDLE_1, switch(IDLE_1, running(false), CHILD)),
        (6_000, 0, MAIN, switch(MAIN, PrevState::Uninterruptible, IDLE_0)),
        (9_000, 1, CHILD, What::Waking { wakee: MAIN, target_cpu: 0, sync: false }),
        (9_100, 1, CHILD, What::Migrate { task: MAIN, orig_cpu: 0, dest_cpu: 1 }),
        (9_200, 1, CHILD, What::Wakeup { wakee: MAIN, target_cpu: 1 }),
        (9_300, 1, CHILD, switch(CHILD, running(true), MAIN)),
        (12_000, 1, MAIN, switch(MAIN, PrevState::Interruptible, CHILD)),
        (13_000, 1, CHILD, What::Exit { task: CHILD }),
        (13_500, 1, CHILD, switch(CHILD, PrevState::Dead, IDLE_1)),
    ];
    let event = |(time, cpu, current, what)| Event { time, cpu, current, what };
    all.into_iter().map(event).collect()
}

fn written(threads: &Threads, events: &[Event], counters: &[(u64, u32, u64)]) -> Vec<u8> {
    let mut writer = PerfettoWriter::new(Vec::new(), "6.1.0");
    for (time, cpu, value) in counters {
        writer.counter(*time, *cpu, "nr_running", *value).unwrap();
    }
    for event in events {
        writer.event(threads, event).unwrap();
    }
    writer.finish(threads, events.last().map_or(0, |event| event.time)).unwrap();
    writer.into_inner()
}

/// `small.pftrace` was put together with Perfetto's own protobuf classes (`clients/perfetto/small.py`).
#[test]
fn a_trace_is_what_perfettos_own_classes_write() {
    let counters = [(1_000, 0, 1), (5_000, 1, 1), (6_000, 0, 0)];
    let ours = written(&threads(), &schedule(), &counters);
    let theirs = include_bytes!("data/small.pftrace");
    assert_eq!(ours, theirs);
}

/// The fields of a message: number, and the varint or the bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = varint(&mut bytes);
        let length = usize::try_from(value).unwrap();
        let (body, rest) = if key & 7 == 2 { bytes.split_at(length) } else { (&[][..], bytes) };
        bytes = rest;
        found.push((key >> 3, value, body));
    }
    found
}

/// The bundles of a trace: CPU, the times of its events, and how many bytes it takes.
fn bundles(trace: &[u8]) -> Vec<(u64, Vec<u64>, usize)> {
    let packets = fields(trace).into_iter().flat_map(|(_, _, packet)| fields(packet));
    let bundles = packets.filter(|(number, _, _)| *number == 1);
    let bundle = |(_, _, body): (u64, u64, &[u8])| {
        let all = fields(body);
        let events = all.iter().filter(|(number, _, _)| *number == 2);
        let times = events.map(|(_, _, event)| fields(event)[0].1).collect();
        (all[0].1, times, body.len())
    };
    bundles.map(bundle).collect()
}

#[test]
fn a_bundle_is_written_long_before_it_is_large_or_old() {
    let threads = threads();
    let wakeup = What::Wakeup { wakee: MAIN, target_cpu: 0 };
    let at = |time, cpu| Event { time, cpu, current: BASH, what: wakeup };
    // Two CPUs that are busy and one that tells something every 30 ms.
    let mut events: Vec<Event> = (0..200_000)
        .map(|n| at(n * 5_000, if n % 6_000 == 5_999 { 2 } else { (n % 2) as u32 }))
        .collect();
    events.sort_by_key(|event| event.time);
    let trace = written(&threads, &events, &[]);
    let found = bundles(&trace);
    let total: usize = found.iter().map(|(_, times, _)| times.len()).sum();
    assert_eq!(total, events.len());
    let mut newest = 0;
    for (cpu, times, bytes) in &found {
        assert!(*bytes <= 4096 + 200, "{bytes}");
        assert!(times.is_sorted());
        // What comes later in the file is at most 100 ms older.
        assert!(times[0] + 100_000_000 >= newest, "CPU {cpu}: {} after {newest}", times[0]);
        newest = newest.max(*times.last().unwrap());
    }
    let of_third = found.iter().filter(|(cpu, _, _)| *cpu == 2).count();
    assert!((9..=11).contains(&of_third), "once for each 100 ms of the second: {of_third}");
}

proptest! {
    #[test]
    fn each_event_is_in_the_bundles_of_its_cpu_in_the_order_of_time(
        steps in proptest::collection::vec((0_u64..50_000_000, 0_u32..5, 0_u32..5, 0_u32..5), 0..400),
    ) {
        let threads = threads();
        let mut time = 0;
        let events: Vec<Event> = steps.iter().map(|(step, cpu, one, other)| {
            time += step;
            let (prev, next) = (ThreadIx(*one), ThreadIx(*other));
            let what = What::Switch { prev, prev_state: PrevState::Interruptible, next };
            Event { time, cpu: *cpu, current: prev, what }
        }).collect();
        let found = bundles(&written(&threads, &events, &[]));
        for cpu in 0..5 {
            let of_cpu = events.iter().filter(|event| event.cpu == cpu).map(|event| event.time);
            let told = found.iter().filter(|(at, _, _)| *at == u64::from(cpu));
            let told = told.flat_map(|(_, times, _)| times.iter().copied());
            prop_assert_eq!(of_cpu.collect::<Vec<u64>>(), told.collect::<Vec<u64>>());
        }
    }
}
