//! Sources for tests.
use std::io::Read as _;

use flate2::read::GzDecoder;
use simsched_import::{Imported, Request, Source, Tree, import};
use simsched_topology::{CpuId, Domains, Kernel, NodeId, NumaImbalance, Topology};

/// A file of hwloc's own tests.
pub(crate) fn hwloc(name: &str) -> String {
    let path = format!("{}/tests/data/hwloc/{name}.xml.gz", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("text");
    text
}

pub(crate) const REQUEST: Request<'static> =
    Request { file: "source", name: "m", llc: None, prices: None };

pub(crate) fn imported(text: &str) -> Imported {
    import(Source::Text(text), &REQUEST).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn refused(text: &str) -> String {
    import(Source::Text(text), &REQUEST).expect_err("refused").to_string()
}

pub(crate) fn imported_tree(tree: &Tree) -> Imported {
    import(Source::Tree(tree), &REQUEST).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn machine(imported: &Imported, mode: Option<&str>) -> Topology {
    Topology::parse(&imported.toml, "m.toml", mode)
        .unwrap_or_else(|error| panic!("{error}\n{}", imported.toml))
}

/// What the scheduler sees of a machine: domains and groups (of each fifth CPU of a large one), distances.
pub(crate) fn seen(machine: &Topology) -> Vec<String> {
    let mut seen = Vec::new();
    for kernel in [Kernel::V6_1, Kernel::V6_12] {
        let domains = Domains::build(machine, kernel, NumaImbalance::Merged);
        for cpu in machine.cpus().iter().filter(|cpu| machine.nr_cpus() <= 64 || cpu.0 % 5 == 0) {
            for sd in domains.of(cpu) {
                let groups: Vec<_> = domains.groups_of(sd).map(|g| (g.span, g.capacity)).collect();
                let head = (sd.name, sd.span, sd.flags, sd.imb_numa_nr, sd.distance);
                seen.push(format!("{cpu}: {head:?} {groups:?}"));
            }
        }
    }
    let nodes = (0..machine.nr_nodes()).map(NodeId::new);
    for a in nodes.clone() {
        let row: Vec<u32> = nodes.clone().map(|b| machine.node_distance(a, b)).collect();
        seen.push(format!("{a} {} {row:?}", machine.node_span(a)));
    }
    seen.push(format!("reclaim {}", machine.reclaim_distance()));
    seen
}

/// The tree that Linux would show of a machine; `number` gives the kernel's number of a CPU.
pub(crate) fn tree_of(machine: &Topology, cpuinfo: &str, number: impl Fn(CpuId) -> u32) -> Tree {
    let list = |set: &simsched_topology::CpuSet| {
        set.iter().map(|cpu| number(cpu).to_string()).collect::<Vec<_>>().join(",")
    };
    let mut tree = Tree::default();
    let mut put = |path: String, text: String| {
        tree.insert(Tree::place(&path).unwrap_or_else(|| panic!("{path} is not read")), text);
    };
    put("proc/cpuinfo".to_owned(), cpuinfo.to_owned());
    put("sys/devices/system/cpu/online".to_owned(), list(machine.cpus()) + "\n");
    let facts = &machine.facts().cache_kib;
    for cpu in machine.cpus() {
        let within = format!("sys/devices/system/cpu/cpu{}", number(cpu));
        let package = machine.package_span(machine.package_of(cpu));
        put(format!("{within}/topology/core_cpus_list"), list(machine.smt_mask(cpu)) + "\n");
        put(format!("{within}/topology/package_cpus_list"), list(package) + "\n");
        let llc = machine.llc_span(machine.llc_of(cpu));
        for (index, level, kib, cpus) in
            [(0, 2, &facts.l2, machine.smt_mask(cpu)), (1, 3, &facts.l3, llc)]
        {
            let cache = format!("{within}/cache/index{index}");
            let kib = kib.as_ref().map_or(1, simsched_topology::Fact::rounded);
            put(format!("{cache}/level"), format!("{level}\n"));
            put(format!("{cache}/type"), "Unified\n".to_owned());
            put(format!("{cache}/size"), format!("{kib}K\n"));
            put(format!("{cache}/shared_cpu_list"), list(cpus) + "\n");
        }
    }
    let nodes = (0..machine.nr_nodes()).map(NodeId::new);
    for node in nodes.clone() {
        let within = format!("sys/devices/system/node/node{node}");
        let row = nodes.clone().map(|other| machine.node_distance(node, other).to_string());
        put(format!("{within}/cpulist"), list(machine.node_span(node)) + "\n");
        put(format!("{within}/distance"), row.collect::<Vec<_>>().join(" ") + "\n");
    }
    tree
}
