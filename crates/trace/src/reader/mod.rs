//! Readers: the text that perf, trace-cmd and the kernel's tracer print, to [`Event`]s.
//!
//! The format is recognized by what a line looks like. Lines of other events are left out and counted,
//! and so is what the tracer has lost. Events come in the order of time, whatever that of the lines;
//! where times are equal the order of the lines stays.

mod error;
mod fields;
mod head;
mod table;

use std::borrow::Cow;

use crate::event::{Event, ThreadIx, Threads};
pub use error::ReadError;
use fields::Fields;
use head::Head;
pub use head::{Context, Format};
use table::Table;

/// An event, and what its line tells beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// What has happened.
    pub event: Event,
    /// In what that code ran.
    pub context: Context,
}

/// A thread has another priority from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renice {
    /// When it was seen for the first time, in ns.
    pub time: u64,
    /// Whose.
    pub thread: ThreadIx,
    /// Its priority as the kernel counts.
    pub prio: i32,
}

/// A schedule that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Which program wrote it.
    pub format: Format,
    /// All threads: the last name of each, and its first priority.
    pub threads: Threads,
    /// The events, in the order of time.
    pub told: Vec<Told>,
    /// Priorities that change, in the order of time.
    pub renices: Vec<Renice>,
    /// How many CPUs the machine has, as the text begins; at least one more than the largest number that is named.
    pub nr_cpus: u32,
    /// The finest difference between two times that the text can tell, in ns: 1000 is a microsecond.
    pub resolution: u64,
    /// Lines of events that were left out, as nobody here asks for them.
    pub other_events: u64,
    /// Events that the tracer says it has lost.
    pub lost_events: u64,
}

/// An event of the scheduler, as its line has it.
struct Line<'a> {
    head: Head<'a>,
    fields: Fields<'a>,
}

/// What is found in the lines of a text.
struct Found<'a> {
    format: Option<Format>,
    lines: Vec<Line<'a>>,
    resolution: u64,
    /// As the text begins; 0 where that does not say.
    nr_cpus: u32,
    other_events: u64,
    lost_events: u64,
}

/// What a line is expected to look like.
const LINE: &str = "a line of an event: `COMM-PID [CPU] FLAGS SECONDS.FRACTION: EVENT: FIELDS` or \
                    `COMM PID [CPU] SECONDS.FRACTION: sched:EVENT: FIELDS`";

/// How trace-cmd's own files begin.
const TRACE_DAT: &[u8] = b"\x17\x08\x44tracing";
/// How perf's own files begin, in either order of bytes.
const PERF_DATA: [&[u8]; 2] = [b"PERFILE2", b"2ELIFREP"];

/// Reads a schedule.
///
/// # Errors
/// When it is no text, has a line that is none of such a trace, or no event of the scheduler; the
/// message tells the line and what was expected.
pub fn read(bytes: &[u8]) -> Result<Trace, ReadError> {
    if bytes.starts_with(TRACE_DAT) {
        return Err(ReadError::TraceDat);
    }
    if PERF_DATA.iter().any(|magic| bytes.starts_with(magic)) {
        return Err(ReadError::PerfData);
    }
    if let Some(offset) = bytes.iter().position(|byte| *byte == 0) {
        return Err(ReadError::Binary { offset });
    }
    let text: Cow<'_, str> = String::from_utf8_lossy(bytes);
    let mut found = lines(&text)?;
    let Some(format) = found.format else {
        return Err(ReadError::Empty { lines: text.lines().count() });
    };
    found.lines.sort_by_key(|line| line.head.time);
    if !found.lines.iter().any(|line| matches!(line.fields, Fields::Switch { .. })) {
        return Err(ReadError::Empty { lines: text.lines().count() });
    }
    let mut table = Table::default();
    let told = found.lines.iter().map(|line| table.told(&line.head, &line.fields));
    let told = told.collect::<Result<Vec<Told>, ReadError>>()?;
    Ok(Trace {
        format,
        told,
        nr_cpus: table.nr_cpus.max(found.nr_cpus),
        renices: table.renices,
        threads: table.threads,
        resolution: found.resolution,
        other_events: found.other_events,
        lost_events: found.lost_events,
    })
}

fn lines(text: &str) -> Result<Found<'_>, ReadError> {
    let mut found = Found {
        format: None,
        lines: Vec::new(),
        resolution: 1_000_000_000,
        nr_cpus: 0,
        other_events: 0,
        lost_events: 0,
    };
    for (nth, line) in (1..).zip(text.lines()) {
        let read = match found.format {
            Some(format) => head::head(format, line).map(|head| (format, head)),
            None => [Format::Ftrace, Format::PerfScript]
                .into_iter()
                .find_map(|format| Some((format, head::head(format, line)?))),
        };
        let Some((format, head)) = read else {
            let lost = remark(line).ok_or_else(|| ReadError::line(nth, line, LINE))?;
            found.nr_cpus = found.nr_cpus.max(head::named_cpus(line));
            found.lost_events = found.lost_events.saturating_add(lost);
            continue;
        };
        found.format = Some(format);
        let Some(expected) = fields::expected(head.event) else {
            found.other_events += 1;
            continue;
        };
        let fields = fields::parse(head.event, head.fields);
        let fields = fields.ok_or_else(|| ReadError::line(nth, head.fields, expected))?;
        let digits = u32::try_from(head::digits(line)).unwrap_or(9).min(9);
        found.resolution = found.resolution.min(10_u64.pow(9 - digits));
        found.lines.push(Line { head, fields });
    }
    Ok(found)
}

/// A line that is no event: how many events it says are lost, or `None` if it is nothing that these
/// programs write.
fn remark(line: &str) -> Option<u64> {
    let text = line.trim();
    if text.is_empty() || text.starts_with('#') {
        return Some(0);
    }
    if let Some((_, behind)) = text.split_once("LOST ") {
        // `CPU:3 [LOST 12 EVENTS]`; perf: `PERF_RECORD_LOST lost 12`, `LOST 12 events!`.
        return behind.split(' ').find_map(|word| word.parse().ok()).or(Some(0));
    }
    if let Some((_, behind)) = text.split_once("PERF_RECORD_LOST") {
        return behind.split(' ').find_map(|word| word.parse().ok()).or(Some(0));
    }
    let is_heading =
        ["cpus=", "version = ", "trace-cmd: ", "CPU "].iter().any(|word| text.starts_with(word));
    // A call stack of `perf record -g`, and what follows it.
    let is_stack = line.starts_with(char::is_whitespace)
        && text
            .split(' ')
            .next()
            .is_some_and(|word| word.len() >= 4 && u64::from_str_radix(word, 16).is_ok());
    let is_dashes = text.starts_with("=>") || text.starts_with("<stack trace>");
    (is_heading || is_stack || is_dashes).then_some(0)
}
