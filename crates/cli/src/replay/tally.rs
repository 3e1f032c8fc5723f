//! `Tally`: what each thread does in a replay, counted as in the recording.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use simsched_core::BOOT_CLOCK;
use simsched_trace::history::Seen;
use simsched_trace::{Event, Sink, ThreadIx, Threads, What};
use simsched_workloads::replay::{End, Ends, Recording};

/// Counts what the tasks of a replay do up to their ends.
pub(super) struct Tally {
    tallied: Rc<RefCell<Tallied>>,
    ends: Ends,
    /// When the recording begins in the run, in ns.
    lead: u64,
}

/// What was counted.
pub(super) struct Tallied {
    /// By task.
    pub(super) rows: Vec<Row>,
    /// From each call for a task to the switch to it, in ns.
    pub(super) latencies: Vec<u64>,
}

/// What is known of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) seen: Seen,
    /// Since when it has a CPU.
    since: Option<u64>,
    /// When it was called for.
    called: Option<u64>,
    /// It is awake at the end of the recording: it does not leave its CPU then.
    stays: bool,
    /// It has left its CPU at its end.
    gone: bool,
}

impl Tally {
    /// Of a recording whose threads are these `tasks`; and where it counts.
    pub(super) fn new(
        recording: &Recording,
        tasks: &[usize],
        (ends, lead): (Ends, u64),
    ) -> (Tally, Rc<RefCell<Tallied>>) {
        let row = |thread: &usize| {
            let thread = &recording.threads[*thread];
            Row {
                seen: Seen::default(),
                since: None,
                called: None,
                stays: thread.end == End::Awake,
                gone: false,
            }
        };
        let rows = tasks.iter().map(row).collect();
        let tallied = Rc::new(RefCell::new(Tallied { rows, latencies: Vec::new() }));
        (Tally { tallied: Rc::clone(&tallied), ends, lead }, tallied)
    }
}

impl Row {
    fn out(&mut self, time: u64, end: u64, lead: u64) {
        if let Some(since) = self.since.take() {
            let since = since.max(lead);
            self.seen.runtime += time.min(end).saturating_sub(since);
        }
        let counts = time < end || !(self.stays || self.gone);
        self.gone |= time >= end;
        self.seen.switches += u64::from(counts);
    }

    /// It gets a CPU; how long ago it was called for, if it was.
    fn gets(&mut self, time: u64, end: u64) -> Option<u64> {
        self.since = Some(time);
        let called = self.called.take().filter(|_| !self.gone && time <= end);
        let latency = time.saturating_sub(called?);
        self.seen.wakeups += 1;
        self.seen.latency_sum += latency;
        self.seen.latency_max = self.seen.latency_max.max(latency);
        Some(latency)
    }
}

impl Sink for Tally {
    fn event(&mut self, _: &Threads, event: &Event) -> io::Result<()> {
        let time = event.time - BOOT_CLOCK;
        let Tallied { rows, latencies } = &mut *self.tallied.borrow_mut();
        // Behind the tasks come the idle tasks and the stoppers.
        let row = |ix: ThreadIx| ix.0 as usize;
        match event.what {
            What::Switch { prev, next, .. } => {
                let (out, gets) = (row(prev), row(next));
                if let Some(row) = rows.get_mut(out) {
                    row.out(time, self.ends.of(out), self.lead);
                }
                if let Some(row) = rows.get_mut(gets) {
                    latencies.extend(row.gets(time, self.ends.of(gets)));
                }
            }
            What::Waking { wakee, .. } => {
                if let Some(row) = rows.get_mut(row(wakee)) {
                    row.called = Some(time);
                }
            }
            What::Migrate { task, .. } => {
                let nth = row(task);
                if let Some(row) = rows.get_mut(nth).filter(|row| !row.gone) {
                    row.seen.migrations += u64::from(time <= self.ends.of(nth));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A run ends with the end of its last task, before that has left its CPU.
    fn finish(&mut self, _: &Threads, time: u64) -> io::Result<()> {
        for (nth, row) in self.tallied.borrow_mut().rows.iter_mut().enumerate() {
            if row.since.is_some() {
                row.out(time - BOOT_CLOCK, self.ends.of(nth), self.lead);
            }
        }
        Ok(())
    }
}
