//! A wrong machine file is refused with its line, its key, and one clear sentence.

mod common;

use common::{Machine, TAIL};
use simsched_topology::{Topology, TopologyError};

/// A machine that is right: 2 sockets x 2 LLCs x 2 cores x 2 threads.
const REGULAR: &str = r#"name = "m"
title = "a machine"
costs = "x86"
[cores]
sockets = 2
llcs_per_socket = 2
cores_per_llc = 2
threads_per_core = 2
numbering = "smt_split"
[mode.two]
nodes_per_socket = 1
distance = [
  [10, 21],
  [21, 10],
]
"#;

/// A machine given by lists, which is right: 4 CPUs in 2 LLCs, packages and nodes.
const LISTED: &str = r#"name = "m"
title = "a machine"
costs = "x86"
core = [
  { cpus = "0" },
  { cpus = "1" },
  { cpus = "2" },
  { cpus = "3" },
]
llc = [
  { cpus = "0-1" },
  { cpus = "2-3" },
]
package = [
  { cpus = "0-1" },
  { cpus = "2-3" },
]
node = [
  { cpus = "0-1" },
  { cpus = "2-3" },
]
distance = [[10, 20], [20, 10]]
"#;

fn parse(text: &str) -> Result<Topology, TopologyError> {
    Topology::parse(&format!("{text}{TAIL}"), "m.toml", None)
}

/// Replaces `from` by `to` and expects this complaint, which begins with file and line.
fn check(good: &str, from: &str, to: &str, expected: &str) {
    assert_eq!(good.matches(from).count(), 1, "`{from}` is in the text once");
    let error = parse(&good.replace(from, to)).expect_err(expected);
    assert_eq!(error.to_string(), expected);
}

#[test]
fn the_machines_of_these_tests_are_right() {
    assert_eq!(parse(REGULAR).expect("right").nr_cpus(), 16);
    assert_eq!(parse(LISTED).expect("right").nr_cpus(), 4);
}

#[test]
fn a_syntax_error_has_its_line() {
    let error =
        parse(&REGULAR.replace("sockets = 2", "sockets 2")).expect_err("no TOML").to_string();
    assert!(error.starts_with("m.toml:5: "), "{error}");
    let twice = parse(&REGULAR.replace("[mode.two]", "sockets = 3\n[mode.two]"))
        .expect_err("twice")
        .to_string();
    assert!(twice.starts_with("m.toml:10: ") && twice.contains("duplicate key"), "{twice}");
}

#[test]
fn an_unknown_key_comes_with_its_neighbours() {
    check(
        REGULAR,
        "\nsockets",
        "\nscokets",
        "m.toml:5: unknown key `cores.scokets`; did you mean `sockets`?",
    );
    check(REGULAR, "title", "titel", "m.toml:2: unknown key `titel`; did you mean `title`?");
    check(
        REGULAR,
        "nodes_per_socket = 1",
        "node_per_socket = 1",
        "m.toml:11: unknown key `mode.two.node_per_socket`; did you mean `nodes_per_socket`?",
    );
    check(REGULAR, "[mode.two]", "[colour]\nx = 1\n[mode.two]", "m.toml:10: unknown key `colour`");
    check(
        LISTED,
        "{ cpus = \"3\" }",
        "{ cpu = \"3\" }",
        "m.toml:8: unknown key `core[3].cpu`; did you mean `cpus`?",
    );
}

#[test]
fn a_missing_key_is_named_with_its_table() {
    check(
        REGULAR,
        "cores_per_llc = 2\n",
        "",
        "m.toml:4: the key `cores.cores_per_llc` is missing; expected a count",
    );
    check(REGULAR, "name = \"m\"\n", "", "m.toml:1: the key `name` is missing; expected a text");
    check(
        REGULAR,
        "costs = \"x86\"\n",
        "",
        "m.toml:1: the key `costs` is missing; expected the name of a price list, or a table [costs]",
    );
    let without = Topology::parse(REGULAR, "m.toml", None).expect_err("no idle states").to_string();
    assert_eq!(
        without,
        "m.toml:1: the key `idle` is missing; expected [[idle]] states, from shallow to deep"
    );
    let costs = REGULAR.replace("costs = \"x86\"\n", "") + "[costs]\nsyscall = 100\n";
    assert_eq!(
        parse(&costs).expect_err("few prices").to_string(),
        "m.toml:15: the key `costs.context_switch_process` is missing; expected a price in nanoseconds"
    );
    let tail = TAIL.replace("same_socket = 100\n", "");
    let error = Topology::parse(&format!("{REGULAR}{tail}"), "m.toml", None).expect_err("no price");
    assert_eq!(
        error.to_string(),
        "m.toml:17: the key `c2c_ns.same_socket` is missing; expected the transfer of a cache line in nanoseconds"
    );
}

