//! `Machine`: a machine and the sched domains of one CPU as JSON.

use serde::Serialize;
use simsched_topology::{DomainReport, GroupReport, MachineReport, NodeReport};

/// The version of this JSON; `docs/json.md` describes it.
const SCHEMA: u32 = 1;

/// The serializable mirror of a [`MachineReport`].
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    schema: u32,
    name: String,
    mode: String,
    title: String,
    nr_cpus: usize,
    nr_cores: usize,
    nr_llcs: usize,
    nr_nodes: usize,
    nr_packages: usize,
    l3_kib: Option<u64>,
    reclaim_distance: u32,
    numa_topology_type: &'static str,
    nodes: Vec<Node>,
    kernel: &'static str,
    numa_imbalance: &'static str,
    cpu: Cpu,
    /// Bottom-up.
    sched_domains: Vec<Domain>,
}

#[derive(Debug, Serialize)]
struct Node {
    node: u16,
    cpus: String,
    llcs: Vec<u16>,
    distances: Vec<u32>,
}

#[derive(Debug, Serialize)]
struct Cpu {
    cpu: u16,
    core: u16,
    smt_mask: String,
    llc: u16,
    llc_size: u32,
    node: u16,
    package: u16,
}

#[derive(Debug, Serialize)]
struct Domain {
    name: &'static str,
    level: u8,
    distance: Option<u32>,
    span: String,
    weight: u32,
    flags: Vec<&'static str>,
    min_interval_ms: u32,
    max_interval_ms: u32,
    busy_factor: u32,
    imbalance_pct: u32,
    cache_nice_tries: u32,
    imb_numa_nr: u32,
    imb_allowed_below: Option<u32>,
    /// In ring order, the CPU's own group first.
    groups: Vec<Group>,
}

#[derive(Debug, Serialize)]
struct Group {
    span: String,
    balance_cpu: u16,
    balance_mask: String,
    capacity: u32,
    cores: u32,
    flags: Vec<&'static str>,
}

impl From<MachineReport> for Machine {
    fn from(report: MachineReport) -> Machine {
        Machine {
            schema: SCHEMA,
            cpu: Cpu::of(&report),
            name: report.name,
            mode: report.mode,
            title: report.title,
            nr_cpus: report.nr_cpus,
            nr_cores: report.nr_cores,
            nr_llcs: report.nr_llcs,
            nr_nodes: report.nodes.len(),
            nr_packages: report.nr_packages,
            l3_kib: report.l3_kib,
            reclaim_distance: report.reclaim_distance,
            numa_topology_type: report.numa_topology_type,
            nodes: report.nodes.into_iter().map(Node::from).collect(),
            kernel: report.kernel,
            numa_imbalance: report.numa_imbalance,
            sched_domains: report.domains.into_iter().map(Domain::from).collect(),
        }
    }
}

impl From<NodeReport> for Node {
    fn from(report: NodeReport) -> Node {
        Node {
            node: report.node.0,
            cpus: report.cpus.to_string(),
            llcs: report.llcs.iter().map(|llc| llc.0).collect(),
            distances: report.distances,
        }
    }
}

impl Cpu {
    fn of(report: &MachineReport) -> Cpu {
        Cpu {
            cpu: report.cpu.0,
            core: report.core.0,
            smt_mask: report.smt_mask.to_string(),
            llc: report.llc.0,
            llc_size: report.llc_size,
            node: report.node.0,
            package: report.package.0,
        }
    }
}

impl From<DomainReport> for Domain {
    fn from(report: DomainReport) -> Domain {
        let sd = report.domain;
        Domain {
            name: sd.name,
            level: sd.level,
            distance: sd.distance,
            span: sd.span.to_string(),
            weight: sd.weight,
            flags: report.flags,
            min_interval_ms: sd.min_interval,
            max_interval_ms: sd.max_interval,
            busy_factor: sd.busy_factor,
            imbalance_pct: sd.imbalance_pct,
            cache_nice_tries: sd.cache_nice_tries,
            imb_numa_nr: sd.imb_numa_nr,
            imb_allowed_below: report.imb_allowed_below,
            groups: report.groups.into_iter().map(Group::from).collect(),
        }
    }
}

impl From<GroupReport> for Group {
    fn from(report: GroupReport) -> Group {
        Group {
            span: report.cpus.to_string(),
            balance_cpu: report.balance_cpu.0,
            balance_mask: report.balance_mask.to_string(),
            capacity: report.capacity,
            cores: report.cores,
            flags: report.flags,
        }
    }
}
