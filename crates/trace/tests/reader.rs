//! Schedules are read from what perf, trace-cmd and the kernel print; and nothing that is read panics.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use simsched_trace::history::{Begin, Does, End, History, Sync, Wake};
use simsched_trace::reader::{Context, Format, ReadError, Trace, read};
use simsched_trace::{Event, Ftrace, PrevState, Sink, Thread, ThreadIx, Threads, What};

fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn traced(text: &str) -> Trace {
    read(text.as_bytes()).unwrap()
}

/// The rows of `perf sched timehist` of the program that was recorded: each is a run, from switch to switch,
/// in milliseconds with three digits. What ran as the recording began has no length there.
#[test]
fn a_recording_of_perf_has_the_run_times_that_perf_itself_tells() {
    let trace = traced(&data("perf-sched/script.txt"));
    assert_eq!((trace.format, trace.resolution), (Format::PerfScript, 1));
    let history = History::of(&trace);
    // perf turns its events on and off CPU by CPU, and moves to each of them meanwhile: two of its own
    // switches are not recorded.
    assert_eq!(history.gaps, 2);
    let timehist = data("perf-sched/timehist.txt");
    for (pid, comm) in [(17736, "worker-0"), (17738, "worker-1")] {
        let rows = timehist.lines().filter(|line| line.contains(&format!("{comm}[{pid}")));
        let runs: Vec<f64> =
            rows.map(|row| row.split_whitespace().next_back().unwrap().parse().unwrap()).collect();
        let nth = trace.threads.all.iter().position(|thread| thread.pid == pid).unwrap();
        let mine = f64::from(u32::try_from(history.lives[nth].seen.runtime).unwrap()) / 1e6;
        let perf: f64 = runs.iter().sum();
        assert_eq!(history.lives[nth].seen.switches, runs.len() as u64, "{comm}");
        assert!((mine - perf).abs() <= 0.001 * runs.len() as f64, "{comm}: {mine} ms, perf {perf}");
    }
}

/// `trace-cmd report` of a switch, as its own plugin prints it, and with `-R`; a kernel with and without
/// flags. (trace-cmd 3.1.6.)
#[test]
fn all_forms_of_a_switch_are_the_same_switch() {
    let long = "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/1 \
                next_pid=0 next_prio=120";
    let want = traced(&format!("a b-7 [001] d..2. 5.000001: sched_switch: {long}")).told;
    assert_eq!(want[0].event.time, 5_000_001_000);
    assert_eq!(want[0].context, Context::Thread);
    for line in [
        format!("cpus=2\n             a b-7     [001]     5.000001: sched_switch:         {long}"),
        "version = 6\na b-7 [001] 5.000001: sched_switch: a b:7 [120] S ==> swapper/1:0 [120]"
            .into(),
        format!("a b 7 [001] 5.000001: sched:sched_switch: {long}"),
        "a b-7 [001] 5.000001: sched_switch: prev_comm=a b prev_pid=7 prev_prio=120 prev_state=1 \
         ==> next_comm=swapper/1 next_pid=0 next_prio=120"
            .into(),
    ] {
        assert_eq!(traced(&line).told[0].event, want[0].event, "{line}");
    }
}

#[test]
fn what_is_lost_or_of_no_interest_is_counted() {
    let switch = "sched_switch: a:7 [120] S ==> swapper/1:0 [120]";
    let text = format!(
        "# tracer: nop\n\nCPU 3 is empty\na-7 [001] 5.0: {switch}\nCPU:1 [LOST 12 EVENTS]\n\
         a-7 [001] 5.1: sched_stat_runtime: comm=a pid=7 runtime=3 [ns]\n"
    );
    let trace = traced(&text);
    assert_eq!((trace.told.len(), trace.lost_events, trace.other_events), (1, 12, 1));
    assert_eq!((trace.nr_cpus, trace.resolution), (2, 100_000_000));
}

