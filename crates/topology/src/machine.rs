//! `Topology`: a machine in one mode, as tables indexed by id.

use crate::builtin;
use crate::costs::{IdleState, OsCosts};
use crate::cpuset::CpuSet;
use crate::distance::Distance;
use crate::error::TopologyError;
use crate::fact::Fact;
use crate::facts::Facts;
use crate::ids::{CoreId, CpuId, LlcId, NodeId, PackageId};
use crate::spec;

/// Whose level table the kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// SMT, CLS, MC, PKG; no PKG when a package holds several nodes.
    X86,
    /// SMT, CACHE, MC when firmware describes coregroups, PKG.
    Power,
    /// SMT, CLS, MC, PKG, whatever a package holds: `default_topology` of `kernel/sched/topology.c`,
    /// as arm64 uses it.
    Generic,
}

/// Where one CPU lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) core: CoreId,
    pub(crate) llc: LlcId,
    pub(crate) node: NodeId,
    pub(crate) package: PackageId,
}

/// A machine in one mode: what the kernel would find when it boots there.
///
/// Immutable. Every accessor is a table lookup.
///
/// # Panics
///
/// Every accessor panics on an id that the machine does not have.
#[derive(Clone, Debug)]
pub struct Topology {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) mode: String,
    pub(crate) arch: Arch,
    pub(crate) cpus: CpuSet,
    /// By CPU.
    pub(crate) seats: Vec<Seat>,
    /// By core, LLC, node and package: the CPUs in it.
    pub(crate) cores: Vec<CpuSet>,
    pub(crate) llcs: Vec<CpuSet>,
    /// By LLC, where some have a size of their own.
    pub(crate) llc_kib: Vec<Option<u64>>,
    /// By LLC: how many CPUs share it in hardware.
    pub(crate) llc_sharers: Vec<u32>,
    pub(crate) nodes: Vec<CpuSet>,
    pub(crate) packages: Vec<CpuSet>,
    /// L2 clusters; empty when each core has its own L2.
    pub(crate) clusters: Vec<CpuSet>,
    /// Power coregroups; empty when firmware describes none.
    pub(crate) coregroups: Vec<CpuSet>,
    /// Row by row: `nodes * nodes` distances, 10 on the diagonal.
    pub(crate) distances: Vec<u32>,
    pub(crate) reclaim_distance: u32,
    /// By CPU and by node: the number that the machine's own kernel gives it.
    pub(crate) os_cpus: Vec<u32>,
    pub(crate) os_nodes: Vec<u32>,
    pub(crate) costs: OsCosts,
    pub(crate) cost_facts: Vec<(&'static str, Fact)>,
    pub(crate) idle_states: Vec<IdleState>,
    /// By distance, in nanoseconds.
    pub(crate) line_transfer: [u32; 6],
    pub(crate) facts: Facts,
}

/// The compute capacity of a core that is as fast as any. Source: `include/linux/sched.h`.
const SCHED_CAPACITY_SCALE: u32 = 1024;

impl Topology {
    /// Reads a machine from the text of its file, in one of its modes or in its default mode.
    ///
    /// `file` is only used in messages.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with the text, with its line and key.
    pub fn parse(text: &str, file: &str, mode: Option<&str>) -> Result<Self, TopologyError> {
        spec::read(text, file, mode)
    }

    /// A machine that is built in, such as `genoa` or `genoa.toml`.
    ///
    /// # Errors
    ///
    /// When there is no such machine, or it has no such mode.
    pub fn builtin(name: &str, mode: Option<&str>) -> Result<Self, TopologyError> {
        let (file, text) = builtin::find(name)?;
        Self::parse(text, file, mode)
    }

    /// A machine that is built in, by the text that a command line gives: `genoa`, `genoa.toml@nps4`.
    ///
    /// A caller that reads files looks for a file of that name first; see [`crate::split_mode`].
    ///
    /// # Errors
    ///
    /// As [`Topology::builtin`].
    pub fn resolve(text: &str) -> Result<Self, TopologyError> {
        let (name, mode) = builtin::split_mode(text);
        Self::builtin(name, mode)
    }

    /// The name of the machine, such as `genoa`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line about the machine.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Whose level table the kernel uses.
    #[must_use]
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The mode it runs in, such as `nps4`.
    #[must_use]
    pub fn mode(&self) -> &str {
        &self.mode
    }

    /// The number of CPUs; their ids are `0..nr_cpus`.
    #[inline]
    #[must_use]
    pub fn nr_cpus(&self) -> usize {
        self.seats.len()
    }

    /// All CPUs.
    #[inline]
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// The number of cores.
    #[inline]
    #[must_use]
    pub fn nr_cores(&self) -> usize {
        self.cores.len()
    }

    /// The number of last-level caches.
    #[inline]
    #[must_use]
    pub fn nr_llcs(&self) -> usize {
        self.llcs.len()
    }

    /// The number of NUMA nodes.
    #[inline]
    #[must_use]
    pub fn nr_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The number of packages.
    #[inline]
    #[must_use]
    pub fn nr_packages(&self) -> usize {
        self.packages.len()
    }

    /// The number that the kernel of the real machine gives a CPU.
    ///
    /// It is the number here, unless some numbers are missing there: CPUs that are off, or Power in a
    /// lower SMT mode. The order is the same, so the kernel's walks over masks are, too.
    #[must_use]
    pub fn os_cpu(&self, cpu: CpuId) -> u32 {
        self.os_cpus[cpu.idx()]
    }

    /// The number that the kernel of the real machine gives a node; see [`Topology::os_cpu`].
    #[must_use]
    pub fn os_node(&self, node: NodeId) -> u32 {
        self.os_nodes[node.idx()]
    }

