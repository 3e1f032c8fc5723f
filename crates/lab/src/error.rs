//! `LabError`: which file of a lab folder, what was found there and what was expected.

use std::io;
use std::path::{Path, PathBuf};

use simsched_core::SimError;
use simsched_policies::PolicyError;
use simsched_topology::TopologyError;
use simsched_workloads::WorkloadError;

/// Why a lab folder could not be read, or a scenario of it could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A file or folder could not be read.
    #[error("{}: {error}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Something else stands in a file, or lies in a folder, than should.
    #[error("{place}: found {found}, expected {expected}")]
    Content {
        /// The file, with the line if it has lines.
        place: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The machine that a folder names cannot be built.
    #[error(transparent)]
    Machine(#[from] TopologyError),
    /// The policy of a kernel cannot be built.
    #[error("failed to {0}")]
    Policy(#[from] PolicyError),
    /// A scenario is not known.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A run could not go on.
    #[error("{scenario}: {error}")]
    Run {
        /// The scenario.
        scenario: String,
        /// Why.
        error: SimError,
    },
}

impl LabError {
    /// `path` holds `found` where `expected` should be.
    pub(crate) fn content(
        path: &Path,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> LabError {
        let place = path.display().to_string();
        LabError::Content { place, found: found.into(), expected: expected.into() }
    }

    /// The same for a line of a file, counted from 1.
    pub(crate) fn line(
        path: &Path,
        line: usize,
        found: &str,
        expected: impl Into<String>,
    ) -> LabError {
        let place = format!("{}:{line}", path.display());
        LabError::Content { place, found: format!("'{found}'"), expected: expected.into() }
    }

    /// `path` could not be read.
    pub(crate) fn read(path: &Path, error: io::Error) -> LabError {
        LabError::Read { path: path.to_owned(), error }
    }

    /// `path` holds no JSON of this kind.
    pub(crate) fn json(path: &Path, error: &serde_json::Error, expected: &str) -> LabError {
        LabError::content(path, format!("no such JSON ({error})"), expected)
    }
}
