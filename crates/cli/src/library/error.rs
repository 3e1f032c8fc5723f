//! `Error`: why a simulation could not be set up or run.

use std::fmt;

use crate::failure::Failure;

/// Why a simulation could not be set up or run: one sentence, and its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    text: String,
}

/// What an [`Error`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Something that was asked for does not exist or cannot be: a machine, policy, setting, workload or
    /// number of seeds.
    Input,
    /// A file could not be read or written.
    File,
    /// The simulation could not go on (a deadlock or livelock), or the policy broke a rule.
    Simulation,
    /// The runs were stopped before there was a result.
    Cancelled,
}

impl Error {
    pub(super) fn input(text: impl fmt::Display) -> Error {
        Failure::input(text).into()
    }

    /// What it is about.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        let kind = match &failure {
            Failure::Input(_) | Failure::Told | Failure::Differs(_) | Failure::Below => {
                ErrorKind::Input
            }
            Failure::File(_) | Failure::NobodyReads => ErrorKind::File,
            Failure::Simulation(_) => ErrorKind::Simulation,
            Failure::Interrupted => ErrorKind::Cancelled,
        };
        let text = match failure {
            Failure::Interrupted => "the runs were stopped".to_owned(),
            failure => failure.to_string(),
        };
        Error { kind, text }
    }
}

/// One line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
