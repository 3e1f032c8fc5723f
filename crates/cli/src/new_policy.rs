//! `simsched new-policy`: a crate with a policy of one's own, its test, and the command with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use simsched_policies::Registry;

use crate::args::NewPolicyArgs;
use crate::failure::Failure;
use crate::output::{self, temporary};

/// The files of the crate, by path.
const FILES: [(&str, &str); 6] = [
    (".gitignore", "/target\n"),
    ("Cargo.toml", include_str!("../template/Cargo.toml.in")),
    ("README.md", include_str!("../template/README.md.in")),
    ("src/lib.rs", include_str!("../template/src/lib.rs.in")),
    ("src/main.rs", include_str!("../template/src/main.rs.in")),
    ("tests/conformance.rs", include_str!("../template/tests/conformance.rs.in")),
];

/// Names that no crate can have, or that would hide another one.
const RESERVED: [&str; 45] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "static",
    "struct", "super", "test", "trait", "true", "try", "type", "unsafe", "use", "where", "while",
];

/// Does what `simsched new-policy` is asked for.
pub(crate) fn new_policy(args: &NewPolicyArgs) -> Result<(), Failure> {
    check(&args.name)?;
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    if folder.exists() {
        let what = "found a file or folder of that name, expected none";
        return Err(Failure::Input(format!("{}: {what}", folder.display())));
    }
    let library = library(args.library.as_deref())?;
    write(&folder, &args.name, &library)?;
    output::print(&format!(
        "{folder} has the policy `{name}`, its test, and the command with it. Next:\n\n  \
         cd {folder}\n  cargo test --release\n  cargo run --release -- compare --topo t16 \
         --policy cfs --policy {name} -- hackbench -g 1 -T -p -l 200\n",
        folder = folder.display(),
        name = args.name
    ))
}

fn check(name: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let refused = |what: &str| Failure::Input(format!("NAME: found '{name}', {what}"));
    if !begins || !name.chars().all(is_plain) || name.len() > 60 {
        let what =
            "expected a lower-case letter, then at most 59 lower-case letters, digits or `_`";
        return Err(refused(what));
    }
    let hides =
        ["alloc", "core", "proc_macro", "std"].contains(&name) || name.starts_with("simsched");
    if RESERVED.contains(&name) || hides {
        return Err(refused("expected a name that is no word of Rust and no library's"));
    }
    if Registry::builtin().parse(name, &[]).is_ok() {
        return Err(refused("expected a name that no policy and no patch has"));
    }
    Ok(())
}

/// Where the crate finds the library, as a part of its Cargo.toml.
fn library(given: Option<&Path>) -> Result<String, Failure> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../simsched");
    let folder = match given {
        Some(folder) => folder,
        None if built.join("Cargo.toml").is_file() => built.as_path(),
        None => return Ok(format!("version = \"{}\"", env!("CARGO_PKG_VERSION"))),
    };
    let manifest = fs::read_to_string(folder.join("Cargo.toml"));
    if !manifest.is_ok_and(|text| text.lines().any(|line| line == "name = \"simsched\"")) {
        let what = "found no library there, expected the folder crates/simsched of a checkout";
        return Err(Failure::Input(format!("--library: {}: {what}", folder.display())));
    }
    let path = folder.canonicalize().map_err(|error| Failure::file(folder, &error))?;
    let path = path.to_str().ok_or_else(|| {
        Failure::Input(format!("--library: {}: expected text in UTF-8", folder.display()))
    })?;
    Ok(format!("path = {}", toml::Value::from(path)))
}

/// Writes the whole folder, or nothing.
fn write(folder: &Path, name: &str, library: &str) -> Result<(), Failure> {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let written = || {
        fs::create_dir_all(parent)?;
        let beside = temporary::builder(0o777).tempdir_in(parent)?;
        let new = beside.path().join("new");
        files(&new, name, library)?;
        fs::rename(&new, folder)
    };
    written().map_err(|error| Failure::file(folder, &error))
}

fn files(folder: &Path, name: &str, library: &str) -> io::Result<()> {
    for (file, template) in FILES {
        let path = folder.join(file);
        let text = template
            .replace("{name}", name)
            .replace("{Type}", &type_name(name))
            .replace("{library}", library);
        fs::create_dir_all(path.parent().expect("a file in a folder"))?;
        fs::write(&path, text)?;
    }
    Ok(())
}

/// `FirstIdle` of `first_idle`.
fn type_name(name: &str) -> String {
    let part = |part: &str| {
        let (first, rest) = part.split_at(1.min(part.len()));
        first.to_ascii_uppercase() + rest
    };
    name.split('_').map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_called_as_rust_does() {
        assert_eq!(type_name("first_idle"), "FirstIdle");
        assert_eq!(type_name("a__b2_"), "AB2");
    }

    #[test]
    fn a_name_that_cannot_be_is_refused() {
        for name in ["", "A", "1a", "a-b", "a b", "cfs", "cache_aware", "type", "std", "simsched"] {
            assert_eq!(check(name).unwrap_err().code(), 2, "{name}");
        }
        check("first_idle").unwrap();
    }
}