#[test]
fn what_is_lost_beyond_all_counting_is_the_most_that_can_be_counted() {
    let lost = format!("CPU:1 [LOST {} EVENTS]\n", u64::MAX);
    let trace =
        traced(&format!("{lost}{lost}a-7 [001] 5.0: sched_switch: a:7 [120] S ==> b:8 [120]"));
    assert_eq!(trace.lost_events, u64::MAX);
}

/// 2^62 ns: what is added to a time is one, too.
#[test]
fn a_time_that_no_clock_has_is_refused_with_its_line() {
    let line = |time: &str| format!("a-7 [001] {time}: sched_switch: a:7 [120] S ==> b:8 [120]");
    let latest = traced(&line("4611686018.427387904"));
    assert_eq!(latest.told[0].event.time, 1 << 62);
    let text = format!("{}\n{}", line("5.0"), line("4611686018.427387905"));
    let error = read(text.as_bytes()).unwrap_err();
    assert!(matches!(error, ReadError::Line { line: 2, .. }), "{error}");
}

#[test]
fn a_message_is_one_line_whatever_stands_in_the_trace() {
    let said = read(b"a\x1b[2J\r\x0bb\n").unwrap_err().to_string();
    assert!(said.starts_with("line 1: found 'a\\u{1b}[2J\\r\\u{b}b', expected"), "{said}");
}

#[test]
fn a_name_that_no_terminal_can_show_is_read_as_ps_shows_it() {
    let trace = traced("a\x1b[2Jb-7 [001] 5.0: sched_switch: a\x1b[2Jb:7 [120] S ==> c:8 [120]");
    assert_eq!(trace.threads.all[0].comm, "a?[2Jb");
    assert_eq!(trace.threads.len(), 2);
}

#[test]
fn lines_may_come_in_any_order_of_time() {
    let line = |at: &str, cpu: u32| {
        format!("a-7 [00{cpu}] {at}: sched_switch: a:7 [120] R ==> b:8 [120]\n")
    };
    let text = [line("2.0", 0), line("1.0", 1), line("3.0", 1), line("1.0", 0)].concat();
    let order: Vec<(u64, u32)> =
        traced(&text).told.iter().map(|told| (told.event.time, told.event.cpu)).collect();
    let second = 1_000_000_000;
    assert_eq!(order, [(second, 1), (second, 0), (2 * second, 0), (3 * second, 1)]);
}

#[test]
fn what_cannot_be_read_is_told_with_its_line_and_what_was_expected() {
    let told = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    let good = "a-7 [001] 5.0: sched_switch: a:7 [120] S ==> swapper/1:0 [120]\n";
    let bad = told(&format!("{good}{good}hello world\n"));
    assert!(bad.starts_with("line 3: found 'hello world', expected a line of an event"), "{bad}");
    let bad =
        told(&format!("{good}a-7 [001] 6.0: sched_wakeup: comm=b pid=x prio=1 target_cpu=0\n"));
    assert_eq!(
        bad,
        "line 2: found 'comm=b pid=x prio=1 target_cpu=0', expected comm= pid= prio= target_cpu="
    );
    assert!(told("").starts_with("found no event of the scheduler in 0 lines"));
    assert_eq!(read(b"PERFILE2\0\0"), Err(ReadError::PerfData));
    assert_eq!(read(b"\x17\x08\x44tracing6\0"), Err(ReadError::TraceDat));
    assert_eq!(read(b"ab\0"), Err(ReadError::Binary { offset: 2 }));
}

/// A thread's number that is given away again is another thread.
#[test]
fn a_number_that_is_used_again_is_a_new_thread() {
    let text = "p-5 [000] 1.0: sched_process_fork: comm=p pid=5 child_comm=p child_pid=9\n\
                c-9 [001] 2.0: sched_switch: c:9 [120] Z ==> swapper/1:0 [120]\n\
                p-5 [000] 3.0: sched_process_fork: comm=p pid=5 child_comm=p child_pid=9\n\
                d-9 [001] 4.0: sched_switch: d:9 [120] S ==> swapper/1:0 [120]\n";
    let trace = traced(text);
    let nines: Vec<&str> =
        trace.threads.all.iter().filter(|t| t.pid == 9).map(|t| t.comm.as_str()).collect();
    assert_eq!(nines, ["c", "d"]);
}

