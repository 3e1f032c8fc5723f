//! Scheduling policies: the Linux fair class, to the bit, and a floor to compare with.
//!
//! [`catalog`] knows every policy by name. [`fair`] is the fair class: whoever embeds it can read
//! all of its numbers.

#![deny(clippy::float_arithmetic)]

pub mod catalog;
pub mod fair;

mod error;
mod fifo;

pub use error::PolicyError;
pub use fifo::Fifo;
