//! What a policy that knows of last-level caches (LLCs) remembers: which processes there are and how
//! many threads they have (`processes`), how much of each CPU's recent time each of them has had
//! (`occupancy`), and how the LLCs are numbered (`ids`).

mod ids;
mod occupancy;
mod processes;

pub use ids::LlcIds;
pub use occupancy::{OCCUPANCY_ONE, Occupancy};
pub use processes::{MmId, Processes};
