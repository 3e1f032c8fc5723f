//! `KernelError`: why a library could not be built, as one sentence.

use std::io;
use std::path::{Path, PathBuf};

/// Why a library could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// This machine cannot build it at all.
    #[error("found {0}, expected Linux on x86-64: the shim has headers for nothing else")]
    Platform(String),
    /// Programs or headers are missing.
    #[error("{} missing; on Debian and Ubuntu: apt-get install {}", listed(.missing), .packages.join(" "))]
    Tools {
        /// What is missing, in the order in which it is needed.
        missing: Vec<String>,
        /// The packages that have it.
        packages: Vec<&'static str>,
    },
    /// The compiler is none that can be used.
    #[error("the compiler '{compiler}': {what}")]
    Compiler {
        /// As it was given.
        compiler: String,
        /// What was found, and what was expected.
        what: String,
    },
    /// The tree is none that can be built.
    #[error("{}: {what}", .tree.display())]
    Tree {
        /// The folder that was given.
        tree: PathBuf,
        /// What was found there, and what was expected.
        what: String,
    },
    /// A step of the build failed.
    #[error("{}: {step} failed ({code})", .tree.display())]
    Step {
        /// The folder of the tree.
        tree: PathBuf,
        /// What was to be done.
        step: &'static str,
        /// The exit code of `make`, or what ended it.
        code: String,
        /// What the compiler and other programs said, as they said it; the last 64 KiB.
        said: String,
    },
    /// A file is no library that can be asked.
    #[error("{}: {what}", .path.display())]
    Library {
        /// The file.
        path: PathBuf,
        /// What was found, and what was expected.
        what: String,
    },
    /// The kernel's code said BUG or WARN, or called a function that nobody has.
    #[error("{release}: the kernel's code said: {said}")]
    Said {
        /// The release of the library.
        release: String,
        /// The message.
        said: String,
    },
    /// What the process that tried a library has said.
    #[error("{0}")]
    Checked(String),
    /// A library does not do what every fair scheduler does.
    #[error("{release}: {what}")]
    Smoke {
        /// The release of the library.
        release: String,
        /// What was found, and what was expected.
        what: String,
    },
    /// A file could not be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl KernelError {
    /// That this file could not be read or written.
    pub(crate) fn file(path: &Path, error: io::Error) -> KernelError {
        KernelError::File { path: path.to_owned(), error }
    }

    /// That this file is no library that can be asked.
    pub(crate) fn library(path: &Path, what: String) -> KernelError {
        KernelError::Library { path: path.to_owned(), what }
    }

    /// That this tree is none that can be built.
    pub(crate) fn tree(tree: &Path, what: impl Into<String>) -> KernelError {
        KernelError::Tree { tree: tree.to_owned(), what: what.into() }
    }
}

/// `make`, `flex` and `the headers of libelf are`.
fn listed(missing: &[String]) -> String {
    match missing {
        [] => String::new(),
        [one] => format!("{one} is"),
        [most @ .., last] => format!("{} and {last} are", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_one_sentence() {
        let said = |missing: &[&str]| {
            let missing = missing.iter().map(|&name| name.to_owned()).collect();
            KernelError::Tools { missing, packages: vec!["bison", "flex"] }.to_string()
        };
        let end = "; on Debian and Ubuntu: apt-get install bison flex";
        assert_eq!(said(&["bison"]), format!("bison is missing{end}"));
        assert_eq!(said(&["bison", "flex"]), format!("bison and flex are missing{end}"));
    }
}