const WAKE: &str = "\
a-1 [000] d..2. 1.000010: sched_waking: comm=b pid=2 prio=120 target_cpu=001
<idle>-0 [001] dNh2. 1.000012: sched_wakeup: comm=b pid=2 prio=120 target_cpu=001
a-1 [000] d..2. 1.000014: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [001] d..2. 1.000015: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=2 next_prio=120
b-2 [001] d.h2. 1.000020: sched_waking: comm=a pid=1 prio=120 target_cpu=000
b-2 [001] d.h2. 1.000021: sched_wakeup: comm=a pid=1 prio=120 target_cpu=000
<idle>-0 [000] d..2. 1.000024: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio=110
b-2 [001] d..2. 1.000030: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=Z ==> next_comm=swapper/1 next_pid=0 next_prio=120
a-1 [000] d..2. 1.000040: sched_switch: prev_comm=a prev_pid=1 prev_prio=110 prev_state=R ==> next_comm=c next_pid=3 next_prio=120
";

#[test]
fn a_history_tells_who_woke_whom_and_what_an_interrupt_did() {
    let trace = traced(WAKE);
    let history = History::of(&trace);
    let life = |pid: i32| {
        let at = trace.threads.all.iter().position(|thread| thread.pid == pid).unwrap();
        (ThreadIx(u32::try_from(at).unwrap()), &history.lives[at])
    };
    let ((a, one), (b, two), (_, three)) = (life(1), life(2), life(3));
    let at = |us: u64| 1_000_000_000 + us * 1_000;
    assert_eq!((history.begin, history.end, history.dispatch), (at(10), at(40), 5_000));
    assert_eq!((one.begin, two.begin), (Begin::Running(0), Begin::Asleep(1)));
    assert_eq!((three.begin, three.end), (Begin::Waiting(0), End::Awake));
    assert_eq!((one.end, two.end), (End::Awake, End::Exited));
    let deeds = |life: &simsched_trace::history::Life| -> Vec<(u64, Does)> {
        life.deeds.iter().map(|deed| (deed.time, deed.does)).collect()
    };
    let woken = |us, by, dispatch| Does::Sleep(Some(Wake { time: at(us), by, dispatch, early: 0 }));
    let own = [
        (at(10), Does::In(0)),
        // Called for in the microsecond in which the wakee was last seen asleep, and so behind it.
        (at(11), Does::Wakes(b, 0, Sync::No)),
        (at(14), woken(20, None, Some(4_000))),
        (at(24), Does::In(0)),
        (at(24), Does::Prio(110)),
        (at(40), Does::Out),
    ];
    assert_eq!(deeds(one), own);
    let other =
        [(at(10), woken(10, Some(a), Some(4_000))), (at(15), Does::In(1)), (at(30), Does::Exits)];
    assert_eq!(deeds(two), other);
    assert_eq!((one.seen.runtime, one.seen.switches, one.seen.wakeups), (20_000, 2, 1));
    assert_eq!((two.seen.runtime, two.seen.switches, two.seen.latency_max), (15_000, 1, 5_000));
}

