//! Claim files, and folders of them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use simsched_claims::{Claim, Refused, read as parse};

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
    let is_meant = |id: &str| only.is_empty() || only.iter().any(|start| id.starts_with(start));
    for path in paths {
        for file in files(path)? {
            let name = file.display().to_string();
            output::inputs::reads(&file)?;
            let text = fs::read_to_string(&file).map_err(|error| match error.kind() {
                ErrorKind::InvalidData => Failure::Input(format!("{name}: the file is not text")),
                _ => Failure::file(&file, &error),
            })?;
            let real = fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
            if seen.contains(&real) {
                output::say(&format!("note: {name} was given before, and counts once"));
                continue;
            }
            seen.push(real);
            let meant = |claim: &Result<Claim, Refused>| match claim {
                Ok(claim) => is_meant(&claim.id),
                Err(refused) => is_meant(&refused.id),
            };
            claims.extend(parse(&text, &name).map_err(Failure::input)?.into_iter().filter(meant));
        }
    }
    if claims.is_empty() {
        let meant = only.join(", ");
        return Err(Failure::Input(format!("--only: found {meant}, expected the start of an id")));
    }
    Ok(claims)
}

/// The file, or the `.toml` files below the folder, by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut found, mut folders) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| Failure::file(&folder, &error))? {
            let entry = entry.map_err(|error| Failure::file(&folder, &error))?.path();
            if entry.is_dir() {
                folders.push(entry);
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
