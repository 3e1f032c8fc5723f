//! Holds the simulator against recordings of a real kernel.
//!
//! The kernel lab runs Linux on small virtual machines in deterministic virtual time, and records
//! scenarios with the kernel's own tracer. A [`Folder`](folder::Folder) is such a recording of one
//! kernel on one machine. This crate reads it, runs the same scenarios on the simulator, measures
//! both with the same code ([`metrics`]), and judges: a metric is met when it lies in the range over
//! the kernel's seeds, or close to their mean, by how far the kernel itself can be trusted
//! ([`verdict`]).
//!
//! Reading files is all the input there is here; what is printed or written is the command's.

pub mod classes;
pub mod counted;
pub mod error;
pub mod event;
pub mod folder;
pub mod heavy;
pub mod judge;
mod latency;
pub mod machine;
pub mod metrics;
pub mod once;
pub mod outside;
pub mod probes;
pub mod recorder;
pub mod reference;
pub mod results;
pub mod role;
pub mod run;
pub mod series;
pub mod shape;
pub mod summary;
mod together;
pub mod tracefs;
pub mod value;
pub mod verdict;
