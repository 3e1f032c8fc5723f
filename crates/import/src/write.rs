//! A machine file from a shape: facts of the source, prices of the nearest known machine.

use std::collections::BTreeSet;

use simsched_topology::{Arch, CoreId, CpuId, CpuSet, LlcId, PackageId, Topology};
use toml::Value;

use crate::error::{ImportError, whole};
use crate::known::{self, Known};
use crate::prices::{self, line};
use crate::shape::Shape;
use crate::{Counts, Imported, Request, set};

type Result<T> = std::result::Result<T, ImportError>;

/// The mode of an imported machine: as the source found it.
const MODE: &str = "imported";

/// Writes the file of a machine, and reads it once to be sure that it is one.
pub(crate) fn machine(shape: &Shape, request: &Request<'_>) -> Result<Imported> {
    let ranked = known::ranked(shape, request.prices);
    let Some(nearest) = ranked.first() else {
        return Err(whole(request.file, "no machine is known whose prices could be taken"));
    };
    let mut notes = shape.notes.clone();
    notes.extend(known::chosen(nearest, shape));
    let mode = mode(shape, &ranked, &mut notes);
    let others = other_modes(shape, nearest);
    if known::has_modules(&shape.processor) && shape.cores.len() == shape.os_cpus.len() {
        let of = "Linux takes the two cores of a module of this family for threads of one core";
        notes.push(format!("{of}, the source counts them as cores"));
    }
    if !shape.has_nodes {
        let of = format!("the source tells no NUMA nodes: `{MODE}` has one for all memory");
        notes.push(match &others[..] {
            [] => of,
            others => {
                let names: Vec<&str> = others.iter().map(|(name, _)| name.as_str()).collect();
                format!("{of}; the modes {} are those of {}", names.join(", "), nearest.name)
            }
        });
    }
    let write = |layout: &str, others: &str| {
        let mut toml = String::new();
        head(&mut toml, shape, request, nearest, &notes);
        toml.push_str(layout);
        toml.push_str(&mode);
        toml.push_str(others);
        caches(&mut toml, shape, nearest);
        prices::write(&mut toml, shape, &ranked);
        toml
    };
    let listed = listed(shape);
    let layout = regular(shape, |layout| write(layout, "")).unwrap_or(listed);
    let is_read = |text: &str, mode: &str| Topology::parse(text, request.file, Some(mode)).is_ok();
    let others: String = others
        .into_iter()
        .filter(|(name, text)| is_read(&write(&layout, text), name))
        .map(|(_, text)| text)
        .collect();
    let toml = write(&layout, &others);
    Topology::parse(&toml, request.file, Some(MODE)).map_err(|error| {
        whole(request.file, format!("the machine cannot be simulated ({error})"))
    })?;
    let llc_kib = shape.kib.get(&shape.llc_level).copied();
    let counts = Counts {
        cpus: shape.os_cpus.len(),
        cores: shape.cores.len(),
        packages: shape.packages.len(),
        llcs: shape.llcs.len(),
        llc_kib: llc_kib.filter(|_| shape.llc_level > 1 && shape.llc_kib.is_empty()),
        nodes: shape.nodes.len(),
    };
    Ok(Imported { toml, notes, nearest: nearest.name.to_owned(), counts })
}

/// Comments, names, and what stands before the tables.
fn head(
    toml: &mut String,
    shape: &Shape,
    request: &Request<'_>,
    nearest: &Known,
    notes: &[String],
) {
    let file = request.file.chars().filter(|c| !c.is_control()).collect::<String>();
    line(toml, &format!("# Imported from {file} ({}).", shape.kind));
    line(
        toml,
        "# CPUs, cores, caches, nodes and, where they are told, distances are facts of that source.",
    );
    line(
        toml,
        &format!("# Prices are not measured here: those marked so are {}.", prices::mark(nearest)),
    );
    for note in notes {
        line(toml, &format!("# Note: {note}."));
    }
    let text = |text: &str| Value::String(text.to_owned()).to_string();
    line(toml, &format!("name = {}", text(request.name)));
    line(toml, &format!("title = {}", text(&title(shape))));
    if let Some(vendor) = &shape.processor.vendor {
        line(toml, &format!("vendor = {}", text(vendor)));
    }
    if let Some(name) = &shape.processor.name {
        line(toml, &format!("model = {}", text(&plain(name))));
    }
    match shape.arch {
        Arch::X86 => {}
        Arch::Power => line(toml, "arch = \"power\""),
        Arch::Generic => line(toml, "arch = \"generic\""),
    }
    if let Some(bytes) = shape.processor.line_bytes.filter(|&bytes| bytes != 64) {
        line(toml, &format!("line_bytes = {bytes}"));
    }
    if let Some(page) = prices::page_kib(shape, nearest) {
        line(toml, &format!("page_kib = {page}    # as {}", nearest.name));
    }
    line(toml, &format!("default_mode = \"{MODE}\""));
    if known::is_zen(&shape.processor) {
        line(toml, "reclaim_distance = 32    # what Linux sets on AMD Zen");
    }
    if !is_plain(shape.os_cpus.iter()) {
        let numbers = set::written(&shape.os_cpus);
        line(
            toml,
            &format!("os_cpus = \"{numbers}\"    # the source's numbers, in the same order"),
        );
    }
}

