//! What Linux would show of the machines that are built in is read back as those machines.

use crate::common::{imported, imported_tree, machine, refused, seen, tree_of};
use simsched_topology::{CpuId, NodeId, Topology, builtin_names, builtin_text, modes};

const EPYC: &str = "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\n";
const XEON: &str = "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\n";

/// All built-in machines whose levels are those of x86, in all modes.
fn machines() -> Vec<(Topology, &'static str)> {
    let mut machines = Vec::new();
    for name in builtin_names().into_iter().filter(|name| *name != "power10") {
        for mode in modes(builtin_text(name).expect("built in"), name).expect("modes") {
            let machine = Topology::builtin(name, Some(&mode.name)).expect("built in");
            let cpuinfo = if machine.reclaim_distance() == 32 { EPYC } else { XEON };
            machines.push((machine, cpuinfo));
        }
    }
    assert!(machines.len() > 20);
    machines
}

#[test]
fn every_machine_in_every_mode_comes_back_from_its_sysfs() {
    for (known, cpuinfo) in machines() {
        let imported = imported_tree(&tree_of(&known, cpuinfo, |cpu| u32::from(cpu.0)));
        let machine = machine(&imported, None);
        assert_eq!(seen(&machine), seen(&known), "{}@{}", known.name(), known.mode());
        let facts =
            [&machine, &known].map(|m| m.facts().cache_kib.l2.clone().map(|l2| l2.rounded()));
        assert!(known.facts().cache_kib.l2.is_none() || facts[0] == facts[1]);
    }
}

/// Rising numbers keep the order of every mask, so the domains are the same.
#[test]
fn gaps_in_the_numbers_of_cpus_change_no_domain() {
    for (known, cpuinfo) in machines() {
        let number = |cpu: CpuId| u32::from(cpu.0) * 3 + u32::from(cpu.0) / 4 * 5;
        let imported = imported_tree(&tree_of(&known, cpuinfo, number));
        let machine = machine(&imported, None);
        assert_eq!(seen(&machine), seen(&known), "{}@{}", known.name(), known.mode());
        assert!(machine.cpus().iter().all(|cpu| machine.os_cpu(cpu) == number(cpu)));
    }
}

/// The columns of `lscpu -p`; lscpu tells no distances, so they are those of the nearest machine.
#[test]
fn the_parts_of_every_machine_come_back_from_lscpu() {
    for (known, _) in machines().into_iter().filter(|(m, _)| m.nr_cpus() <= 1024) {
        let mut text = String::from("# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n");
        for cpu in known.cpus() {
            let (core, llc) = (known.core_of(cpu), known.llc_of(cpu));
            let (package, node) = (known.package_of(cpu), known.node_of(cpu));
            text += &format!("{cpu},{core},{package},{node},,{core},{core},{core},{llc}\n");
        }
        let machine = machine(&imported(&text), None);
        for cpu in known.cpus() {
            assert_eq!(machine.smt_mask(cpu), known.smt_mask(cpu));
            let spans = |m: &Topology| (*m.llc_span(m.llc_of(cpu)), *m.node_span(m.node_of(cpu)));
            assert_eq!(spans(&machine), spans(&known), "{}@{}", known.name(), known.mode());
        }
    }
}

/// Real output of lscpu 2.38.1 of the machine of hwloc's `memorysidecaches.xml`.
#[test]
fn lscpu_tells_the_parts_that_hwloc_tells() {
    let hwloc = machine(&imported(&crate::common::hwloc("memorysidecaches")), None);
    for text in [
        include_str!("data/lscpu/cascadelake.txt"),
        include_str!("data/lscpu/cascadelake.json"),
        include_str!("data/lscpu/cascadelake-e.txt"),
    ] {
        let imported = imported(text);
        let machine = machine(&imported, None);
        for cpu in hwloc.cpus() {
            let spans = |m: &Topology| (*m.smt_mask(cpu), *m.llc_span(m.llc_of(cpu)));
            assert_eq!(spans(&machine), spans(&hwloc));
            let spans = |m: &Topology| *m.node_span(m.node_of(cpu));
            assert_eq!(spans(&machine), spans(&hwloc));
        }
        assert_eq!((imported.nearest.as_str(), imported.counts.llcs), ("cascadelake", 2));
        assert!(imported.notes.iter().any(|note| note.contains("tells no distances of nodes")));
        assert_eq!(machine.node_distance(NodeId(0), NodeId(1)), 21, "as cascadelake");
    }
    let with_head = imported(include_str!("data/lscpu/cascadelake.txt"));
    assert_eq!(with_head.counts.llc_kib, Some(28_160), "57671680 bytes (2 instances)");
}

#[test]
fn a_table_of_lscpu_that_is_no_machine_is_refused() {
    let head = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n";
    for (rows, expected) in [
        ("0,0,0,0,,0,0,0\n", "source:2: found 8 columns, expected 9"),
        ("0,x,0,0,,0,0,0,0\n", "source:2: CORE is \"x\", expected a number"),
        ("0,0,0,0,,0,0,0,0\n0,1,0,0,,0,0,0,0\n", "source:3: CPU 0 is there twice"),
        (
            "0,,0,0,,0,0,0,0\n",
            "source:2: found no CORE of this CPU, expected a number: add the column",
        ),
        ("", "source: found no row of a CPU that is online, expected one for each"),
        (
            "0,0,0,0,,0,0,0,0\n1,0,0,1,,0,0,0,0\n",
            "source: the core of CPUs 0-1 lies in 2 NUMA nodes, which is no machine",
        ),
        (
            "0,0,0,0,,0,0,0,0\n1,1,1,0,,0,0,0,0\n",
            "source: the last-level cache of CPUs 0-1 lies in 2 packages, which is no machine",
        ),
    ] {
        assert_eq!(refused(&format!("{head}{rows}")), expected);
    }
    assert!(
        refused("Architecture: x86_64\nCPU(s): 2\n").contains("found the totals of plain lscpu")
    );
    assert!(refused("{\"lscpu\": []}").contains("found the totals of plain lscpu"));
    assert!(refused("{\"cpus\": [").starts_with("source:1: the file is no JSON that can be read"));
    assert!(
        refused("hello").contains("found neither the XML of hwloc nor the output of `lscpu -p`")
    );
}
