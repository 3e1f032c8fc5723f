//! All tests of this crate in one program: it is compiled and linked once.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod builtin;
mod common;
mod corpus;
mod damage;
mod lscpu;
mod makers;
mod sizes;
mod traps;
