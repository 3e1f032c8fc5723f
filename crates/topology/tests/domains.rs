//! What holds for the sched domains of any machine.

use crate::common::{Machine, one_node_each, snc};
use simsched_topology::{
    CpuId, CpuSet, Domains, Kernel, NodeId, NumaImbalance, NumaTopologyType, SdFlags, Topology,
    builtin_names, builtin_text, modes,
};

const KERNELS: [Kernel; 3] = [Kernel::V6_1, Kernel::V6_12, Kernel::V7_3];

fn build(topology: &Topology, kernel: Kernel) -> Domains {
    Domains::build(topology, kernel, NumaImbalance::Merged)
}

/// Four nodes wired as a ring: neighbours at 20, opposite ones at 30.
fn ring() -> Machine {
    Machine::new(4, 1, 2, 2).mode(
        "nodes_per_socket = 1
         distance = [[10, 20, 30, 20], [20, 10, 20, 30], [30, 20, 10, 20], [20, 30, 20, 10]]",
    )
}

/// Four nodes wired as a line: the ends are three hops apart.
fn line() -> Machine {
    Machine::new(4, 1, 2, 1).mode(
        "nodes_per_socket = 1
         distance = [[10, 20, 30, 40], [20, 10, 20, 30], [30, 20, 10, 20], [40, 30, 20, 10]]",
    )
}

/// Shipped machines in all modes, odd wirings, and shapes at the edge.
fn all() -> Vec<Topology> {
    let mut machines = vec![
        ring().topology(),
        line().topology(),
        ring().numbering("linear").topology(),
        line().numbering("socket_round_robin").topology(),
        Machine::new(1, 1, 1, 1).topology(),
        Machine::new(2, 4, 1, 1).topology(),
        Machine::new(2, 2, 4, 2).numbering("small_cores").head("arch = \"power\"").topology(),
        Machine::new(8, 8, 8, 2).topology(),
    ];
    for name in builtin_names() {
        for mode in modes(builtin_text(name).expect("built in"), name).expect("modes") {
            machines.push(Topology::builtin(name, Some(&mode.name)).expect("a shipped machine"));
        }
    }
    machines
}

/// Calls `check` for every CPU of every machine and kernel.
fn for_all(check: impl Fn(&Topology, &Domains, CpuId)) {
    for topology in all() {
        for kernel in KERNELS {
            let domains = build(&topology, kernel);
            topology.cpus().iter().for_each(|cpu| check(&topology, &domains, cpu));
        }
    }
}

/// Invariant 1.
#[test]
fn spans_grow_upwards_and_are_shared_below_numa() {
    for_all(|topology, domains, cpu| {
        let mut below = CpuSet::single(cpu);
        for (at, sd) in domains.of(cpu).iter().enumerate() {
            assert!(below.is_subset(&sd.span), "{} cpu {cpu}", topology.name());
            assert_eq!(sd.weight as usize, sd.span.len());
            below = sd.span;
            if !sd.flags.contains(SdFlags::NUMA) {
                let same = |other: CpuId| domains.of(other)[at].span == sd.span;
                assert!(sd.span.iter().all(same), "{} cpu {cpu}", topology.name());
            }
        }
    });
}

/// Invariant 2.
#[test]
fn groups_cover_the_span_from_the_own_group_on() {
    for_all(|topology, domains, cpu| {
        for sd in domains.of(cpu) {
            let mut union = CpuSet::new();
            for group in domains.groups_of(sd) {
                let is_overlap = union.intersects(&group.span);
                assert!(!is_overlap || sd.flags.contains(SdFlags::NUMA), "{}", topology.name());
                assert_eq!(group.weight as usize, group.span.len());
                union.union_with(&group.span);
            }
            assert_eq!(union, sd.span, "{} cpu {cpu}", topology.name());
            assert!(domains.local_group(sd).span.contains(cpu));
        }
    });
}

/// Invariant 4.
#[test]
fn every_group_has_one_balance_cpu_of_its_own() {
    for_all(|topology, domains, cpu| {
        for sd in domains.of(cpu) {
            let mut speakers = CpuSet::new();
            for group in domains.groups_of(sd) {
                assert!(group.balance_mask.is_subset(&group.span));
                assert_eq!(group.balance_mask.first(), Some(group.balance_cpu));
                assert!(speakers.insert(group.balance_cpu), "{} {}", topology.name(), sd.name);
                if !sd.flags.contains(SdFlags::NUMA) {
                    assert_eq!(group.balance_mask, group.span);
                }
            }
        }
    });
}

/// All CPUs that see a group share its capacity object, and no two groups of a ring do.
#[test]
fn capacity_objects_belong_to_groups() {
    for_all(|_, domains, cpu| {
        for sd in domains.of(cpu) {
            let mut ids: Vec<u32> = domains.groups_of(sd).map(|group| group.capacity_id).collect();
            assert!(ids.iter().all(|&id| (id as usize) < domains.nr_capacities()));
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), sd.nr_groups());
        }
    });
}

