//! `Domains`: the sched domains and groups of every CPU, as the kernel builds them at boot.

use crate::cpuset::CpuSet;
use crate::ids::CpuId;
use crate::machine::Topology;

mod build;
mod degenerate;
mod flags;
mod fresh;
mod groups;
mod imbalance;
mod levels;
mod numa;

pub use flags::SdFlags;
pub use imbalance::NumaImbalance;
pub use numa::NumaTopologyType;

/// A kernel version whose sched domains are known to the bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kernel {
    /// 6.1: CFS. The package level is called DIE.
    V6_1,
    /// 6.12: EEVDF. Groups take the flags of the child that survives.
    V6_12,
    /// 7.3: one tree of tasks. LLCs have small numbers, and only their topmost domain shares an object.
    V7_3,
}

impl Kernel {
    /// The number, such as `6.12`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
            Self::V7_3 => "7.3",
        }
    }
}

/// The index of a [`SchedGroup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    /// The index into [`Domains::groups`].
    #[inline]
    #[must_use]
    pub const fn idx(self) -> usize {
        self.0 as usize
    }
}

/// A sched domain of one CPU: what never changes in a run.
///
/// Intervals are in milliseconds. What changes (failures, costs, the current interval) is the balancer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedDomain {
    /// The CPUs it balances over.
    pub span: CpuSet,
    /// The number of CPUs of the span.
    pub weight: u32,
    /// What it does and shares.
    pub flags: SdFlags,
    /// Its level's name: SMT, CLS, MC, PKG (DIE in 6.1), NODE, NUMA; CACHE on Power.
    pub name: &'static str,
    /// The index of its level in the kernel's table.
    pub level: u8,
    /// The node distance of a NUMA level.
    pub distance: Option<u32>,
    /// The shortest interval between two balances: the weight.
    pub min_interval: u32,
    /// The longest: twice the weight.
    pub max_interval: u32,
    /// How much rarer a busy CPU balances.
    pub busy_factor: u32,
    /// How much more load the busiest may have, in percent, before anything moves.
    pub imbalance_pct: u32,
    /// How many failed balances make cache-hot tasks movable.
    pub cache_nice_tries: u32,
    /// How many tasks of imbalance a NUMA node may have; see [`NumaImbalance`].
    pub imb_numa_nr: u32,
    /// Whether the CPUs of the span share an object for idle cores and busy counts; since 7.2 only the topmost
    /// domain behind a last-level cache has one.
    pub has_shared: bool,
    ring_start: u32,
    nr_groups: u16,
}

impl SchedDomain {
    /// The number of groups in the ring.
    #[inline]
    #[must_use]
    pub fn nr_groups(&self) -> usize {
        usize::from(self.nr_groups)
    }
}

/// A sched group: one object for all CPUs that see it alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedGroup {
    /// The CPUs of the group.
    pub span: CpuSet,
    /// The number of CPUs.
    pub weight: u32,
    /// The number of cores with a CPU in the group; used from 6.6 on.
    pub cores: u32,
    /// The flags of the child domain, 0 at the bottom.
    pub flags: SdFlags,
    /// The capacity at boot: the sum of the CPUs' capacities.
    pub capacity: u32,
    /// The index of the capacity object, which all CPUs that see the group share.
    pub capacity_id: u32,
    /// The first CPU of the balance mask, which speaks for the group.
    pub balance_cpu: CpuId,
    /// The CPUs that really own the group; the span itself outside NUMA levels.
    pub balance_mask: CpuSet,
}

/// What the kernel looks up without walking the tree.
#[derive(Clone, Copy, Debug)]
struct Shortcuts {
    sd_llc: Option<u8>,
    sd_numa: Option<u8>,
    llc_size: u32,
    llc_id: u32,
    share_id: CpuId,
}

/// The sched domains and groups of all CPUs.
#[derive(Clone, Debug)]
pub struct Domains {
    kernel: Kernel,
    numa_imbalance: NumaImbalance,
    numa_topology_type: NumaTopologyType,
    domains: Vec<SchedDomain>,
    /// By CPU, and one more: where its domains start.
    starts: Vec<usize>,
    groups: Vec<SchedGroup>,
    rings: Vec<GroupId>,
    nr_capacities: usize,
    shortcuts: Vec<Shortcuts>,
}

