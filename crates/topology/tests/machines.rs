//! Every shipped machine in every mode is the machine of its data sheet.

use std::collections::BTreeSet;

use simsched_topology::{
    CpuId, Distance, LlcId, MachineSummary, NodeId, OsCosts, Topology, builtin_names, builtin_text,
    modes,
};

/// CPUs, LLCs and nodes of every machine in every mode.
const SIZES: &[(&str, usize, usize, usize)] = &[
    ("spr@snc-off", 224, 2, 2),
    ("spr@interleave", 224, 2, 1),
    ("spr@snc4", 224, 8, 8),
    ("spr-2x48@snc-off", 192, 2, 2),
    ("spr-2x48@interleave", 192, 2, 1),
    ("spr-2x48@snc4", 192, 8, 8),
    ("spr-2x60@snc-off", 240, 2, 2),
    ("spr-2x60@interleave", 240, 2, 1),
    ("spr-2x60@snc4", 240, 8, 8),
    ("spr-2x30@snc-off", 120, 2, 2),
    ("spr-2x30@interleave", 120, 2, 1),
    ("icelake@snc-off", 128, 2, 2),
    ("cascadelake@snc-off", 96, 2, 2),
    ("genoa@nps1", 384, 24, 2),
    ("genoa@nps2", 384, 24, 4),
    ("genoa@nps4", 384, 24, 8),
    ("genoa-4n32@nps4", 128, 8, 4),
    ("genoa-4n32@nps2", 128, 8, 4),
    ("milan-7543@nps1", 128, 16, 2),
    ("milan-7543@nps2", 128, 16, 4),
    ("milan-7543@nps4", 128, 16, 8),
    ("milan-7763@nps1", 256, 16, 2),
    ("milan-7763@nps2", 256, 16, 4),
    ("milan-7763@nps4", 256, 16, 8),
    ("power10@lpar-dedicated", 384, 96, 4),
    ("power10@lpar-coregroups", 384, 96, 4),
    ("t8@lab", 8, 1, 1),
    ("t8@untraced", 8, 1, 1),
    ("t8@lab-6.12", 8, 1, 1),
    ("t8@untraced-6.12", 8, 1, 1),
    ("t8@lab-7.3", 8, 1, 1),
    ("t8@untraced-7.3", 8, 1, 1),
    ("t16@lab", 16, 4, 2),
    ("t16@untraced", 16, 4, 2),
    ("t16@lab-6.12", 16, 4, 2),
    ("t16@untraced-6.12", 16, 4, 2),
    ("t16@lab-7.3", 16, 4, 2),
    ("t16@untraced-7.3", 16, 4, 2),
    ("t32@lab", 32, 4, 2),
    ("t32@untraced", 32, 4, 2),
    ("t32@lab-6.12", 32, 4, 2),
    ("t32@untraced-6.12", 32, 4, 2),
    ("t32@lab-7.3", 32, 4, 2),
    ("t32@untraced-7.3", 32, 4, 2),
    ("t64@lab", 64, 8, 2),
    ("t64@untraced", 64, 8, 2),
    ("t64@lab-6.12", 64, 8, 2),
    ("t64@untraced-6.12", 64, 8, 2),
    ("t64@lab-7.3", 64, 8, 2),
    ("t64@untraced-7.3", 64, 8, 2),
    ("n2x8@lab", 16, 2, 1),
    ("n2x8@untraced", 16, 2, 1),
    ("n2x8@lab-6.12", 16, 2, 1),
    ("n2x8@untraced-6.12", 16, 2, 1),
    ("n2x8@lab-7.3", 16, 2, 1),
    ("n2x8@untraced-7.3", 16, 2, 1),
    ("s2x8@lab", 32, 2, 2),
    ("s2x8@untraced", 32, 2, 2),
    ("s2x8@lab-6.12", 32, 2, 2),
    ("s2x8@untraced-6.12", 32, 2, 2),
    ("s2x8@lab-7.3", 32, 2, 2),
    ("s2x8@untraced-7.3", 32, 2, 2),
    ("s2x16@lab", 64, 2, 2),
    ("s2x16@untraced", 64, 2, 2),
    ("s2x16@lab-6.12", 64, 2, 2),
    ("s2x16@untraced-6.12", 64, 2, 2),
    ("s2x16@lab-7.3", 64, 2, 2),
    ("s2x16@untraced-7.3", 64, 2, 2),
    ("s2d2@lab", 32, 4, 2),
    ("s2d2@untraced", 32, 4, 2),
    ("s2d2@lab-6.12", 32, 4, 2),
    ("s2d2@untraced-6.12", 32, 4, 2),
    ("s2d2@lab-7.3", 32, 4, 2),
    ("s2d2@untraced-7.3", 32, 4, 2),
    ("s4d2@lab", 64, 8, 4),
    ("s4d2@untraced", 64, 8, 4),
    ("s4d2@lab-6.12", 64, 8, 4),
    ("s4d2@untraced-6.12", 64, 8, 4),
    ("s4d2@lab-7.3", 64, 8, 4),
    ("s4d2@untraced-7.3", 64, 8, 4),
];

