//! Debian's kernels, unpacked and built once for all tests of this package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use simsched_kernel::{Build, Built, KernelError, build};

/// Says why a test does nothing; where the kernels are known to be installed, that is a failure.
#[expect(clippy::disallowed_methods, reason = "continuous integration says what it has installed")]
pub(crate) fn skipped(why: &str) {
    assert!(std::env::var_os("SIMSCHED_HAS_KERNELS").is_none(), "{why}");
    eprintln!("skipped: {why}");
}

/// Where things are unpacked and built; kept from one run to the next.
pub(crate) fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernel")
}

/// The tree of this version, unpacked once, or nothing and a sentence.
pub(crate) fn tree(version: &str) -> Option<PathBuf> {
    static UNPACKING: Mutex<()> = Mutex::new(());
    let _one = UNPACKING.lock().unwrap();
    let tree = scratch().join(format!("linux-source-{version}"));
    let whole = scratch().join(format!("{version}.unpacked"));
    if whole.exists() {
        return Some(tree);
    }
    let package = PathBuf::from(format!("/usr/src/linux-source-{version}.tar.xz"));
    if !package.exists() {
        skipped(&format!(
            "there is no {} (apt-get install linux-source-{version})",
            package.display()
        ));
        return None;
    }
    fs::create_dir_all(scratch()).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-xJf").arg(&package).arg("-C").arg(scratch());
    assert!(tar.status().unwrap().success(), "{} unpacks", package.display());
    fs::write(whole, "").unwrap();
    Some(tree)
}

/// The library of a version that only some suites of Debian have; nothing, and a sentence, where it is not installed.
#[allow(
    dead_code,
    clippy::print_stdout,
    reason = "not all tests of this package need it; it says why it does nothing"
)]
pub(crate) fn library_if_any(version: &str) -> Option<PathBuf> {
    let package = PathBuf::from(format!("/usr/src/linux-source-{version}.tar.xz"));
    if package.exists() {
        return library(version);
    }
    println!("skipped: there is no {}", package.display());
    None
}

/// Where a tree is made: no other test makes anything there.
pub(crate) fn cache_of(tree: &Path) -> PathBuf {
    scratch().join("cache").join(tree.file_name().unwrap())
}

pub(crate) fn built(tree: &Path, output: &Path) -> Result<Built, KernelError> {
    let what = Build {
        tree: tree.to_owned(),
        output: output.to_owned(),
        cache: cache_of(tree),
        compiler: "gcc".into(),
        jobs: 2,
        tester: None,
    };
    build(&what, &mut |_| ())
}

/// Whether this machine can build at all; if not, it is said why.
pub(crate) fn can_build() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let nowhere = scratch().join("nowhere");
        fs::create_dir_all(nowhere.join("kernel/sched")).unwrap();
        fs::write(nowhere.join("Makefile"), "VERSION = 6\nPATCHLEVEL = 1\n").unwrap();
        for source in ["core", "fair", "build_policy", "build_utility"] {
            fs::write(nowhere.join(format!("kernel/sched/{source}.c")), "").unwrap();
        }
        match built(&nowhere, &scratch().join("nothing.so")) {
            Err(error @ (KernelError::Tools { .. } | KernelError::Platform(_))) => {
                skipped(&error.to_string());
                false
            }
            _ => true,
        }
    })
}

/// A library of Debian's kernel of this version, or nothing where there is none.
#[allow(dead_code, reason = "each test program has its own copy of this file")]
pub(crate) fn library(version: &str) -> Option<PathBuf> {
    let tree = can_build().then(|| tree(version)).flatten()?;
    let library = scratch().join(format!("shadow-{version}.so"));
    built(&tree, &library).unwrap();
    Some(library)
}
