//! All tests of this crate in one program: it is compiled and linked once.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod affinity;
mod perf_sched;
mod perfetto;
mod reader;
mod tracedat;
