//! `trace.dat` and the text of it, against what trace-cmd reads.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use simsched_trace::{Event, Ftrace, PrevState, Sink, Thread, ThreadIx, Threads, TraceDat, What};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn threads() -> Threads {
    let mut threads = Threads::default();
    let mut add = |pid, tgid, comm: &str, prio| {
        threads.push(Thread { pid, tgid, comm: comm.to_owned(), prio });
    };
    add(0, 0, "swapper/0", 120);
    add(0, 0, "swapper/1", 120);
    add(2000, 2000, "main", 120);
    add(2001, 2000, "fifteen letters", 139);
    add(3, 3, "migration/0", 0);
    threads
}

/// One of each kind, in each state, with gaps that need a word of their own.
fn schedule() -> Vec<Event> {
    let ix = ThreadIx;
    let mut events = Vec::new();
    let mut add = |time, cpu, current, what| {
        events.push(Event { time, cpu, current: ix(current), what });
    };
    let switch =
        |prev, prev_state, next| What::Switch { prev: ix(prev), prev_state, next: ix(next) };
    let runs = PrevState::Running { preempted: false };
    add(1_000_000_000, 0, 0, What::WakeupNew { wakee: ix(2), target_cpu: 0 });
    add(1_000_000_500, 0, 0, switch(0, runs, 2));
    add(1_000_002_499, 0, 2, What::Fork { parent: ix(2), child: ix(3) });
    add(1_000_003_000, 0, 2, What::WakeupNew { wakee: ix(3), target_cpu: 1 });
    add(1_000_004_000, 1, 1, switch(1, runs, 3));
    add(1_999_999_600, 1, 3, switch(3, PrevState::Uninterruptible, 1));
    add(2_500_000_000, 0, 2, What::Waking { wakee: ix(3), target_cpu: 1, sync: false });
    add(2_500_000_900, 0, 2, What::Migrate { task: ix(3), orig_cpu: 1, dest_cpu: 0 });
    add(2_500_001_000, 0, 2, What::Wakeup { wakee: ix(3), target_cpu: 0 });
    add(2_500_002_000, 0, 2, switch(2, PrevState::Running { preempted: true }, 4));
    add(2_500_003_000, 0, 4, switch(4, PrevState::Interruptible, 3));
    add(2_600_003_000, 0, 3, What::Exit { task: ix(3) });
    add(2_600_004_000, 0, 3, switch(3, PrevState::Dead, 2));
    add(302_600_004_000, 0, 2, switch(2, PrevState::Zombie, 0));
    events
}

fn dat(events: &[Event], nr_cpus: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sink = TraceDat::new(&mut bytes, Cursor::new(Vec::new()), nr_cpus);
    let threads = threads();
    events.iter().for_each(|event| sink.event(&threads, event).unwrap());
    sink.finish(&threads, 0).unwrap();
    bytes
}

/// `small.trace-cmd.txt` is what `trace-cmd report -N` prints of `small.dat`, which `UPDATE_GOLDEN=1` writes
/// anew; then trace-cmd has to be asked again.
#[test]
#[expect(clippy::disallowed_methods, reason = "how goldens are renewed; no result depends on it")]
fn trace_cmd_has_read_what_is_written() {
    let written = dat(&schedule(), 2);
    if std::env::var("UPDATE_GOLDEN").is_ok() {
        std::fs::write(data("small.dat"), &written).unwrap();
    }
    assert_eq!(written, std::fs::read(data("small.dat")).unwrap());
    let mut text = Vec::new();
    let mut sink = Ftrace::new(&mut text, 2);
    schedule().iter().for_each(|event| sink.event(&threads(), event).unwrap());
    sink.finish(&threads(), 0).unwrap();
    let read = std::fs::read_to_string(data("small.trace-cmd.txt")).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), read);
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The times and types of the events of each CPU, read as the manual page says.
fn read(bytes: &[u8]) -> Vec<Vec<(u64, u16)>> {
    let mark = b"options  \0\0\0flyrecord\0";
    let at = bytes.windows(mark.len()).position(|window| window == mark).unwrap();
    let nr_cpus = word(bytes, at - 4) as usize;
    let places = at + mark.len();
    let place = |nth: usize| usize::try_from(long(bytes, places + 8 * nth)).unwrap();
    let mut cpus = Vec::new();
    for cpu in 0..nr_cpus {
        let (offset, size) = (place(2 * cpu), place(2 * cpu + 1));
        assert_eq!((offset % 4096, size % 4096), (0, 0));
        let mut events = Vec::new();
        for page in bytes[offset..offset + size].chunks(4096) {
            let mut time = long(page, 0);
            let end = 16 + usize::try_from(long(page, 8)).unwrap();
            let mut at = 16;
            while at < end {
                let first = word(page, at);
                let (kind, delta) = (first & 31, u64::from(first >> 5));
                if kind == 30 {
                    time += delta + (u64::from(word(page, at + 4)) << 27);
                    at += 8;
                } else {
                    time += delta;
                    events.push((time, u16::from_le_bytes([page[at + 4], page[at + 5]])));
                    at += 4 + 4 * kind as usize;
                }
            }
            assert_eq!(at, end);
        }
        cpus.push(events);
    }
    cpus
}

proptest! {
    #[test]
    fn every_event_is_in_the_pages_of_its_cpu_at_its_time(
        steps in prop::collection::vec((0_u64..1 << 40, 0_u32..3, 0_usize..7), 0..600)
    ) {
        let mut time = 0;
        let kinds = schedule();
        let mut events = Vec::new();
        for (step, cpu, kind) in steps {
            // Most gaps are short.
            time += if step % 5 == 0 { step } else { step % 5000 };
            events.push(Event { time, cpu, ..kinds[[1, 2, 3, 6, 7, 8, 11][kind]] });
        }
        let ids = [316, 310, 317, 319, 315, 318, 313];
        let id = |event: &Event| match event.what {
            What::Switch { .. } => ids[0],
            What::Fork { .. } => ids[1],
            What::WakeupNew { .. } => ids[2],
            What::Waking { .. } => ids[3],
            What::Migrate { .. } => ids[4],
            What::Wakeup { .. } => ids[5],
            What::Exit { .. } => ids[6],
        };
        let found = read(&dat(&events, 3));
        prop_assert_eq!(found.len(), 3);
        for (cpu, found) in found.iter().enumerate() {
            let own = events.iter().filter(|event| event.cpu as usize == cpu);
            let own: Vec<(u64, u16)> = own.map(|event| (event.time, id(event))).collect();
            prop_assert_eq!(found, &own);
        }
    }
}
