//! What `simsched topo` prints.

use crate::common::Machine;
use simsched_topology::{
    CpuId, Domains, Kernel, MachineReport, MachineSummary, NumaImbalance, Topology, render_list,
    render_show,
};

fn show(topology: &Topology, kernel: Kernel, cpu: u16) -> String {
    let domains = Domains::build(topology, kernel, NumaImbalance::Merged);
    render_show(&MachineReport::of(topology, &domains, CpuId(cpu)))
}

#[test]
fn a_small_machine_is_shown_from_the_top_down() {
    let topology = Topology::resolve("t16").expect("a shipped machine");
    let expected = "\
t16@lab: VM against which the simulator is held: 2 sockets x 2 LLCs x 2 cores x 2 threads
16 CPUs, 8 cores, 4 LLCs, 2 nodes, 2 packages
NUMA type direct, reclaim distance 30

  node  CPUs  LLCs  distances
     0  0-7   0-1   10 21
     1  8-15  2-3   21 10

CPU 5: core 2 (CPUs 4-5), LLC 1 of 4 CPUs, node 0, package 0
sched domains in Linux 6.1, imb_numa_nr by rule merged:
  (since 5.19: a node's number of LLCs, or an eighth of its CPUs if it has one LLC)
  NUMA 0-15, 16 CPUs, node distance up to 21
    flags  BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE SERIALIZE OVERLAP NUMA
    every  16..32 ms, busy x 16, imbalance_pct 117, cache_nice_tries 2, imb_numa_nr 2
    ring   2 groups, capacity 8192 each: [0-7] [8-15]
    DIE 0-7, 8 CPUs
      flags  BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE PREFER_SIBLING
      every  8..16 ms, busy x 16, imbalance_pct 117, cache_nice_tries 1, imb_numa_nr 2
      ring   2 groups, capacity 4096 each: [4-7] [0-3]
      MC 4-7, 4 CPUs
        flags  BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE SHARE_PKG_RESOURCES
               PREFER_SIBLING
        every  4..8 ms, busy x 16, imbalance_pct 117, cache_nice_tries 1, imb_numa_nr 0
        ring   2 groups, capacity 2048 each: [4-5] [6-7]
        SMT 4-5, 2 CPUs
          flags  BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE SHARE_CPUCAPACITY
                 SHARE_PKG_RESOURCES PREFER_SIBLING
          every  2..4 ms, busy x 16, imbalance_pct 110, cache_nice_tries 0, imb_numa_nr 0
          ring   2 groups, capacity 1024 each: [5] [4]
";
    assert_eq!(show(&topology, Kernel::V6_1, 5), expected);
}

#[test]
fn nothing_is_wider_than_100_columns() {
    let mut texts = vec![render_list(&MachineSummary::builtins())];
    for summary in MachineSummary::builtins() {
        for mode in &summary.modes {
            let topology = Topology::builtin(&summary.name, Some(&mode.name)).expect("shipped");
            texts.push(show(&topology, Kernel::V6_12, 0));
        }
    }
    let wide = Machine::new(64, 4, 2, 2).numbering("socket_round_robin").topology();
    texts.push(show(&wide, Kernel::V6_12, 77));
    for line in texts.iter().flat_map(|text| text.lines()) {
        assert!(line.len() <= 100, "{line}");
    }
}

#[test]
fn the_list_stars_the_default_mode() {
    let machines = MachineSummary::builtins();
    let genoa: Vec<_> = machines.into_iter().filter(|m| m.name.starts_with("genoa")).collect();
    assert_eq!(
        render_list(&genoa),
        "\
name        CPUs  LLCs  nodes  modes (* by default)
genoa        384    24      2  nps1*, nps2, nps4
            2 x EPYC 9654, Genoa
genoa-4n32   128     8      4  nps4*, nps2
            64 cores of Genoa in 4 nodes of 32 CPUs
"
    );
}

#[test]
fn owners_are_shown_where_groups_overlap() {
    let ring = Machine::new(4, 1, 2, 1).mode(
        "nodes_per_socket = 1
         distance = [[10, 20, 30, 20], [20, 10, 20, 30], [30, 20, 10, 20], [20, 30, 20, 10]]",
    );
    let text = show(&ring.topology(), Kernel::V6_12, 0);
    assert!(
        text.contains(
            "ring   2 groups, capacity 6144 each: [0-3,6-7 owned by 0-1] [2-7 owned by 4-5]"
        ),
        "{text}"
    );
}

#[test]
fn a_lonely_cpu_has_nobody_to_balance_with() {
    let text = show(&Machine::new(1, 1, 1, 1).topology(), Kernel::V6_12, 0);
    assert!(text.ends_with("none: there is nobody to balance with\n"), "{text}");
}
