//! What there is to say about machines, as plain data: the rows of `topo list`, the parts of `topo show`.

use crate::builtin::{builtin_names, builtin_text, modes};
use crate::cpuset::CpuSet;
use crate::domains::{Domains, SchedDomain, SdFlags};
use crate::error::TopologyError;
use crate::ids::{CoreId, CpuId, LlcId, NodeId, PackageId};
use crate::machine::Topology;
use crate::spec::ModeInfo;

/// A machine that can be chosen, with its size in its default mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSummary {
    /// The name to choose it by.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// The number of CPUs.
    pub nr_cpus: usize,
    /// The number of last-level caches in the default mode.
    pub nr_llcs: usize,
    /// The number of NUMA nodes in the default mode.
    pub nr_nodes: usize,
    /// The modes it has.
    pub modes: Vec<ModeInfo>,
}

impl MachineSummary {
    /// The summary of a machine file; `file` is used in messages.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with the text.
    pub fn of(text: &str, file: &str) -> Result<Self, TopologyError> {
        let topology = Topology::parse(text, file, None)?;
        Ok(Self {
            name: topology.name().to_owned(),
            title: topology.title().to_owned(),
            nr_cpus: topology.nr_cpus(),
            nr_llcs: topology.nr_llcs(),
            nr_nodes: topology.nr_nodes(),
            modes: modes(text, file)?,
        })
    }

    /// The machines that are built in.
    ///
    /// # Panics
    ///
    /// Never: a test reads every one of them.
    #[must_use]
    pub fn builtins() -> Vec<Self> {
        let summary = |name| {
            let text = builtin_text(name).expect("a name of the list");
            Self::of(text, name).expect("every shipped machine is right")
        };
        builtin_names().into_iter().map(summary).collect()
    }
}

/// A NUMA node of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// Which.
    pub node: NodeId,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// The last-level caches with a CPU in it.
    pub llcs: Vec<LlcId>,
    /// Its distance to every node.
    pub distances: Vec<u32>,
}

/// A sched group as one CPU sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupReport {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// The CPU that speaks for it.
    pub balance_cpu: CpuId,
    /// The CPUs that own it.
    pub balance_mask: CpuSet,
    /// Its capacity at boot.
    pub capacity: u32,
    /// The number of its cores.
    pub cores: u32,
    /// The names of its flags.
    pub flags: Vec<&'static str>,
}

/// A sched domain of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainReport {
    /// The domain itself.
    pub domain: SchedDomain,
    /// Of a NUMA domain whose rule stores no `imb_numa_nr`: below how many running tasks an
    /// imbalance is tolerated.
    pub imb_allowed_below: Option<u32>,
    /// The names of its flags in this kernel, with the prefix `SD_`.
    pub flags: Vec<&'static str>,
    /// Its groups in the order of the ring.
    pub groups: Vec<GroupReport>,
}

/// A machine in one mode, and the sched domains of one of its CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineReport {
    /// The name of the machine.
    pub name: String,
    /// Its mode.
    pub mode: String,
    /// One line about it.
    pub title: String,
    /// The number of CPUs, cores, last-level caches and packages.
    pub nr_cpus: usize,
    /// See `nr_cpus`.
    pub nr_cores: usize,
    /// See `nr_cpus`.
    pub nr_llcs: usize,
    /// See `nr_cpus`.
    pub nr_packages: usize,
    /// The L3 that hardware shares, in KiB, if known.
    pub l3_kib: Option<u64>,
    /// How the kernel of the real machine numbers CPUs and nodes, if otherwise than here.
    pub os_numbers: Option<String>,
    /// How the nodes are wired.
    pub numa_topology_type: &'static str,
    /// The node distance beyond which domains lose their placement flags.
    pub reclaim_distance: u32,
    /// The nodes.
    pub nodes: Vec<NodeReport>,
    /// The kernel, such as `6.12`.
    pub kernel: &'static str,
    /// The rule behind `imb_numa_nr`.
    pub numa_imbalance: &'static str,
    /// What that rule is, in one line.
    pub numa_imbalance_doc: &'static str,
    /// The CPU whose domains follow.
    pub cpu: CpuId,
    /// Where it lies.
    pub core: CoreId,
    /// The CPUs of its core.
    pub smt_mask: CpuSet,
    /// See `core`.
    pub llc: LlcId,
    /// See `core`.
    pub node: NodeId,
    /// See `core`.
    pub package: PackageId,
    /// The number of CPUs behind its last-level cache.
    pub llc_size: u32,
    /// Its sched domains, bottom-up.
    pub domains: Vec<DomainReport>,
}