impl Domains {
    /// Builds the domains of a machine for a kernel, with the NUMA imbalance of one of its versions.
    #[must_use]
    pub fn build(topology: &Topology, kernel: Kernel, numa_imbalance: NumaImbalance) -> Self {
        build::build(topology, kernel, numa_imbalance)
    }

    /// The kernel they are built for.
    #[must_use]
    pub const fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The rule behind `imb_numa_nr`.
    #[must_use]
    pub const fn numa_imbalance(&self) -> NumaImbalance {
        self.numa_imbalance
    }

    /// How the nodes are wired.
    #[must_use]
    pub const fn numa_topology_type(&self) -> NumaTopologyType {
        self.numa_topology_type
    }

    /// The domains of a CPU, bottom-up.
    ///
    /// # Panics
    ///
    /// If the machine has no such CPU.
    #[inline]
    #[must_use]
    pub fn of(&self, cpu: CpuId) -> &[SchedDomain] {
        &self.domains[self.starts[cpu.idx()]..self.starts[cpu.idx() + 1]]
    }

    /// The ring of a domain's groups, from the CPU's own group on.
    #[inline]
    #[must_use]
    pub fn ring(&self, sd: &SchedDomain) -> &[GroupId] {
        &self.rings[sd.ring_start as usize..][..sd.nr_groups()]
    }

    /// The groups of a domain in the order of its ring.
    #[inline]
    pub fn groups_of(
        &self,
        sd: &SchedDomain,
    ) -> impl ExactSizeIterator<Item = &SchedGroup> + Clone {
        self.ring(sd).iter().map(|&group| self.group(group))
    }

    /// The group of the CPU itself: the first of the ring.
    #[inline]
    #[must_use]
    pub fn local_group(&self, sd: &SchedDomain) -> &SchedGroup {
        self.group(self.ring(sd)[0])
    }

    /// A group by its index.
    #[inline]
    #[must_use]
    pub fn group(&self, group: GroupId) -> &SchedGroup {
        &self.groups[group.idx()]
    }

    /// All groups, indexed by [`GroupId`].
    #[must_use]
    pub fn groups(&self) -> &[SchedGroup] {
        &self.groups
    }

    /// The number of capacity objects; `capacity_id` is below it.
    #[must_use]
    pub const fn nr_capacities(&self) -> usize {
        self.nr_capacities
    }

    /// The highest domain whose CPUs share the last-level cache; none if the CPU has that cache alone.
    #[inline]
    #[must_use]
    pub fn sd_llc(&self, cpu: CpuId) -> Option<&SchedDomain> {
        self.shortcuts[cpu.idx()].sd_llc.map(|at| &self.of(cpu)[usize::from(at)])
    }

    /// The number of CPUs behind the last-level cache, 1 without [`Self::sd_llc`].
    #[inline]
    #[must_use]
    pub fn llc_size(&self, cpu: CpuId) -> u32 {
        self.shortcuts[cpu.idx()].llc_size
    }

    /// The kernel's `sd_llc_id`: the first CPU behind the last-level cache; since 7.2 the caches are counted in the
    /// order of those.
    #[inline]
    #[must_use]
    pub fn llc_id(&self, cpu: CpuId) -> u32 {
        self.shortcuts[cpu.idx()].llc_id
    }

    /// The first CPU of the cluster if there is one, else of those behind the last-level cache: the kernel's
    /// `sd_share_id`.
    #[inline]
    #[must_use]
    pub fn share_id(&self, cpu: CpuId) -> CpuId {
        self.shortcuts[cpu.idx()].share_id
    }

    /// The lowest NUMA domain.
    #[inline]
    #[must_use]
    pub fn sd_numa(&self, cpu: CpuId) -> Option<&SchedDomain> {
        self.shortcuts[cpu.idx()].sd_numa.map(|at| &self.of(cpu)[usize::from(at)])
    }

    /// Whether a group of this domain still has the flags of the child that survived.
    ///
    /// False at the bottom, where there is no child; `sd` must be one of `of(cpu)`.
    #[must_use]
    pub fn flags_are_child_flags(&self, cpu: CpuId, sd: &SchedDomain, group: &SchedGroup) -> bool {
        let below = self.of(cpu).iter().take_while(|below| below.level < sd.level).last();
        below.is_some_and(|child| child.flags == group.flags)
    }
}
