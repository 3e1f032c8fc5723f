//! Real servers of hwloc's own tests, against the counts that hwloc tells of them.

use crate::common::{hwloc, imported, machine, seen};
use simsched_import::Counts;
use simsched_topology::{CpuId, LlcId, NodeId, PackageId, Topology, builtin_text};

const ALL: &[&str] = &[
    "AMD-19h-Zen4-2xEpyc-9654",
    "AMD-17h-Zen-2xEpyc-7451",
    "Intel-SapphireRapids-2xXeonMax9460",
    "memorysidecaches",
    "power8gpudistances",
    "192em64t-24n8c2t",
];

/// What `hwloc-calc -N pu|core|package|l3cache|numanode all` and `lstopo` (2.9.0) tell.
#[test]
fn the_counts_are_those_that_hwloc_tells() {
    let counts = |cpus, cores, packages, llcs, kib, nodes| Counts {
        cpus,
        cores,
        packages,
        llcs,
        llc_kib: Some(kib),
        nodes,
    };
    for (name, expected) in ALL.iter().zip([
        counts(384, 192, 2, 24, 32 * 1024, 1),
        counts(96, 48, 2, 16, 8 * 1024, 1),
        counts(160, 80, 2, 2, 99_840, 1),
        counts(80, 40, 2, 2, 28_160, 4),
        counts(16, 8, 2, 8, 8 * 1024, 2),
        counts(384, 192, 24, 24, 20 * 1024, 24),
    ]) {
        assert_eq!(imported(&hwloc(name)).counts, expected, "{name}");
    }
}

#[test]
fn format_2_0_reads_as_format_3_0() {
    for name in ALL {
        let text = hwloc(name);
        let older = text.replacen("topology version=\"3.0\"", "topology version=\"2.0\"", 1);
        assert_ne!(text, older, "the files are of format 3.0");
        let (new, old) = (imported(&text), imported(&older));
        assert_eq!(new.counts, old.counts);
        let plain = |toml: &str| toml.replace("XML 2.0", "XML 3.0");
        assert_eq!(plain(&new.toml), plain(&old.toml));
    }
}

#[test]
fn genoa_is_numbered_as_hwloc_tells() {
    let genoa = machine(&imported(&hwloc(ALL[0])), None);
    assert_eq!(genoa.llc_span(LlcId(0)).to_string(), "0-7,192-199");
    assert_eq!(genoa.package_span(PackageId(0)).to_string(), "0-95,192-287");
    assert_eq!(genoa.smt_mask(CpuId(5)).to_string(), "5,197");
}

/// The file tells of no nodes, so the modes are those of the built-in machine of the same model.
#[test]
fn an_imported_genoa_has_the_sched_domains_of_the_built_in_one() {
    let imported = imported(&hwloc(ALL[0]));
    assert_eq!(imported.nearest, "genoa");
    for mode in ["nps1", "nps2", "nps4"] {
        let known = Topology::builtin("genoa", Some(mode)).expect("built in");
        assert_eq!(seen(&machine(&imported, Some(mode))), seen(&known), "{mode}");
        assert_eq!(machine(&imported, Some(mode)).costs(), known.costs());
    }
}

/// The Xeon Max 9460 is the Sapphire Rapids that is built in, with 40 cores in a package.
#[test]
fn an_imported_sapphire_rapids_has_the_sched_domains_of_the_built_in_one() {
    let imported = imported(&hwloc(ALL[2]));
    let text = builtin_text(&imported.nearest).expect("built in");
    let text = text.replace("cores_per_llc = 48", "cores_per_llc = 40");
    for mode in ["snc-off", "snc4", "interleave"] {
        let known = Topology::parse(&text, "spr", Some(mode)).expect("a machine");
        assert_eq!(known.nr_cores(), 80);
        assert_eq!(seen(&machine(&imported, Some(mode))), seen(&known), "{mode}");
    }
    let interleaved = Topology::parse(&text, "spr", Some("interleave")).expect("a machine");
    assert_eq!(seen(&machine(&imported, None)), seen(&interleaved), "one node, two LLCs");
}

/// Numbers of the file: nodes 0 and 2 share a package, at 11; 0 and 1 are 21 apart.
#[test]
fn the_order_of_nodes_need_not_be_that_of_packages() {
    let imported = imported(&hwloc("memorysidecaches"));
    let machine = machine(&imported, None);
    let distance = |a, b| machine.node_distance(NodeId(a), NodeId(b));
    assert_eq!((distance(0, 2), distance(0, 1), distance(1, 3)), (11, 21, 11));
    assert_eq!(machine.package_of(CpuId(0)), machine.package_of(CpuId(2)));
    assert_eq!(machine.nr_llcs(), 4, "Linux cuts both LLCs at the node");
    assert!(imported.notes.iter().any(|note| note.starts_with("memory-side caches (98304 MiB)")));
    assert_eq!(machine.facts().cache_kib.l3.as_ref().map(|l3| l3.rounded()), Some(28_160));
}

#[test]
fn numbers_of_cpus_may_have_gaps_and_gpus_have_distances_of_their_own() {
    let machine = machine(&imported(&hwloc("power8gpudistances")), None);
    let numbers: Vec<u32> = machine.cpus().iter().map(|cpu| machine.os_cpu(cpu)).collect();
    assert_eq!(numbers[..6], [0, 1, 8, 9, 16, 17]);
    assert_eq!(numbers[8..10], [80, 81], "bits 16 and 17 of the third word of four");
    assert_eq!(machine.nr_llcs(), machine.nr_cores());
    assert_eq!(machine.node_distance(NodeId(0), NodeId(1)), 40);
}

#[test]
fn a_machine_of_24_packages_has_a_numa_level_for_each_distance() {
    let imported = imported(&hwloc("192em64t-24n8c2t"));
    let machine = machine(&imported, None);
    let mut distances: Vec<u32> =
        (0..24).map(|node| machine.node_distance(NodeId(0), NodeId(node))).collect();
    distances.sort_unstable();
    distances.dedup();
    assert_eq!(distances, [10, 50, 65, 79]);
    assert_eq!(machine.nr_packages(), 24);
}