/// The stack of a CPU such as `SMT2 MC16 PKG128`, all CPUs being alike.
fn stack(topology: &Topology) -> String {
    let domains = build(topology, Kernel::V6_12);
    let of = |cpu| {
        let all: Vec<String> =
            domains.of(cpu).iter().map(|sd| format!("{}{}", sd.name, sd.weight)).collect();
        all.join(" ")
    };
    let first = of(CpuId(0));
    assert!(topology.cpus().iter().all(|cpu| of(cpu) == first), "{}", topology.name());
    first
}

fn builtin(name: &str) -> Topology {
    Topology::resolve(name).expect("a shipped machine")
}

/// Invariant 3: the reference machines of the specification.
#[test]
fn reference_machines_have_their_levels() {
    let check = |topology: &Topology, expected| assert_eq!(stack(topology), expected);
    check(&builtin("milan-7763@nps1"), "SMT2 MC16 PKG128 NUMA256");
    check(&builtin("milan-7763@nps2"), "SMT2 MC16 NODE64 NUMA128 NUMA256");
    check(&builtin("milan-7763@nps4"), "SMT2 MC16 NODE32 NUMA128 NUMA256");
    check(&builtin("genoa@nps1"), "SMT2 MC16 PKG192 NUMA384");
    check(&builtin("spr@snc-off"), "SMT2 MC112 NUMA224");
    check(&builtin("spr-2x30@interleave"), "SMT2 MC60 PKG120");
    check(&builtin("spr-2x60@interleave"), "SMT2 MC120 PKG240");
    check(&builtin("genoa-4n32@nps4"), "SMT2 MC16 NODE32 NUMA128");
    check(&builtin("milan-7543@nps2"), "SMT2 MC8 NODE32 NUMA64 NUMA128");
    check(&builtin("spr@snc4"), "SMT2 MC28 NUMA112 NUMA224");
    check(&snc(56, 2, 2), "SMT2 MC56 NUMA112 NUMA224");
    check(&one_node_each(24, 1), "MC24 NUMA48");
    check(&Machine::new(1, 2, 8, 2).topology(), "SMT2 MC16 PKG32");
    check(&Machine::new(1, 1, 8, 2).topology(), "SMT2 MC16");
}

#[test]
fn the_bottom_without_smt_has_no_group_flags() {
    let domains = build(&one_node_each(24, 1), Kernel::V6_12);
    let mc = &domains.of(CpuId(0))[0];
    assert!(domains.groups_of(mc).all(|group| group.flags.is_empty()));
}

#[test]
fn interleaved_memory_has_no_numa_domain() {
    let domains = build(&builtin("spr-2x60@interleave"), Kernel::V6_12);
    let any = |flag| domains.of(CpuId(0)).iter().any(|sd| sd.flags.contains(flag));
    assert!(!any(SdFlags::NUMA) && !any(SdFlags::SERIALIZE));
    assert!(domains.sd_numa(CpuId(0)).is_none());
}

/// The spans of the groups of one domain, in ring order.
fn ring_spans(topology: &Topology, cpu: CpuId, from_top: usize) -> Vec<String> {
    let domains = build(topology, Kernel::V6_12);
    let sd = domains.of(cpu).iter().rev().nth(from_top).expect("so many domains");
    domains.groups_of(sd).map(|group| group.span.to_string()).collect()
}

/// Invariant 6: nodes 3, 0, 1 and nodes 1, 2, 3; each node has 4 CPUs, numbered in a row.
#[test]
fn a_ring_of_four_nodes_has_two_overlapping_groups_of_three() {
    let topology = ring().numbering("linear").topology();
    assert_eq!(ring_spans(&topology, CpuId(0), 0), ["0-7,12-15", "4-15"]);
    assert_eq!(ring_spans(&topology, CpuId(0), 1), ["0-3", "4-7", "12-15"]);
    assert_eq!(ring_spans(&topology, CpuId(9), 0), ["4-15", "0-7,12-15"]);
    let domains = build(&topology, Kernel::V6_12);
    let top = domains.of(CpuId(0)).last().expect("a domain");
    let masks: Vec<_> = domains.groups_of(top).map(|g| g.balance_mask.to_string()).collect();
    assert_eq!(masks, ["0-3", "8-11"], "only the middle node owns a group of three");
}

/// Node 2's own neighbours reach out of the span of node 0, so node 2 joins as itself.
#[test]
fn a_line_of_four_nodes_descends_to_groups_within_the_span() {
    let topology = line().topology();
    // Distance 40 from node 0: its own 0..=2, and node 3's own 1..=3.
    assert_eq!(ring_spans(&topology, CpuId(0), 0), ["0-5", "2-7"]);
    // Distance 30 from node 0 spans nodes 0..=2: its own 0..=1; node 2's 1..=3 would reach out.
    assert_eq!(ring_spans(&topology, CpuId(0), 1), ["0-3", "4-5"]);
    // Distance 30 from node 1 spans all: its own 0..=2, and node 3's own 2..=3.
    assert_eq!(ring_spans(&topology, CpuId(2), 0), ["0-5", "4-7"]);
    assert_eq!(build(&topology, Kernel::V6_1).numa_topology_type(), NumaTopologyType::GluelessMesh);
}