fn machine(text: &str) -> Topology {
    Topology::resolve(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_machine_has_its_size_in_every_mode() {
    let mut offered = Vec::new();
    for name in builtin_names() {
        for mode in modes(builtin_text(name).expect("built in"), name).expect("modes") {
            offered.push(format!("{name}@{}", mode.name));
        }
    }
    assert_eq!(offered, SIZES.iter().map(|(text, ..)| (*text).to_owned()).collect::<Vec<_>>());
    for &(text, cpus, llcs, nodes) in SIZES {
        let found = machine(text);
        assert_eq!(
            (found.nr_cpus(), found.nr_llcs(), found.nr_nodes()),
            (cpus, llcs, nodes),
            "{text}"
        );
        assert_eq!(found.cpus().len(), cpus);
        assert!(found.cpus().iter().all(|cpu| found.capacity(cpu) == 1024));
    }
}

/// Literal lists of the data sheets: LLC `L` and node `N` with the CPUs in it.
#[test]
fn cpus_lie_where_the_data_sheets_say() {
    let check = |text: &str, parts: &[(char, u16, &str)]| {
        let found = machine(text);
        for &(kind, id, cpus) in parts {
            let set = match kind {
                'L' => found.llc_span(LlcId(id)),
                _ => found.node_span(NodeId(id)),
            };
            assert_eq!(set.to_string(), cpus, "{text} {kind}{id}");
            for cpu in set {
                let home = if kind == 'L' { found.llc_of(cpu).0 } else { found.node_of(cpu).0 };
                assert_eq!(home, id, "{text} cpu {cpu}");
            }
        }
    };
    check(
        "spr",
        &[('L', 0, "0-55,112-167"), ('L', 1, "56-111,168-223"), ('N', 1, "56-111,168-223")],
    );
    check("spr@interleave", &[('N', 0, "0-223"), ('L', 1, "56-111,168-223")]);
    check(
        "spr@snc4",
        &[('N', 3, "42-55,154-167"), ('N', 4, "56-69,168-181"), ('L', 7, "98-111,210-223")],
    );
    check("spr-2x48@snc4", &[('N', 1, "12-23,108-119"), ('L', 6, "72-83,168-179")]);
    check("spr-2x60@interleave", &[('N', 0, "0-239"), ('L', 0, "0-59,120-179")]);
    check("spr-2x60@snc4", &[('N', 3, "45-59,165-179"), ('L', 4, "60-74,180-194")]);
    check("spr-2x30@interleave", &[('N', 0, "0-119"), ('L', 1, "30-59,90-119")]);
    check("icelake", &[('L', 0, "0-31,64-95"), ('N', 1, "32-63,96-127")]);
    check("cascadelake", &[('L', 1, "24-47,72-95"), ('N', 0, "0-23,48-71")]);
    check("genoa@nps1", &[('L', 12, "96-103,288-295"), ('N', 1, "96-191,288-383")]);
    check("genoa@nps2", &[('L', 23, "184-191,376-383"), ('N', 1, "48-95,240-287")]);
    check(
        "genoa@nps4",
        &[('N', 0, "0-23,192-215"), ('N', 5, "120-143,312-335"), ('L', 5, "40-47,232-239")],
    );
    check("genoa-4n32@nps4", &[('N', 2, "32-47,96-111"), ('L', 0, "0-7,64-71")]);
    check("genoa-4n32@2s-nps2", &[('N', 3, "48-63,112-127"), ('L', 7, "56-63,120-127")]);
    check(
        "milan-7543",
        &[('N', 0, "0-15,64-79"), ('L', 0, "0-3,64-67"), ('N', 3, "48-63,112-127")],
    );
    check("milan-7543@nps4", &[('N', 6, "48-55,112-119")]);
    check("milan-7763@nps1", &[('N', 1, "64-127,192-255"), ('L', 0, "0-7,128-135")]);
    check("milan-7763@nps2", &[('N', 2, "64-95,192-223")]);
    check("milan-7763@nps4", &[('N', 7, "112-127,240-255")]);
    check("power10", &[('L', 0, "0,2,4,6"), ('L', 1, "1,3,5,7"), ('L', 48, "192,194,196,198")]);
    check("power10", &[('L', 95, "377,379,381,383"), ('N', 1, "96-191"), ('N', 3, "288-383")]);
    check("t16", &[('L', 1, "4-7"), ('N', 1, "8-15")]);
    check("t64", &[('L', 7, "56-63"), ('N', 0, "0-31")]);
    check("n2x8", &[('L', 1, "8-15"), ('N', 0, "0-15")]);
    check("s2x8", &[('L', 1, "16-31"), ('N', 1, "16-31")]);
    check("s2x16", &[('L', 1, "32-63"), ('N', 1, "32-63")]);
    check("s2d2", &[('L', 3, "24-31"), ('N', 1, "16-31")]);
    check("s4d2", &[('L', 7, "56-63"), ('N', 3, "48-63")]);
}

#[test]
fn distances_are_those_of_the_firmware() {
    let check = |text: &str, from: u16, expected: &[u32]| {
        let found = machine(text);
        let nodes = (0..found.nr_nodes()).map(NodeId::new);
        let row: Vec<u32> = nodes.map(|to| found.node_distance(NodeId(from), to)).collect();
        assert_eq!(row, expected, "{text}");
    };
    check("spr", 1, &[21, 10]);
    check("spr@snc4", 5, &[21, 21, 21, 21, 12, 10, 12, 12]);
    check("genoa@nps2", 2, &[32, 32, 10, 12]);
    check("genoa-4n32", 3, &[12, 12, 12, 10]);
    check("genoa-4n32@nps2", 3, &[32, 32, 12, 10]);
    check("power10", 0, &[10, 20, 40, 40]);
    check("t32", 0, &[10, 21]);
    check("t64", 0, &[10, 32]);
    check("n2x8", 0, &[10]);
    check("s2x8", 0, &[10, 21]);
    check("s2x16", 0, &[10, 21]);
    check("s2d2", 1, &[21, 10]);
    check("s4d2", 1, &[12, 10, 12, 12]);
    assert_eq!([machine("spr"), machine("genoa")].map(|m| m.reclaim_distance()), [30, 32]);
}

#[test]
fn distance_classes_follow_caches_nodes_and_sockets() {
    let check = |text: &str, a: u16, b: u16, expected: Distance| {
        let found = machine(text);
        assert_eq!(found.distance_class(CpuId(a), CpuId(b)), expected, "{text} {a} {b}");
        assert_eq!(found.distance_class(CpuId(b), CpuId(a)), expected, "{text} {b} {a}");
    };
    check("genoa@nps4", 5, 5, Distance::SameCpu);
    check("genoa@nps4", 5, 197, Distance::SameCore);
    check("genoa@nps4", 5, 192, Distance::SameLlc);
    check("genoa@nps4", 5, 8, Distance::SameNode);
    check("genoa@nps4", 5, 24, Distance::SameSocket);
    check("genoa@nps4", 5, 96, Distance::CrossSocket);
    check("genoa@nps1", 5, 24, Distance::SameNode);
    check("spr@interleave", 0, 56, Distance::CrossSocket);
    check("spr@snc4", 0, 14, Distance::SameSocket);
    check("power10", 0, 6, Distance::SameCore);
    check("power10", 0, 1, Distance::SameNode);
}

/// The transfer of a modified line in nanoseconds, by distance.
#[test]
fn a_cache_line_costs_what_was_measured() {
    let check = |text: &str, expected: [u32; 6]| {
        let found = machine(text);
        assert_eq!(Distance::ALL.map(|d| found.line_transfer_ns(d)), expected, "{text}");
    };
    check("genoa@nps4", [0, 10, 27, 100, 100, 192]);
    check("milan-7763", [0, 10, 25, 117, 117, 200]);
    check("spr@snc4", [0, 8, 57, 57, 57, 150]);
    check("cascadelake", [0, 8, 47, 47, 47, 134]);
    check("power10", [0, 17, 17, 250, 250, 400]);
    check("t8", [0; 6]);
}

#[test]
fn prices_are_those_of_the_list_and_of_the_machine() {
    let genoa = *machine("genoa").costs();
    assert_eq!((genoa.syscall, genoa.context_switch_thread, genoa.stopper), (100, 900, 4000));
    let side = |entry| genoa.syscall + entry + genoa.pipe_copy;
    let message = side(genoa.pipe_write_entry) + side(genoa.pipe_read_entry);
    assert_eq!(message, 400, "a write and a read of 100 bytes");
    // Of a side's 1,145 instructions beside the copy of the bytes these are under the mutex.
    let counted = machine("t16").costs().pipe_copy;
    assert_eq!(genoa.pipe_copy, (200 * counted + 1_145 / 2) / 1_145);
    assert_eq!(genoa.ipi_send + genoa.ipi_same_socket, 800, "from send to handler");
    assert_eq!((genoa.poll_notice_same_llc, genoa.poll_notice_cross), (27, 192));
    let spr = *machine("spr").costs();
    assert_eq!((spr.poll_notice_same_llc, spr.poll_notice_cross), (57, 150));
    let power10 = *machine("power10").costs();
    assert_eq!((power10.syscall, power10.context_switch_thread), (150, 1500));
    let lab = *machine("t16@untraced").costs();
    assert_eq!((lab.process_create, lab.timer_slack, lab.ipi_grid), (141_500, 1, 1000));
}

/// 2 us (1.5 to 3), as measured on servers of both vendors.
#[test]
fn a_shallow_wake_takes_about_two_microseconds() {
    for text in ["spr", "genoa", "milan-7763", "icelake"] {
        let found = machine(text);
        let costs = found.costs();
        let c1 = &found.idle_states()[1];
        let by_ipi = costs.wakeup + costs.wake_affine + costs.ipi_send + costs.ipi_same_socket;
        let wake = by_ipi + c1.exit_ns + costs.context_switch_from_idle;
        assert!((1_500..=3_500).contains(&wake), "{text}: {wake} ns");
    }
}

#[test]
fn idle_states_keep_what_is_advertised_and_what_is_measured() {
    let check = |text: &str, expected: &[(&str, u32, u32, u32, bool, bool)]| {
        let found = machine(text);
        let states: Vec<_> = found
            .idle_states()
            .iter()
            .map(|s| {
                (
                    s.name.as_str(),
                    s.exit_ns,
                    s.measured_exit_ns,
                    s.residency_ns,
                    s.polling,
                    s.loses_l1_l2,
                )
            })
            .collect();
        assert_eq!(states, expected, "{text}");
    };
    check(
        "spr",
        &[
            ("POLL", 0, 0, 0, true, false),
            ("C1", 1_000, 1_000, 1_000, true, false),
            ("C1E", 2_000, 2_000, 4_000, true, false),
            ("C6", 290_000, 190_000, 800_000, true, true),
        ],
    );
    check(
        "genoa",
        &[
            ("POLL", 0, 0, 0, true, false),
            ("C1", 1_000, 1_000, 2_000, true, false),
            ("C2", 800_000, 10_000, 1_600_000, false, true),
        ],
    );
    check(
        "power10",
        &[("snooze", 0, 0, 0, true, false), ("CEDE", 12_000, 2_200, 120_000, false, false)],
    );
    assert_eq!(machine("power10").facts().idle.len(), 7, "five more on bare metal");
}

#[test]
fn facts_of_the_hardware_are_carried_over() {
    let genoa = machine("genoa");
    let facts = genoa.facts();
    let text = |fact: &Option<simsched_topology::Fact>| fact.as_ref().expect("known").to_string();
    assert_eq!(text(&facts.latency_ns.l3), "13.5 (12.8..22.4)");
    assert_eq!(text(&facts.latency_ns.dram_remote), "199 (197..199)");
    assert_eq!(text(&facts.c2c_ns.same_socket_home_remote), "196 (176..207)");
    assert_eq!(text(&facts.bandwidth_gbs.per_llc_read), "38 (37..39.2)");
    assert_eq!(text(&facts.cache_kib.l3), "32768");
    assert_eq!(text(&facts.frequency_ghz.allcore), "3.2 (2.86..3.55)");
    assert_eq!(facts.smt.rate_milli(2), 600);
    assert_eq!(text(&machine("spr@interleave").facts().dram_average_ns), "148 (105..188)");
    assert_eq!(machine("spr").facts().dram_average_ns, None);
    let power10 = machine("power10");
    let rates: Vec<u64> = (1..=4).map(|busy| power10.facts().smt.rate_milli(busy)).collect();
    assert_eq!(rates, [1000, 725, 575, 500], "1.45 by 2, 1.725 by 3, 2.0 by 4");
    assert_eq!((power10.facts().line_bytes, power10.facts().page_kib), (128, 64));
}

/// Every source that a shipped file names is explained.
#[test]
fn every_source_is_explained() {
    let sources = include_str!("../topologies/SOURCES.md");
    let known: BTreeSet<&str> =
        sources.lines().filter_map(|line| line.strip_prefix("- `")?.split('`').next()).collect();
    let mut used = BTreeSet::new();
    for (text, ..) in SIZES {
        let found = machine(text);
        let facts = found.facts();
        let tables =
            facts.latency_ns.iter().chain(facts.c2c_ns.iter()).chain(facts.bandwidth_gbs.iter());
        let tables = tables.chain(facts.cache_kib.iter()).chain(facts.frequency_ghz.iter());
        let costs = found.cost_facts().iter().map(|(name, fact)| (*name, fact));
        let idle = facts.idle.iter().map(|state| ("exit_us", &state.exit_us));
        for (name, fact) in tables.chain(costs).chain(idle) {
            assert!(fact.lo_milli <= fact.milli && fact.milli <= fact.hi_milli, "{text} {name}");
            used.extend(fact.src.split('+').filter(|key| !key.is_empty()).map(str::to_owned));
        }
    }
    // Those of modes are no facts: they are found in the text.
    for name in builtin_names() {
        let text = builtin_text(name).expect("built in");
        let keys = text.split("src = \"").skip(1).filter_map(|rest| rest.split('"').next());
        used.extend(keys.flat_map(|keys| keys.split('+')).map(str::to_owned));
    }
    let unknown: Vec<_> = used.iter().filter(|key| !known.contains(key.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn every_price_can_be_read_and_changed_by_name() {
    let mut costs = *machine("spr").costs();
    assert_eq!(costs.iter().count(), OsCosts::NAMES.len());
    *costs.get_mut("futex").expect("an item") = 7;
    assert_eq!(costs.futex, 7);
    assert_eq!(costs.get_mut("futx"), None);
    assert!(OsCosts::free().iter().all(|(_, price)| price == 0));
    assert_eq!(machine("spr").with_costs(costs).costs().futex, 7);
    let shallow = machine("spr").idle_states()[..2].to_vec();
    assert_eq!(machine("spr").with_idle_states(shallow).idle_states().len(), 2);
}

#[test]
fn a_builtin_is_found_with_and_without_its_ending() {
    for text in ["genoa", "genoa.toml"] {
        assert_eq!(machine(text).mode(), "nps1");
        assert_eq!(machine(&format!("{text}@nps4")).mode(), "nps4");
    }
    assert_eq!(machine("milan-7543").mode(), "nps2");
    assert_eq!(machine("genoa-4n32@1s-nps4").mode(), "nps4", "an alias is resolved to the name");
}

/// Where a machine comes from stands in its file, not in its title.
#[test]
fn titles_describe_the_machine_only() {
    let lab = ["t8", "t16", "t32", "t64", "n2x8", "s2x8", "s2x16", "s2d2", "s4d2"];
    for found in MachineSummary::builtins() {
        assert!(!found.title.contains('('), "{}", found.title);
        assert_eq!(
            found.title.contains("against which the simulator is held"),
            lab.contains(&found.name.as_str()),
            "{}",
            found.title
        );
    }
}