/// The switch from a to b is missing, as where the tracer may not tell of a.
const HOLE: &str = "\
<idle>-0 [000] d..2. 1.000010: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio=120
b-2 [000] d..2. 1.000030: sched_waking: comm=c pid=3 prio=120 target_cpu=000
b-2 [000] d..2. 1.000040: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=R ==> next_comm=c next_pid=3 next_prio=120
c-3 [000] d..2. 2.000000: sched_waking: comm=a pid=1 prio=120 target_cpu=000
c-3 [000] d..2. 2.000010: sched_switch: prev_comm=c prev_pid=3 prev_prio=120 prev_state=S ==> next_comm=a next_pid=1 next_prio=120
a-1 [000] d..2. 2.000015: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn a_run_whose_end_is_missing_ends_where_another_thread_is_seen_on_its_cpu() {
    let trace = traced(HOLE);
    let history = History::of(&trace);
    let runtime = |pid: i32| {
        let at = trace.threads.all.iter().position(|thread| thread.pid == pid).unwrap();
        history.lives[at].seen.runtime
    };
    assert_eq!(history.gaps, 1);
    // b is known to run from its first event on.
    assert_eq!([runtime(1), runtime(2), runtime(3)], [25_000, 10_000, 999_970_000]);
    assert!(runtime(1) + runtime(2) + runtime(3) <= history.end - history.begin);
}

fn thread(pid: i32, comm: &str) -> Thread {
    Thread { pid, tgid: pid, comm: comm.to_owned(), prio: 120 }
}

/// Any schedule of four threads on two CPUs, event by event.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let state = prop_oneof![
        Just(PrevState::Running { preempted: false }),
        Just(PrevState::Running { preempted: true }),
        Just(PrevState::Interruptible),
        Just(PrevState::Uninterruptible),
    ];
    let event = (0..2_u32, 0..4_u32, 0..4_u32, state, 0..7_u8, 0..50_u64);
    prop::collection::vec(event, 1..60).prop_map(|all| {
        let mut time = 5_000_000_000;
        let mut made: Vec<Event> = Vec::new();
        for (cpu, one, other, prev_state, kind, later) in all {
            time += 1_000 * later;
            let (one, other) = (ThreadIx(one), ThreadIx(other));
            let what = match kind {
                0..3 => What::Switch { prev: one, prev_state, next: other },
                3 => What::Waking { wakee: other, target_cpu: 1 - cpu, sync: false },
                4 => What::Wakeup { wakee: other, target_cpu: cpu },
                5 => What::Migrate { task: other, orig_cpu: cpu, dest_cpu: 1 - cpu },
                _ => What::Exit { task: one },
            };
            made.push(Event { time, cpu, current: one, what });
        }
        made.push(Event {
            time: time + 1_000,
            cpu: 0,
            current: ThreadIx(0),
            what: What::Switch {
                prev: ThreadIx(0),
                prev_state: PrevState::Interruptible,
                next: ThreadIx(1),
            },
        });
        made
    })
}

/// What an event says, with threads by their numbers.
fn said(threads: &Threads, event: &Event) -> String {
    let mut told = format!("{} {} ", event.time, event.cpu);
    for word in format!("{:?} {:?}", event.current, event.what).split_inclusive(')') {
        match word.rsplit_once("ThreadIx(") {
            Some((before, ix)) => {
                let ix: u32 = ix.trim_end_matches(')').parse().unwrap();
                told += &format!("{before}{}", threads.get(ThreadIx(ix)).pid);
            }
            None => told += word,
        }
    }
    told
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(events in events()) {
        let mut threads = Threads::default();
        for (pid, comm) in [(1, "one"), (22, "a b"), (333, "c-4:[0]"), (4444, "fifteen-bytes-x")] {
            threads.push(thread(pid, comm));
        }
        let mut text = Vec::new();
        let mut writer = Ftrace::new(&mut text, 2);
        for event in &events {
            writer.event(&threads, event).unwrap();
        }
        let trace = read(&text).unwrap();
        let read: Vec<String> = trace.told.iter().map(|t| said(&trace.threads, &t.event)).collect();
        let written: Vec<String> = events.iter().map(|event| said(&threads, event)).collect();
        prop_assert_eq!(read, written);
        let _ = History::of(&trace);
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn damaged_traces_are_read_or_refused(cut in 0..WAKE.len(), at in 0..WAKE.len(), byte in 1..128_u8) {
        let mut bytes = WAKE.as_bytes().to_vec();
        bytes[at] = byte;
        bytes.truncate(cut);
        if let Ok(trace) = read(&bytes) {
            let _ = History::of(&trace);
        }
    }
}
