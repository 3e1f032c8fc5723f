//! Benchmarks of simsched, and what they share: machines by size, programs, the plan of the cells, and
//! the table of instruction counts.

pub mod cells;
pub mod counts;
pub mod digests;
pub mod judge;
mod pairs;
mod run;

pub use run::{Counts, Run, machine, run_once, simulator, simulator_on, to_the_end};
