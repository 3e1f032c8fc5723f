//! Files appear whole or not at all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Writes `text` to a temporary file beside `path` and gives it that name when it is complete.
///
/// What exists and is no regular file (a terminal, a named pipe, `/dev/null`) is written in place,
/// and a symbolic link is followed.
///
/// # Errors
/// When the folder is missing or cannot be written; nothing is left behind then.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let written = match fs::metadata(&target) {
        Ok(found) if !found.is_file() => fs::write(&target, text),
        _ => replace(&target, text),
    };
    written.map_err(|error| Failure::file(path, &error))
}

fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let temporary = beside(path);
    let written = write_new(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The file that could not be finished may not even exist.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// A name in the same folder that no other process uses.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
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

    #[test]
    fn a_failure_names_the_file_and_leaves_nothing_behind() {
        let folder = folder("failed");
        fs::create_dir(folder.join("taken")).unwrap();
        for name in ["taken", "missing/report.json"] {
            let path = folder.join(name);
            let failure = write_whole(&path, "text").unwrap_err();
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
        assert!(fs::symlink_metadata(folder.join("link")).unwrap().is_symlink());
        fs::remove_dir_all(folder).unwrap();
    }
}
