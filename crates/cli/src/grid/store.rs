//! `Store`: the folder of a sweep. A cell that is done is a file of its own, which is there as a whole or
//! not at all, so that a sweep can be ended at any moment and goes on where it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::manifest::{self, Manifest};
use super::results;
use crate::bounded;
use crate::failure::Failure;
use crate::output::{self, Whole, temporary};
use crate::report::Report;
use crate::sealed;

/// What tells the file of a cell from others.
const MARK: &str = "simsched sweep cell";

/// Where cells are.
const CELLS: &str = "cells";

/// The folder of a sweep.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    version: String,
}

/// A cell that is done.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    /// The report, or why there is none.
    pub(super) found: Result<Map<String, Value>, String>,
}

impl Store {
    /// The folder, which is made if it is not there, with this manifest.
    ///
    /// # Errors
    /// When it holds something else, or another shard, or cannot be written.
    pub(super) fn open(folder: &Path, manifest: &Manifest) -> Result<Store, Failure> {
        let failed = |error| Failure::file(folder, &error);
        let name = folder.display();
        let old = Manifest::of_folder(folder)?;
        match &old {
            None if !is_free(folder).map_err(failed)? => {
                let what = "found a folder with other files, expected a new one or a sweep's";
                return Err(Failure::Input(format!("{name}: {what}")));
            }
            Some(old) if old.plan == manifest.plan && old.shard != manifest.shard => {
                let part = |shard: &Option<String>| {
                    shard.as_ref().map_or("the whole sweep".to_owned(), |s| format!("shard {s}"))
                };
                let (old, new) = (part(&old.shard), part(&manifest.shard));
                let what = format!("found {old}, expected {new}: each has a folder of its own");
                return Err(Failure::Input(format!("{name}: {what}")));
            }
            Some(old) if old.version != manifest.version => {
                output::say(&format!("note: {name} is of another version, and begins anew"));
            }
            Some(old) if old.plan != manifest.plan => {
                let what = "note: the plan has changed: its new cells are run";
                output::say(&format!("{what}, and what {name} has of the others is kept"));
            }
            _ => {}
        }
        fs::create_dir_all(folder.join(CELLS)).map_err(failed)?;
        if old.is_some_and(|old| old != *manifest) {
            // Those of the old plan are no results of the new one.
            for file in results::FILES {
                removed(&folder.join(file)).map_err(failed)?;
            }
        }
        let store = Store { folder: folder.to_owned(), version: manifest.version.clone() };
        store.write(manifest::FILE, &sealed::seal(manifest))?;
        Ok(store)
    }

    /// The store of a folder that is only read.
    pub(super) fn at(folder: &Path, version: &str) -> Store {
        Store { folder: folder.to_owned(), version: version.to_owned() }
    }

    /// Writes a file of the folder as a whole.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        Whole::begin(&self.path(name))?.write(text)
    }

    /// The path of a file in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn cell(&self, id: &str) -> PathBuf {
        self.folder.join(CELLS).join(format!("{id}.json"))
    }

    /// The text of a cell that is done under this version; none if there is no such file, or one of
    /// another version.
    ///
    /// # Errors
    /// The path of a file that cannot be read, or is no cell.
    pub(super) fn text(&self, id: &str) -> Result<Option<String>, Failure> {
        let path = self.cell(id);
        if matches!(path.try_exists(), Ok(false)) {
            return Ok(None);
        }
        let text = bounded::text(&path, bounded::MADE)?;
        if self.parse(&text, id).is_some() {
            return Ok(Some(text));
        }
        let cell: Option<Map<String, Value>> = serde_json::from_str(&text).ok();
        let word = |key| cell.as_ref().and_then(|cell| cell.get(key)).and_then(Value::as_str);
        let what = match (word("what"), word("version")) {
            (Some(MARK), version) if version != Some(&self.version) => return Ok(None),
            (Some(MARK), _) if !sealed::is_whole(&text) => {
                "the text has another checksum than it says: it was altered"
            }
            _ => "found something else, expected this cell as `simsched sweep` writes it",
        };
        let mend = "the same sweep runs the cell again";
        Err(Failure::Input(format!("{}: {what}; {mend}", path.display())))
    }

    /// Whether there is a file under the name of this cell which is not as this version has written it, nor
    /// another one.
    pub(super) fn is_altered(&self, id: &str) -> bool {
        self.text(id).is_err()
    }

    /// What the text of the cell says; none if it is not done, or altered.
    pub(super) fn find(&self, id: &str) -> Option<Kept> {
        self.parse(&bounded::text(&self.cell(id), bounded::MADE).ok()?, id)
    }

    fn parse(&self, text: &str, id: &str) -> Option<Kept> {
        if !sealed::is_whole(text) {
            return None;
        }
        let mut cell: Map<String, Value> = serde_json::from_str(text).ok()?;
        let is = |key: &str, want: &str| cell.get(key).and_then(Value::as_str) == Some(want);
        if !(is("what", MARK) && is("version", &self.version) && is("id", id)) {
            return None;
        }
        let found = match (cell.remove("report")?, cell.remove("error")?) {
            (Value::Object(report), Value::Null) => Ok(report),
            (Value::Null, Value::String(error)) => Err(error),
            _ => return None,
        };
        Some(Kept { found })
    }

    /// Keeps what a cell has come to.
    ///
    /// # Errors
    /// When the disk is full or the like.
    pub(super) fn keep(&self, id: &str, found: &Result<Report, Failure>) -> Result<(), Failure> {
        let (report, error) = match found {
            Ok(report) => (Some(report), None),
            Err(why) => (None, Some(why.to_string())),
        };
        let cell = json!({ "what": MARK, "version": self.version, "id": id, "error": error, "report": report });
        self.keep_text(id, &sealed::seal(&cell))
    }

    /// Keeps the text of a cell that was done elsewhere.
    pub(super) fn keep_text(&self, id: &str, text: &str) -> Result<(), Failure> {
        Whole::begin(&self.cell(id))?.write(text)
    }
}

