//! `ReadError`: at which line a trace could not be read, and what was expected there.

/// Why a trace could not be read. The name of the file is for who opened it to add.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A line that no reader knows.
    #[error("line {line}: found '{found}', expected {expected}")]
    Line {
        /// Its number, from 1 on.
        line: usize,
        /// Its beginning.
        found: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// Text without a single event of the scheduler.
    #[error(
        "found no event of the scheduler in {lines} lines, expected the text of `perf script`, of \
         `trace-cmd report` or of /sys/kernel/tracing/trace with sched_switch in it"
    )]
    Empty {
        /// How many lines there are.
        lines: usize,
    },
    /// A file of trace-cmd, which is no text.
    #[error(
        "found a trace.dat of trace-cmd, expected the text that `trace-cmd report` makes of it"
    )]
    TraceDat,
    /// A file of perf, which is no text.
    #[error("found a perf.data, expected the text that `perf script -i` makes of it")]
    PerfData,
    /// Some other file that is no text.
    #[error("found a byte 0 at offset {offset}, expected text")]
    Binary {
        /// Where, from 0 on.
        offset: usize,
    },
    /// More than an index can count.
    #[error("found more than {limit} threads")]
    Threads {
        /// How many there may be.
        limit: u32,
    },
}

/// How much of a line a message shows.
const SHOWN: usize = 60;

impl ReadError {
    /// Line `line` is not what was expected.
    pub(super) fn line(line: usize, text: &str, expected: &'static str) -> ReadError {
        let escape =
            |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
        let mut found: String = text.trim().chars().take(SHOWN).map(escape).collect();
        if text.trim().chars().nth(SHOWN).is_some() {
            found.push_str("...");
        }
        ReadError::Line { line, found, expected }
    }
}
