//! All tests of this crate in one program: it is compiled and linked once.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod catalog;
mod common;
mod counted;
mod hackbench;
mod kthreads;
mod lab;
mod lab_cache_set;
mod lab_runs;
mod programs;
mod replay;
mod replay_recording;
mod rt_app;
mod rt_app_limits;
mod schbench;
mod spinners;
mod stream;
mod timed;
mod timed_runs;
