//! The source tree of a kernel: what it must have, its release, and the hash of its scheduler.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::KernelError;

/// The files that are compiled whole; a tree without one of them is older than 5.18.
const SOURCES: [&str; 4] = [
    "kernel/sched/core.c",
    "kernel/sched/fair.c",
    "kernel/sched/build_policy.c",
    "kernel/sched/build_utility.c",
];

/// A source tree of Linux.
#[derive(Clone, Debug)]
pub struct Tree {
    path: PathBuf,
    release: String,
}

impl Tree {
    /// The tree in this folder.
    ///
    /// # Errors
    /// When the folder has no Makefile of Linux, lacks a source of the scheduler, or was built in, which `make`
    /// refuses to build beside.
    pub fn open(path: &Path) -> Result<Tree, KernelError> {
        if path.is_file() {
            let what = "found a file, expected the folder of a kernel's sources (unpack it first)";
            return Err(KernelError::tree(path, what));
        }
        let path = path.canonicalize().map_err(|error| KernelError::file(path, error))?;
        if let Some(what) = super::unfit_for_make(path.as_os_str()) {
            return Err(KernelError::tree(&path, what));
        }
        let makefile = path.join("Makefile");
        let text = fs::read_to_string(&makefile).map_err(|error| {
            KernelError::tree(
                &path,
                format!("found no sources of a kernel there ({error}: Makefile)"),
            )
        })?;
        let release = release(&text).ok_or_else(|| {
            let what = "found a Makefile without VERSION and PATCHLEVEL, expected that of Linux";
            KernelError::tree(&path, what)
        })?;
        if let Some(missing) = SOURCES.iter().find(|source| !path.join(source).is_file()) {
            let what = format!("found Linux {release} without {missing}, expected 5.18 or later");
            return Err(KernelError::tree(&path, what));
        }
        let built = [".config", "include/config", "arch/x86/include/generated"];
        if built.iter().any(|part| path.join(part).exists()) {
            let what = "found a tree that was built in, expected one that was not \
                        (`git worktree add FOLDER` makes one beside it)";
            return Err(KernelError::tree(&path, what));
        }
        Ok(Tree { path, release })
    }

    /// Where it is, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its release, as its Makefile has it: `6.12.117`.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// SHA-256 of the names and bytes of all files of `kernel/sched`, in the order of their names; 64 hexadecimal
    /// digits.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn hash(&self) -> Result<String, KernelError> {
        let folder = self.path.join("kernel/sched");
        let mut files = files(&folder)?;
        files.sort();
        let mut hash = Sha256::new();
        for path in files {
            let bytes = fs::read(&path).map_err(|error| KernelError::file(&path, error))?;
            let name = path.strip_prefix(&folder).unwrap_or(&path);
            hash.update(name.as_os_str().as_encoded_bytes());
            hash.update([0]);
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(&bytes);
        }
        Ok(super::hex(&hash.finalize()))
    }
}

/// All sources and headers below `folder`.
fn files(folder: &Path) -> Result<Vec<PathBuf>, KernelError> {
    let failed = |error| KernelError::file(folder, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            found.push(path);
        }
    }
    Ok(found)
}

/// `6.12.117-rc1` of the first lines of a Makefile.
fn release(makefile: &str) -> Option<String> {
    let value = |key: &str| {
        makefile.lines().take(20).find_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        })
    };
    let is_number = |text: &String| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let [version, patchlevel] = ["VERSION", "PATCHLEVEL"].map(|key| value(key).filter(is_number));
    let mut release = format!("{}.{}", version?, patchlevel?);
    if let Some(sublevel) = value("SUBLEVEL").filter(is_number) {
        release = format!("{release}.{sublevel}");
    }
    let extra = value("EXTRAVERSION").unwrap_or_default();
    let is_plain = extra.len() < 64
        && extra.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+~-".contains(&b));
    Some(if is_plain { release + &extra } else { release })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_off_the_makefile() {
        let text =
            "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\nNAME = x\n";
        assert_eq!(release(text).unwrap(), "6.12.117");
        assert_eq!(
            release(&text.replace("EXTRAVERSION =", "EXTRAVERSION = -rc2")).unwrap(),
            "6.12.117-rc2"
        );
        let odd = text.replace("EXTRAVERSION =", "EXTRAVERSION = -a/../../b");
        assert_eq!(release(&odd).unwrap(), "6.12.117", "it becomes part of a folder's name");
        assert_eq!(release("VERSION = 6\n"), None);
        assert_eq!(release("VERSION = six\nPATCHLEVEL = 1\n"), None);
    }

    fn tree(folder: &Path) {
        fs::create_dir_all(folder.join("kernel/sched")).unwrap();
        fs::write(folder.join("Makefile"), "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 9\n").unwrap();
        for source in SOURCES {
            fs::write(folder.join(source), source).unwrap();
        }
    }

    #[test]
    fn what_is_no_tree_is_refused_with_what_was_found() {
        let folder = tempfile::tempdir().unwrap();
        let said = || Tree::open(folder.path()).unwrap_err().to_string();
        assert!(said().contains("found no sources of a kernel"), "{}", said());
        fs::write(folder.path().join("Makefile"), "all:\n").unwrap();
        assert!(said().contains("expected that of Linux"), "{}", said());
        tree(folder.path());
        fs::remove_file(folder.path().join(SOURCES[2])).unwrap();
        assert!(
            said().contains("found Linux 6.1.9 without kernel/sched/build_policy.c"),
            "{}",
            said()
        );
        tree(folder.path());
        fs::write(folder.path().join(".config"), "").unwrap();
        assert!(said().contains("built in"), "{}", said());
        assert!(
            Tree::open(&folder.path().join("Makefile")).unwrap_err().to_string().contains("unpack")
        );
    }

    #[test]
    fn the_hash_is_of_names_and_bytes() {
        let folder = tempfile::tempdir().unwrap();
        tree(folder.path());
        let hash = || Tree::open(folder.path()).unwrap().hash().unwrap();
        let before = hash();
        fs::write(folder.path().join("kernel/sched/notes.txt"), "no source").unwrap();
        assert_eq!(hash(), before);
        fs::write(folder.path().join("kernel/sched/fair.c"), "changed").unwrap();
        assert_ne!(hash(), before);
    }
}
