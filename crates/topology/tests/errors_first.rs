//! A wrong machine file is refused with its line, its key, and one clear sentence: the slips of a first file.

use crate::common::{LISTED, REGULAR, TAIL, check, parse};
use simsched_topology::Topology;

/// Expects this complaint about a whole file.
fn refused(text: &str, expected: &str) {
    let error = Topology::parse(text, "m.toml", None).expect_err(expected);
    assert_eq!(error.to_string(), expected);
}

/// [`REGULAR`] with a tail in which `from` is replaced.
fn with_tail(from: &str, to: &str) -> String {
    assert_eq!(TAIL.matches(from).count(), 1, "`{from}` is in the tail once");
    format!("{REGULAR}{}", TAIL.replace(from, to))
}

/// [`REGULAR`] with these idle states.
fn with_idle(states: &str) -> String {
    let (lines, _) = TAIL.split_once("[[idle]]").expect("idle states");
    format!("{REGULAR}{lines}{states}")
}

#[test]
fn a_missing_line_transfer_is_the_machines_own() {
    refused(
        &with_tail("same_llc = 25\n", ""),
        "m.toml:17: the key `c2c_ns.same_llc` is missing; expected the transfer of a cache line in nanoseconds",
    );
    let (_, idle) = TAIL.split_once("cross_socket = 200\n").expect("a price");
    refused(
        &format!("{REGULAR}{idle}"),
        "m.toml:1: the key `c2c_ns` is missing; expected a table [c2c_ns] with `c2c_ns.smt`, `c2c_ns.same_llc`, \
         `c2c_ns.same_socket`, `c2c_ns.cross_socket`: the transfer of a cache line in nanoseconds",
    );
}

/// One core behind each LLC moves no line behind it, but a poller's price is still needed.
#[test]
fn the_price_of_polling_falls_back_to_the_machines_lines_only() {
    let small = REGULAR.replace("cores_per_llc = 2", "cores_per_llc = 1");
    let tail = TAIL.replace("same_llc = 25\n", "");
    refused(
        &format!("{small}{tail}"),
        "m.toml:17: the key `c2c_ns.same_llc` is missing; expected the transfer of a cache line in nanoseconds",
    );
    let listed = small.replace("costs = \"x86\"\n", "")
        + "[costs]\nlist = \"x86\"\npoll_notice_same_llc = 20\npoll_notice_cross = 30\n";
    let machine = Topology::parse(&format!("{listed}{tail}"), "m.toml", None).expect("right");
    assert_eq!(machine.costs().poll_notice_same_llc, 20);
}

#[test]
fn one_socket_needs_no_line_to_another() {
    let one =
        REGULAR.replace("\nsockets = 2\nllcs_per_socket = 2", "\nsockets = 1\nllcs_per_socket = 1");
    let one = one.replace("[10, 21],\n  [21, 10],", "[10],");
    let tail = TAIL.replace("same_socket = 100\ncross_socket = 200\n", "");
    let machine = Topology::parse(&format!("{one}{tail}"), "m.toml", None).expect("right");
    assert_eq!(machine.costs().poll_notice_cross, 25);
}

#[test]
fn a_syntax_error_names_the_key() {
    check(
        REGULAR,
        "cores_per_llc = 2",
        "cores_per_llc =",
        "m.toml:7: the key `cores.cores_per_llc` has no value",
    );
    check(
        REGULAR,
        "cores_per_llc = 2",
        "cores_per_llc = # two",
        "m.toml:7: the key `cores.cores_per_llc` has no value",
    );
    check(REGULAR, "name = \"m\"", "name =", "m.toml:1: the key `name` has no value");
    refused(
        &with_tail("exit_us = 1", "exit_us ="),
        "m.toml:25: the key `idle[0].exit_us` has no value",
    );
    let bare = "expected a number, true, false, or a text in quotes";
    let is = |value: &str| format!("m.toml:9: `cores.numbering` is {value}, {bare}");
    check(REGULAR, "\"smt_split\"", "smt_split", &is("smt_split"));
    check(REGULAR, "\"smt_split\"", "full", &is("full"));
    let open = parse(&REGULAR.replace("  [21, 10],\n]", "  [21, 10]\ncut_llc = true"));
    let open = open.expect_err("an open list").to_string();
    assert!(open.contains("missing comma") && !open.contains("cut_llc"), "{open}");
    let nameless = parse(&REGULAR.replace("title =", "=")).expect_err("nameless").to_string();
    assert!(nameless.starts_with("m.toml:2: a key is missing before `=`"), "{nameless}");
}

#[test]
fn a_key_given_twice_is_named() {
    let twice = |key: &str, line: usize| {
        format!("m.toml:{line}: the key `{key}` is given twice (duplicate key)")
    };
    check(REGULAR, "\nsockets = 2", "\nsockets = 2\nsockets = 1", &twice("cores.sockets", 6));
    check(REGULAR, "title =", "name = \"n\"\ntitle =", &twice("name", 2));
    check(
        REGULAR,
        "nodes_per_socket = 1",
        "nodes_per_socket = 1\n[mode.two]",
        &twice("mode.two", 12),
    );
    refused(&with_tail("smt = 10", "smt = { v = 1, v = 2 }"), &twice("c2c_ns.smt.v", 18));
    refused(&with_tail("exit_us = 1", "exit_us = 1\nexit_us = 2"), &twice("idle[0].exit_us", 26));
    // A row of a distance table is no header.
    check(
        REGULAR,
        "  [21, 10],\n]",
        "  [21, 10]\n]\ncut_llc = true\ncut_llc = true",
        &twice("mode.two.cut_llc", 17),
    );
}