#[test]
fn counts_have_a_range() {
    let range = "expected a whole number from 1 to 1024";
    for key in ["\nsockets", "llcs_per_socket", "cores_per_llc", "threads_per_core"] {
        let line = 5 + ["\nsockets", "llcs_per_socket", "cores_per_llc", "threads_per_core"]
            .iter()
            .position(|k| *k == key)
            .expect("a key of the list");
        let name = key.trim();
        check(
            REGULAR,
            &format!("{key} = 2"),
            &format!("{key} = 0"),
            &format!("m.toml:{line}: `cores.{name}` is 0, {range}"),
        );
    }
    check(
        REGULAR,
        "\nsockets = 2",
        "\nsockets = -2",
        &format!("m.toml:5: `cores.sockets` is -2, {range}"),
    );
    check(
        REGULAR,
        "\nsockets = 2",
        "\nsockets = 2.5",
        &format!("m.toml:5: `cores.sockets` is 2.5, {range}"),
    );
    check(
        REGULAR,
        "\nsockets = 2",
        "\nsockets = \"2\"",
        &format!("m.toml:5: `cores.sockets` is \"2\", {range}"),
    );
    check(
        REGULAR,
        "\nsockets = 2",
        "\nsockets = 129",
        "m.toml:5: `cores.sockets`: the machine has 1032 CPUs, more than 1024",
    );
}

#[test]
fn values_have_their_type() {
    check(REGULAR, "\"a machine\"", "7", "m.toml:2: `title` is 7, expected a text in quotes");
    check(
        REGULAR,
        "nodes_per_socket = 1",
        "one_node = 1",
        "m.toml:11: `mode.two.one_node` is 1, expected true or false",
    );
    check(
        REGULAR,
        "costs = \"x86\"",
        "costs = 5",
        "m.toml:3: `costs` is 5, expected a text in quotes",
    );
    check(
        REGULAR,
        "\"smt_split\"",
        "\"smt-split\"",
        "m.toml:9: `cores.numbering` is \"smt-split\", expected one of smt_split, linear, \
         socket_round_robin, small_cores; did you mean `smt_split`?",
    );
    check(
        REGULAR,
        "\"x86\"",
        "\"x68\"",
        "m.toml:3: `costs` is \"x68\", expected one of x86, power10, lab; did you mean `x86`?",
    );
}

#[test]
fn a_number_lies_within_its_own_range() {
    let with = |fact: &str| REGULAR.to_owned() + "[latency_ns]\nl1 = " + fact + "\n";
    let check = |fact: &str, expected: &str| {
        assert_eq!(parse(&with(fact)).expect_err(expected).to_string(), expected);
    };
    check(
        "{ v = 5, lo = 6, hi = 7 }",
        "m.toml:17: `latency_ns.l1.v`: 5 lies outside its own range 6..7",
    );
    check(
        "{ v = 5, hi = 4.9 }",
        "m.toml:17: `latency_ns.l1.v`: 5 lies outside its own range 5..4.9",
    );
    check(
        "{ lo = 6, hi = 7 }",
        "m.toml:17: the key `latency_ns.l1.v` is missing; expected the value to use",
    );
    check("{ v = 5, low = 4 }", "m.toml:17: unknown key `latency_ns.l1.low`; did you mean `lo`?");
    check("\"5\"", "m.toml:17: `latency_ns.l1` is \"5\", expected a number or { v, lo, hi, src }");
    let number = "expected a number from 0 to 1000000000 with at most three decimals";
    check("-1", &format!("m.toml:17: `latency_ns.l1` is -1, {number}"));
    check("1.0001", &format!("m.toml:17: `latency_ns.l1` is 1.0001, {number}"));
    check("1e3", &format!("m.toml:17: `latency_ns.l1` is 1e3, {number}"));
    check("inf", &format!("m.toml:17: `latency_ns.l1` is inf, {number}"));
    check("2000000000", &format!("m.toml:17: `latency_ns.l1` is 2000000000, {number}"));
    assert!(parse(&with("{ v = 5, lo = 4.5, hi = 7, src = \"X\" }")).is_ok());
}

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
fn an_unknown_mode_or_machine_comes_with_its_neighbours() {
    let error = |text: &str| Topology::resolve(text).expect_err("unknown").to_string();
    assert_eq!(
        error("genoa@nsp4"),
        "genoa.toml: the machine has no mode `nsp4`, only nps1, nps2, nps4; did you mean `nps4`?"
    );
    assert_eq!(
        error("spr@nps4"),
        "spr.toml: the machine has no mode `nps4`, only snc-off, interleave, snc4"
    );
    assert_eq!(error("geona"), "no machine `geona` is built in; did you mean `genoa`?");
    assert_eq!(error("vax"), "no machine `vax` is built in");
    let two = REGULAR.to_owned() + "[mode.one]\none_node = true\n";
    assert_eq!(
        parse(&two).expect_err("which?").to_string(),
        "m.toml:1: the key `default_mode` is missing; expected the mode to use when none is asked for"
    );
    check(
        REGULAR,
        "costs =",
        "default_mode = \"tow\"\ncosts =",
        "m.toml:3: `default_mode` is \"tow\", expected one of two; did you mean `two`?",
    );
}

#[test]
fn a_machine_may_override_single_prices() {
    let text = REGULAR.replace("costs = \"x86\"\n", "")
        + "[costs]\nlist = \"x86\"\nsyscall = { v = 250, lo = 200, hi = 300 }\n";
    let costs = *parse(&text).expect("right").costs();
    assert_eq!((costs.syscall, costs.wakeup), (250, 350));
    let wrong = text.replace("syscall", "sycall");
    assert_eq!(
        parse(&wrong).expect_err("unknown").to_string(),
        "m.toml:17: unknown key `costs.sycall`; did you mean `syscall`?"
    );
}
