//! Why a source could not be imported.

use std::fmt;

use simsched_topology::on_one_line;

/// Why a description of a machine could not be imported: one sentence, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The name of the source as the caller gave it.
    pub file: String,
    /// The line, counted from 1, or the path within a tree.
    pub place: Option<String>,
    /// What was found and what was expected.
    pub what: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => {
                write!(f, "{}:{}: {}", self.file, on_one_line(place), on_one_line(&self.what))
            }
            None => write!(f, "{}: {}", self.file, on_one_line(&self.what)),
        }
    }
}

impl std::error::Error for ImportError {}

/// An error of the whole source.
pub(crate) fn whole(file: &str, what: impl Into<String>) -> ImportError {
    ImportError { file: file.to_owned(), place: None, what: what.into() }
}

/// An error at a line or a path.
pub(crate) fn at(file: &str, place: impl fmt::Display, what: impl Into<String>) -> ImportError {
    ImportError { file: file.to_owned(), place: Some(place.to_string()), what: what.into() }
}

/// Text of a source for a message: on one line, and not longer than `MOST` characters.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    let plain: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    let rest = if text.chars().nth(MOST).is_some() { "..." } else { "" };
    format!("\"{plain}{rest}\"")
}