fn is_plain<'a>(numbers: impl Iterator<Item = &'a u32>) -> bool {
    numbers.zip(0..).all(|(number, plain)| *number == plain)
}

/// The name of a processor without runs of blanks.
fn plain(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn title(shape: &Shape) -> String {
    let name = shape.processor.name.as_deref().map(plain).filter(|name| !name.is_empty());
    let packages = shape.packages.len();
    match name {
        Some(name) => format!("{packages} x {name}, imported"),
        None => {
            let count = |n: usize, of: &str| format!("{n} {of}{}", if n == 1 { "" } else { "s" });
            let cpus = count(shape.os_cpus.len(), "CPU");
            format!("{cpus} in {}, imported", count(packages, "package"))
        }
    }
}

/// A regular machine by rule, if one of the rules gives exactly these parts.
fn regular(shape: &Shape, write: impl Fn(&str) -> String) -> Option<String> {
    let divided =
        |parts: usize, wholes: usize| parts.is_multiple_of(wholes).then_some(parts / wholes);
    if !shape.llc_kib.is_empty() {
        return None;
    }
    let sockets = shape.packages.len();
    let llcs = divided(shape.llcs.len(), sockets)?;
    let cores = divided(shape.cores.len(), shape.llcs.len())?;
    let threads = divided(shape.os_cpus.len(), shape.cores.len())?;
    let cluster = match shape.clusters.len() {
        0 => String::new(),
        n => format!("cores_per_cluster = {}\n", divided(shape.cores.len(), n)?),
    };
    ["smt_split", "linear", "socket_round_robin"].into_iter().find_map(|numbering| {
        let layout = format!(
            "\n[cores]\nsockets = {sockets}\nllcs_per_socket = {llcs}\ncores_per_llc = {cores}\n\
             threads_per_core = {threads}\nnumbering = \"{numbering}\"\n{cluster}"
        );
        let machine = Topology::parse(&write(&layout), "", Some(MODE)).ok()?;
        is_same(shape, &machine).then_some(layout)
    })
}

/// Whether the machine has exactly the parts of the shape; LLCs may be cut at nodes in both.
fn is_same(shape: &Shape, machine: &Topology) -> bool {
    let ids = |n: usize| (0..n).map(CpuId::new).map(|id| id.0);
    let cores = ids(machine.nr_cores()).map(|n| *machine.core_span(CoreId(n)));
    let packages = ids(machine.nr_packages()).map(|n| *machine.package_span(PackageId(n)));
    let llcs = ids(machine.nr_llcs()).map(|n| *machine.llc_span(LlcId(n)));
    let pieces = |llc: &CpuSet| -> Vec<CpuSet> {
        let pieces = shape.nodes.iter().map(|(_, node)| node.and(llc));
        pieces.filter(|piece| !piece.is_empty()).collect()
    };
    let same = |a: &mut dyn Iterator<Item = CpuSet>, b: &mut dyn Iterator<Item = CpuSet>| {
        let members = |set: CpuSet| set.iter().collect::<Vec<_>>();
        a.map(members).collect::<BTreeSet<_>>() == b.map(members).collect::<BTreeSet<_>>()
    };
    same(&mut { cores }, &mut shape.cores.iter().copied())
        && same(&mut { packages }, &mut shape.packages.iter().copied())
        && same(&mut { llcs }, &mut shape.llcs.iter().flat_map(pieces))
        && clusters_agree(shape, machine)
}

/// A rule puts consecutive cores into a cluster, and the source need not.
fn clusters_agree(shape: &Shape, machine: &Topology) -> bool {
    let cores = || (0..machine.nr_cores()).map(|n| *machine.core_span(CoreId::new(n)));
    let nr = shape.clusters.len();
    if nr == 0 {
        return true;
    }
    let size = machine.nr_cores() / nr;
    let cores: Vec<CpuSet> = cores().collect();
    let by_rule = cores.chunks(size).map(|run| run.iter().fold(CpuSet::new(), |all, c| all.or(c)));
    by_rule.into_iter().all(|cluster| shape.clusters.contains(&cluster))
}

/// Any machine, by lists.
fn listed(shape: &Shape) -> String {
    let mut toml = String::new();
    for (key, parts) in [
        ("core", &shape.cores),
        ("llc", &shape.llcs),
        ("package", &shape.packages),
        ("cluster", &shape.clusters),
    ] {
        if parts.is_empty() {
            continue;
        }
        line(&mut toml, &format!("{key} = ["));
        let own = if key == "llc" { &shape.llc_kib[..] } else { &[] };
        for (n, part) in parts.iter().enumerate() {
            let kib = own.get(n).copied().flatten();
            let kib = kib.map_or(String::new(), |kib| format!(", kib = {kib}"));
            line(&mut toml, &format!("  {{ cpus = \"{part}\"{kib} }},"));
        }
        line(&mut toml, "]");
    }
    toml
}

/// The mode as the source found it: its nodes and their distances.
fn mode(shape: &Shape, ranked: &[Known], notes: &mut Vec<String>) -> String {
    let mut toml = format!("\n[mode.{MODE}]\n");
    line(&mut toml, &format!("title = \"as {} tells\"", shape.kind));
    if let [_] = &shape.nodes[..] {
        line(&mut toml, "one_node = true");
    } else {
        line(&mut toml, "nodes = [");
        for (_, cpus) in &shape.nodes {
            line(&mut toml, &format!("  \"{cpus}\","));
        }
        line(&mut toml, "]");
        match &shape.distances {
            Some(distances) => rows(&mut toml, distances, shape.nodes.len()),
            None => unknown_distances(&mut toml, ranked, notes),
        }
    }
    if shape.cuts_llc() {
        line(
            &mut toml,
            "cut_llc = true    # Linux cuts a last-level cache that spans several nodes",
        );
    }
    let numbers: Vec<u32> = shape.nodes.iter().map(|(number, _)| *number).collect();
    if !is_plain(numbers.iter()) {
        line(&mut toml, &format!("os_nodes = \"{}\"", set::written(&numbers)));
    }
    toml
}

fn rows(toml: &mut String, distances: &[u32], nodes: usize) {
    line(toml, "distance = [");
    for row in distances.chunks(nodes) {
        let row: Vec<String> = row.iter().map(u32::to_string).collect();
        line(toml, &format!("  [{}],", row.join(", ")));
    }
    line(toml, "]");
}

fn unknown_distances(toml: &mut String, ranked: &[Known], notes: &mut Vec<String>) {
    let mut names = BTreeSet::new();
    for key in ["same_socket", "cross_socket"] {
        if let Some((distance, known)) = prices::distance(key, ranked) {
            line(toml, &format!("{key} = {distance}    # {}", prices::mark(known)));
            names.insert(known.name);
        }
    }
    let names = names.into_iter().collect::<Vec<_>>().join(" and ");
    notes.push(format!("the source tells no distances of nodes: they are from {names}"));
}

/// The modes of the nearest machine, for a source that does not tell of memory.
fn other_modes(shape: &Shape, nearest: &Known) -> Vec<(String, String)> {
    let modes = nearest.file.get("mode").and_then(Value::as_table);
    if shape.has_nodes || !known::is_model(nearest, &shape.processor) {
        return Vec::new();
    }
    let written = |(name, mode): (&String, &Value)| {
        let mode = mode.as_table()?;
        if mode.contains_key("sockets") || mode.contains_key("llcs_per_socket") {
            return None;
        }
        let mut toml = format!("\n[mode.{}]\n", Value::String(name.clone()));
        let title = mode.get("title").and_then(Value::as_str).unwrap_or("");
        let title = format!("{title} (a mode of {}; the source tells no nodes)", nearest.name);
        line(&mut toml, &format!("title = {}", Value::String(title)));
        for key in ["nodes_per_socket", "one_node", "same_socket", "cross_socket", "cut_llc"] {
            if let Some(value) = mode.get(key) {
                line(&mut toml, &format!("{key} = {value}"));
            }
        }
        Some((name.clone(), toml))
    };
    modes.into_iter().flatten().filter_map(written).collect()
}

/// Sizes of caches: the source's, and where it tells none those of the nearest machine.
fn caches(toml: &mut String, shape: &Shape, nearest: &Known) {
    let source = Value::String(shape.kind.clone());
    let of = |level: u32| shape.kib.get(&level).copied();
    // Where the second level is the last one, a core has only its first for itself.
    let (own, last) = if shape.llc_level == 2 { (of(1), of(2)) } else { (of(2), of(3)) };
    line(toml, "\n[cache_kib]");
    if shape.llc_level == 2 {
        line(
            toml,
            "# There is no third level: `l3` is the second, the last, and `l2` what a core has for itself.",
        );
    }
    for (key, kib) in [("l1d", of(1)), ("l1i", shape.l1i_kib), ("l2", own), ("l3", last)] {
        match kib {
            Some(kib) => line(toml, &format!("{key} = {{ v = {kib}, src = {source} }}")),
            None => prices::one(toml, "cache_kib", key, nearest),
        }
    }
}
