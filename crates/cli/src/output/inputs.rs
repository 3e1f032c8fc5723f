//! What a command reads is not written over by the same command.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::failure::Failure;

/// Regular files by their real paths: those that were read, and those that are to be written.
static SEEN: Mutex<[BTreeSet<PathBuf>; 2]> = Mutex::new([BTreeSet::new(), BTreeSet::new()]);

const READ: usize = 0;
const WRITTEN: usize = 1;

/// The command reads `path`.
///
/// # Errors
/// When it is to write the same file.
pub(crate) fn reads(path: &Path) -> Result<(), Failure> {
    note(path, READ)
}

/// The command is to write `path`.
///
/// # Errors
/// When it has read the same file.
pub(super) fn writes(path: &Path) -> Result<(), Failure> {
    note(path, WRITTEN)
}

fn note(path: &Path, how: usize) -> Result<(), Failure> {
    // What is not there yet was not read.
    let Some(real) = fs::canonicalize(path).ok().filter(|real| real.is_file()) else {
        return Ok(());
    };
    let mut seen = SEEN.lock().expect("nobody panics while looking");
    if seen[1 - how].contains(&real) {
        return Err(Failure::Input(format!(
            "{}: found the same file to read and to write, expected another one to write",
            path.display()
        )));
    }
    seen[how].insert(real);
    Ok(())
}
