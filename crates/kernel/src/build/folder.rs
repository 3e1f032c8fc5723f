//! The folder of the cache in which one library is made, locked while it is.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::Tree;
use crate::error::KernelError;

/// What the preparation of a tree leaves when it is complete.
const PREPARED: &str = "kbuild/prepared";

/// The folder; it stays locked as long as this value lives.
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// The folder for this tree and compiler, made if it is new. Waits for another build there.
    ///
    /// # Errors
    /// When it cannot be made or locked.
    pub(super) fn open(cache: &Path, tree: &Tree, compiler: &OsStr) -> Result<Folder, KernelError> {
        let key = key(tree, compiler);
        let path = cache.join(format!("{}-{key}", tree.release()));
        let made = || -> io::Result<File> {
            fs::create_dir_all(&path)?;
            let lock = File::create(path.join("lock"))?;
            lock.lock()?;
            Ok(lock)
        };
        let lock = made().map_err(|error| KernelError::file(&path, error))?;
        // `make` is given it as the current folder.
        let path = path.canonicalize().map_err(|error| KernelError::file(&path, error))?;
        if let Some(what) = super::unfit_for_make(path.as_os_str()) {
            return Err(KernelError::tree(&path, what));
        }
        Ok(Folder { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the tree has been prepared here.
    pub(super) fn is_prepared(&self) -> bool {
        self.path.join(PREPARED).exists()
    }

    /// SHA-256 of the configuration of the prepared tree, 64 hexadecimal digits. It names the compiler's version.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn configuration(&self) -> Result<String, KernelError> {
        let path = self.path.join("kbuild/.config");
        let text = fs::read(&path).map_err(|error| KernelError::file(&path, error))?;
        Ok(super::hex(&Sha256::digest(text)))
    }

    /// How many functions nobody has: lines of the list that the linker's complaints were made to.
    ///
    /// # Errors
    /// When there is no such list.
    pub(super) fn stubs(&self) -> Result<usize, KernelError> {
        let path = self.path.join("stubs.txt");
        let text = fs::read_to_string(&path).map_err(|error| KernelError::file(&path, error))?;
        Ok(text.lines().count())
    }

    /// The library, once it has been made.
    pub(super) fn library(&self) -> PathBuf {
        self.path.join("library.so")
    }

    /// Copies the library to where it is wanted; returns its size.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn publish(&self, output: &Path) -> Result<u64, KernelError> {
        // What a symbolic link points at is replaced, and not the link.
        let output = &output.canonicalize().unwrap_or_else(|_| output.to_owned());
        let parent = parent(output);
        let copied = || -> io::Result<u64> {
            let mut library = File::open(self.library())?;
            let mut new =
                tempfile::Builder::new().prefix(".simsched-").suffix(".tmp").tempfile_in(parent)?;
            let bytes = io::copy(&mut library.by_ref(), new.as_file_mut())?;
            new.as_file().sync_all()?;
            new.as_file().set_permissions(library.metadata()?.permissions())?;
            new.persist(output).map_err(|error| error.error)?;
            Ok(bytes)
        };
        copied().map_err(|error| KernelError::file(output, error))
    }
}

/// Tests that the library can be written, before minutes have been spent on it.
///
/// # Errors
/// When its folder is not there, or it is there and no plain file.
pub(super) fn is_writable(output: &Path) -> Result<(), KernelError> {
    let found = fs::metadata(parent(output)).and_then(|folder| {
        let is_other = fs::metadata(output).is_ok_and(|found| !found.is_file());
        let is_wrong = !folder.is_dir() || is_other || output.file_name().is_none();
        let what = "found a folder or a device, expected a plain file, or none yet";
        if is_wrong { Err(io::Error::other(what)) } else { Ok(()) }
    });
    found.map_err(|error| KernelError::file(output, error))
}

fn parent(output: &Path) -> &Path {
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// 16 hexadecimal digits of what a prepared tree depends on and `make` does not see: where the tree lies, its
/// release and the compiler.
fn key(tree: &Tree, compiler: &OsStr) -> String {
    let version = Command::new(compiler).arg("--version").stdin(Stdio::null()).output();
    let version = version.map(|output| output.stdout).unwrap_or_default();
    let mut hash = Sha256::new();
    let parts = [
        tree.path().as_os_str().as_encoded_bytes(),
        tree.release().as_bytes(),
        compiler.as_encoded_bytes(),
        &version,
    ];
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part);
    }
    super::hex(&hash.finalize()[..8])
}
