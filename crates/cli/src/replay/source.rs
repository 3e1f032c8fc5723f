//! The text of a recording: a file's own, or what the program makes of it that wrote it.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::MultiGzDecoder;

use crate::bounded;
use crate::failure::Failure;
use crate::output;

/// A program that makes text of its own files.
struct Program {
    /// How its files begin.
    magic: &'static [u8],
    /// Its command, before and behind the file.
    words: &'static [&'static str],
    /// Where distributions have it.
    package: &'static str,
}

const PROGRAMS: [Program; 2] = [
    Program {
        magic: b"\x17\x08\x44tracing",
        words: &["trace-cmd", "report", "-t", "-i"],
        package: "trace-cmd",
    },
    Program {
        magic: b"PERFILE2",
        words: &["perf", "script", "--ns", "-F", "comm,pid,tid,cpu,time,event,trace", "-i"],
        package: "linux-perf (Debian), linux-tools (Ubuntu) or perf (Fedora)",
    },
];

/// How a file that gzip has made begins.
const GZIP: &[u8] = b"\x1f\x8b";

/// The text of the recording in `file`, which may be compressed by gzip, of `most` bytes at most.
///
/// # Errors
/// One sentence about a file that cannot be read, or a program that is not there or has failed.
pub(super) fn bytes(file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    output::inputs::reads(file)?;
    let mut bytes =
        bounded(File::open(file).map_err(|error| Failure::file(file, &error))?, file, most)?;
    if bytes.starts_with(GZIP) {
        bytes = bounded(MultiGzDecoder::new(&bytes[..]), file, most)?;
        if PROGRAMS.iter().any(|program| bytes.starts_with(program.magic)) {
            let what = "found a recording that is compressed, expected it without gzip";
            return Err(Failure::Input(format!("{}: {what}", file.display())));
        }
    }
    match PROGRAMS.iter().find(|program| bytes.starts_with(program.magic)) {
        Some(program) => made_by(program, file, most),
        None => Ok(bytes),
    }
}

fn made_by(program: &Program, file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let Program { words, package, .. } = program;
    let line = words[..words.len() - 1].join(" ");
    let name = file.display();
    let mut said = tempfile::tempfile().map_err(|error| Failure::file(file, &error))?;
    let stderr = said.try_clone().map_err(|error| Failure::file(file, &error))?;
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(file).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    let mut child = command.spawn().map_err(|error| {
        Failure::Input(if error.kind() == ErrorKind::NotFound {
            format!(
                "{name}: only `{}` can read this file, and it is not installed (package \
                 {package}); or give the text that `{line}` makes of it elsewhere",
                words[0]
            )
        } else {
            format!("{name}: `{line}` could not be run: {error}")
        })
    })?;
    let text = bounded(child.stdout.take().expect("a pipe to it"), file, most);
    if text.is_err() {
        // What it would go on writing nobody reads.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| Failure::file(file, &error))?;
    let text = text?;
    if !status.success() {
        let _ = said.rewind();
        let said = bounded::bytes(said, file, bounded::MADE)?;
        let said = String::from_utf8_lossy(&said);
        let said = said.lines().last().unwrap_or("nothing").trim().to_owned();
        return Err(Failure::Input(format!("{name}: `{line}` failed and said: {said}")));
    }
    Ok(text)
}

/// All that `reader` has, if that is not more than `--max-input` allows.
fn bounded(reader: impl Read, file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    bounded::bytes(reader, file, most).map_err(|failure| match failure {
        Failure::Input(text) => Failure::Input(format!("{text}; `--max-input` allows more")),
        other => other,
    })
}
