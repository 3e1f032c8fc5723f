//! The files of a `/sys/devices/system`: from a folder, a tarball, or the running machine.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use simsched_import::Tree;

use crate::failure::Failure;

/// No file that is read is longer; a mask of 64k CPUs has 18 kB.
const LONGEST: u64 = 1 << 20;

/// `/proc/cpuinfo` of a large machine has some megabytes, of which the first CPU tells all.
fn text(reader: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    reader.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The tree of the running machine.
pub(super) fn live() -> Result<Tree, Failure> {
    let mut tree = Tree::default();
    for (path, below) in [("/sys/devices", "devices"), ("/proc", "proc")] {
        walk(Path::new(path), below, &mut tree)
            .map_err(|error| Failure::file(Path::new(path), &error))?;
    }
    // As `uname -m` of this program; sysfs does not tell it.
    tree.insert(
        "hwloc-nofile-info".to_owned(),
        format!("Architecture: {}\n", std::env::consts::ARCH),
    );
    if tree.is_empty() {
        return Err(Failure::Input("/sys/devices/system: found no folder of a CPU".to_owned()));
    }
    Ok(tree)
}

/// The tree of a folder: a root with `sys/devices/system`, or that folder itself, or one that holds it.
pub(super) fn folder(path: &Path) -> Result<Tree, Failure> {
    let mut tree = Tree::default();
    let fail = |error: io::Error| Failure::file(path, &error);
    walk(path, "", &mut tree).map_err(fail)?;
    if tree.is_empty() {
        for entry in fs::read_dir(path).map_err(fail)?.filter_map(Result::ok) {
            if tree.is_empty() && entry.path().is_dir() {
                walk(&entry.path(), "", &mut tree).map_err(fail)?;
            }
        }
    }
    if tree.is_empty() {
        return Err(Failure::Input(format!(
            "{}: found no sys/devices/system/cpu/cpuN/topology below this folder",
            path.display()
        )));
    }
    if !tree.has_cpuinfo()
        && let Some(text) = beside(path)
    {
        tree.insert("cpuinfo".to_owned(), text);
    }
    Ok(tree)
}

/// What the CPUs call themselves, of a folder that lies as `sys/devices/system` or a part of that in a root:
/// the root's `proc/cpuinfo`, or a `cpuinfo` there.
fn beside(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let mut root = path.as_path();
    for name in ["system", "devices", "sys"] {
        if root.file_name().is_some_and(|own| own == name) {
            root = root.parent()?;
        }
    }
    let files = ["proc/cpuinfo", "cpuinfo"].map(|name| root.join(name));
    let is_inside = root != path;
    files.into_iter().filter(|_| is_inside).find_map(|file| of_file(&file))
}

/// The text of a file. A pipe might keep us waiting, and is none.
fn of_file(path: &Path) -> Option<String> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    fs::File::open(path).and_then(text).ok()
}

/// Adds what stands below `path`, which is called `below` in the tree.
///
/// Only the folders that lead to files of a tree are entered: `/sys` holds links in circles.
fn walk(path: &Path, below: &str, tree: &mut Tree) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let place = if below.is_empty() { name } else { format!("{below}/{name}") };
        if let Some(known) = Tree::place(&place) {
            // A file that vanishes or may not be read tells nothing, nor does what is none.
            if let Some(text) = of_file(&entry.path()) {
                tree.insert(known, text);
            }
        } else if leads_on(&place) && is_entered(&place, &entry)? {
            walk(&entry.path(), &place, tree)?;
        }
    }
    Ok(())
}

/// Whether it is a folder. Of links to folders only that to the CPU's clocks, below which there are no more.
fn is_entered(place: &str, entry: &fs::DirEntry) -> io::Result<bool> {
    Ok(entry.file_type()?.is_dir() || (place.ends_with("/cpufreq") && entry.path().is_dir()))
}

