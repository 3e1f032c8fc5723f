//! `Places`: the resources of a machine's memory, and which of them lie on the way.

use simsched_topology::{CpuId, MemoryCaps, NodeId, PackageId, Topology, WEIGHT_ONE};

use super::shares::Flow;

/// Of each byte that a core loads or stores: what it fetches, and what it writes back, in units of
/// [`WEIGHT_ONE`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    pub(super) fetched: u64,
    pub(super) written: u64,
}

/// A group of memory controllers: those of a node in a package.
#[derive(Clone, Copy, Debug)]
struct Controllers {
    node: NodeId,
    package: PackageId,
}

/// Where which resource stands in the table: cores, then what cores fetch and write back together, then
/// what LLCs fetch, then what they write back, then controllers, then links from each package to each.
#[derive(Clone, Debug)]
pub(super) struct Places {
    controllers: Vec<Controllers>,
    /// The first row of each kind, where there is one.
    both: Option<u32>,
    llc_read: Option<u32>,
    llc_write: Option<u32>,
    controller: u32,
    link: u32,
    nr_packages: u32,
    write_weight: u64,
    remote_weight: u64,
    most_uses: usize,
}

fn rows(count: usize) -> u32 {
    u32::try_from(count).expect("a machine has few parts")
}

impl Places {
    pub(super) fn new(topology: &Topology, caps: &MemoryCaps) -> Places {
        let mut next = rows(topology.nr_cores());
        let mut table = |count: usize, exists: bool| {
            let first = next;
            next += if exists { rows(count) } else { 0 };
            exists.then_some(first)
        };
        let (cores, llcs) = (topology.nr_cores(), topology.nr_llcs());
        let controllers = controllers(topology);
        let both = table(cores, caps.core_both.is_some());
        let llc_read = table(llcs, caps.llc_read.is_some());
        let llc_write = table(llcs, caps.llc_write.is_some());
        let controller = table(controllers.len(), true).unwrap_or(0);
        Places {
            both,
            llc_read,
            llc_write,
            controller,
            link: next,
            nr_packages: rows(topology.nr_packages()),
            write_weight: caps.write_weight,
            remote_weight: caps.remote_weight,
            most_uses: 4 + controllers.len() + 2 * topology.nr_packages(),
            controllers,
        }
    }

    /// The caps of all resources, by row.
    pub(super) fn caps(&self, topology: &Topology, caps: &MemoryCaps) -> Vec<u64> {
        let (cores, llcs) = (topology.nr_cores(), topology.nr_llcs());
        let mut all = vec![caps.core; cores];
        let tables = [(cores, caps.core_both), (llcs, caps.llc_read), (llcs, caps.llc_write)];
        for (count, cap) in tables {
            all.extend(cap.into_iter().flat_map(|cap| std::iter::repeat_n(cap, count)));
        }
        for group in &self.controllers {
            let of_package = |other: &&Controllers| other.package == group.package;
            let parts = self.controllers.iter().filter(of_package).count();
            all.push((caps.package / parts as u64).max(1));
        }
        let links = topology.nr_packages() * topology.nr_packages();
        all.extend(caps.link.into_iter().flat_map(|cap| std::iter::repeat_n(cap, links)));
        all
    }

    /// On how many resources a flow can be at most.
    pub(super) fn most_uses(&self) -> usize {
        self.most_uses
    }

    /// The rows of the controllers of a package.
    pub(super) fn controllers_of(&self, package: PackageId) -> impl Iterator<Item = u32> {
        let of_package = move |(_, group): &(u32, &Controllers)| group.package == package;
        let first = self.controller;
        (0..).zip(&self.controllers).filter(of_package).map(move |(row, _)| first + row)
    }

    /// What a flow of `cpu` takes wherever its pages are: of its core and the port of its LLC.
    pub(super) fn near(&self, topology: &Topology, cpu: CpuId, mix: Mix, flow: &mut Flow) {
        let (core, llc) = (rows(topology.core_of(cpu).idx()), rows(topology.llc_of(cpu).idx()));
        if let Some(both) = self.both {
            flow.take(both + core, mix.fetched + mix.written);
        }
        if let Some(read) = self.llc_read {
            flow.take(read + llc, mix.fetched);
        }
        if let Some(write) = self.llc_write {
            flow.take(write + llc, mix.written);
        }
    }

    /// What it takes for `part` of its pages, which are in `node`: of its core, which waits longer for
    /// what is far; of the controllers, and of the link, each way.
    pub(super) fn far(
        &self,
        topology: &Topology,
        cpu: CpuId,
        mix: Mix,
        node: NodeId,
        part: u64,
        flow: &mut Flow,
    ) {
        let times = |a: u64, b: u64| a * b / WEIGHT_ONE;
        let here = topology.package_of(cpu);
        let core = rows(topology.core_of(cpu).idx());
        let of_node = |(_, group): &(u32, &Controllers)| group.node == node;
        let groups = || (0..).zip(&self.controllers).filter(of_node);
        let parts = (groups().count() as u64).max(1);
        for (nth, (row, group)) in (0_u64..).zip(groups()) {
            let part = part * (nth + 1) / parts - part * nth / parts;
            let remote = group.package != here;
            let weight = if remote { self.remote_weight } else { WEIGHT_ONE };
            flow.take(core, times(part, weight));
            let load = mix.fetched + times(mix.written, self.write_weight);
            flow.take(self.controller + row, times(part, load));
            if remote {
                let (from, to) = (rows(group.package.idx()), rows(here.idx()));
                flow.take(self.link + from * self.nr_packages + to, times(part, mix.fetched));
                flow.take(self.link + to * self.nr_packages + from, times(part, mix.written));
            }
        }
    }
}

/// The controllers of every node in every package that it spans: firmware interleaves a node that spans
/// several over all of them.
fn controllers(topology: &Topology) -> Vec<Controllers> {
    let mut all = Vec::new();
    for node in (0..topology.nr_nodes()).map(NodeId::new) {
        for package in (0..topology.nr_packages()).map(PackageId::new) {
            let span = topology.node_span(node);
            if !span.and(topology.package_span(package)).is_empty() {
                all.push(Controllers { node, package });
            }
        }
    }
    all
}
