//! All tests of this crate in one program: it is compiled and linked once.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod agenda;
mod ipc;
mod pelt;
mod simulator;
