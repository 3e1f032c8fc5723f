//! `PageError`: why there is no page, in one sentence.

/// What is wrong with a file of results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// It is no JSON.
    #[error("{file}: line {line}, column {column}: {what}; expected what `run --json` writes")]
    Json {
        /// The file.
        file: String,
        /// Where, from 1.
        line: usize,
        /// Where in the line.
        column: usize,
        /// What is wrong there.
        what: String,
    },
    /// It is the JSON of something else.
    #[error("{file}: found {found}, expected {expected}")]
    Kind {
        /// The file.
        file: String,
        /// What it is.
        found: String,
        /// What would do.
        expected: &'static str,
    },
    /// A key is missing or has a value of another kind.
    #[error("{file}: key {key}: found {found}, expected {expected}")]
    Key {
        /// The file.
        file: String,
        /// The key, as `runs[2].migrations.total`.
        key: String,
        /// What is there.
        found: String,
        /// What should be there.
        expected: &'static str,
    },
    /// Two results that tell nothing about each other.
    #[error(
        "{base} and {other}: found {found}, expected the same {what} in both; with --anyway they are \
         compared all the same"
    )]
    Apart {
        /// A file.
        base: String,
        /// The other.
        other: String,
        /// What differs.
        what: &'static str,
        /// How.
        found: String,
    },
}
