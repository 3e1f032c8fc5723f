//! `perf sched map`: who runs on which CPU, a line for each switch.

use std::io::{self, Write};

use super::Seconds;
use crate::event::{Event, Sink, ThreadIx, Threads, What};

/// Writes the lines.
///
/// Each thread is known by a letter and a digit, which are told when it comes to run for the first time;
/// the idle task is a dot, and a star is before the CPU that switches.
#[derive(Debug)]
pub struct Map<W> {
    target: W,
    /// By thread: its name in the map.
    names: Vec<Option<[u8; 2]>>,
    /// How many names there are.
    named: usize,
    /// By CPU: whom it executes.
    cpus: Vec<Option<[u8; 2]>>,
    line: Vec<u8>,
}

/// The name of the idle tasks.
const IDLE: [u8; 2] = *b". ";

impl<W: Write> Map<W> {
    /// Writes to `target` what is told of a machine with so many CPUs.
    pub fn new(target: W, nr_cpus: usize) -> Map<W> {
        Map { target, names: Vec::new(), named: 0, cpus: vec![None; nr_cpus], line: Vec::new() }
    }

    /// The name of a thread in the map, and whether it is new.
    fn name(&mut self, threads: &Threads, ix: ThreadIx) -> ([u8; 2], bool) {
        let nth = ix.0 as usize;
        if self.names.len() <= nth {
            self.names.resize(nth + 1, None);
        }
        if let Some(name) = self.names[nth] {
            return (name, false);
        }
        let name = if threads.get(ix).pid == 0 { IDLE } else { nth_name(self.named) };
        self.named += usize::from(name != IDLE);
        self.names[nth] = Some(name);
        (name, name != IDLE)
    }
}

/// The names: letters first, then the next digit; all over again after 260.
fn nth_name(nth: usize) -> [u8; 2] {
    let of = |first: u8, nth: usize| first + u8::try_from(nth).unwrap_or(0);
    [of(b'A', nth % 26), of(b'0', nth / 26 % 10)]
}

impl<W: Write> Sink for Map<W> {
    fn event(&mut self, threads: &Threads, event: &Event) -> io::Result<()> {
        let What::Switch { next, .. } = event.what else { return Ok(()) };
        let cpu = event.cpu as usize;
        if self.cpus.len() <= cpu {
            self.cpus.resize(cpu + 1, None);
        }
        let (name, is_new) = self.name(threads, next);
        self.cpus[cpu] = Some(name);
        self.line.clear();
        self.line.extend(b"  ");
        for (nth, name) in self.cpus.iter().enumerate() {
            self.line.push(if nth == cpu { b'*' } else { b' ' });
            self.line.extend(name.unwrap_or(*b"  "));
            self.line.push(b' ');
        }
        write!(self.line, "  {:>12} secs ", Seconds(event.time))?;
        if is_new {
            let thread = threads.get(next);
            let name = String::from_utf8_lossy(&name);
            write!(self.line, "{name} => {}:{}", thread.comm, thread.pid)?;
        }
        self.line.push(b'\n');
        self.target.write_all(&self.line)
    }

    fn finish(&mut self, _: &Threads, _: u64) -> io::Result<()> {
        self.target.flush()
    }
}