impl MachineReport {
    /// What there is to say about a machine and one of its CPUs.
    ///
    /// # Panics
    ///
    /// If the machine has no such CPU, or the domains are another machine's.
    #[must_use]
    pub fn of(topology: &Topology, domains: &Domains, cpu: CpuId) -> Self {
        Self {
            name: topology.name().to_owned(),
            mode: topology.mode().to_owned(),
            title: topology.title().to_owned(),
            nr_cpus: topology.nr_cpus(),
            nr_cores: topology.nr_cores(),
            nr_llcs: topology.nr_llcs(),
            nr_packages: topology.nr_packages(),
            os_numbers: os_numbers(topology),
            l3_kib: topology.facts().cache_kib.l3.as_ref().map(crate::Fact::rounded),
            numa_topology_type: domains.numa_topology_type().name(),
            reclaim_distance: topology.reclaim_distance(),
            nodes: (0..topology.nr_nodes()).map(|n| node(topology, NodeId::new(n))).collect(),
            kernel: domains.kernel().name(),
            numa_imbalance: domains.numa_imbalance().name(),
            numa_imbalance_doc: domains.numa_imbalance().doc(),
            cpu,
            core: topology.core_of(cpu),
            smt_mask: *topology.smt_mask(cpu),
            llc: topology.llc_of(cpu),
            node: topology.node_of(cpu),
            package: topology.package_of(cpu),
            llc_size: domains.llc_size(cpu),
            domains: domains.of(cpu).iter().map(|sd| domain(domains, sd)).collect(),
        }
    }
}

fn node(topology: &Topology, node: NodeId) -> NodeReport {
    let cpus = *topology.node_span(node);
    let llcs = (0..topology.nr_llcs()).map(LlcId::new);
    let distance = |n| topology.node_distance(node, NodeId::new(n));
    NodeReport {
        node,
        cpus,
        llcs: llcs.filter(|&llc| topology.llc_span(llc).intersects(&cpus)).collect(),
        distances: (0..topology.nr_nodes()).map(distance).collect(),
    }
}

fn domain(domains: &Domains, sd: &SchedDomain) -> DomainReport {
    let kernel = domains.kernel();
    let groups = domains.groups_of(sd).map(|group| GroupReport {
        cpus: group.span,
        balance_cpu: group.balance_cpu,
        balance_mask: group.balance_mask,
        capacity: group.capacity,
        cores: group.cores,
        flags: group.flags.names(kernel).collect(),
    });
    let limit = domains.numa_imbalance().unstored_limit(sd.weight);
    DomainReport {
        domain: sd.clone(),
        imb_allowed_below: limit.filter(|_| sd.flags.contains(SdFlags::NUMA)),
        flags: sd.flags.names(kernel).collect(),
        groups: groups.collect(),
    }
}

/// The numbers of CPUs and nodes where the kernel of the real machine leaves some out.
fn os_numbers(topology: &Topology) -> Option<String> {
    let nodes: Vec<u32> =
        (0..topology.nr_nodes()).map(|n| topology.os_node(NodeId::new(n))).collect();
    let cpus: Vec<u32> = topology.cpus().iter().map(|cpu| topology.os_cpu(cpu)).collect();
    let is_plain =
        |numbers: &[u32]| numbers.iter().zip(0..).all(|(number, plain)| *number == plain);
    let told = [("CPUs", cpus), ("nodes", nodes)];
    let told: Vec<String> = told
        .iter()
        .filter(|(_, numbers)| !is_plain(numbers))
        .map(|(what, numbers)| format!("{what} {}", ranges(numbers)))
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Rising numbers as a list such as `0-3,8`.
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}