/// Whether nothing is in the folder, or only what a sweep leaves that was killed as it began.
fn is_free(folder: &Path) -> io::Result<bool> {
    let of_sweep = |name: &str| name == CELLS || name == manifest::FILE;
    let of_cells = |name: &str| name.strip_suffix(".json").is_some_and(manifest::is_id);
    Ok(has_only(folder, &of_sweep)? && has_only(&folder.join(CELLS), &of_cells)?)
}

/// Whether all files of a folder are of these names, or their temporary files; there may be no folder.
fn has_only(folder: &Path, is_known: &dyn Fn(&str) -> bool) -> io::Result<bool> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if !is_known(&name) && !temporary::is_name(&name) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn removed(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::flat::Table;
    use super::super::manifest::Entry;
    use super::*;

    fn manifest(ids: &[&str]) -> Manifest {
        let entry = |id: &&str| Entry { id: (*id).to_owned(), values: vec![format!("of {id}")] };
        Manifest::new(vec!["load".to_owned()], ids.iter().map(entry).collect(), None).unwrap()
    }

    fn folder(name: &str) -> PathBuf {
        let name = format!("simsched-store-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    const IDS: [&str; 2] = ["0000000000000001", "0000000000000002"];

    #[test]
    fn a_cell_that_failed_is_kept_with_its_sentence_and_its_row_has_nothing_else() {
        let (folder, manifest) = (folder("failed"), manifest(&IDS));
        let store = Store::open(&folder, &manifest).unwrap();
        let why = Failure::Simulation("deadlock at 7 ns: task 0 waits".to_owned());
        store.keep(IDS[0], &Err(why)).unwrap();
        let cell = json!({ "what": MARK, "version": manifest.version, "id": IDS[1], "error": null,
                           "report": { "events": 3, "precision": { "reached": false } } });
        store.keep_text(IDS[1], &sealed::seal(&cell)).unwrap();
        let table = Table::of(&manifest, &store, |_| true).unwrap();
        assert_eq!(
            table.columns,
            ["load", "cell", "state", "error", "events", "precision.reached"]
        );
        let row = |values: [Value; 6]| values.to_vec();
        let of = |nth: usize| json!(format!("of {}", IDS[nth]));
        let error = json!("deadlock at 7 ns: task 0 waits");
        let failed = [of(0), json!(IDS[0]), json!("failed"), error, Value::Null, Value::Null];
        let done = [of(1), json!(IDS[1]), json!("done"), Value::Null, json!(3), json!(false)];
        assert_eq!(table.rows, [row(failed), row(done)]);
        assert_eq!(results::misses(&table), (1, 1));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_cell_of_this_version_is_not_there() {
        let (folder, manifest) = (folder("odd"), manifest(&IDS));
        let store = Store::open(&folder, &manifest).unwrap();
        store.keep(IDS[0], &Err(Failure::Simulation("no".to_owned()))).unwrap();
        let text = store.text(IDS[0]).unwrap().unwrap();
        assert!(store.find(IDS[0]).is_some() && store.find(IDS[1]).is_none());
        for odd in ["", "{", "[]", "{}", &text[..text.len() / 2], &text.replace(IDS[0], IDS[1])] {
            store.keep_text(IDS[0], odd).unwrap();
            assert_eq!(store.find(IDS[0]), None, "{odd}");
        }
        store.keep_text(IDS[0], &text).unwrap();
        assert!(Store::at(&folder, "0.0.1 of another build").find(IDS[0]).is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn results_of_another_plan_go_when_a_new_one_begins() {
        let (folder, first) = (folder("stale"), manifest(&IDS));
        Store::open(&folder, &first).unwrap();
        let there = || results::FILES.map(|file| folder.join(file).exists());
        results::FILES.iter().for_each(|file| fs::write(folder.join(file), "old").unwrap());
        Store::open(&folder, &first).unwrap();
        assert_eq!(there(), [true; 3], "the same sweep has the same results");
        Store::open(&folder, &manifest(&IDS[..1])).unwrap();
        assert_eq!(there(), [false; 3]);
        fs::remove_dir_all(folder).unwrap();
    }
}
