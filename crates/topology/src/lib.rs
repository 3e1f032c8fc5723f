//! Machines as the Linux scheduler sees them.

mod costs;
mod cpuset;
mod distance;
mod ids;
mod machine;

pub use costs::{IdleState, OsCosts};
pub use cpuset::{CpuSet, Iter, IterWrap, MAX_CPUS, ParseCpuSetError};
pub use distance::Distance;
pub use ids::{CoreId, CpuId, LlcId, NodeId, PackageId};
pub use machine::Topology;
