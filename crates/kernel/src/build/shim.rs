//! The shim: C that stands for the rest of the kernel, its headers, its configuration and the rules that build it.

use std::fs;
use std::io;
use std::path::Path;

use include_dir::{Dir, DirEntry, include_dir};
use sha2::{Digest, Sha256};

use crate::error::KernelError;

static SHIM: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/shim");

/// What it is built by.
const RULES: [(&str, &str); 2] = [
    ("library.mk", include_str!("../../library.mk")),
    ("stubs.awk", include_str!("../../stubs.awk")),
];

/// All files: their paths below the folder of the shim, and what they have, in the order of their paths.
fn files() -> Vec<(&'static Path, &'static [u8])> {
    let mut found: Vec<_> =
        RULES.iter().map(|(name, text)| (Path::new(*name), text.as_bytes())).collect();
    let mut folders = vec![&SHIM];
    while let Some(folder) = folders.pop() {
        for entry in folder.entries() {
            match entry {
                DirEntry::Dir(folder) => folders.push(folder),
                DirEntry::File(file) => found.push((file.path(), file.contents())),
            }
        }
    }
    found.sort();
    found
}

/// SHA-256 of all files of the shim, 64 hexadecimal digits: two libraries of one tree, one configuration and one
/// shim are alike.
#[must_use]
pub fn shim_version() -> String {
    let mut hash = Sha256::new();
    for (path, bytes) in files() {
        for part in [path.as_os_str().as_encoded_bytes(), bytes] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part);
        }
    }
    super::hex(&hash.finalize())
}

/// Writes the shim into this folder. A file that is there as it should be is left alone: `make` goes by the times.
///
/// # Errors
/// When something cannot be written.
pub(super) fn write(folder: &Path) -> Result<(), KernelError> {
    for (path, bytes) in files() {
        keep(&folder.join(path), bytes)?;
    }
    Ok(())
}

/// Writes a file, unless it is there as it should be.
///
/// # Errors
/// When it cannot be written.
pub(super) fn keep(path: &Path, bytes: &[u8]) -> Result<(), KernelError> {
    let written = || -> io::Result<()> {
        if fs::read(path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        fs::create_dir_all(path.parent().expect("a file in a folder"))?;
        fs::write(path, bytes)
    };
    written().map_err(|error| KernelError::file(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each file says under what licence it is.
    #[test]
    fn every_file_of_the_shim_has_its_licence() {
        assert!(files().len() > 20);
        for (path, bytes) in files() {
            let text = std::str::from_utf8(bytes).unwrap();
            let head: String = text.lines().take(2).collect();
            let licence = "SPDX-License-Identifier: MIT";
            assert!(head.contains(licence), "{}: {head}", path.display());
        }
    }

    #[test]
    fn what_is_there_already_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let path = folder.path().join("library.mk");
        let time = || fs::metadata(&path).unwrap().modified().unwrap();
        let before = time();
        write(folder.path()).unwrap();
        assert_eq!(time(), before);
        fs::write(&path, "other").unwrap();
        write(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), RULES[0].1);
    }
}
