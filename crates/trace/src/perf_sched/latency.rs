//! `perf sched latency`: how long threads waited for a CPU, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use super::{ByThread, Seconds, Wakes};
use crate::event::{Event, PrevState, Sink, ThreadIx, Threads, What};

const HEAD: &str = "
 -------------------------------------------------------------------------------------------------------------------------------------------
  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    | Max delay start           | Max delay end          |
 -------------------------------------------------------------------------------------------------------------------------------------------
";

/// Above the total.
const LINE: &str = " -----------------------------------------------------------------------------------------------------------------";

/// Below it.
const END: &str = " ---------------------------------------------------";

/// Counts, and writes when the schedule has ended.
///
/// A delay runs from the event that woke a sleeper, or from the switch that took the CPU away from a
/// thread, to its next switch to a CPU; each such switch counts. Threads of one name are one line. The run time is that between
/// switches, where perf adds up what the events `sched_stat_runtime` tell.
#[derive(Debug)]
pub struct Latency<W> {
    target: W,
    wakes: Wakes,
    rows: ByThread<Row>,
    /// By CPU: when its last switch was.
    switched: Vec<Option<u64>>,
}

/// Where a thread stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing was heard of it.
    #[default]
    Unknown,
    Asleep,
    /// Runnable since this instant.
    Waits(u64),
    Runs,
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    state: State,
    delays: Delays,
}

/// Delays of a thread, or of all of one name, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    runtime: u64,
    count: u64,
    sum: u64,
    max: u64,
    /// From when to when the longest was.
    at: (u64, u64),
}

impl Delays {
    fn ends(&mut self, since: u64, now: u64) {
        let Some(delay) = now.checked_sub(since) else { return };
        self.count += 1;
        self.sum += delay;
        if delay > self.max {
            (self.max, self.at) = (delay, (since, now));
        }
    }

    fn add(&mut self, other: &Delays) {
        self.runtime += other.runtime;
        self.count += other.count;
        self.sum += other.sum;
        if other.max > self.max {
            (self.max, self.at) = (other.max, other.at);
        }
    }

    fn average(&self) -> u64 {
        self.sum.checked_div(self.count).unwrap_or(0)
    }
}

/// All threads of one name.
struct Group {
    delays: Delays,
    threads: usize,
    pid: i32,
}

impl<W: Write> Latency<W> {
    /// Writes to `target`.
    pub fn new(target: W) -> Latency<W> {
        Latency { target, wakes: Wakes::default(), rows: ByThread::default(), switched: Vec::new() }
    }

    fn switch(
        &mut self,
        threads: &Threads,
        event: &Event,
        (prev, runs): (ThreadIx, bool),
        next: ThreadIx,
    ) {
        let (cpu, now) = (event.cpu as usize, event.time);
        if self.switched.len() <= cpu {
            self.switched.resize(cpu + 1, None);
        }
        let since = self.switched[cpu].replace(now);
        let row = self.rows.row(threads, prev, event.cpu);
        row.delays.runtime += since.map_or(0, |since| now.saturating_sub(since));
        row.state = if runs { State::Waits(now) } else { State::Asleep };
        let row = self.rows.row(threads, next, event.cpu);
        match row.state {
            State::Waits(since) => row.delays.ends(since, now),
            // It comes as if it had been runnable just now.
            State::Unknown => row.delays.ends(now, now),
            State::Asleep | State::Runs => {}
        }
        row.state = State::Runs;
    }

    /// The threads that had delays, by name.
    fn groups<'a>(&self, threads: &'a Threads) -> Vec<(&'a str, Group)> {
        let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
        for (row, thread) in self.rows.threads.iter().zip(&threads.all) {
            if row.state == State::Unknown || thread.pid == 0 {
                continue;
            }
            let new = Group { delays: Delays::default(), threads: 0, pid: thread.pid };
            let group = groups.entry(&thread.comm).or_insert(new);
            group.delays.add(&row.delays);
            group.threads += 1;
        }
        let mut groups: Vec<(&str, Group)> =
            groups.into_iter().filter(|(_, group)| group.delays.count > 0).collect();
        groups.sort_by_key(|(_, Group { delays, .. })| {
            std::cmp::Reverse((delays.average(), delays.max, delays.count, delays.runtime))
        });
        groups
    }

    fn write(&mut self, threads: &Threads) -> io::Result<()> {
        let groups = self.groups(threads);
        let target = &mut self.target;
        target.write_all(HEAD.as_bytes())?;
        let mut all = Delays::default();
        for (comm, Group { delays, threads, pid }) in groups {
            let who = if threads > 1 { format!("({threads})") } else { pid.to_string() };
            let (start, end) = (Seconds(delays.at.0), Seconds(delays.at.1));
            writeln!(
                target,
                "  {:<22}|{} ms |{:>9} | avg:{} ms | max:{} ms | max start: {start:>12} s | \
                 max end: {end:>12} s",
                format!("{comm}:{who} "),
                Msec(delays.runtime, 11),
                delays.count,
                Msec(delays.average(), 8),
                Msec(delays.max, 8),
            )?;
            all.add(&delays);
        }
        let runtime = Msec(all.runtime, 11);
        writeln!(target, "{LINE}\n  TOTAL:                |{runtime} ms |{:>9} |", all.count)?;
        writeln!(target, "{END}\n")
    }
}

/// A length in ns, as ms with three digits in so many characters, rounded.
struct Msec(u64, usize);

impl fmt::Display for Msec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Halves go to the even neighbour, as printf() rounds; what is between is no question.
        let (micros, rest) = (self.0 / 1000, self.0 % 1000);
        let up = rest > 500 || (rest == 500 && micros % 2 == 1);
        let micros = micros + u64::from(up);
        let width = self.1;
        write!(f, "{:>width$}", format!("{}.{:03}", micros / 1000, micros % 1000))
    }
}

impl<W: Write> Sink for Latency<W> {
    fn event(&mut self, threads: &Threads, event: &Event) -> io::Result<()> {
        if let What::Switch { prev, prev_state, next } = event.what {
            let runs = matches!(prev_state, PrevState::Running { .. });
            self.switch(threads, event, (prev, runs), next);
        } else if let Some(wakee) = self.wakes.wakee(event) {
            let row = self.rows.row(threads, wakee, event.cpu);
            // Who is awake is not woken.
            if matches!(row.state, State::Asleep | State::Unknown) {
                row.state = State::Waits(event.time);
            }
        }
        Ok(())
    }

    fn finish(&mut self, threads: &Threads, _: u64) -> io::Result<()> {
        self.write(threads)?;
        self.target.flush()
    }
}
