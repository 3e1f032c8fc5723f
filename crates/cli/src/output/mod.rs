//! What is printed and written: JSON or text, to a file or to stdout.

mod file;
pub(crate) mod inputs;
mod llc;
mod page;
mod place;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod units;

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;

pub(crate) use file::Whole;
pub(crate) use place::{Place, are_apart};

/// Prints to stdout. That nobody reads (a closed pipe) is no accident.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    printed.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::NobodyReads,
        _ => Failure::file(Path::new("stdout"), &error),
    })
}

/// Says a sentence on stderr; that nobody hears it is no reason to stop.
pub(crate) fn say(sentence: &str) {
    let _ = writeln!(io::stderr(), "simsched: {sentence}");
}

/// A value as JSON with a line end.
pub(crate) fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("reports have only string keys");
    text.push('\n');
    text
}
