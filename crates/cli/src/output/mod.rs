//! What is printed and written: JSON or text, to a file or to stdout.

mod file;
pub(crate) mod inputs;
mod llc;
mod page;
mod place;
mod plain;
pub(crate) mod table;
pub(crate) mod temporary;
pub(crate) mod text;
pub(crate) mod units;

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;

pub(crate) use file::Whole;
pub(crate) use place::{Place, are_apart};
pub(crate) use plain::sentence;

/// Prints a text for people to stdout: what would steer a terminal is escaped.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    data(&plain::plain(text))
}

/// Prints a text for programs to stdout, as it is. That nobody reads (a closed pipe) is no accident.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    printed.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::NobodyReads,
        _ => Failure::file(Path::new("stdout"), &error),
    })
}

/// Says a sentence on stderr; that nobody hears it is no reason to stop.
pub(crate) fn say(sentence: &str) {
    let _ = writeln!(io::stderr(), "simsched: {}", plain::sentence(sentence));
}

/// Passes on what another program has said on its stderr, as it said it.
#[cfg(feature = "kernel")]
pub(crate) fn as_it_is(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// A value as JSON with a line end.
pub(crate) fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("reports have only string keys");
    text.push('\n');
    text
}
