//! The totals of plain `lscpu` and of `lscpu -J`: how many of each part there are, and which CPUs a node has.
//!
//! They do not tell which CPUs share a core or a cache. It follows where just one of the ways in which
//! firmware numbers CPUs (those of `[cores] numbering` of a machine file) fits the CPUs of the nodes; all
//! else is refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::cpuinfo;
use crate::error::{ImportError, whole};
use crate::found::{Cache, Found, Node};
use crate::lscpu::{SUMMARY, size};
use crate::set::{self, Set};

type Result<T> = std::result::Result<T, ImportError>;

/// What is told, by its name.
type Told = BTreeMap<String, String>;

/// Reads what plain `lscpu` prints.
pub(crate) fn read_text(text: &str, file: &str) -> Result<Found> {
    let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    conclude(&text.lines().filter_map(cpuinfo::pair).map(own).collect(), file)
}

/// Reads what `lscpu -J` prints: since util-linux 2.37 in a tree.
pub(crate) fn read_json(fields: &Value, file: &str) -> Result<Found> {
    let mut told = Told::new();
    gather(fields, &mut told);
    conclude(&told, file)
}

fn gather(fields: &Value, told: &mut Told) {
    for field in fields.as_array().into_iter().flatten() {
        let text = |key: &str| field.get(key).and_then(Value::as_str);
        if let (Some(name), Some(data)) = (text("field"), text("data")) {
            told.insert(name.trim_end_matches(':').to_owned(), data.trim().to_owned());
        }
        if let Some(children) = field.get("children") {
            gather(children, told);
        }
    }
}

/// The parts of a regular machine.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Parts {
    cores: BTreeSet<Set>,
    packages: BTreeSet<Set>,
    llcs: BTreeSet<Set>,
}

fn conclude(told: &Told, file: &str) -> Result<Found> {
    let mut found = Found { kind: "lscpu".to_owned(), ..Found::default() };
    for (key, value) in told {
        cpuinfo::head(&mut found.processor, key, value);
    }
    let online = told.get("On-line CPU(s) list").and_then(|text| set::list(text));
    found.cpus = online.ok_or_else(|| whole(file, SUMMARY))?;
    found.nodes = nodes(told);
    let fits: BTreeSet<Parts> = numbered(told, &found.cpus)
        .into_iter()
        .filter(|parts| found.nodes.iter().flatten().all(|node| parts.nest(&node.cpus)))
        .collect();
    let mut fits = fits.into_iter();
    let (Some(parts), None) = (fits.next(), fits.next()) else { return Err(whole(file, SUMMARY)) };
    caches(told, &parts, &mut found);
    found.cores = parts.cores.into_iter().collect();
    found.packages = parts.packages.into_iter().collect();
    found.notes.push(
        "totals do not tell which CPUs share a core or a cache: they are those of the one usual numbering \
         of CPUs that fits"
            .to_owned(),
    );
    Ok(found)
}

fn nodes(told: &Told) -> Option<Vec<Node>> {
    let node = |(key, value): (&String, &String)| {
        let number = key.strip_prefix("NUMA node")?.strip_suffix(" CPU(s)")?;
        let cpus = set::list(value).unwrap_or_default();
        Some(Node { number: set::number(number)?, cpus, is_special: false })
    };
    Some(told.iter().filter_map(node).collect::<Vec<_>>()).filter(|nodes| !nodes.is_empty())
}

/// The machine of these totals in each usual numbering.
fn numbered(told: &Told, cpus: &Set) -> Vec<Parts> {
    let count = |key: &str| told.get(key).and_then(|text| set::number(text)).filter(|&n| n > 0);
    let (Some(threads), Some(cores), Some(sockets), Some(llcs)) = (
        count("Thread(s) per core"),
        count("Core(s) per socket"),
        count("Socket(s)"),
        last(told).and_then(|(_, text)| instances(text)),
    ) else {
        return Vec::new();
    };
    let all = cores.saturating_mul(sockets);
    let is_whole = all.checked_mul(threads).is_some_and(|n| cpus.iter().copied().eq(0..n));
    if !is_whole || !all.is_multiple_of(llcs) || !llcs.is_multiple_of(sockets) {
        return Vec::new();
    }
    type Number = fn(core: u32, thread: u32, [u32; 3]) -> u32;
    let ways: [Number; 3] = [
        |core, thread, [threads, ..]| core * threads + thread,
        |core, thread, [_, cores, sockets]| core + thread * cores * sockets,
        |core, thread, [_, cores, sockets]| {
            core % cores * sockets + core / cores + thread * cores * sockets
        },
    ];
    let machine = |number: Number| {
        let core =
            |core: u32| (0..threads).map(move |t| number(core, t, [threads, cores, sockets]));
        let runs = |size: u32| -> BTreeSet<Set> {
            (0..all / size).map(|n| (n * size..(n + 1) * size).flat_map(core).collect()).collect()
        };
        Parts { cores: runs(1), packages: runs(cores), llcs: runs(all / llcs) }
    };
    ways.into_iter().map(machine).collect()
}

impl Parts {
    /// Whether a node holds whole cores, and lies within or holds each cache and package it meets.
    fn nest(&self, node: &Set) -> bool {
        let larger = self.packages.iter().chain(&self.llcs);
        self.cores.iter().all(|core| core.is_subset(node) || core.is_disjoint(node))
            && larger
                .into_iter()
                .all(|part| part.is_disjoint(node) || part.is_subset(node) || node.is_subset(part))
    }
}

/// The last-level cache that is told: its level and what is said of it.
fn last(told: &Told) -> Option<(u32, &String)> {
    [3, 2].into_iter().find_map(|level| Some((level, told.get(&format!("L{level} cache"))?)))
}

/// `768 MiB (24 instances)`: 24. Before util-linux 2.37 there is no number.
fn instances(text: &str) -> Option<u32> {
    set::number(text.split_once('(')?.1.split(' ').next()?)
}

/// The last-level caches, and below them those of which each core has its own.
fn caches(told: &Told, parts: &Parts, found: &mut Found) {
    let Some((last, text)) = last(told) else { return };
    let (cores, llcs) = (&parts.cores, &parts.llcs);
    let mut add = |level: u32, is_instruction: bool, text: &str, sets: &BTreeSet<Set>| {
        let cache =
            |cpus: &Set| Cache { level, is_instruction, kib: size(text), cpus: cpus.clone() };
        found.caches.extend(sets.iter().map(cache));
    };
    add(last, false, text, llcs);
    for (name, level, is_instruction) in [("L1d", 1, false), ("L1i", 1, true), ("L2", 2, false)] {
        let text = told.get(&format!("{name} cache")).filter(|_| level < last);
        if let Some(text) = text.filter(|text| instances(text) == u32::try_from(cores.len()).ok()) {
            add(level, is_instruction, text, cores);
        }
    }
}
