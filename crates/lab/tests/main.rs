//! All tests of this crate in one program: it is compiled and linked once.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod bed;
mod births;
mod ciphers;
mod facts_7_3;
mod findings;
mod kthreads;
mod mechanisms;
mod pause;
mod processes;
mod recorder;
mod recordings;
mod runs;
mod series;
mod tg_load;
