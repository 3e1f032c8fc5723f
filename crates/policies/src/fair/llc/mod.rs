//! What a policy that knows of last-level caches (LLCs) remembers: which processes there are and how
//! many threads they have (`processes`), how much of each CPU's recent time each of them has had
//! (`occupancy`), and how the LLCs are numbered (`ids`); and cache-aware wakeups (`wakeup`).

mod account;
mod cache_aware;
mod homes;
mod ids;
mod jiffies;
mod limits;
mod numa;
mod occupancy;
mod processes;
mod scan;
mod state;
#[cfg(feature = "testkit")]
mod testkit;
mod tunables;
mod verdict;
mod version;
mod wakeup;

pub use cache_aware::CacheAware;
pub use ids::LlcIds;
pub use limits::LlcLimits;
pub use occupancy::{OCCUPANCY_ONE, Occupancy};
pub use processes::{MmId, Processes};
pub use scan::update_avg_scale;
pub(in crate::fair) use state::OnRq;
pub use state::RqLlc;
pub use tunables::LlcTunables;
pub use verdict::{Direction, LlcRule, LlcStats, LlcVerdict};
pub use version::{CacheAwareVersion, Footprint};
pub(in crate::fair) use wakeup::WakeupRules;
pub use wakeup::{LlcAvg, LlcRoom, LlcWakeup, WakeupLevel};
