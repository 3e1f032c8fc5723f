//! The modes of a machine: how firmware cuts it into NUMA nodes, and how far apart they are.

use crate::cpuset::{CpuSet, MAX_CPUS};
use crate::error::TopologyError;
use crate::nearest::nearest;

use super::layout::{Layout, Part};
use super::reader::{Item, LABEL, Table, is_label};

type Result<T> = std::result::Result<T, TopologyError>;

/// The keys of a `[mode.NAME]` table.
pub(crate) const KEYS: &[&str] = &[
    "title",
    "src",
    "alias",
    "nodes_per_socket",
    "one_node",
    "nodes",
    "same_socket",
    "cross_socket",
    "distance",
    "cut_llc",
    "dram_average_ns",
    "sockets",
    "llcs_per_socket",
    "cores_per_coregroup",
    "costs",
    "os_nodes",
];

/// The name of the one mode of a machine that lists its nodes with `[[node]]`.
pub(crate) const LISTED: &str = "default";

/// A mode of a machine file.
#[derive(Clone, Debug)]
pub(crate) struct Mode<'a> {
    pub(crate) name: String,
    pub(crate) alias: Option<String>,
    pub(crate) title: String,
    /// The `[mode.NAME]` table, or the whole file when its nodes are listed with `[[node]]`.
    pub(crate) table: Table<'a>,
}

/// All modes in the order of the file.
pub(crate) fn modes<'a>(root: &Table<'a>) -> Result<Vec<Mode<'a>>> {
    let listed = root.get("node");
    let Some(item) = root.get("mode") else {
        let table = root.clone();
        return match listed {
            Some(_) => {
                Ok(vec![Mode { name: LISTED.to_owned(), alias: None, title: String::new(), table }])
            }
            None => Err(root.missing("mode", "a table [mode.NAME], or [[node]] lists")),
        };
    };
    if let Some(node) = listed {
        return Err(node.contradicts("nodes are given by [mode.NAME] or by [[node]], not by both"));
    }
    let modes: Vec<_> =
        item.table()?.items().into_iter().filter(|(name, _)| *name != "note").collect();
    if modes.is_empty() {
        return Err(item.wrong("at least one table [mode.NAME]"));
    }
    let modes =
        modes.into_iter().map(|(name, item)| mode(name, &item)).collect::<Result<Vec<_>>>()?;
    aliases(&modes)?;
    Ok(modes)
}

/// No alias is another mode's name or alias.
fn aliases(modes: &[Mode<'_>]) -> Result<()> {
    for (n, mode) in modes.iter().enumerate() {
        let Some(item) = mode.table.get("alias") else { continue };
        let is_alias = |other: &Mode<'_>| mode.alias.is_some() && other.alias == mode.alias;
        let is_name = |other: &Mode<'_>| mode.alias.as_ref() == Some(&other.name);
        let same = modes.iter().enumerate().find(|(m, o)| *m != n && (is_name(o) || is_alias(o)));
        if let Some((_, other)) = same {
            return Err(item.contradicts(format!("the mode `{}` has this name too", other.name)));
        }
    }
    Ok(())
}

fn mode<'a>(name: &str, item: &Item<'a>) -> Result<Mode<'a>> {
    if !is_label(name) {
        return Err(item.contradicts(format!("a mode has {LABEL}")));
    }
    let table = item.table()?;
    table.only(KEYS)?;
    let alias = table.get("alias").map(|item| item.label().map(str::to_owned)).transpose()?;
    let title = table.get("title").map_or(Ok(""), |item| item.line())?.to_owned();
    table.get("src").map(|item| item.text()).transpose()?;
    Ok(Mode { name: name.to_owned(), alias, title, table })
}

/// The mode of this name, or the machine's default.
pub(crate) fn choose<'m, 'a>(
    modes: &'m [Mode<'a>],
    root: &Table<'a>,
    file: &str,
    wanted: Option<&str>,
) -> Result<&'m Mode<'a>> {
    let find =
        |name: &str| modes.iter().find(|m| m.name == name || m.alias.as_deref() == Some(name));
    let valid: Vec<&str> = modes.iter().map(|m| m.name.as_str()).collect();
    if let Some(name) = wanted {
        let aliases = modes.iter().filter_map(|m| m.alias.as_deref());
        return find(name).ok_or_else(|| TopologyError::UnknownMode {
            file: file.to_owned(),
            mode: name.to_owned(),
            valid: valid.iter().map(|&n| n.to_owned()).collect(),
            nearest: nearest(name, valid.iter().copied().chain(aliases))
                .into_iter()
                .map(str::to_owned)
                .collect(),
        });
    }
    match root.get("default_mode") {
        Some(item) => {
            let name = item.text()?;
            find(name).ok_or_else(|| item.unknown_name(name, &valid))
        }
        None if modes.len() == 1 => Ok(&modes[0]),
        None => Err(root.missing("default_mode", "the mode to use when none is asked for")),
    }
}

