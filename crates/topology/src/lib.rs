//! Machines as the Linux scheduler sees them.

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
pub use error::{Place, TopologyError};
pub use fact::Fact;
pub use facts::{Bandwidth, Cache, CacheToCache, Facts, Frequency, IdleFacts, Latency, Smt};
pub use ids::{CoreId, CpuId, LlcId, NodeId, PackageId};
pub use machine::{Arch, Topology};
pub use nearest::{did_you_mean, nearest};
pub use render::{render_list, render_show};
pub use report::{DomainReport, GroupReport, MachineReport, MachineSummary, NodeReport};
pub use spec::ModeInfo;
