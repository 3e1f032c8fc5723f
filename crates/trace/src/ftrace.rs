//! The text of `ftrace`: a line for each event, as `trace-cmd report` and the kernel's own `trace` file
//! have it.

use std::io::{self, Write};

use crate::event::{Event, Sink, Threads};
use crate::text::{self, Fields};

/// Writes the text.
#[derive(Debug)]
pub struct Ftrace<W> {
    target: W,
}

impl<W: Write> Ftrace<W> {
    /// Writes to `target`.
    pub fn new(target: W) -> Ftrace<W> {
        Ftrace { target }
    }
}

/// The four characters of flags. None of them is known: interrupts, rescheduling, handlers, preemption.
const FLAGS: &str = "....";

impl<W: Write> Sink for Ftrace<W> {
    fn event(&mut self, threads: &Threads, event: &Event) -> io::Result<()> {
        let current = threads.get(event.current);
        let comm = if current.pid == 0 { "<idle>" } else { &current.comm };
        let (secs, micros) = (event.time / 1_000_000_000, event.time / 1000 % 1_000_000);
        writeln!(
            self.target,
            "{comm:>16}-{:<7} [{:03}] {FLAGS} {secs:>5}.{micros:06}: {}: {}",
            current.pid,
            event.cpu,
            text::name(&event.what),
            Fields(threads, &event.what)
        )
    }

    fn finish(&mut self, _: &Threads, _: u64) -> io::Result<()> {
        self.target.flush()
    }
}