    /// The core of a CPU.
    #[inline]
    #[must_use]
    pub fn core_of(&self, cpu: CpuId) -> CoreId {
        self.seats[cpu.idx()].core
    }

    /// The last-level cache of a CPU.
    #[inline]
    #[must_use]
    pub fn llc_of(&self, cpu: CpuId) -> LlcId {
        self.seats[cpu.idx()].llc
    }

    /// The NUMA node of a CPU.
    #[inline]
    #[must_use]
    pub fn node_of(&self, cpu: CpuId) -> NodeId {
        self.seats[cpu.idx()].node
    }

    /// The package of a CPU.
    #[inline]
    #[must_use]
    pub fn package_of(&self, cpu: CpuId) -> PackageId {
        self.seats[cpu.idx()].package
    }

    /// The CPUs of the core of `cpu`: the kernel's `cpu_smt_mask`.
    #[inline]
    #[must_use]
    pub fn smt_mask(&self, cpu: CpuId) -> &CpuSet {
        &self.cores[self.core_of(cpu).idx()]
    }

    /// The CPUs of a core.
    #[inline]
    #[must_use]
    pub fn core_span(&self, core: CoreId) -> &CpuSet {
        &self.cores[core.idx()]
    }

    /// The CPUs behind a last-level cache.
    #[inline]
    #[must_use]
    pub fn llc_span(&self, llc: LlcId) -> &CpuSet {
        &self.llcs[llc.idx()]
    }

    /// The size in KiB of a last-level cache, before any cut at a NUMA node, if it is known: its own, or
    /// that of all (`[cache_kib] l3`).
    #[must_use]
    pub fn llc_kib(&self, llc: LlcId) -> Option<u64> {
        let own = self.llc_kib.get(llc.idx()).copied().flatten();
        own.or_else(|| self.facts.cache_kib.l3.as_ref().map(Fact::rounded))
    }

    /// How many CPUs share a last-level cache in hardware, before any cut at a NUMA node: the weight of
    /// `shared_cpu_map` of the kernel's cache description.
    #[must_use]
    pub fn llc_sharers(&self, llc: LlcId) -> u32 {
        self.llc_sharers[llc.idx()]
    }

    /// The CPUs of a NUMA node.
    #[inline]
    #[must_use]
    pub fn node_span(&self, node: NodeId) -> &CpuSet {
        &self.nodes[node.idx()]
    }

    /// The CPUs of a package.
    #[inline]
    #[must_use]
    pub fn package_span(&self, package: PackageId) -> &CpuSet {
        &self.packages[package.idx()]
    }

    /// The distance between two nodes as firmware gives it: 10 is local.
    #[inline]
    #[must_use]
    pub fn node_distance(&self, a: NodeId, b: NodeId) -> u32 {
        self.distances[a.idx() * self.nodes.len() + b.idx()]
    }

    /// The compute capacity of a CPU: 1024, since cores of different capacity are not simulated.
    #[inline]
    #[must_use]
    pub fn capacity(&self, cpu: CpuId) -> u32 {
        debug_assert!(self.cpus.contains(cpu), "CPU {cpu} is not of this machine");
        SCHED_CAPACITY_SCALE
    }

    /// How far apart two CPUs are.
    #[inline]
    #[must_use]
    pub fn distance_class(&self, a: CpuId, b: CpuId) -> Distance {
        let (x, y) = (self.seats[a.idx()], self.seats[b.idx()]);
        if a == b {
            Distance::SameCpu
        } else if x.core == y.core {
            Distance::SameCore
        } else if x.llc == y.llc {
            Distance::SameLlc
        } else if x.package != y.package {
            Distance::CrossSocket
        } else if x.node == y.node {
            Distance::SameNode
        } else {
            Distance::SameSocket
        }
    }

    /// What the kernel's paths cost here.
    #[inline]
    #[must_use]
    pub fn costs(&self) -> &OsCosts {
        &self.costs
    }

    /// The idle states, from shallow to deep.
    #[inline]
    #[must_use]
    pub fn idle_states(&self) -> &[IdleState] {
        &self.idle_states
    }

    /// The node distance beyond which a sched domain loses fork, exec and affine balancing.
    ///
    /// Source: `node_reclaim_distance`, 30, and 32 on AMD Zen.
    #[inline]
    #[must_use]
    pub fn reclaim_distance(&self) -> u32 {
        self.reclaim_distance
    }

    /// What moving a modified cache line costs, in nanoseconds, by distance; 0 on the same CPU.
    #[inline]
    #[must_use]
    pub fn line_transfer_ns(&self, distance: Distance) -> u32 {
        self.line_transfer[distance.idx()]
    }

    /// The costs with their ranges and sources, in the order of [`OsCosts::NAMES`].
    #[must_use]
    pub fn cost_facts(&self) -> &[(&'static str, Fact)] {
        &self.cost_facts
    }

    /// What is known of the hardware: latencies, transfers, bandwidth, clocks, caches, SMT.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The same machine with other prices.
    #[must_use]
    pub fn with_costs(mut self, costs: OsCosts) -> Self {
        self.costs = costs;
        self
    }

    /// The same machine with other clocks, caches and threads. Prices and transfers stay; another size of
    /// the last-level cache is that of all of them.
    #[must_use]
    pub fn with_facts(mut self, facts: Facts) -> Self {
        if facts.cache_kib.l3 != self.facts.cache_kib.l3 {
            self.llc_kib.clear();
        }
        self.facts = facts;
        self
    }

    /// The same machine with other idle states, as when firmware or an operator turns some off.
    #[must_use]
    pub fn with_idle_states(mut self, idle_states: Vec<IdleState>) -> Self {
        self.idle_states = idle_states;
        self
    }
}
