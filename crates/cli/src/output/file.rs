//! Files appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::inputs;
use super::temporary::Temporary;
use crate::failure::Failure;

/// A file that is to be written as a whole: its place is known to be writable.
///
/// The text goes to a temporary file beside the target, which gets the target's name when it is
/// complete. What exists and is no regular file (a terminal, a named pipe, `/dev/null`) is written
/// in place, and a symbolic link is followed. Without [`Whole::write`] nothing is left behind.
#[derive(Debug)]
pub(crate) struct Whole {
    /// The path as given.
    path: PathBuf,
    /// Where the links of the path lead.
    target: PathBuf,
    temporary: Option<Temporary>,
}

impl Whole {
    /// Finds out whether `path` can be written, and begins to.
    ///
    /// # Errors
    /// When its folder is missing or cannot be written, or when it is a folder or may not be
    /// changed itself.
    pub(crate) fn begin(path: &Path) -> Result<Whole, Failure> {
        let target = followed(path);
        inputs::writes(path)?;
        let temporary = begun(&target).map_err(|error| Failure::file(path, &error))?;
        Ok(Whole { path: path.to_owned(), target, temporary })
    }

    /// Where to write piece by piece; what is written counts once [`Whole::complete`] is called.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn writer(&self) -> Result<File, Failure> {
        let file = match &self.temporary {
            None => fs::OpenOptions::new().write(true).open(&self.target),
            Some(temporary) => temporary.file().try_clone(),
        };
        file.map_err(|error| Failure::file(&self.path, &error))
    }

    /// A file beside the target that nobody else sees, to write to and to read from.
    ///
    /// # Errors
    /// When there is no place for it.
    pub(crate) fn scratch(&self) -> Result<File, Failure> {
        tempfile::tempfile_in(folder_of(&self.target))
            .map_err(|error| Failure::file(&self.path, &error))
    }

    /// The path as given.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives what was written to [`Whole::writer`] its name.
    ///
    /// # Errors
    /// When the disk is full or the like; what was there before is still there then.
    pub(crate) fn complete(self) -> Result<(), Failure> {
        let Whole { path, target, temporary } = self;
        let Some(temporary) = temporary else { return Ok(()) };
        let done = temporary.named(&target);
        done.map_err(|error| Failure::file(&path, &error))
    }

    /// Writes all of `text`.
    ///
    /// # Errors
    /// When the disk is full or the like; what was there before is still there then.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        let Whole { path, target, temporary } = self;
        let written = match temporary {
            None => fs::write(&target, text),
            Some(temporary) => complete(temporary, &target, text),
        };
        written.map_err(|error| Failure::file(&path, &error))
    }
}

/// The temporary file beside `target`; none if that is to be written in place.
fn begun(target: &Path) -> io::Result<Option<Temporary>> {
    let found = fs::metadata(target);
    let mode = found.as_ref().ok().map(fs::Metadata::permissions);
    match found {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => return Ok(None),
        // A file that may not be written is not to be replaced either.
        Ok(_) => drop(fs::OpenOptions::new().write(true).open(target)?),
        Err(_) if target.file_name().is_none() || ends_like_a_folder(target) => {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Err(_) => {}
    }
    let temporary = Temporary::in_folder(folder_of(target))?;
    if let Some(mode) = mode {
        temporary.file().set_permissions(mode)?;
    }
    Ok(Some(temporary))
}

fn complete(temporary: Temporary, target: &Path, text: &str) -> io::Result<()> {
    temporary.file().write_all(text.as_bytes())?;
    temporary.named(target)
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn ends_like_a_folder(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(std::path::is_separator)
}

/// Where the symbolic links of `path` lead, even if nothing is there yet. What is no file is left as it is:
/// the links of `/dev/stdout` may end at a pipe, which has no name.
fn followed(path: &Path) -> PathBuf {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return path.to_owned();
    }
    let mut target = path.to_owned();
    // As many links as Linux follows.
    for _ in 0..40 {
        let Ok(link) = fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("")).join(link);
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("simsched-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = folder("replaced");
        let path = folder.join("report.json");
        write_whole(&path, "one").unwrap();
        write_whole(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(names(&folder), ["report.json"]);
        fs::remove_dir_all(folder).unwrap();
    }

    fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
        Whole::begin(path)?.write(text)
    }

    #[test]
    fn what_is_begun_and_not_written_leaves_the_old_file() {
        let folder = folder("begun");
        let path = folder.join("report.json");
        fs::write(&path, "old").unwrap();
        let whole = Whole::begin(&path).unwrap();
        assert_eq!(names(&folder).len(), 2);
        drop(whole);
        assert_eq!(names(&folder), ["report.json"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_failure_names_the_file_and_leaves_nothing_behind() {
        let folder = folder("failed");
        fs::create_dir(folder.join("taken")).unwrap();
        for name in ["taken", "missing/report.json", "new/"] {
            let path = folder.join(name);
            let failure = Whole::begin(&path).unwrap_err();
            assert_eq!(failure.code(), 2);
            assert!(failure.to_string().starts_with(&path.display().to_string()), "{failure}");
        }
        assert_eq!(names(&folder), ["taken"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_and_kept() {
        let folder = folder("link");
        fs::write(folder.join("real"), "old").unwrap();
        std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
        write_whole(&folder.join("link"), "new").unwrap();
        assert_eq!(fs::read_to_string(folder.join("real")).unwrap(), "new");
        fs::remove_file(folder.join("real")).unwrap();
        write_whole(&folder.join("link"), "newer").unwrap();
        assert_eq!(fs::read_to_string(folder.join("real")).unwrap(), "newer");
        assert!(fs::symlink_metadata(folder.join("link")).unwrap().is_symlink());
        fs::remove_dir_all(folder).unwrap();
    }
}
