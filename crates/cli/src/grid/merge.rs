//! `simsched merge`: the shards of a sweep become the whole.

use std::path::Path;

use super::flat::Table;
use super::manifest::{Entry, Manifest};
use super::store::Store;
use super::{finish, results};
use crate::args::MergeArgs;
use crate::failure::Failure;

/// How many of the cells that are missing are named.
const NAMED: usize = 5;

/// Does what `simsched merge` is asked for.
pub(crate) fn merge(args: &MergeArgs) -> Result<(), Failure> {
    results::can_write(args.parquet)?;
    let mut parts = Vec::new();
    for folder in &args.folders {
        let manifest = Manifest::of_folder(folder)?.ok_or_else(|| {
            let what = "found no sweep.json, expected the folder of a sweep";
            Failure::Input(format!("{}: {what}", folder.display()))
        })?;
        parts.push((folder.as_path(), manifest));
    }
    let Some((first, manifest)) = parts.first() else { return Ok(()) };
    for (folder, other) in &parts[1..] {
        are_one(first, manifest, folder, other)?;
    }
    let stores: Vec<(&Path, Store)> =
        parts.iter().map(|(folder, found)| (*folder, Store::at(folder, &found.version))).collect();
    let mut missing: Vec<&Entry> = Vec::new();
    for cell in &manifest.cells {
        if !is_there(&stores, cell, manifest)? {
            missing.push(cell);
        }
    }
    if !missing.is_empty() {
        let named = missing.iter().take(NAMED).map(|cell| manifest.describe(cell));
        let named = named.collect::<Vec<_>>().join("; ");
        let more = if missing.len() > NAMED { "; ..." } else { "" };
        let (nr, all) = (missing.len(), manifest.cells.len());
        let what = format!("{nr} of {all} cells are missing in these folders: {named}{more}");
        return Err(Failure::Input(what));
    }
    let whole = Manifest { shard: None, ..manifest.clone() };
    let out = Store::open(&args.output, &whole)?;
    for cell in &manifest.cells {
        let text = stores.iter().find_map(|(_, store)| store.text(&cell.id).transpose());
        out.keep_text(&cell.id, &text.transpose()?.unwrap_or_default())?;
    }
    let table = Table::of(&whole, &out, |_| true)?;
    finish(&out, &table, args.parquet)
}

/// Whether two folders are of one sweep under one version.
fn are_one(first: &Path, a: &Manifest, other: &Path, b: &Manifest) -> Result<(), Failure> {
    let (first, other) = (first.display(), other.display());
    if a.plan != b.plan {
        let what = format!("found the plan {}, expected {} as in {first}", b.plan, a.plan);
        return Err(Failure::Input(format!("{other}: {what}")));
    }
    if a.version != b.version {
        let what =
            format!("found cells of version {}, expected {} as in {first}", b.version, a.version);
        return Err(Failure::Input(format!("{other}: {what}")));
    }
    Ok(())
}

/// Whether some folder has the cell, and all that have it agree.
///
/// # Errors
/// The two folders that differ, or the file that cannot be read.
fn is_there(stores: &[(&Path, Store)], cell: &Entry, whole: &Manifest) -> Result<bool, Failure> {
    let mut found: Option<(&Path, String)> = None;
    for (folder, store) in stores {
        let Some(text) = store.text(&cell.id)? else { continue };
        match &found {
            None => found = Some((folder, text)),
            Some((_, known)) if *known == text => {}
            Some((before, _)) => {
                let cell = format!("cells/{}.json ({})", cell.id, whole.describe(cell));
                let (a, b) = (before.display(), folder.display());
                return Err(Failure::Input(format!("{a} and {b}: {cell} differs between them")));
            }
        }
    }
    Ok(found.is_some())
}
