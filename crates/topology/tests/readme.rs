//! The examples of `topologies/README.md` are machines.

use simsched_topology::{
    Bandwidth, Cache, CacheToCache, CpuId, Frequency, Latency, NodeId, Topology,
};

/// The TOML blocks of the README.
fn blocks() -> Vec<&'static str> {
    let readme = include_str!("../topologies/README.md");
    readme.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_regular_example_is_genoa() {
    let example = Topology::parse(blocks()[0], "README.md", Some("nps4")).expect("a machine");
    let genoa = Topology::resolve("genoa@nps4").expect("a shipped machine");
    for cpu in genoa.cpus() {
        assert_eq!(example.smt_mask(cpu), genoa.smt_mask(cpu));
        assert_eq!(example.llc_of(cpu), genoa.llc_of(cpu));
        assert_eq!(example.node_of(cpu), genoa.node_of(cpu));
    }
    assert_eq!(example.node_distance(NodeId(0), NodeId(7)), 32);
    assert_eq!(example.costs(), genoa.costs());
}

#[test]
fn the_irregular_example_has_cores_with_and_without_a_sibling() {
    let head = "name = \"hybrid\"\ntitle = \"an example\"\ncosts = \"x86\"\n";
    let text = format!("{head}{}{}", blocks()[1], crate::common::TAIL);
    let example = Topology::parse(&text, "README.md", None).expect("a machine");
    assert_eq!((example.nr_cpus(), example.nr_cores(), example.nr_llcs()), (6, 4, 2));
    assert_eq!(example.smt_mask(CpuId(0)).to_string(), "0,4");
    assert_eq!(example.smt_mask(CpuId(2)).to_string(), "2");
    assert_eq!(example.mode(), "default", "the name of the only mode");
}

#[test]
fn double_brackets_do_the_same_as_lists() {
    let text = "name = \"m\"\ntitle = \"t\"\ncosts = \"x86\"\ndistance = [[10]]\n\
        [[core]]\ncpus = \"0-1\"\n[[core]]\ncpus = \"2-3\"\n[[llc]]\ncpus = \"0-3\"\n[[node]]\ncpus = \"0-3\"\n";
    let machine =
        Topology::parse(&format!("{text}{}", crate::common::TAIL), "m.toml", None).expect("right");
    assert_eq!((machine.nr_cores(), machine.mode()), (2, "default"));
}

/// The rows of the README's tables that begin with this cell.
fn row(cell: &str) -> &'static str {
    let readme = include_str!("../topologies/README.md");
    let start = format!("| `{cell}` |");
    readme.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row {cell}"))
}

#[test]
fn every_key_of_the_hardware_is_listed() {
    for (table, keys) in [
        ("[frequency_ghz]", Frequency::NAMES),
        ("[cache_kib]", Cache::NAMES),
        ("[latency_ns]", Latency::NAMES),
        ("[c2c_ns]", CacheToCache::NAMES),
        ("[bandwidth_gbs]", Bandwidth::NAMES),
    ] {
        for key in keys {
            assert!(row(table).contains(&format!("`{key}`")), "{table} {key}");
        }
    }
}

#[test]
fn what_is_marked_as_required_is() {
    let (required, optional) = row("[[idle]]").split_once("May be left out").expect("two halves");
    let state = "name = \"C1\"\nexit_us = 1\nresidency_us = 2\npolling = true\n";
    let good = crate::common::Machine::new(1, 1, 2, 1).text();
    for key in ["name", "exit_us", "residency_us", "polling"] {
        assert!(required.contains(&format!("`{key}`")) && state.contains(key), "{key}");
        let without: String =
            state.lines().filter(|l| !l.starts_with(key)).map(|l| format!("{l}\n")).collect();
        let error = Topology::parse(&good.replace(state, &without), "m.toml", None).expect_err(key);
        assert!(
            error.to_string().contains(&format!("the key `idle[0].{key}` is missing")),
            "{error}"
        );
    }
    for key in ["measured_exit_us", "loses_l1_l2", "flushes_tlb", "enabled"] {
        assert!(optional.contains(&format!("`{key}`")) && !good.contains(key), "{key}");
    }
}
