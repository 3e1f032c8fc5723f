//! `TopologyError`: which file, which line, which key, what was found and what was expected.

use std::fmt;

use crate::nearest::did_you_mean;

/// A text of a file for a message: line breaks and what else would move the cursor of a terminal is written as
/// in a file.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(escape).collect()
}

/// A line of a machine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the file as the caller gave it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Why a machine could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// The text is not TOML.
    #[error("{at}: {message}")]
    Syntax {
        /// Where.
        at: Place,
        /// What the TOML parser says.
        message: String,
    },
    /// A key that no machine has.
    #[error("{at}: unknown key `{key}`{}", meant(nearest, valid))]
    UnknownKey {
        /// Where.
        at: Place,
        /// The key with the tables it stands in, such as `cores.scokets`.
        key: String,
        /// The keys that may stand there.
        valid: Box<[String]>,
        /// The keys that may have been meant.
        nearest: Box<[String]>,
    },
    /// A key that must be there and is not.
    #[error("{at}: the key `{key}` is missing; expected {expected}")]
    MissingKey {
        /// The table that should have it.
        at: Place,
        /// The key with the tables it stands in.
        key: String,
        /// What should stand there.
        expected: String,
    },
    /// A value of the wrong type or out of its range.
    #[error("{at}: `{key}` is {found}, expected {expected}")]
    WrongValue {
        /// Where.
        at: Place,
        /// The key with the tables it stands in.
        key: String,
        /// The value as written, or its type.
        found: String,
        /// What should stand there.
        expected: String,
    },
    /// A name that is none of those known here.
    #[error("{at}: `{key}` is \"{found}\", expected one of {}{}", valid.join(", "), did_you_mean(nearest))]
    UnknownName {
        /// Where.
        at: Place,
        /// The key with the tables it stands in.
        key: String,
        /// The name as written.
        found: String,
        /// The names that are known.
        valid: Box<[String]>,
        /// Those that may have been meant.
        nearest: Box<[String]>,
    },
    /// The parts do not make a machine.
    #[error("{at}: `{key}`: {what}")]
    Contradiction {
        /// Where.
        at: Place,
        /// The key with the tables it stands in.
        key: String,
        /// What is wrong, with the numbers.
        what: String,
    },
    /// The machine has no mode of this name.
    #[error("{file}: the machine has no mode `{mode}`, only {}{}", valid.join(", "), did_you_mean(nearest))]
    UnknownMode {
        /// The name of the file.
        file: String,
        /// The mode asked for.
        mode: String,
        /// The modes of the machine.
        valid: Box<[String]>,
        /// Those that may have been meant.
        nearest: Box<[String]>,
    },
    /// No machine of this name is built in.
    #[error("no machine `{name}` is built in{}", meant(nearest, valid))]
    UnknownMachine {
        /// The name asked for.
        name: String,
        /// All that are built in.
        valid: Box<[String]>,
        /// Those that may have been meant.
        nearest: Box<[String]>,
    },
}

/// The names that are near; if there are none, all that are valid.
fn meant(nearest: &[String], valid: &[String]) -> String {
    if nearest.is_empty() {
        return format!(", expected one of {}", valid.join(", "));
    }
    did_you_mean(nearest)
}
