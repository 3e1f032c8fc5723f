//! `perf sched timehist`: a line for each time that a thread had a CPU.

use std::io::{self, Write};

use super::{ByThread, Seconds, Wakes};
use crate::event::{Event, Sink, Thread, ThreadIx, Threads, What};

/// How wide the column of names is at least.
const NAMES: usize = 30;

/// And at most; longer names stand out of it.
const WIDEST: usize = 1_000;

const HEAD: &str =
    "           time    cpu  task name                       wait time  sch delay   run time
                        [tid/pid]                          (msec)     (msec)     (msec)
--------------- ------  ------------------------------  ---------  ---------  ---------
";

/// Writes the lines.
///
/// A line is written when a thread leaves its CPU. Its run time is what has passed since the switch
/// before on that CPU; its sch delay what had passed before from the event that woke it, and its
/// wait time from when it left a CPU before.
#[derive(Debug)]
pub struct Timehist<W> {
    target: W,
    /// How wide the column of names is by now.
    names: usize,
    begun: bool,
    wakes: Wakes,
    rows: ByThread<Row>,
    /// By CPU: when its last switch was; 0 if there was none.
    switched: Vec<u64>,
}

/// What is known of a thread. 0 is never.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// When it left a CPU.
    left: u64,
    /// When it was woken, since it left a CPU.
    woken: u64,
}

impl<W: Write> Timehist<W> {
    /// Writes to `target`.
    pub fn new(target: W) -> Timehist<W> {
        Timehist {
            target,
            names: NAMES,
            begun: false,
            wakes: Wakes::default(),
            rows: ByThread::default(),
            switched: Vec::new(),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        self.target.write_all(HEAD.as_bytes())
    }

    fn switch(&mut self, threads: &Threads, event: &Event, prev: ThreadIx) -> io::Result<()> {
        let cpu = event.cpu as usize;
        if self.switched.len() <= cpu {
            self.switched.resize(cpu + 1, 0);
        }
        let since = std::mem::replace(&mut self.switched[cpu], event.time);
        let row = self.rows.row(threads, prev, event.cpu);
        let Row { left, woken } = std::mem::replace(row, Row { left: event.time, woken: 0 });
        let from = |begun: u64, end: u64| if begun == 0 { 0 } else { end.saturating_sub(begun) };
        let (wait, delay, run) = (from(left, since), from(woken, since), from(since, event.time));
        let name = name(threads.get(prev));
        self.names = self.names.max(name.len());
        writeln!(
            self.target,
            "{:>15} [{cpu:04}]  {name:<width$} {} {} {} ",
            Seconds(event.time),
            Msec(wait),
            Msec(delay),
            Msec(run),
            width = self.names.min(WIDEST)
        )
    }
}

impl<W: Write> Sink for Timehist<W> {
    fn event(&mut self, threads: &Threads, event: &Event) -> io::Result<()> {
        self.begin()?;
        if let What::Switch { prev, .. } = event.what {
            return self.switch(threads, event, prev);
        }
        if let Some(wakee) = self.wakes.wakee(event) {
            let row = self.rows.row(threads, wakee, event.cpu);
            if row.woken == 0 {
                row.woken = event.time;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &Threads, _: u64) -> io::Result<()> {
        self.begin()?;
        self.target.flush()
    }
}

/// A name with its numbers.
fn name(thread: &Thread) -> String {
    match thread {
        Thread { pid: 0, .. } => "<idle>".to_owned(),
        Thread { pid, tgid, comm, .. } if pid == tgid => format!("{comm}[{pid}]"),
        Thread { pid, tgid, comm, .. } => format!("{comm}[{pid}/{tgid}]"),
    }
}

/// A length in ns, as ms with three digits; the rest is cut off.
struct Msec(u64);

impl std::fmt::Display for Msec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:6}.{:03}", self.0 / 1_000_000, self.0 % 1_000_000 / 1000)
    }
}
