//! A wrong machine file is refused with its line, its key, and one clear sentence: parts and distances.

use crate::common::{LISTED, Machine, REGULAR, check, parse};
use simsched_topology::{Fact, LlcId, Topology};

#[test]
fn a_distance_table_is_square_symmetric_and_10_on_its_diagonal() {
    check(
        REGULAR,
        "[21, 10],\n",
        "[22, 10],\n",
        "m.toml:14: `mode.two.distance[1][0]`: the table is not symmetric: from 1 to 0 it is 22, back it is 21",
    );
    check(
        REGULAR,
        "[10, 21],\n",
        "[11, 21],\n",
        "m.toml:13: `mode.two.distance[0][0]`: a node is at distance 10 from itself, not 11",
    );
    check(
        REGULAR,
        "[10, 21],\n",
        "[10, 10],\n",
        "m.toml:13: `mode.two.distance[0][1]`: 10 is the distance of a node to itself only",
    );
    check(
        REGULAR,
        "  [21, 10],\n",
        "",
        "m.toml:12: `mode.two.distance`: 1 entries for 2 nodes; the table has one row and column for each",
    );
    check(
        REGULAR,
        "[21, 10],\n",
        "[21, 10, 21],\n",
        "m.toml:14: `mode.two.distance[1]`: 3 entries for 2 nodes; the table has one row and column for each",
    );
    check(
        REGULAR,
        "[21, 10],\n",
        "[9, 10],\n",
        "m.toml:14: `mode.two.distance[1][0]` is 9, expected a whole number from 10 to 254",
    );
}

#[test]
fn nodes_are_given_once_and_divide_the_machine() {
    check(
        REGULAR,
        "nodes_per_socket = 1\n",
        "",
        "m.toml:10: the key `mode.two.nodes_per_socket` is missing; expected nodes_per_socket, one_node or nodes",
    );
    check(
        REGULAR,
        "nodes_per_socket = 1\n",
        "nodes_per_socket = 1\none_node = true\n",
        "m.toml:12: `mode.two.one_node`: the nodes are already given by `nodes_per_socket`",
    );
    check(
        REGULAR,
        "nodes_per_socket = 1\n",
        "nodes_per_socket = 3\n",
        "m.toml:11: `mode.two.nodes_per_socket`: 3 nodes do not divide the 4 cores of a socket",
    );
    check(
        REGULAR,
        "nodes_per_socket = 1\n",
        "nodes_per_socket = 4\n",
        "m.toml:11: `mode.two.nodes_per_socket`: the LLC of CPUs 0-1,8-9 spans 2 nodes; \
         say `cut_llc = true` if the kernel cuts it",
    );
    let error = Machine::new(2, 1, 2, 1).mode("nodes_per_socket = 1").text();
    assert_eq!(
        Topology::parse(&error, "m.toml", None).expect_err("no distance").to_string(),
        "m.toml:11: the key `mode.test.cross_socket` is missing; \
         expected the distance of two nodes, 11 or more, or a `distance` table"
    );
}

#[test]
fn every_cpu_is_in_one_core_one_llc_one_package_and_one_node() {
    check(
        LISTED,
        "{ cpus = \"1\" }",
        "{ cpus = \"0-1\" }",
        "m.toml:6: `core[1].cpus`: CPU 0 is already in another core",
    );
    check(
        LISTED,
        "{ cpus = \"1\" }",
        "{ cpus = \"4\" }",
        "m.toml:5: `core[0].cpus`: CPUs are numbered from 0 without a gap, but 1 is in no core",
    );
    check(
        LISTED,
        "llc = [\n  { cpus = \"0-1\" }",
        "llc = [\n  { cpus = \"0\" }",
        "m.toml:11: `llc[0].cpus`: CPU 1 is in no LLC",
    );
    check(
        LISTED,
        "llc = [\n  { cpus = \"0-1\" }",
        "llc = [\n  { cpus = \"0-2\" }",
        "m.toml:12: `llc[1].cpus`: CPU 2 is already in another LLC",
    );
    check(
        LISTED,
        "node = [\n  { cpus = \"0-1\" }",
        "node = [\n  { cpus = \"1\" }",
        "m.toml:19: `node[0].cpus`: CPU 0 is in no node",
    );
    check(
        LISTED,
        "node = [\n  { cpus = \"0-1\" }",
        "node = [\n  { cpus = \"0-1,9\" }",
        "m.toml:19: `node[0].cpus`: CPU 9 is in no core",
    );
    check(
        LISTED,
        "node = [\n  { cpus = \"0-1\" }",
        "node = [\n  { cpus = \"\" }",
        "m.toml:19: `node[0].cpus` is \"\", expected a list of CPUs such as \"0-3,8\"",
    );
}