/// The NUMA nodes of a mode.
pub(crate) fn nodes<'a>(mode: &Mode<'a>, layout: &Layout<'a>) -> Result<Vec<Part<'a>>> {
    let table = &mode.table;
    let ways = ["nodes_per_socket", "one_node", "nodes", "node"];
    let given: Vec<(&str, Item<'a>)> =
        ways.iter().filter_map(|&key| Some((key, table.get(key)?))).collect();
    match &given[..] {
        [] => Err(table.missing("nodes_per_socket", "nodes_per_socket, one_node or nodes")),
        [("nodes_per_socket", item)] => split_sockets(item, layout),
        [("one_node", item)] => match item.flag()? {
            true => Ok(vec![Part { cpus: super::layout::all(&layout.cores), item: item.clone() }]),
            false => Err(item.wrong("true, or nodes_per_socket instead")),
        },
        [("node", item)] => some(item, item.tables()?)?.iter().map(listed_node).collect(),
        [(_, item)] => {
            let nodes = some(item, item.each()?)?.into_iter();
            nodes.map(|item| Ok(Part { cpus: item.cpus()?, item })).collect()
        }
        [(first, _), (_, second), ..] => {
            Err(second.contradicts(format!("the nodes are already given by `{first}`")))
        }
    }
}

/// A list of nodes that is not empty.
fn some<T>(item: &Item<'_>, nodes: Vec<T>) -> Result<Vec<T>> {
    if nodes.is_empty() { Err(item.wrong("at least one node")) } else { Ok(nodes) }
}

fn listed_node<'a>(table: &Table<'a>) -> Result<Part<'a>> {
    table.only(&["cpus"])?;
    let item = table.need("cpus", "a list of CPUs")?;
    Ok(Part { cpus: item.cpus()?, item })
}

/// Every package in equal runs of cores.
fn split_sockets<'a>(item: &Item<'a>, layout: &Layout<'a>) -> Result<Vec<Part<'a>>> {
    let per_socket = item.whole(1..=MAX_CPUS)?;
    let mut nodes = Vec::new();
    for package in &layout.packages {
        let cores: Vec<&Part<'_>> =
            layout.cores.iter().filter(|core| core.cpus.is_subset(&package.cpus)).collect();
        if !cores.len().is_multiple_of(per_socket) {
            return Err(item.contradicts(format!(
                "{per_socket} nodes do not divide the {} cores of a socket",
                cores.len()
            )));
        }
        for run in cores.chunks(cores.len() / per_socket) {
            let cpus = run.iter().fold(CpuSet::new(), |all, core| all.or(&core.cpus));
            nodes.push(Part { cpus, item: item.clone() });
        }
    }
    Ok(nodes)
}

/// The distance of a node to itself, in the units of the firmware's table.
const LOCAL: usize = 10;

/// The distances of a mode, row by row.
pub(crate) fn distances(
    mode: &Mode<'_>,
    nodes: &[Part<'_>],
    packages: &[Part<'_>],
) -> Result<Vec<u32>> {
    let table = &mode.table;
    if let Some(item) = table.get("distance") {
        for key in ["same_socket", "cross_socket"] {
            if let Some(other) = table.get(key) {
                return Err(other.contradicts("the distances are already given by `distance`"));
            }
        }
        return distance_table(&item, nodes.len());
    }
    let package_of = |node: &Part<'_>| packages.iter().position(|p| p.cpus.intersects(&node.cpus));
    let mut distances = Vec::with_capacity(nodes.len() * nodes.len());
    for (a, from) in nodes.iter().enumerate() {
        for (b, to) in nodes.iter().enumerate() {
            let key =
                if package_of(from) == package_of(to) { "same_socket" } else { "cross_socket" };
            let distance = if a == b {
                LOCAL
            } else {
                table
                    .need(key, "the distance of two nodes, 11 or more, or a `distance` table")?
                    .whole(11..=254)?
            };
            distances.push(narrow(distance));
        }
    }
    Ok(distances)
}

fn distance_table(item: &Item<'_>, nr_nodes: usize) -> Result<Vec<u32>> {
    let rows = item.each()?;
    let size = |n: usize, item: &Item<'_>| {
        let what =
            format!("{n} entries for {nr_nodes} nodes; the table has one row and column for each");
        if n == nr_nodes { Ok(()) } else { Err(item.contradicts(what)) }
    };
    size(rows.len(), item)?;
    let mut distances: Vec<u32> = Vec::new();
    for (a, row) in rows.iter().enumerate() {
        let entries = row.each()?;
        size(entries.len(), row)?;
        for (b, entry) in entries.iter().enumerate() {
            let distance = entry.whole(LOCAL..=254)?;
            if a == b && distance != LOCAL {
                return Err(entry
                    .contradicts(format!("a node is at distance 10 from itself, not {distance}")));
            }
            if a != b && distance == LOCAL {
                return Err(entry.contradicts("10 is the distance of a node to itself only"));
            }
            distances.push(narrow(distance));
            let mirror = if b < a { distances[b * nr_nodes + a] } else { narrow(distance) };
            if mirror != narrow(distance) {
                return Err(entry.contradicts(format!(
                    "the table is not symmetric: from {a} to {b} it is {distance}, back it is {mirror}"
                )));
            }
        }
    }
    Ok(distances)
}

fn narrow(distance: usize) -> u32 {
    u32::try_from(distance).expect("a distance is at most 254")
}
