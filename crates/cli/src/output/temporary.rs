//! Files that are being written: under another name, locked, and gone when they are given up.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::{Builder, NamedTempFile};

const PREFIX: &str = ".simsched-";
const SUFFIX: &str = ".tmp";
/// Random letters and digits between the two.
const RANDOM: usize = 8;

/// A file that goes away with its value, unless it gets a name before.
///
/// It is locked as long as it is open. One that nobody has locked was left by a process that was killed.
#[derive(Debug)]
pub(super) struct Temporary(NamedTempFile);

impl Temporary {
    /// A new file in this folder, of which what killed processes left is removed first.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub(super) fn in_folder(folder: &Path) -> io::Result<Temporary> {
        sweep_once(folder);
        loop {
            let file = builder(0o666).tempfile_in(folder)?;
            // Where there are no locks nothing is swept either.
            let _ = file.as_file().lock();
            // Another process may have swept it before it was locked.
            if file.path().exists() {
                return Ok(Temporary(file));
            }
        }
    }

    pub(super) fn file(&self) -> &File {
        self.0.as_file()
    }

    /// Gives the file its name, now that it is complete. What had that name is replaced.
    ///
    /// # Errors
    /// When the disk is full or the like.
    pub(super) fn named(self, target: &Path) -> io::Result<()> {
        self.0.as_file().sync_all()?;
        self.0.persist(target).map_err(|error| error.error)?;
        Ok(())
    }
}

/// How temporary files are named, and who may use them: who might use the result, which has this mode before
/// the process's mask is applied.
pub(crate) fn builder(mode: u32) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// Whether a temporary file is named so.
pub(crate) fn is_name(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    random.is_some_and(|it| it.len() == RANDOM && it.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Folders that were swept by this process.
static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes what killed processes left in this folder, the first time that something is written there.
fn sweep_once(folder: &Path) {
    if SWEPT.lock().is_ok_and(|mut swept| swept.insert(folder.to_owned())) {
        sweep_folder(folder);
    }
}

/// Removes what killed processes left in this folder; there may be none.
pub(crate) fn sweep_folder(folder: &Path) {
    for entry in fs::read_dir(folder).ok().into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && is_name(&entry.file_name().to_string_lossy()) {
            // That it cannot be removed is no reason not to write beside it.
            let _ = sweep(&entry.path());
        }
    }
}

/// Removes this temporary file if nobody writes it.
fn sweep(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.try_lock()?;
    // Locked until it is gone: whoever has just made it waits, and makes another one.
    let removed = fs::remove_file(path);
    drop(file);
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_writes_is_swept_and_what_somebody_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".simsched-0aB1cD2e.tmp");
        let others = [".simsched-notes.tmp", ".simsched-0aB1cD-.tmp", "x.tmp"];
        fs::write(&left, "left").unwrap();
        others.iter().for_each(|name| fs::write(folder.path().join(name), "mine").unwrap());
        let written = Temporary::in_folder(folder.path()).unwrap();
        assert!(!left.exists() && others.iter().all(|name| folder.path().join(name).exists()));
        let path = written.0.path().to_owned();
        assert!(is_name(&path.file_name().unwrap().to_string_lossy()));
        assert!(sweep(&path).is_err() && path.exists());
        drop(written);
        assert!(!path.exists());
    }
}
