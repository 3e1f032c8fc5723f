//! Observers that every run may carry: numbers, a digest, a check of the world, a recorder.

mod digest;
mod histogram;
mod invariants;
mod life;
mod llc;
mod lockstep;
mod series;
mod spans;
mod stats;
mod wasted;

pub use digest::Digest;
pub use histogram::Histogram;
pub use invariants::{Invariants, Violation};
pub use llc::{ByCause, LlcRow, LlcSeries};
pub use lockstep::{Divergence, Recorder, Step, lockstep};
pub use series::CpuSeries;
pub use spans::SpanStats;
pub use stats::{MarkStats, Stats};

#[cfg(test)]
mod tests;
