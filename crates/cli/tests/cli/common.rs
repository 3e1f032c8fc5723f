//! How the tests run the command.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A small run that ends by itself, for whatever does not care which.
pub(crate) const SMALL: &str = "run --quiet --topo t8 -- hackbench -g 1 -f 2 -T -p -l 5";

/// `simsched` with these arguments, separated by blanks.
pub(crate) fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simsched"));
    command.args(args.split_whitespace());
    command
}

/// Runs `simsched` with these arguments.
pub(crate) fn simsched(args: &str) -> Output {
    command(args).output().unwrap()
}

/// Runs `simsched` successfully, and returns what it prints.
pub(crate) fn prints(args: &str) -> String {
    printed(args, &simsched(args))
}

/// The same in this folder.
pub(crate) fn prints_in(folder: &Path, args: &str) -> String {
    printed(args, &command(args).current_dir(folder).output().unwrap())
}

/// Runs `simsched` in a folder, however it ends.
pub(crate) fn simsched_in(folder: &Path, args: &str) -> Output {
    command(args).current_dir(folder).output().unwrap()
}

fn printed(args: &str, output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "simsched {args}: {errors}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs `simsched` successfully, and reads its JSON.
pub(crate) fn json(args: &str) -> Value {
    serde_json::from_str(&prints(args)).unwrap()
}

/// A file of this test run that holds `text`.
pub(crate) fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// The command fails with this code, and says one line that holds all of `parts`.
pub(crate) fn check(args: &str, code: i32, parts: &[&str]) {
    let output = simsched(args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "simsched {args}: {text}");
    assert_eq!(text.lines().count(), 1, "one sentence: {text}");
    for part in parts {
        assert!(text.contains(part), "simsched {args}: no `{part}` in: {text}");
    }
}
