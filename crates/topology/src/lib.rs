//! Machines as the Linux scheduler sees them.
//!
//! A [`Topology`] is a machine in one mode: which CPUs share a core, a last-level cache, a NUMA node, a
//! socket; how far apart the nodes are; what the kernel's paths and a cache line cost there.
//! [`Domains`] are the sched domains and groups that a kernel of a given version builds on it at boot.
//!
//! ```
//! use simsched_topology::{CpuId, Distance, Domains, Kernel, NumaImbalance, Topology};
//!
//! let genoa = Topology::resolve("genoa@nps4")?;
//! assert_eq!((genoa.nr_cpus(), genoa.nr_llcs(), genoa.nr_nodes()), (384, 24, 8));
//! assert_eq!(genoa.distance_class(CpuId(0), CpuId(192)), Distance::SameCore);
//!
//! let domains = Domains::build(&genoa, Kernel::V6_12, NumaImbalance::Merged);
//! let names: Vec<_> = domains.of(CpuId(0)).iter().map(|sd| (sd.name, sd.weight)).collect();
//! assert_eq!(names, [("SMT", 2), ("MC", 16), ("NODE", 48), ("NUMA", 192), ("NUMA", 384)]);
//! # Ok::<(), simsched_topology::TopologyError>(())
//! ```
//!
//! # Machine files
//!
//! A machine is a TOML file that a person writes by hand; [`Topology::parse`] reads its text, and never
//! opens a file itself. `topologies/README.md` says what stands in one. A mistake is a [`TopologyError`]
//! with the line, the key, what was found and what was expected.
//!
//! The files of `topologies/` are compiled in ([`builtin_names`]). They lie at the top of the repository;
//! `crates/topology/topologies` is a symbolic link to them, which `cargo package` follows, so that the
//! published crate holds its own copy.
//!
//! # Sets of CPUs
//!
//! [`CpuSet`] is the kernel's `cpumask`: 1,024 bits in line with the window of words in use. Set algebra,
//! wrap-around scans and ranks cost one or two words of work for a set within one LLC.
//!
//! # Held against
//!
//! Domains and groups are compared field by field with what the topology code of Linux 6.1.192 and 6.12.117
//! builds on 23 machines; machines with the lists of CPUs that their data sheets and public logs show.
//!
//! There is no clock, no floating point, no hash map and no I/O here.

mod builtin;
mod costs;
mod cpuset;
mod distance;
mod domains;
mod error;
mod fact;
mod facts;
mod ids;
mod machine;
mod memory;
mod nearest;
mod render;
mod report;
mod spec;

pub use builtin::{builtin_names, builtin_text, modes, split_mode};
pub use costs::{IdleState, OsCosts};
pub use cpuset::{CpuSet, Iter, IterWrap, MAX_CPUS, ParseCpuSetError};
pub use distance::Distance;
pub use domains::{
    Domains, GroupId, Kernel, NumaImbalance, NumaTopologyType, SchedDomain, SchedGroup, SdFlags,
};
pub use error::{Place, TopologyError, on_one_line};
pub use fact::Fact;
pub use facts::{Bandwidth, Cache, CacheToCache, Facts, Frequency, IdleFacts, Latency, Smt};
pub use ids::{CoreId, CpuId, LlcId, NodeId, PackageId};
pub use machine::{Arch, Topology};
pub use memory::{MemoryCaps, MissingBandwidth, WEIGHT_ONE};
pub use nearest::{did_you_mean, nearest};
pub use render::{render_list, render_show};
pub use report::{DomainReport, GroupReport, MachineReport, MachineSummary, NodeReport};
pub use spec::ModeInfo;
