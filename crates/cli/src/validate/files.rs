//! Claim files, and folders of them.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use simsched_claims::{Claim, Refused, read as parse};
use simsched_topology::{did_you_mean, nearest};

use crate::args::Shard;
use crate::bounded;
use crate::failure::Failure;
use crate::output;

/// The claims of these files and folders, in their order, of which the ids begin with one of `only`
/// if there are any; those that cannot be read are replaced by what is wrong. A file that is given
/// twice is read once, and said.
///
/// # Errors
/// When a file cannot be read at all, a folder has none, or no claim is meant.
pub(super) fn read(
    paths: &[PathBuf],
    only: &[String],
) -> Result<Vec<Result<Claim, Refused>>, Failure> {
    let mut claims = Vec::new();
    let mut seen = Vec::new();
    for path in paths {
        for file in files(path)? {
            let name = file.display().to_string();
            output::inputs::reads(&file)?;
            let text = bounded::text(&file, bounded::WRITTEN)?;
            let real = fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
            if seen.contains(&real) {
                output::say(&format!("note: {name} was given before, and counts once"));
                continue;
            }
            seen.push(real);
            claims.extend(parse(&text, &name).map_err(Failure::input)?);
        }
    }
    if !only.is_empty() {
        let ids: Vec<&str> = claims.iter().map(id).collect();
        only.iter().try_for_each(|start| begins_one(start, &ids))?;
        claims.retain(|claim| only.iter().any(|start| id(claim).starts_with(start)));
    }
    Ok(claims)
}

/// Keeps the claims of this part. Those of one machine and workload share runs, and stay together; what
/// could not be read is in every part.
pub(super) fn keep(claims: &mut Vec<Result<Claim, Refused>>, shard: Shard) {
    let mut groups: Vec<(String, String)> = Vec::new();
    claims.retain(|claim| {
        let Ok(claim) = claim else { return true };
        let group = (claim.topology.clone(), claim.workload.clone());
        let known = groups.iter().position(|known| *known == group);
        let nth = known.unwrap_or_else(|| {
            groups.push(group);
            groups.len() - 1
        });
        nth % shard.of == shard.index
    });
}

fn id(claim: &Result<Claim, Refused>) -> &str {
    claim.as_ref().map_or_else(|refused| &*refused.id, |claim| &*claim.id)
}

/// How many beginnings of ids are named where none is near.
const NAMED: usize = 8;

/// Whether `start` is the start of an id.
///
/// # Errors
/// One sentence with the nearest that are: whole ids, and what stands before a dot of one.
fn begins_one(start: &str, ids: &[&str]) -> Result<(), Failure> {
    if ids.iter().any(|id| id.starts_with(start)) {
        return Ok(());
    }
    let parts = |id: &'_ str| id.match_indices('.').map(|(at, _)| at).collect::<Vec<_>>();
    let begins = ids.iter().flat_map(|id| parts(id).into_iter().map(|at| &id[..at]).chain([*id]));
    let near = did_you_mean(&nearest(start, begins));
    let mut first: Vec<&str> =
        ids.iter().map(|id| id.split('.').next().unwrap_or_default()).collect();
    first.sort_unstable();
    first.dedup();
    let more = if first.len() > NAMED { ", ..." } else { "" };
    first.truncate(NAMED);
    let such = if near.is_empty() { format!(": {}{more}", first.join(", ")) } else { near };
    Err(Failure::Input(format!("--only: found '{start}', expected the start of an id{such}")))
}

/// The file, or the `.toml` files below the folder, by name. Where links lead to one folder in several ways,
/// or in a circle, it is entered once.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut found, mut folders) = (Vec::new(), VecDeque::from([path.to_owned()]));
    let mut entered = BTreeSet::new();
    while let Some(folder) = folders.pop_front() {
        let real = fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        if !entered.insert(real) {
            continue;
        }
        let failed = |error| Failure::file(&folder, &error);
        let entries = fs::read_dir(&folder).map_err(failed)?.map(|entry| entry.map(|e| e.path()));
        // The way to a folder is the shortest, and of these the first by name.
        for entry in entries.collect::<Result<BTreeSet<_>, _>>().map_err(failed)? {
            if entry.is_dir() {
                folders.push_back(entry);
            } else if entry.extension().is_some_and(|extension| extension == "toml") {
                found.push(entry);
            }
        }
    }
    if found.is_empty() {
        let text =
            format!("{}: found a folder without .toml files, expected claims", path.display());
        return Err(Failure::Input(text));
    }
    found.sort();
    Ok(found)
}
