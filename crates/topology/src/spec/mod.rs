//! A machine file: TOML that a person writes by hand, read with a line number for every complaint.
//!
//! `topologies/README.md` says what a file holds. Unknown keys are refused, and the first error wins.

mod checks;
mod costs;
mod hardware;
mod layout;
mod mode;
mod numbers;
mod plausible;
pub(crate) mod reader;
mod syntax;

use crate::cpuset::CpuSet;
use crate::error::TopologyError;
use crate::ids::{CoreId, CpuId, LlcId, NodeId, PackageId};
use crate::machine::{Arch, Seat, Topology};

use layout::Layout;
use reader::{Doc, Table};

type Result<T> = std::result::Result<T, TopologyError>;

/// A mode that a machine file offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeInfo {
    /// The name, such as `nps4`.
    pub name: String,
    /// A second name, if it has one.
    pub alias: Option<String>,
    /// One line about it.
    pub title: String,
    /// Whether it is the one used when none is asked for.
    pub is_default: bool,
}

const OWN_KEYS: &[&str] = &[
    "name",
    "title",
    "arch",
    "default_mode",
    "reclaim_distance",
    "os_cpus",
    "os_nodes",
    "cores",
    "mode",
    "node",
    "distance",
    "costs",
    "idle",
];

/// Reads a machine in one of its modes.
pub(crate) fn read(text: &str, file: &str, wanted: Option<&str>) -> Result<Topology> {
    let doc = Doc::new(file, text);
    let parsed = doc.parse()?;
    let root = Table::root(&doc, &parsed);
    root.only(&[OWN_KEYS, layout::LISTS, hardware::KEYS].concat())?;
    let modes = mode::modes(&root)?;
    let mode = mode::choose(&modes, &root, file, wanted)?;
    lower(&root, mode)
}

/// The modes of a machine file, in its order.
pub(crate) fn modes(text: &str, file: &str) -> Result<Vec<ModeInfo>> {
    let doc = Doc::new(file, text);
    let parsed = doc.parse()?;
    let root = Table::root(&doc, &parsed);
    let modes = mode::modes(&root)?;
    let default = mode::choose(&modes, &root, file, None)?.name.clone();
    let info = |mode: mode::Mode<'_>| ModeInfo {
        is_default: mode.name == default,
        name: mode.name,
        alias: mode.alias,
        title: mode.title,
    };
    Ok(modes.into_iter().map(info).collect())
}

fn lower(root: &Table<'_>, mode: &mode::Mode<'_>) -> Result<Topology> {
    let layout = layout::read(root, Some(&mode.table))?;
    checks::layout(&layout)?;
    let nodes = mode::nodes(mode, &layout)?;
    checks::nodes(&nodes, &layout)?;
    let node_spans = spans(&nodes);
    let llcs = llcs(mode, &layout, &node_spans)?;
    checks::llcs_within_nodes(&llcs, &nodes)?;
    let distances = mode::distances(mode, &nodes, &layout.packages)?;

    let (idle_states, idle_facts) = costs::idle(root)?;
    let facts = hardware::read(root, &mode.table, idle_facts)?;
    plausible::check(root, &facts, &layout)?;
    let packages = spans(&layout.packages);
    let line_transfer = hardware::line_transfer(root, &facts.c2c_ns, &layout, packages.len())?;
    let cost_facts = costs::read(root, &mode.table, &facts.c2c_ns)?;
    let cores = spans(&layout.cores);
    let nr_cpus = cores.iter().map(CpuSet::len).sum();
    let seats = seats(&cores, &llcs, &node_spans, &packages);
    Ok(Topology {
        name: root.need("name", "a text")?.label()?.to_owned(),
        title: root.need("title", "a text")?.line()?.to_owned(),
        mode: mode.name.clone(),
        arch: arch(root)?,
        cpus: layout::all(&layout.cores),
        seats,
        cores,
        llc_kib: llc_kib(&llcs, &layout),
        llc_sharers: llc_sharers(&llcs, &layout),
        llcs,
        nodes: node_spans,
        packages,
        clusters: spans(&layout.clusters),
        coregroups: spans(&layout.coregroups),
        distances,
        os_cpus: numbers::read(root, "os_cpus", nr_cpus, "CPU")?,
        os_nodes: numbers::read(&mode.table, "os_nodes", nodes.len(), "node")?,
        reclaim_distance: reclaim_distance(root)?,
        costs: costs::values(&cost_facts),
        cost_facts,
        idle_states,
        line_transfer,
        facts,
    })
}