/// Whether a folder may hold files of a tree.
fn leads_on(place: &str) -> bool {
    let place = place.strip_prefix("sys/").unwrap_or(place);
    let place = place.strip_prefix("devices/").unwrap_or(place);
    let place = place.strip_prefix("system/").unwrap_or(place);
    match place.split('/').collect::<Vec<_>>()[..] {
        ["sys" | "proc" | "devices" | "system" | "cpu" | "node" | "cpu_atom" | "cpu_core"] => true,
        ["cpu", name] => name.starts_with("cpu") || name == "vulnerabilities",
        ["cpu", "cpufreq", policy] => policy.starts_with("policy"),
        ["node", name] => name.starts_with("node"),
        ["cpu", cpu, "topology" | "cache" | "cpufreq"] => cpu.starts_with("cpu"),
        ["cpu", _, "cache", index] => index.starts_with("index"),
        _ => false,
    }
}

/// No text that is imported is longer: hwloc's XML of a machine of 1,024 CPUs has some megabytes.
const LONGEST_TEXT: u64 = 1 << 28;

/// What a source holds: text, or the files of a tree.
pub(super) enum Unpacked {
    Text(Vec<u8>),
    Tree(Tree),
}

/// What the bytes of a file hold, packed or not.
pub(super) fn unpacked(bytes: Vec<u8>, path: &Path) -> Result<Unpacked, Failure> {
    match bytes[..] {
        [0x1f, 0x8b, ..] => text_or_tarball(MultiGzDecoder::new(&bytes[..]), path),
        [b'B', b'Z', b'h', ..] => text_or_tarball(MultiBzDecoder::new(&bytes[..]), path),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Err(other_packer(path, "xz")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Err(other_packer(path, "zstd")),
        _ if bytes.get(257..262) == Some(b"ustar") => tarball(&bytes[..], path).map(Unpacked::Tree),
        _ => Ok(Unpacked::Text(bytes)),
    }
}

fn other_packer(path: &Path, name: &str) -> Failure {
    let path = path.display();
    Failure::Input(format!(
        "{path}: found a file packed by {name}, expected gzip, bzip2 or none: {name} -dc {path} | \
         simsched topo import -"
    ))
}

/// The header of a tarball is filled up with zeros, and text has none.
fn text_or_tarball(mut reader: impl Read, path: &Path) -> Result<Unpacked, Failure> {
    let fail = |error: io::Error| {
        Failure::Input(format!("{}: the file cannot be unpacked ({error})", path.display()))
    };
    let mut head = Vec::new();
    reader.by_ref().take(512).read_to_end(&mut head).map_err(fail)?;
    if head.contains(&0) {
        return tarball(io::Cursor::new(head).chain(reader), path).map(Unpacked::Tree);
    }
    let mut text = head;
    reader.take(LONGEST_TEXT).read_to_end(&mut text).map_err(fail)?;
    Ok(Unpacked::Text(text))
}

fn tarball(reader: impl Read, path: &Path) -> Result<Tree, Failure> {
    let fail = |error: io::Error| {
        Failure::Input(format!("{}: the tarball cannot be read ({error})", path.display()))
    };
    let mut tree = Tree::default();
    let mut is_cpuid = false;
    let mut archive = tar::Archive::new(reader);
    for entry in archive.entries().map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        is_cpuid |= name.ends_with("/pu0");
        if let Some(place) = Tree::place(&name)
            && entry.header().entry_type().is_file()
        {
            tree.insert(place, text(entry).map_err(fail)?);
        }
    }
    if tree.is_empty() {
        let found =
            if is_cpuid { "a dump of CPUID (hwloc-gather-cpuid)" } else { "no cpu/cpuN/topology" };
        return Err(Failure::Input(format!(
            "{}: found {found} in the tarball, expected the files of /sys/devices/system{}",
            path.display(),
            if is_cpuid {
                "; lstopo makes XML of it: HWLOC_COMPONENTS=x86 HWLOC_CPUID_PATH=DIR lstopo --of xml"
            } else {
                ""
            }
        )));
    }
    Ok(tree)
}