#[test]
fn a_table_where_a_list_belongs_is_told_its_brackets() {
    refused(
        &with_tail("[[idle]]", "[idle]"),
        "m.toml:23: `idle` is a table, expected a list of tables: write [[idle]]",
    );
    check(
        REGULAR,
        "[cores]",
        "[core]",
        "m.toml:4: `core` is a table, expected [[core]] lists, one for each core; did you mean [cores]?",
    );
    let lists = LISTED.replace("node = [\n  { cpus = \"0-1\" },\n  { cpus = \"2-3\" },\n]", "");
    assert_eq!(
        parse(&(lists + "[node]\ncpus = \"0-3\"\n")).expect_err("one bracket").to_string(),
        "m.toml:20: `node` is a table, expected a list of tables: write [[node]]"
    );
}

#[test]
fn an_empty_list_of_nodes_is_named() {
    check(
        REGULAR,
        "nodes_per_socket = 1",
        "nodes = []",
        "m.toml:11: `mode.two.nodes` is an empty list, expected at least one node",
    );
    check(
        LISTED,
        "node = [\n  { cpus = \"0-1\" },\n  { cpus = \"2-3\" },\n]",
        "node = []",
        "m.toml:18: `node` is an empty list, expected at least one node",
    );
}

#[test]
fn a_missing_flag_says_true_or_false() {
    refused(
        &with_tail("polling = true\n", ""),
        "m.toml:23: the key `idle[0].polling` is missing; \
         expected true or false: whether a CPU in \"C1\" needs no interrupt to wake up",
    );
}

#[test]
fn a_binary_file_is_no_text() {
    refused(
        "\u{7f}ELF\u{2}\u{1}\0\0",
        "m.toml:1: the file is not text: it holds a control character",
    );
    refused("name = \"m\"\r\n\0", "m.toml:2: the file is not text: it holds a control character");
}

#[test]
fn idle_states_get_deeper_and_have_names_of_their_own() {
    let two = |name: &str, exit: &str, residency: &str| {
        with_idle(&format!(
            "[[idle]]\nname = \"C1\"\nexit_us = 2\nresidency_us = 4\npolling = true\n\
             [[idle]]\nname = \"{name}\"\nexit_us = {exit}\nresidency_us = {residency}\npolling = false\n"
        ))
    };
    refused(
        &two("C6", "1.5", "40"),
        "m.toml:30: `idle[1].exit_us`: 1.5 is less than the 2 of the shallower state \"C1\"",
    );
    refused(
        &two("C6", "20", "3"),
        "m.toml:31: `idle[1].residency_us`: 3 is less than the 4 of the shallower state \"C1\"",
    );
    refused(
        &two("C1", "20", "40"),
        "m.toml:29: `idle[1].name`: another idle state has this name too",
    );
    let machine = Topology::parse(&two("C6", "2", "4"), "m.toml", None).expect("as deep is right");
    assert_eq!(machine.idle_states().len(), 2);
    // A state that is off is not compared.
    let off = two("C6", "1", "1") + "enabled = false\n";
    assert_eq!(Topology::parse(&off, "m.toml", None).expect("right").idle_states().len(), 1);
}

#[test]
fn names_can_be_written_on_a_command_line() {
    let label = "expected a name: not empty, on one line, without `@` and `/`";
    let name = |to: &str, found: &str| {
        check(REGULAR, "\"m\"", to, &format!("m.toml:1: `name` is \"{found}\", {label}"));
    };
    name("\"\"", "");
    name("\" \"", " ");
    name("\"a@b\"", "a@b");
    name("\"a\\nb\"", "a\\nb");
    check(
        REGULAR,
        "\"a machine\"",
        "\"a\\nmachine\"",
        "m.toml:2: `title` is \"a\\nmachine\", expected a text without line breaks",
    );
    let rule = "a mode has a name: not empty, on one line, without `@` and `/`";
    check(REGULAR, "[mode.two]", "[mode.\"\"]", &format!("m.toml:10: `mode.`: {rule}"));
    check(REGULAR, "[mode.two]", "[mode.\"a@b\"]", &format!("m.toml:10: `mode.a@b`: {rule}"));
    check(REGULAR, "[mode.two]", "[mode.\"a\\nb\"]", &format!("m.toml:10: `mode.a\\nb`: {rule}"));
    check(
        REGULAR,
        "nodes_per_socket = 1",
        "nodes_per_socket = 1\nalias = \"x@y\"",
        &format!("m.toml:12: `mode.two.alias` is \"x@y\", {label}"),
    );
}

#[test]
fn an_alias_is_nobody_elses_name() {
    let other = |alias: &str| {
        format!(
            "default_mode = \"two\"\n{REGULAR}alias = \"both\"\n[mode.one]\none_node = true\nalias = \"{alias}\"\n"
        )
    };
    for (alias, line) in [("two", 20), ("both", 17)] {
        let error = parse(&other(alias)).expect_err("the same name").to_string();
        let (mode, owner) = if alias == "two" { ("one", "two") } else { ("two", "one") };
        assert_eq!(
            error,
            format!("m.toml:{line}: `mode.{mode}.alias`: the mode `{owner}` has this name too")
        );
    }
    assert!(parse(&other("single")).is_ok());
}

#[test]
fn distances_are_given_once() {
    for key in ["same_socket", "cross_socket"] {
        check(
            REGULAR,
            "nodes_per_socket = 1",
            &format!("nodes_per_socket = 1\n{key} = 21"),
            &format!("m.toml:12: `mode.two.{key}`: the distances are already given by `distance`"),
        );
    }
}
