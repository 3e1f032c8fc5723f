//! The text of `ftrace`: a line for each event, as `trace-cmd report -N` of trace-cmd 3.1 prints it, which
//! leaves the fields to the `print fmt` of each event as the kernel's own file `trace` does.

use std::io::{self, Write};

use crate::event::{Event, Sink, Threads};
use crate::text::{self, Colon, Fields, Micros};

/// Writes the text.
#[derive(Debug)]
pub struct Ftrace<W> {
    target: W,
    /// What the first line says; it is taken when that has been written.
    nr_cpus: Option<usize>,
}

impl<W: Write> Ftrace<W> {
    /// Writes to `target` what is told of a machine with so many CPUs.
    pub fn new(target: W, nr_cpus: usize) -> Ftrace<W> {
        Ftrace { target, nr_cpus: Some(nr_cpus) }
    }

    fn head(&mut self) -> io::Result<()> {
        match self.nr_cpus.take() {
            Some(nr_cpus) => writeln!(self.target, "cpus={nr_cpus}"),
            None => Ok(()),
        }
    }
}

impl<W: Write> Sink for Ftrace<W> {
    fn event(&mut self, threads: &Threads, event: &Event) -> io::Result<()> {
        self.head()?;
        let current = threads.get(event.current);
        let comm = if current.pid == 0 { "<idle>" } else { &current.comm };
        writeln!(
            self.target,
            "{comm:>16}-{:<5} [{:03}] {:>12}: {:<21} {}",
            current.pid,
            event.cpu,
            Micros(event.time),
            Colon(text::name(&event.what)),
            Fields(threads, &event.what)
        )
    }

    fn finish(&mut self, _: &Threads, _: u64) -> io::Result<()> {
        self.head()?;
        self.target.flush()
    }
}