fn spans(parts: &[layout::Part<'_>]) -> Vec<CpuSet> {
    parts.iter().map(|part| part.cpus).collect()
}

/// The last-level caches as the scheduler sees them: in some modes cut at the node.
fn llcs(mode: &mode::Mode<'_>, layout: &Layout<'_>, nodes: &[CpuSet]) -> Result<Vec<CpuSet>> {
    let cut = mode.table.get("cut_llc").map_or(Ok(false), |item| item.flag())?;
    let whole = spans(&layout.llcs);
    if !cut {
        return Ok(whole);
    }
    let pieces = |llc: &CpuSet| nodes.iter().map(|node| node.and(llc)).collect::<Vec<_>>();
    Ok(whole.iter().flat_map(pieces).filter(|piece| !piece.is_empty()).collect())
}

/// The sizes of those that have one of their own; none if nobody has.
fn llc_kib(llcs: &[CpuSet], layout: &Layout<'_>) -> Vec<Option<u64>> {
    if layout.llc_kib.iter().all(Option::is_none) {
        return Vec::new();
    }
    let whole = |llc: &CpuSet| layout.llcs.iter().position(|whole| whole.cpus.intersects(llc));
    llcs.iter().map(|llc| layout.llc_kib.get(whole(llc)?).copied().flatten()).collect()
}

/// How many CPUs share each in hardware: those of the whole of which it is a piece.
fn llc_sharers(llcs: &[CpuSet], layout: &Layout<'_>) -> Vec<u32> {
    let whole = |llc: &CpuSet| layout.llcs.iter().find(|whole| whole.cpus.intersects(llc));
    let sharers = |llc: &CpuSet| whole(llc).map_or(llc.len(), |whole| whole.cpus.len());
    llcs.iter().map(|llc| u32::try_from(sharers(llc)).expect("few CPUs")).collect()
}

/// Node distances above this lose flags. Source: `RECLAIM_DISTANCE` in `include/linux/topology.h`.
const RECLAIM_DISTANCE: usize = 30;

fn reclaim_distance(root: &Table<'_>) -> Result<u32> {
    let item = root.get("reclaim_distance");
    let distance = item.map_or(Ok(RECLAIM_DISTANCE), |item| item.whole(10..=254))?;
    Ok(u32::try_from(distance).expect("at most 254"))
}

fn arch(root: &Table<'_>) -> Result<Arch> {
    let item = root.get("arch");
    let names = [("x86", Arch::X86), ("power", Arch::Power), ("generic", Arch::Generic)];
    item.map_or(Ok(Arch::X86), |item| item.name_of(&names))
}

fn seats(cores: &[CpuSet], llcs: &[CpuSet], nodes: &[CpuSet], packages: &[CpuSet]) -> Vec<Seat> {
    let nr_cpus = cores.iter().map(CpuSet::len).sum();
    let [core, llc, node, package] = [cores, llcs, nodes, packages].map(|p| owners(p, nr_cpus));
    (0..nr_cpus)
        .map(|cpu| Seat {
            core: CoreId::new(core[cpu]),
            llc: LlcId::new(llc[cpu]),
            node: NodeId::new(node[cpu]),
            package: PackageId::new(package[cpu]),
        })
        .collect()
}

/// By CPU: the index of the part that holds it.
fn owners(parts: &[CpuSet], nr_cpus: usize) -> Vec<usize> {
    let mut owners = vec![0; nr_cpus];
    for (part, cpus) in parts.iter().enumerate() {
        for cpu in cpus.iter().map(CpuId::idx) {
            owners[cpu] = part;
        }
    }
    owners
}
