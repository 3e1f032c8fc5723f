//! Building a library: what it needs is tested, the tree is prepared once, its scheduler is compiled beside the shim,
//! and only a library that has passed a first test gets its name.
//!
//! All that is made on the way lies in a folder of the cache, one for each tree, compiler and configuration: a second
//! build compiles what has changed since the first. `make` decides what that is (`library.mk`).

mod apart;
mod folder;
mod make;
mod shim;
mod tools;
mod tree;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use self::folder::Folder;
use self::make::Make;
pub use self::shim::shim_version;
pub use self::tree::Tree;
use crate::error::KernelError;
use crate::smoke;

/// What is to be built, and how.
#[derive(Clone, Debug)]
pub struct Build {
    /// The folder of the sources.
    pub tree: PathBuf,
    /// The library to write; what has that name is replaced, in one step, when all is done.
    pub output: PathBuf,
    /// Where prepared trees and object files are kept.
    pub cache: PathBuf,
    /// The compiler: gcc, by name or path, without options.
    pub compiler: OsString,
    /// How many compilers run at once, at least one.
    pub jobs: usize,
    /// The program `simsched` that is to try the new library in a process of its own, so that code which crashes
    /// ends that one only; without it the library is tried in this process.
    pub tester: Option<PathBuf>,
}

/// A stage of a build, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The tree is configured, and its generated headers are made.
    Prepare,
    /// The scheduler is compiled and linked.
    Compile,
    /// The library is tried: 16 tasks that compute on 16 CPUs, twice.
    Try,
}

/// What was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The release of the tree: `6.12.117`.
    pub release: String,
    /// SHA-256 of the sources of the scheduler, see [`Tree::hash`].
    pub sources: String,
    /// SHA-256 of the configuration, which names the version of the compiler.
    pub configuration: String,
    /// Functions of the kernel that the shim neither has nor stands for: calling one ends a run.
    pub stubs: usize,
    /// Size of the library in bytes.
    pub bytes: u64,
    /// What the compiler warned of in what was compiled this time, as it said it; the last 64 KiB.
    pub said: String,
}

/// Builds a library; `at` is told of each stage that begins.
///
/// # Errors
/// When the machine lacks something, the tree cannot be built, a program fails, a file cannot be read or written, or
/// the new library does not spread tasks as a fair scheduler does.
/// Then nothing has been written to the place of the library.
pub fn build(what: &Build, at: &mut dyn FnMut(Stage)) -> Result<Built, KernelError> {
    let tree = Tree::open(&what.tree)?;
    let compiler = tools::find(&what.compiler)?;
    tools::check(&compiler)?;
    folder::is_writable(&what.output)?;
    let folder = Folder::open(&what.cache, &tree, &compiler)?;
    let sources = tree.hash()?;
    shim::write(&folder.path().join("shim"))?;
    let make = Make { folder: folder.path(), tree: &tree, compiler: &compiler, jobs: what.jobs };
    if !folder.is_prepared() {
        at(Stage::Prepare);
    }
    make.run("prepared", "preparing the tree")?;
    at(Stage::Compile);
    let configuration = folder.configuration()?;
    shim::keep(&folder.path().join("identity.h"), identity(&sources, &configuration).as_bytes())?;
    let said = make.run("library.so", "compiling the scheduler")?;
    if tree.hash()? != sources {
        let what =
            "found files of kernel/sched that changed while they were compiled, expected none";
        return Err(KernelError::tree(tree.path(), what));
    }
    let stubs = folder.stubs()?;
    at(Stage::Try);
    match &what.tester {
        Some(program) => apart::check(program, &folder.library(), tree.release())?,
        None => check(&folder.library())?,
    }
    let bytes = folder.publish(&what.output)?;
    Ok(Built { release: tree.release().to_owned(), sources, configuration, stubs, bytes, said })
}

/// What a library says that it was built of, as a header of the shim.
fn identity(sources: &str, configuration: &str) -> String {
    let shim = shim_version();
    [("SOURCES", sources), ("CONFIGURATION", configuration), ("SHIM", &shim)]
        .map(|(name, hash)| format!("#define SIMSCHED_{name} \"{hash}\"\n"))
        .concat()
}

/// Tries a library: 16 tasks that compute on a machine of 16 CPUs in four LLCs must be four in each, with nothing said
/// by the kernel's code and no function called that the shim does not have; and a second copy must come to the same.
///
/// # Errors
/// When it is not so, or the file is no library. Code that crashes ends this process.
pub fn check(library: &Path) -> Result<(), KernelError> {
    smoke::test(library)
}

/// Why a path or a name cannot be given to `make` and the shell that it starts; nothing if it can.
fn unfit_for_make(name: &OsStr) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+~@".contains(c);
    let name = name.to_string_lossy();
    let other = name.chars().find(|&c| !is_plain(c))?;
    Some(format!(
        "found {other:?} in the path, expected letters, digits and /._-+~@ only, as make asks for"
    ))
}

/// Bytes in hexadecimal digits, two for each.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
