//! `ClaimError` and `Refused`: what is wrong with a file, and with one claim of it.

use simsched_topology::{did_you_mean, on_one_line};

/// What is wrong with a whole file: none of its claims can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// The text is no TOML.
    #[error("{file}:{line}: {}", on_one_line(what))]
    Syntax {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What the parser says.
        what: String,
    },
    /// The TOML holds something else than claims.
    #[error(
        "{file}: {}: found {}, expected {expected}{}",
        on_one_line(key),
        on_one_line(found),
        did_you_mean(nearest)
    )]
    Shape {
        /// The file.
        file: String,
        /// The key at fault.
        key: String,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
        /// Names that are close to what was found.
        nearest: Vec<String>,
    },
}

/// What is wrong with one claim: it is skipped, and the others are not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}:{line}: claim {}: {}: found {}, expected {}{}",
    on_one_line(id),
    on_one_line(key),
    on_one_line(found),
    on_one_line(expected),
    did_you_mean(nearest)
)]
pub struct Refused {
    /// The file.
    pub file: Box<str>,
    /// The line of the key at fault, or of the claim where the key is missing; from 1.
    pub line: usize,
    /// Its id, or its place in the file where it has none: `#3`.
    pub id: Box<str>,
    /// The key at fault.
    pub key: Box<str>,
    /// What stands there; `nothing` if the key is missing.
    pub found: Box<str>,
    /// What should.
    pub expected: Box<str>,
    /// Names that are close to what was found.
    pub nearest: Box<[String]>,
}
