//! `Place`: where the results of a command go.

use std::path::{Path, PathBuf};

use super::{Whole, data, print};
use crate::failure::Failure;

/// Whether these options write to different places; those that are not given are none.
///
/// # Errors
/// One sentence that names two options that write to one file, or to stdout both.
pub(crate) fn are_apart(options: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in options {
        let Some(path) = path else { continue };
        // What is there and no regular file, such as /dev/null, may be written by many.
        if path.exists() && !path.is_file() {
            continue;
        }
        let real = resolved(path);
        if let Some((other, _)) = seen.iter().find(|(_, other)| *other == real) {
            return Err(Failure::Input(format!(
                "{other} and {option}: found '{}' for both, expected a place for each",
                path.display()
            )));
        }
        seen.push((option, real));
    }
    Ok(())
}

/// The one path of a file, which need not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    let new = folder.ok().zip(path.file_name()).map(|(folder, name)| folder.join(name));
    path.canonicalize().ok().or(new).unwrap_or_else(|| path.to_owned())
}

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
            Place::Json => data(json),
            Place::TextAndJson(file) => {
                let written = file.write(json);
                let printed = print(&text());
                written.and(printed)
            }
        }
    }
}
