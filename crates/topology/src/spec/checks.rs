//! Whether the parts make a machine: every CPU in one core, one LLC, one package and one node.

use crate::cpuset::CpuSet;
use crate::error::TopologyError;

use super::layout::{self, Layout, Part};

type Result<T> = std::result::Result<T, TopologyError>;

/// Checks the shape, nodes aside.
pub(crate) fn layout(layout: &Layout<'_>) -> Result<()> {
    disjoint(&layout.cores, "core")?;
    let cpus = layout::all(&layout.cores);
    if cpus != CpuSet::first_n(cpus.len()) {
        let gap =
            CpuSet::first_n(cpus.len()).minus(&cpus).first().expect("fewer CPUs than numbers");
        let item = &layout.cores[0].item;
        return Err(item.contradicts(format!(
            "CPUs are numbered from 0 without a gap, but {gap} is in no core"
        )));
    }
    for (parts, name) in [(&layout.llcs, "LLC"), (&layout.packages, "package")] {
        covers(parts, name, &cpus, layout)?;
    }
    for (parts, name) in [(&layout.clusters, "cluster"), (&layout.coregroups, "coregroup")] {
        if !parts.is_empty() {
            covers(parts, name, &cpus, layout)?;
        }
    }
    within(&layout.cores, "core", &layout.llcs, "LLCs")?;
    within(&layout.cores, "core", &layout.clusters, "clusters")?;
    within(&layout.clusters, "cluster", &layout.llcs, "LLCs")?;
    within(&layout.llcs, "LLC", &layout.packages, "packages")?;
    within(&layout.llcs, "LLC", &layout.coregroups, "coregroups")
}

/// Checks the nodes against the shape.
pub(crate) fn nodes(nodes: &[Part<'_>], layout: &Layout<'_>) -> Result<()> {
    covers(nodes, "node", &layout::all(&layout.cores), layout)?;
    within(&layout.cores, "core", nodes, "nodes")?;
    within(&layout.coregroups, "coregroup", nodes, "nodes")
}

/// Checks that no LLC reaches over a node; `llcs` are cut already if the mode says so.
pub(crate) fn llcs_within_nodes(llcs: &[CpuSet], nodes: &[Part<'_>]) -> Result<()> {
    for llc in llcs {
        let touched: Vec<&Part<'_>> = nodes.iter().filter(|n| n.cpus.intersects(llc)).collect();
        if let [first, _, ..] = &touched[..] {
            return Err(first.item.contradicts(format!(
                "the LLC of CPUs {llc} spans {} nodes; say `cut_llc = true` if the kernel cuts it",
                touched.len()
            )));
        }
    }
    Ok(())
}

/// No CPU in two of these.
fn disjoint(parts: &[Part<'_>], name: &str) -> Result<()> {
    let mut seen = CpuSet::new();
    for part in parts {
        if let Some(cpu) = part.cpus.and(&seen).first() {
            return Err(part.item.contradicts(format!("CPU {cpu} is already in another {name}")));
        }
        seen.union_with(&part.cpus);
    }
    Ok(())
}

/// These hold every CPU once and nothing else.
fn covers(parts: &[Part<'_>], name: &str, cpus: &CpuSet, layout: &Layout<'_>) -> Result<()> {
    disjoint(parts, name)?;
    for part in parts {
        if let Some(cpu) = part.cpus.minus(cpus).first() {
            return Err(part.item.contradicts(format!("CPU {cpu} is in no core")));
        }
    }
    let Some(cpu) = cpus.minus(&layout::all(parts)).first() else { return Ok(()) };
    let core =
        layout.cores.iter().find(|core| core.cpus.contains(cpu)).expect("cores hold all CPUs");
    let item = parts.first().map_or(&core.item, |part| &part.item);
    Err(item.contradicts(format!("CPU {cpu} is in no {name}")))
}

/// Each of `inner` lies in one of `outer`; nothing to check when there are no outer ones.
fn within(inner: &[Part<'_>], name: &str, outer: &[Part<'_>], outers: &str) -> Result<()> {
    for part in inner {
        let touched = outer.iter().filter(|o| o.cpus.intersects(&part.cpus)).count();
        if touched > 1 {
            let what = format!("the {name} of CPUs {} lies in {touched} {outers}", part.cpus);
            return Err(part.item.contradicts(what));
        }
    }
    Ok(())
}
