//! The worked values of `imb_numa_nr`, for every rule that was discussed.

use crate::common::{Machine, one_node_each, snc};
use simsched_topology::{CpuId, Domains, Kernel, MachineReport, NumaImbalance, SdFlags, Topology};

fn build(topology: &Topology, kernel: Kernel) -> Domains {
    Domains::build(topology, kernel, NumaImbalance::Merged)
}

fn builtin(name: &str) -> Topology {
    Topology::resolve(name).expect("a shipped machine")
}

/// The allowance at the NUMA levels of CPU 0.
fn numa_values(topology: &Topology, rule: NumaImbalance) -> Vec<u32> {
    let domains = Domains::build(topology, Kernel::V6_12, rule);
    let numa = domains.of(CpuId(0)).iter().filter(|sd| sd.flags.contains(SdFlags::NUMA));
    numa.map(|sd| sd.imb_numa_nr).collect()
}

/// Invariant 5: two sockets of Zen 3, the case that was debated.
#[test]
fn imb_numa_nr_of_zen3_by_version() {
    use NumaImbalance::{Merged, V3, V4, V4_1, V4_1Fix, V4_2, V5_16, V5_18};
    let check = |mode: &str, rule, expected: &[u32]| {
        let topology = builtin(&format!("milan-7763@{mode}"));
        assert_eq!(numa_values(&topology, rule), expected, "{mode} {}", rule.name());
    };
    for rule in [Merged, V5_18] {
        check("nps1", rule, &[8]);
        check("nps2", rule, &[4, 8]);
        check("nps4", rule, &[2, 4]);
    }
    for rule in [V4_1, V4_1Fix, V4_2] {
        check("nps1", rule, &[2]);
        check("nps2", rule, &[2, 4]);
        check("nps4", rule, &[2, 4]);
    }
    check("nps1", V4, &[4]);
    check("nps2", V4, &[4, 8]);
    check("nps4", V4, &[8, 16]);
    check("nps1", V3, &[1]);
    check("nps2", V3, &[1, 1]);
    check("nps4", V3, &[1, 1]);
    for mode in ["nps1", "nps2", "nps4"] {
        let none = numa_values(&builtin(&format!("milan-7763@{mode}")), V5_16);
        assert!(none.iter().all(|&value| value == 0), "5.16 stores nothing");
    }
    let limits = [256, 128].map(NumaImbalance::limit_5_16);
    assert_eq!(limits, [64, 32], "a quarter of each NUMA level");
}

/// Invariant 5: the other machines, merged form (and 5.18 where it differs).
#[test]
fn imb_numa_nr_of_other_machines() {
    use NumaImbalance::{Merged, V4, V4_1, V5_18};
    let check = |topology: &Topology, rule, expected: &[u32]| {
        assert_eq!(
            numa_values(topology, rule),
            expected,
            "{} {}",
            topology.name(),
            topology.mode()
        );
    };
    check(&builtin("genoa@nps1"), Merged, &[12]);
    check(&builtin("genoa@nps2"), Merged, &[6, 12]);
    check(&builtin("genoa@nps4"), Merged, &[3, 6]);
    check(&builtin("spr@snc-off"), Merged, &[14]);
    check(&builtin("spr@snc-off"), V5_18, &[28]);
    check(&snc(56, 2, 2), Merged, &[7, 14]);
    check(&builtin("spr@snc4"), Merged, &[3, 6]);
    check(&builtin("icelake"), Merged, &[8]);
    check(&snc(32, 2, 2), Merged, &[4, 8]);
    check(&builtin("cascadelake"), Merged, &[6]);
    check(&one_node_each(24, 1), Merged, &[3]);

    // Zen 2: LLCs of 8 CPUs.
    let rome = |nodes: usize| {
        let near = if nodes > 1 { "same_socket = 12\n" } else { "" };
        let mode = format!("nodes_per_socket = {nodes}\n{near}cross_socket = 32");
        Machine::new(2, 16, 4, 2).mode(&mode).topology()
    };
    check(&rome(1), Merged, &[16]);
    check(&rome(2), Merged, &[8, 16]);
    check(&rome(4), Merged, &[4, 8]);
    check(&rome(1), V4, &[4]);
    check(&rome(4), V4, &[8, 16]);
    check(&rome(4), V4_1, &[2, 4]);
}

/// Invariant 5: the levels in front of NUMA have the value as well.
#[test]
fn imb_numa_nr_starts_above_the_llc() {
    let check = |topology: &Topology, expected: &[u32]| {
        let domains = build(topology, Kernel::V6_12);
        let all: Vec<u32> = domains.of(CpuId(0)).iter().map(|sd| sd.imb_numa_nr).collect();
        assert_eq!(all, expected, "{} {}", topology.name(), topology.mode());
    };
    check(&builtin("milan-7763@nps1"), &[0, 0, 8, 8]);
    check(&builtin("milan-7763@nps2"), &[0, 0, 4, 4, 8]);
    check(&builtin("milan-7763@nps4"), &[0, 0, 2, 2, 4]);
    check(&builtin("genoa@nps4"), &[0, 0, 3, 3, 6]);
    check(&Machine::new(1, 8, 8, 2).topology(), &[0, 0, 8]);
    check(
        &Machine::new(1, 8, 8, 2).mode("nodes_per_socket = 4\nsame_socket = 12").topology(),
        &[0, 0, 2, 2],
    );
    check(&Machine::new(1, 2, 8, 2).topology(), &[0, 0, 2]);
}

#[test]
fn every_rule_has_a_name_and_a_line_of_its_own() {
    for (n, rule) in NumaImbalance::ALL.into_iter().enumerate() {
        assert_eq!(NumaImbalance::from_name(rule.name()), Some(rule));
        assert!(!rule.doc().is_empty() && rule.doc().len() <= 90, "{}", rule.doc());
        assert!(NumaImbalance::ALL[..n].iter().all(|other| other.doc() != rule.doc()));
    }
    for (name, rule) in [("v5.16", NumaImbalance::V5_16), ("v5.18", NumaImbalance::V5_18)] {
        assert_eq!(NumaImbalance::from_name(name), Some(rule));
    }
    for name in ["v5", "4.1", "vmerged", "vv4", ""] {
        assert_eq!(NumaImbalance::from_name(name), None);
    }
}

/// The rule with which the domains are built is the one that the report shows.
#[test]
fn a_report_shows_the_rule_that_was_asked_for() {
    let machine = Topology::resolve("milan-7763").expect("a shipped machine");
    for (rule, expected) in [(NumaImbalance::Merged, 8), (NumaImbalance::V3, 1)] {
        let domains = Domains::build(&machine, Kernel::V6_12, rule);
        let report = MachineReport::of(&machine, &domains, CpuId(0));
        let first = report.domains.iter().find(|d| d.domain.imb_numa_nr > 0).expect("a node");
        assert_eq!((report.numa_imbalance, first.domain.imb_numa_nr), (rule.name(), expected));
    }
}