/// Invariant 7.
#[test]
fn an_llc_that_is_the_package_still_prefers_siblings() {
    for kernel in KERNELS {
        let topology = builtin("spr@snc-off");
        let domains = build(&topology, kernel);
        let [_, mc, numa] = domains.of(CpuId(0)) else { panic!("three domains") };
        assert!(mc.flags.contains(SdFlags::PREFER_SIBLING));
        assert!(domains.local_group(numa).flags.contains(SdFlags::PREFER_SIBLING));
    }
}

/// Invariant 8.
#[test]
fn a_cpu_with_an_llc_of_its_own_has_no_sd_llc() {
    let domains = build(&Machine::new(2, 4, 1, 1).topology(), Kernel::V6_12);
    for cpu in (0..8).map(CpuId) {
        assert!(domains.sd_llc(cpu).is_none());
        assert_eq!((domains.llc_size(cpu), domains.llc_id(cpu)), (1, u32::from(cpu.0)));
    }
}

#[test]
fn a_machine_of_one_cpu_has_no_domains() {
    assert!(build(&Machine::new(1, 1, 1, 1).topology(), Kernel::V6_1).of(CpuId(0)).is_empty());
}

#[test]
fn a_cluster_of_cores_is_a_level_and_its_id_is_shared_since_6_8() {
    let machine = Machine::new(1, 2, 8, 1).topology();
    assert_eq!(stack(&machine), "MC8 PKG16");
    let text = Machine::new(1, 2, 8, 1).text().replace("[mode", "cores_per_cluster = 4\n[mode");
    let machine = Topology::parse(&text, "test.toml", None).expect("a machine");
    assert_eq!(stack(&machine), "CLS4 MC8 PKG16");
    assert_eq!(build(&machine, Kernel::V6_12).share_id(CpuId(5)), CpuId(4));
    assert_eq!(build(&machine, Kernel::V6_1).share_id(CpuId(5)), CpuId(0));
}

/// Name, span, imbalance_pct, intervals and cache_nice_tries of CPU 0, as debugfs of the lab shows them.
#[test]
fn the_labs_machines_have_the_domains_that_the_lab_measured() {
    let check = |name: &str, kernel, expected: &[&str]| {
        let domains = build(&builtin(name), kernel);
        let found: Vec<String> = domains
            .of(CpuId(0))
            .iter()
            .map(|sd| {
                format!(
                    "{} {} {} {}/{} {}",
                    sd.name,
                    sd.span,
                    sd.imbalance_pct,
                    sd.min_interval,
                    sd.max_interval,
                    sd.cache_nice_tries
                )
            })
            .collect();
        assert_eq!(found, expected, "{name}");
    };
    for (kernel, pkg) in [(Kernel::V6_1, "DIE"), (Kernel::V6_12, "PKG")] {
        check("t8", kernel, &["MC 0-7 117 8/16 1"]);
        check(
            "t16",
            kernel,
            &[
                "SMT 0-1 110 2/4 0",
                "MC 0-3 117 4/8 1",
                &format!("{pkg} 0-7 117 8/16 1"),
                "NUMA 0-15 117 16/32 2",
            ],
        );
        check(
            "t32",
            kernel,
            &[
                "SMT 0-1 110 2/4 0",
                "MC 0-7 117 8/16 1",
                &format!("{pkg} 0-15 117 16/32 1"),
                "NUMA 0-31 117 32/64 2",
            ],
        );
        check(
            "t64",
            kernel,
            &[
                "SMT 0-1 110 2/4 0",
                "MC 0-7 117 8/16 1",
                &format!("{pkg} 0-31 117 32/64 1"),
                "NUMA 0-63 117 64/128 2",
            ],
        );
    }
    let flags = |name: &str| build(&builtin(name), Kernel::V6_1).of(CpuId(0))[3].flags;
    let placement = SdFlags::BALANCE_FORK | SdFlags::BALANCE_EXEC | SdFlags::WAKE_AFFINE;
    assert!(flags("t32").contains(placement));
    assert!(!flags("t64").intersects(placement), "distance 32 is beyond 30");
}

#[test]
fn nodes_are_direct_backplane_or_mesh() {
    let kind = |name: &str| build(&builtin(name), Kernel::V6_12).numa_topology_type();
    assert_eq!(kind("genoa@nps1"), NumaTopologyType::Direct);
    assert_eq!(kind("genoa@nps4"), NumaTopologyType::Backplane);
    assert_eq!(kind("power10"), NumaTopologyType::Backplane);
    assert_eq!(
        build(&ring().topology(), Kernel::V6_12).numa_topology_type(),
        NumaTopologyType::GluelessMesh
    );
    assert_eq!(ring().topology().node_distance(NodeId(0), NodeId(2)), 30);
}

/// Groups and rings are shared between CPUs, so that the largest machine stays small.
#[test]
fn a_thousand_cpus_need_few_groups() {
    let domains = build(&Machine::new(8, 8, 8, 2).topology(), Kernel::V6_12);
    assert!(domains.groups().len() < 3 * 1024, "{} groups", domains.groups().len());
}
