//! `Manifest`: what the folder of a sweep says of itself, and which cells belong to it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::bounded;
use crate::failure::Failure;
use crate::identity;
use crate::output;
use crate::sealed;

/// Its name in the folder.
pub(super) const FILE: &str = "sweep.json";

/// What tells it from other files.
const MARK: &str = "simsched sweep";

/// A sweep, or one shard of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// [`MARK`].
    pub(super) what: String,
    /// Of the program that runs the cells.
    pub(super) version: String,
    /// The hash of axes and cells: two sweeps with one are the same.
    pub(super) plan: String,
    /// Such as `2/8`; null of a whole sweep.
    pub(super) shard: Option<String>,
    /// The names of the axes.
    pub(super) axes: Vec<String>,
    /// All cells of the plan, those of other shards too.
    pub(super) cells: Vec<Entry>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Of what it runs.
    pub(super) id: String,
    /// By axis.
    pub(super) values: Vec<String>,
}

impl Manifest {
    pub(super) fn new(
        axes: Vec<String>,
        cells: Vec<Entry>,
        shard: Option<String>,
    ) -> Result<Manifest, Failure> {
        let (what, version) = (MARK.to_owned(), identity::version()?);
        Ok(Manifest { what, version, plan: plan(&axes, &cells), shard, axes, cells })
    }

    /// The manifest of a folder; none if there is no such file.
    ///
    /// # Errors
    /// When there is something else under its name.
    pub(super) fn of_folder(folder: &Path) -> Result<Option<Manifest>, Failure> {
        let path = folder.join(FILE);
        if folder.is_file() {
            let what = "found a file, expected the folder of a sweep";
            return Err(Failure::Input(format!("{}: {what}", folder.display())));
        }
        if matches!(path.try_exists(), Ok(false)) {
            return Ok(None);
        }
        let text = bounded::text(&path, bounded::MADE)?;
        let found: Option<Manifest> = serde_json::from_str(&text).ok();
        let is_ours = |found: &Manifest| {
            let is_one = |cell: &Entry| cell.values.len() == found.axes.len() && is_id(&cell.id);
            sealed::is_whole(&text)
                && found.what == MARK
                && found.cells.iter().all(is_one)
                && found.plan == plan(&found.axes, &found.cells)
        };
        found.filter(is_ours).map(Some).ok_or_else(|| {
            let what = "found something else, expected what `simsched sweep` has written";
            let mend = "without this file the same sweep goes on";
            Failure::Input(format!("{}: {what}; {mend}", path.display()))
        })
    }

    /// A cell in words.
    pub(super) fn describe(&self, cell: &Entry) -> String {
        let pair = |(axis, value): (&String, &String)| format!("{axis}={value}");
        let text: Vec<String> = self.axes.iter().zip(&cell.values).map(pair).collect();
        if text.is_empty() { "the only cell".to_owned() } else { text.join(", ") }
    }
}

fn plan(axes: &[String], cells: &[Entry]) -> String {
    identity::hex(output::json(&(axes, cells)).as_bytes())
}

/// Ids are names of files: sixteen hexadecimal digits and nothing else.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
