//! A wrong machine file is refused with its line, its key, and one clear sentence: keys and values.

use crate::common::{LISTED, REGULAR, TAIL, check, parse};
use simsched_topology::Topology;

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
    check(
        REGULAR,
        "[mode.two]",
        "[colour]\nx = 1\n[mode.two]",
        "m.toml:10: unknown key `colour`, expected one of name, title, arch, default_mode, \
         reclaim_distance, os_cpus, os_nodes, cores, mode, node, distance, costs, idle, core, \
         llc, package, cluster, coregroup, vendor, uarch, model, line_bytes, page_kib, frequency_ghz, cache_kib, \
         latency_ns, c2c_ns, bandwidth_gbs, smt",
    );
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
        "m.toml:15: the key `costs.list` is missing; expected list = \"x86\" (a price list: x86, power10, lab, lab-traced, lab-6.12, lab-6.12-traced, lab-7.3, lab-7.3-traced), \
         or every price: `context_switch_process` has none"
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
        "m.toml:3: `costs` is \"x68\", expected one of x86, power10, lab, lab-traced, lab-6.12, lab-6.12-traced, lab-7.3, lab-7.3-traced; did you mean `x86`?",
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
    let vax = error("vax");
    assert!(vax.starts_with("no machine `vax` is built in, expected one of "), "{vax}");
    assert!(simsched_topology::builtin_names().iter().all(|name| vax.contains(name)), "{vax}");
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

/// A real machine with two threads in a core.
const REAL: &str = "[frequency_ghz]\nbase = 2.4\nmax_1core = 3.7\nallcore = 3.2\n\
                    [latency_ns]\nl1 = 1\nl2 = 4\nl3 = 13.5\ndram_local = 110\n\
                    [smt]\nsibling_busy = { v = 0.6, lo = 0.5, hi = 0.7 }\n";

#[track_caller]
fn check_real(right: &str, wrong: &str, parts: &[&str]) {
    let real = format!("{REGULAR}{REAL}");
    parse(&real).expect("right");
    assert_eq!(REAL.matches(right).count(), 1, "`{right}` stands there once");
    let broken = format!("{REGULAR}{}", REAL.replace(right, wrong));
    let error = parse(&broken).expect_err("wrong").to_string();
    for part in parts {
        assert!(error.contains(part), "no `{part}` in: {error}");
    }
}

#[test]
fn a_number_in_the_wrong_unit_is_refused() {
    check_real("allcore = 3.2", "allcore = 3200", &["frequency_ghz.allcore", "3200", "0.5..8"]);
    check_real("base = 2.4", "base = 2400", &["frequency_ghz.base", "2400", "0.5..8"]);
    check_real("v = 0.6, lo = 0.5, hi = 0.7", "v = 60", &["smt.sibling_busy", "60"]);
    check_real("v = 0.6, lo = 0.5, hi = 0.7", "v = 0", &["smt.sibling_busy", "0.1..1"]);
    check_real("l3 = 13.5", "l3 = 13500", &["latency_ns.l3", "13500", "110 of dram_local"]);
    check_real("allcore = 3.2", "allcore = 3.8", &["frequency_ghz.allcore", "3.7 of max_1core"]);
}

#[test]
fn a_price_that_a_real_machine_needs_is_asked_for_with_its_default_source() {
    let sibling = "sibling_busy = { v = 0.6, lo = 0.5, hi = 0.7 }\n";
    check_real(sibling, "", &["`smt.sibling_busy` is missing", "SCHBENCH-SMT"]);
    check_real("allcore = 3.2\n", "", &["`frequency_ghz.allcore` is missing", "data sheet"]);
    check_real(
        "v = 0.6, lo = 0.5, hi = 0.7",
        "v = 0.6, lo = 0.5",
        &["`smt.sibling_busy.hi` is missing"],
    );
}

#[test]
fn an_unknown_key_without_neighbours_comes_with_all_keys() {
    let error =
        parse(&format!("{REGULAR}\n[cache_kib]\nfoo = 1\n")).expect_err("unknown").to_string();
    assert!(error.contains("`cache_kib.foo`, expected one of l1d, l1i, l2, l3"), "{error}");
}

#[test]
fn a_number_with_a_unit_is_said_to_have_one() {
    let error = parse(&format!("{REGULAR}\n[latency_ns]\nl1 = 10.3ns\n")).expect_err("a unit");
    let text = error.to_string();
    assert!(text.contains("`latency_ns.l1` is 10.3ns, expected a number without a unit"), "{text}");
    let inline =
        parse(&format!("{REGULAR}\n[latency_ns]\nl1 = {{ v = 10.3ns }}\n")).expect_err("a unit");
    assert!(inline.to_string().contains("10.3ns"), "{inline}");
}
