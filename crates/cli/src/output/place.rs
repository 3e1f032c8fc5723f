//! `Place`: where the results of a command go.

use std::path::Path;

use super::{Whole, print};
use crate::failure::Failure;

/// Where results go: JSON to its file and text to stdout, or JSON to stdout.
pub(crate) enum Place {
    Text,
    Json,
    TextAndJson(Whole),
}

impl Place {
    /// A file that cannot be written is found out before anything runs.
    pub(crate) fn of(json: Option<&Path>) -> Result<Place, Failure> {
        match json {
            None => Ok(Place::Text),
            Some(path) if path == Path::new("-") => Ok(Place::Json),
            Some(path) => Whole::begin(path).map(Place::TextAndJson),
        }
    }

    /// Writes and prints. The text is there even if the file fails at the last moment.
    pub(crate) fn tell(self, json: &str, text: impl FnOnce() -> String) -> Result<(), Failure> {
        match self {
            Place::Text => print(&text()),
            Place::Json => print(json),
            Place::TextAndJson(file) => {
                let written = file.write(json);
                let printed = print(&text());
                written.and(printed)
            }
        }
    }
}
