//! Which NUMA nodes a machine has, and how far apart they are.

use std::collections::BTreeSet;

use simsched_topology::CpuSet;

use crate::error::{ImportError, whole};
use crate::found::{Found, Node};
use crate::shape::Numbers;

type Result<T> = std::result::Result<T, ImportError>;

/// The source's number and the CPUs of each node, rising.
pub(crate) type Nodes = Vec<(u32, CpuSet)>;

/// The nodes that have CPUs, and the numbers of those that have none.
///
/// hwloc gives memory without CPUs the CPUs that it is near to, so it lies over nodes with CPUs: those
/// have the smaller sets, memory of no special kind, and the lower numbers.
pub(crate) fn nodes(
    found: &Found,
    numbers: &Numbers,
    file: &str,
) -> Result<(Nodes, BTreeSet<u32>)> {
    let Some(told) = &found.nodes else { return Ok((vec![(0, numbers.all())], BTreeSet::new())) };
    let mut ordered: Vec<(&Node, CpuSet)> =
        told.iter().map(|node| (node, numbers.set(&node.cpus))).collect();
    ordered.sort_by_key(|(node, cpus)| (node.is_special, cpus.len(), node.number));
    let (mut nodes, mut bare, mut taken) = (Nodes::new(), BTreeSet::new(), CpuSet::new());
    for (node, cpus) in ordered {
        if nodes.iter().any(|(number, _)| *number == node.number) || bare.contains(&node.number) {
            return Err(whole(file, format!("node {} is there twice", node.number)));
        }
        if cpus.is_subset(&taken) {
            bare.insert(node.number);
        } else if let Some(cpu) = cpus.and(&taken).first() {
            let cpu = numbers.os_cpus[cpu.idx()];
            return Err(whole(
                file,
                format!("CPU {cpu} is in node {} and in another", node.number),
            ));
        } else {
            taken.union_with(&cpus);
            nodes.push((node.number, cpus));
        }
    }
    nodes.sort_by_key(|(number, _)| *number);
    let spans: Vec<CpuSet> = nodes.iter().map(|(_, cpus)| *cpus).collect();
    numbers.covered(&spans, "NUMA node", file)?;
    Ok((nodes, bare))
}

/// The distances between nodes with CPUs; `None` if they are not told.
pub(crate) fn distances(found: &Found, nodes: &Nodes, file: &str) -> Result<Option<Vec<u32>>> {
    let Some(table) = &found.distances else { return Ok((nodes.len() == 1).then(|| vec![10])) };
    let mut values = Vec::new();
    for (from, _) in nodes {
        for (to, _) in nodes {
            let (Some(there), Some(back)) = (table.get(*from, *to), table.get(*to, *from)) else {
                return Ok(None);
            };
            if there != back {
                return Err(whole(
                    file,
                    format!(
                        "from node {from} to node {to} the distance is {there}, back it is {back}; \
                     expected the same both ways"
                    ),
                ));
            }
            let is_good = if from == to { there == 10 } else { (11..=254).contains(&there) };
            let value = u32::try_from(there).ok().filter(|_| is_good).ok_or_else(|| {
                whole(
                    file,
                    format!(
                        "from node {from} to node {to} the distance is {there}; expected {}",
                        if from == to { "10, a node's distance to itself" } else { "11 to 254" }
                    ),
                )
            })?;
            values.push(value);
        }
    }
    Ok(Some(values))
}
