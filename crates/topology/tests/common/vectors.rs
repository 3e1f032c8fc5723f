//! The shared vectors of each kernel, and the machines that they are of.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;
use simsched_topology::Kernel;

use super::Machine;

/// The folder with the files of a kernel.
pub(crate) fn folder(kernel: Kernel) -> PathBuf {
    match other_vectors() {
        Some(folder) if kernel == Kernel::V7_3 => folder,
        _ => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(kernel.name()),
    }
}

/// The folder of vectors of 7.3 that are to be read in place of those of `tests/data/7.3`
/// (`SIMSCHED_VECTORS_73`), not compressed.
pub(crate) fn other_vectors() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "which vectors a test reads")]
    let folder = std::env::var_os("SIMSCHED_VECTORS_73")?;
    Some(PathBuf::from(folder))
}

pub(crate) fn read(path: &Path) -> String {
    let file = File::open(path).expect("the file is there");
    let is_packed = path.extension().is_some_and(|extension| extension == "gz");
    let text = match is_packed {
        true => io::read_to_string(GzDecoder::new(file)),
        false => io::read_to_string(file),
    };
    text.expect("text, or gzip")
}

/// The vector files of a kernel, by the name of the machine.
pub(crate) fn files(kernel: Kernel) -> Vec<Value> {
    let entries = fs::read_dir(folder(kernel)).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.to_string_lossy().contains("topo_"));
    paths.sort();
    paths.iter().map(|path| serde_json::from_str(&read(path)).expect("JSON")).collect()
}

pub(crate) fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a number")).expect("small")
}

/// How many cores share a cache: the files tell it only in their comments.
fn cores_per_llc(name: &str, per_socket: usize) -> usize {
    match name.split('_').next().expect("a name") {
        "genoa" | "milan" | "ryzen" => 8,
        "rome" => 4,
        "mini" => 2,
        _ => per_socket,
    }
}

/// The machine of a vector file, written as a machine file.
pub(crate) fn machine(file: &Value) -> Machine {
    let name = file["name"].as_str().expect("a name");
    let (sockets, cores) = (number(&file["sockets"]), number(&file["cores_per_socket"]));
    let nodes =
        format!("nodes = {}\ndistance = {}\ncut_llc = true", file["node_cpus"], file["distance"]);
    let mut head = format!("reclaim_distance = {}", file["node_reclaim_distance"]);
    if name.starts_with("p10") {
        // Small cores of 4 threads; a hemisphere of 5 cores is 10 of them.
        head += "\narch = \"power\"";
        let mode = nodes + "\ncores_per_coregroup = 10";
        return Machine::new(sockets, 2 * cores, 1, 4)
            .numbering("small_cores")
            .head(&head)
            .mode(&mode);
    }
    let per_llc = cores_per_llc(name, cores);
    Machine::new(sockets, cores / per_llc, per_llc, number(&file["threads"]))
        .head(&head)
        .mode(&nodes)
}