#[test]
fn parts_lie_within_larger_parts() {
    let two_threads =
        LISTED.replace("  { cpus = \"1\" },\n  { cpus = \"2\" },\n", "  { cpus = \"1-2\" },\n");
    assert_eq!(
        parse(&two_threads).expect_err("a core over two LLCs").to_string(),
        "m.toml:6: `core[1].cpus`: the core of CPUs 1-2 lies in 2 LLCs"
    );
    check(
        LISTED,
        "package = [\n  { cpus = \"0-1\" },\n  { cpus = \"2-3\" },",
        "package = [\n  { cpus = \"0\" },\n  { cpus = \"1-3\" },",
        "m.toml:11: `llc[0].cpus`: the LLC of CPUs 0-1 lies in 2 packages",
    );
    check(
        LISTED,
        "node = [\n  { cpus = \"0-1\" },\n  { cpus = \"2-3\" },",
        "node = [\n  { cpus = \"0-2\" },\n  { cpus = \"3\" },",
        "m.toml:19: `node[0].cpus`: the LLC of CPUs 2-3 spans 2 nodes; say `cut_llc = true` if the kernel cuts it",
    );
}

#[test]
fn a_list_of_cpus_says_what_is_wrong_with_it() {
    check(
        LISTED,
        "{ cpus = \"3\" }",
        "{ cpus = \"3-2\" }",
        "m.toml:8: `core[3].cpus` is \"3-2\", expected a list of CPUs such as \"0-3,8\" (the range `3-2` runs backwards)",
    );
    check(
        LISTED,
        "{ cpus = \"3\" }",
        "{ cpus = \"1024\" }",
        "m.toml:8: `core[3].cpus` is \"1024\", expected a list of CPUs such as \"0-3,8\" \
         (CPU 1024 is too high: the highest is 1023)",
    );
}

#[test]
fn a_machine_is_given_one_way_only() {
    let both = LISTED.to_owned() + "[cores]\nsockets = 1\n";
    assert_eq!(
        parse(&both).expect_err("both").to_string(),
        "m.toml:4: `core`: a machine is given by [cores] or by lists of CPUs, not by both"
    );
    let modes = LISTED.to_owned() + "[mode.x]\none_node = true\n";
    assert_eq!(
        parse(&modes).expect_err("both").to_string(),
        "m.toml:18: `node`: nodes are given by [mode.NAME] or by [[node]], not by both"
    );
}

#[test]
fn cores_of_different_capacity_are_refused() {
    check(
        LISTED,
        "{ cpus = \"3\" }",
        "{ cpus = \"3\", capacity = 400 }",
        "m.toml:8: `core[3].capacity`: cores of different capacity are not simulated: every core has 1024",
    );
    let all = LISTED.replace("{ cpus = \"3\" }", "{ cpus = \"3\", capacity = 1024 }");
    assert!(parse(&all).is_ok());
}

/// As on a Ryzen of which one die has more cache stacked upon it.
#[test]
fn a_last_level_cache_may_have_a_size_of_its_own() {
    let own = LISTED
        .replace("{ cpus = \"2-3\" },\n]\npackage", "{ cpus = \"2-3\", kib = 98304 },\n]\npackage")
        + "[cache_kib]\nl3 = 32768\n";
    let machine = parse(&own).expect("a machine");
    let sizes = |machine: &Topology| [0, 1].map(|llc| machine.llc_kib(LlcId(llc)));
    assert_eq!(sizes(&machine), [Some(32_768), Some(98_304)]);
    let mut facts = machine.facts().clone();
    facts.cache_kib.l3 = Some(Fact::exactly(1024));
    assert_eq!(sizes(&machine.with_facts(facts)), [Some(1024); 2], "another size is that of all");
    assert_eq!(sizes(&parse(LISTED).expect("a machine")), [None, None]);
    let none = parse(&own.replace("98304", "0")).expect_err("no size").to_string();
    assert!(none.contains("`llc[1].kib` is 0, expected a whole number from 1 to"), "{none}");
}
