//! The text of a recording: a file's own, or what the program makes of it that wrote it.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::MultiGzDecoder;

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

/// The text of the recording in `file`, which may be compressed by gzip.
///
/// # Errors
/// One sentence about a file that cannot be read, or a program that is not there or has failed.
pub(super) fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    output::inputs::reads(file)?;
    let mut bytes = fs::read(file).map_err(|error| Failure::file(file, &error))?;
    if bytes.starts_with(GZIP) {
        let mut text = Vec::new();
        let read = MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text);
        read.map_err(|error| Failure::file(file, &error))?;
        bytes = text;
        if PROGRAMS.iter().any(|program| bytes.starts_with(program.magic)) {
            let what = "found a recording that is compressed, expected it without gzip";
            return Err(Failure::Input(format!("{}: {what}", file.display())));
        }
    }
    match PROGRAMS.iter().find(|program| bytes.starts_with(program.magic)) {
        Some(program) => made_by(program, file),
        None => Ok(bytes),
    }
}

fn made_by(program: &Program, file: &Path) -> Result<Vec<u8>, Failure> {
    let Program { words, package, .. } = program;
    let line = words[..words.len() - 1].join(" ");
    let name = file.display();
    let run = Command::new(words[0]).args(&words[1..]).arg(file).stdin(Stdio::null()).output();
    let output = run.map_err(|error| {
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
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().last().unwrap_or("nothing").trim().to_owned();
        return Err(Failure::Input(format!("{name}: `{line}` failed and said: {said}")));
    }
    Ok(output.stdout)
}
