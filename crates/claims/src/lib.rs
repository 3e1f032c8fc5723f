//! Published results of scheduler patches, in a form that a simulation can be held against.
//!
//! A **claim** says: on this machine, with this workload, this policy changed this metric from
//! this to that. [`read`] gets claims out of the text of a file; [`Metric`] is what they may speak
//! of; [`verdict`] says whether a simulated change agrees with the published one; [`Score`] sums up
//! a set of claims. `docs/claims.md` describes the format for those who write it.
//!
//! Nothing here runs anything, reads a file or knows a policy: whoever does the runs hands in ratios.

pub mod claim;
pub mod error;
mod lines;
pub mod metric;
mod reader;
mod renamed;
pub mod score;
pub mod verdict;

pub use claim::{Better, Claim, Kind, Published, Values};
pub use error::{ClaimError, Refused};
pub use metric::{Family, Metric};
pub use reader::read;
pub use score::{Answer, Score};
pub use verdict::{Class, Effect, Verdict};
