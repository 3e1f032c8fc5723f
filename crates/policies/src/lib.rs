//! Scheduling policies: the Linux fair class, to the bit, and a floor to compare with.
//!
//! [`Registry`] has every policy by name, and takes those of its callers; [`catalog`] describes those of
//! this crate. [`fair`] is the fair class: whoever embeds it can read all of its numbers.

#![deny(clippy::float_arithmetic)]

pub mod catalog;
pub mod fair;

mod conformance;
mod error;
mod fifo;
mod registry;
mod tunable;

pub use conformance::{Effort, conformance};
pub use error::PolicyError;
pub use fifo::Fifo;
pub use registry::{
    Chosen, Head, Make, OwnSetting, PolicyEntry, PolicySpec, Registry, RegistryError, own,
};
pub use tunable::Tunable;
