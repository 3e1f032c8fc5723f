//! Machines whose kernel leaves numbers of CPUs and nodes out, and kernels with the default levels.

use crate::common::{Machine, TAIL};
use simsched_topology::{
    CpuId, Domains, Kernel, MachineReport, NodeId, NumaImbalance, Topology, render_show,
};

/// Two packages of Power8 as hwloc's `power8gpudistances.xml` shows them.
fn sparse(lines: &str, mode: &str) -> String {
    let mode = format!("nodes_per_socket = 1\ncross_socket = 40\n{mode}");
    Machine::new(2, 2, 2, 2).head(lines).mode(&mode).text()
}

fn parse(text: &str) -> Result<Topology, String> {
    Topology::parse(text, "m.toml", None).map_err(|error| error.to_string())
}

#[test]
fn a_machine_keeps_the_numbers_that_its_kernel_gives() {
    let text = sparse("os_cpus = \"0-7,64-71\"", "os_nodes = \"0,8\"");
    let machine = parse(&text).expect("a machine");
    assert_eq!([7, 8, 15].map(|cpu| machine.os_cpu(CpuId(cpu))), [7, 64, 71]);
    assert_eq!([0, 1].map(|node| machine.os_node(NodeId(node))), [0, 8]);
    let domains = Domains::build(&machine, Kernel::V6_1, NumaImbalance::Merged);
    let shown = render_show(&MachineReport::of(&machine, &domains, CpuId(0)));
    assert!(shown.contains("calls them CPUs 0-7,64-71, nodes 0,8\n"), "{shown}");
}

#[test]
fn without_numbers_of_its_own_a_machine_counts_from_0() {
    let machine = parse(&sparse("", "")).expect("a machine");
    assert_eq!((machine.os_cpu(CpuId(15)), machine.os_node(NodeId(1))), (15, 1));
    let domains = Domains::build(&machine, Kernel::V6_1, NumaImbalance::Merged);
    let shown = render_show(&MachineReport::of(&machine, &domains, CpuId(0)));
    assert!(!shown.contains("own kernel"), "{shown}");
}

#[test]
fn every_cpu_and_node_has_one_number_and_they_rise() {
    for (cpus, nodes, expected) in [
        ("0-7", "0,8", "`os_cpus`: 8 numbers for 16 CPUs; each CPU has one, in rising order"),
        (
            "0-15",
            "0",
            "`mode.test.os_nodes`: 1 numbers for 2 nodes; each node has one, in rising order",
        ),
        (
            "8-15,0-7",
            "0,8",
            "`os_cpus` is \"8-15,0-7\", expected a list of rising numbers such as \"0-3,8\"",
        ),
        (
            "0-15",
            "0,70000",
            "`mode.test.os_nodes` is \"0,70000\", expected a list of rising numbers",
        ),
        ("0-15", "", "`mode.test.os_nodes` is \"\", expected a list of rising numbers"),
    ] {
        let lines = (format!("os_cpus = \"{cpus}\""), format!("os_nodes = \"{nodes}\""));
        let error = parse(&sparse(&lines.0, &lines.1)).expect_err("refused");
        assert!(error.contains(expected), "{error}");
    }
}

/// `default_topology` of 6.1 has DIE beside any nodes; x86 has none where a package holds several.
#[test]
fn a_generic_machine_has_a_package_level_where_x86_has_none() {
    let mode = "nodes_per_socket = 2\nsame_socket = 12\ncross_socket = 20";
    let levels = |head: &str| {
        let text = Machine::new(2, 4, 4, 1).head(head).mode(mode).text();
        let machine = parse(&text).expect("a machine");
        let domains = Domains::build(&machine, Kernel::V6_1, NumaImbalance::Merged);
        domains.of(CpuId(0)).iter().map(|sd| (sd.name, sd.weight)).collect::<Vec<_>>()
    };
    let far = [("NUMA", 16), ("NUMA", 32)];
    assert_eq!(levels("arch = \"generic\""), [&[("MC", 4), ("DIE", 8)], &far[..]].concat());
    assert_eq!(levels("arch = \"x86\""), [&[("MC", 4), ("NODE", 8)], &far[..]].concat());
}

/// Clusters of arm64 are the same level as those of x86.
#[test]
fn a_generic_machine_has_clusters() {
    let text = format!(
        "name = \"m\"\ntitle = \"t\"\ncosts = \"x86\"\narch = \"generic\"\n\
         core = [{{ cpus = \"0\" }}, {{ cpus = \"1\" }}, {{ cpus = \"2\" }}, {{ cpus = \"3\" }}]\n\
         cluster = [{{ cpus = \"0-1\" }}, {{ cpus = \"2-3\" }}]\nllc = [{{ cpus = \"0-3\" }}]\n\
         node = [{{ cpus = \"0-3\" }}]\ndistance = [[10]]\n{TAIL}"
    );
    let machine = parse(&text).expect("a machine");
    let domains = Domains::build(&machine, Kernel::V6_12, NumaImbalance::Merged);
    let levels: Vec<_> = domains.of(CpuId(3)).iter().map(|sd| (sd.name, sd.weight)).collect();
    assert_eq!(levels, [("CLS", 2), ("MC", 4)]);
}
