//! `simsched topo import`: a machine file from a description of a machine.

use std::path::Path;

use simsched_import::{Imported, Llc, Request, Source, Tree, import as read, priced};
use simsched_topology::{did_you_mean, nearest};

use super::tree;
use crate::args::{ImportArgs, LlcArg};
use crate::bounded;
use crate::failure::Failure;
use crate::output::{self, Whole};

/// The folder of the running machine.
const LIVE: &str = "/sys/devices/system";

/// What is imported: text, or the files of a tree.
enum Content {
    Text(String),
    Tree(Tree),
}

/// Imports a machine, and tells what was left out.
pub(crate) fn import(args: &ImportArgs) -> Result<(), Failure> {
    let prices = args.prices.as_deref().map(known).transpose()?;
    let place = args.output.as_deref().map(Whole::begin).transpose()?;
    let (file, content) = match &args.source {
        Some(path) => (path.display().to_string(), content(path)?),
        None => (LIVE.to_owned(), Content::Tree(tree::live()?)),
    };
    let name = name(args)?;
    let llc = args.llc.map(|llc| match llc {
        LlcArg::Core => Llc::Core,
        LlcArg::Package => Llc::Package,
    });
    let request = Request { file: &file, name: &name, llc, prices };
    let source = match &content {
        Content::Text(text) => Source::Text(text),
        Content::Tree(tree) => Source::Tree(tree),
    };
    let imported = read(source, &request).map_err(Failure::input)?;
    tell(&file, &imported);
    match place {
        Some(place) => place.write(&imported.toml),
        None => output::data(&imported.toml),
    }
}

/// The machine that `--prices` names.
fn known(name: &str) -> Result<&str, Failure> {
    let all = priced();
    // As elsewhere, the name of its file is as good.
    let plain = name.strip_suffix(".toml").unwrap_or(name);
    if all.contains(&plain) {
        return Ok(plain);
    }
    let near = did_you_mean(&nearest(name, all.iter().copied()));
    let all = all.join(", ");
    Err(Failure::Input(format!("--prices: found '{name}', expected one of {all}{near}")))
}

/// What the content of a path is: a folder and a tarball are trees, all else is text.
fn content(path: &Path) -> Result<Content, Failure> {
    if path.is_dir() {
        return Ok(Content::Tree(tree::folder(path)?));
    }
    let bytes = match path.to_str() {
        Some("-") => bounded::bytes(std::io::stdin(), path, bounded::MADE)?,
        _ => {
            output::inputs::reads(path)?;
            bounded::file(path, bounded::MADE)?
        }
    };
    let bytes = match tree::unpacked(bytes, path)? {
        tree::Unpacked::Tree(tree) => return Ok(Content::Tree(tree)),
        tree::Unpacked::Text(bytes) => bytes,
    };
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::Input(format!(
            "{}: found neither text nor a tarball; expected hwloc's XML, the output of lscpu, or .tar, \
             .tar.gz or .tar.bz2 of /sys/devices/system",
            path.display()
        ))
    })?;
    Ok(Content::Text(text))
}

/// The name of the machine: as asked, or of the file that is written, or of the one that is read.
fn name(args: &ImportArgs) -> Result<String, Failure> {
    let is_name = |name: &str| !name.trim().is_empty() && !name.contains(['@', '/']);
    if let Some(name) = &args.name {
        return match is_name(name) && !name.contains(char::is_control) {
            true => Ok(name.clone()),
            false => Err(Failure::Input(format!(
                "--name: found '{}', expected a name without `@` and `/`",
                name.escape_debug()
            ))),
        };
    }
    let path = args.output.as_deref().or(args.source.as_deref());
    let stem = path.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("");
    let endings = [".gz", ".bz2", ".tar", ".toml", ".xml", ".txt", ".json"];
    let stem = endings.iter().fold(stem, |stem, ending| stem.strip_suffix(ending).unwrap_or(stem));
    let plain: String = stem.chars().filter(|c| !c.is_control() && *c != '@').collect();
    Ok(if is_name(&plain) && plain != "-" { plain } else { "imported".to_owned() })
}

/// What was read, from where its prices are, and what was left out.
fn tell(file: &str, imported: &Imported) {
    let counts = &imported.counts;
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let size = counts.llc_kib.map_or(String::new(), |kib| format!(" of {kib} KiB"));
    output::say(&format!(
        "{file}: {}, {}, {}, {}{size}, {}; prices from {}",
        count(counts.cpus, "CPU"),
        count(counts.cores, "core"),
        count(counts.packages, "package"),
        count(counts.llcs, "last-level cache"),
        count(counts.nodes, "NUMA node"),
        imported.nearest
    ));
    for note in &imported.notes {
        output::say(&format!("{file}: note: {note}"));
    }
}
