//! Scheduling policies: the Linux fair class, to the bit, and a floor to compare with.

#![deny(clippy::float_arithmetic)]

pub mod fair;
