//! Readers of golden numbers, and small machines.

pub(crate) mod balancing;
pub(crate) mod driver;
pub(crate) mod twin;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use flate2::read::GzDecoder;
use serde_json::Value;
use simsched_policies::catalog::FairSpec;
use simsched_policies::fair::Features;
use simsched_topology::Topology;

/// The lines of a compressed file below `tests/data`.
pub(crate) fn lines(file: &str) -> Box<dyn Iterator<Item = String>> {
    if let Some(name) = file.strip_prefix("7.3/")
        && let Some(folder) = other_vectors()
    {
        let path = folder.join(name);
        let file = File::open(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
        return Box::new(BufReader::new(file).lines().map(Result::unwrap));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("{file}.gz"));
    let file = File::open(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    Box::new(BufReader::new(GzDecoder::new(file)).lines().map(Result::unwrap))
}

/// The folder of vectors of 7.3 that are to be read in place of those of `tests/data/7.3`
/// (`SIMSCHED_VECTORS_73`), not compressed.
fn other_vectors() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "which vectors a test reads")]
    let folder = std::env::var_os("SIMSCHED_VECTORS_73")?;
    Some(PathBuf::from(folder))
}

/// Runs `check` with a file of `tests/data/7.3`, which has so many rows: `check` returns how many it has seen. Of
/// another folder any number will do, and a file that is not there is passed over.
#[track_caller]
pub(crate) fn vectors_73(name: &str, rows: usize, check: impl FnOnce(&str) -> usize) {
    match other_vectors() {
        Some(folder) if !folder.join(name).exists() => {}
        Some(_) => assert!(check(&format!("7.3/{name}")) > 0, "{name} is empty"),
        None => assert_eq!(check(&format!("7.3/{name}")), rows, "rows of {name}"),
    }
}

/// A row of a CSV file, whose fields are asked for by the name of their column.
pub(crate) struct Row<'a> {
    columns: &'a [String],
    fields: Vec<&'a str>,
}

impl Row<'_> {
    pub(crate) fn text(&self, column: &str) -> &str {
        let at = self.columns.iter().position(|name| name == column);
        self.fields[at.unwrap_or_else(|| panic!("no column {column}"))]
    }

    pub(crate) fn get<T: FromStr>(&self, column: &str) -> T {
        let text = self.text(column);
        text.parse().unwrap_or_else(|_| panic!("{column} is {text}"))
    }

    /// The column holds `value`.
    #[track_caller]
    pub(crate) fn expect<T: FromStr + PartialEq + std::fmt::Debug>(&self, column: &str, value: T) {
        assert_eq!(value, self.get::<T>(column), "{column} of {self:?}");
    }

    pub(crate) fn flag(&self, column: &str) -> bool {
        self.get::<u8>(column) != 0
    }
}

impl std::fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.columns.iter().zip(&self.fields)).finish()
    }
}

/// Calls `check` with each row of a CSV file and returns how many there were.
pub(crate) fn for_each_row(file: &str, mut check: impl FnMut(&Row<'_>)) -> usize {
    let mut lines = lines(file).filter(|line| !line.starts_with('#'));
    let columns: Vec<String> = lines.next().unwrap().split(',').map(str::to_owned).collect();
    let mut rows = 0;
    for line in lines {
        check(&Row { columns: &columns, fields: line.split(',').collect() });
        rows += 1;
    }
    rows
}

/// Calls `check` with the header and each row of a JSON lines file; returns how many rows.
pub(crate) fn for_each_json(file: &str, mut check: impl FnMut(&Value, &Value)) -> usize {
    let mut lines = lines(file).map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let header = lines.next().unwrap();
    let mut rows = 0;
    for line in lines {
        check(&header, &line);
        rows += 1;
    }
    rows
}

/// The integers of a JSON array.
pub(crate) fn ints(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|int| int.as_u64().unwrap()).collect()
}

/// A machine without costs: sockets, LLCs per socket, cores per LLC, threads per core; `head` and
/// `mode` are lines of its file.
pub(crate) fn machine(
    [sockets, llcs, cores, threads]: [usize; 4],
    head: &str,
    mode: &str,
) -> Topology {
    let text = format!(
        r#"
name = "test"
title = "a machine for tests"
costs = "x86"
{head}
[cores]
sockets = {sockets}
llcs_per_socket = {llcs}
cores_per_llc = {cores}
threads_per_core = {threads}
numbering = "smt_split"
[mode.test]
{mode}
[c2c_ns]
smt = 10
same_llc = 25
same_socket = 100
cross_socket = 200
[[idle]]
name = "C1"
exit_us = 1
residency_us = 2
polling = true
"#
    );
    Topology::parse(&text, "test.toml", None).unwrap_or_else(|err| panic!("{err}"))
}

/// The machine with this name in the shared vectors.
pub(crate) fn vector_machine(name: &str) -> Topology {
    let zen = "reclaim_distance = 32";
    match name {
        "small_2x4x1" => machine([2, 1, 4, 1], "", "nodes_per_socket = 1\ncross_socket = 20"),
        "mini_2x4x2" => machine([2, 2, 2, 2], zen, "nodes_per_socket = 1\ncross_socket = 32"),
        "mini_2x4x2_nps2" => {
            machine([2, 2, 2, 2], zen, "nodes_per_socket = 2\nsame_socket = 12\ncross_socket = 32")
        }
        "ryzen_1x16x2" => machine([1, 2, 8, 2], zen, "nodes_per_socket = 1"),
        _ => panic!("no machine {name}"),
    }
}

/// One CPU.
pub(crate) fn one_cpu() -> Topology {
    machine([1, 1, 1, 1], "", "nodes_per_socket = 1")
}

/// The class of these features, with these patches beside those of its kernel.
pub(crate) fn patched(features: Features, patches: &[&str]) -> FairSpec {
    let mut class = FairSpec::from(features);
    for key in patches {
        assert!(class.patches.set(key, true), "there is no patch {key}");
    }
    class
}
