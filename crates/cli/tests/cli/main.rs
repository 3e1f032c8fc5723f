//! The command `simsched` as its users run it.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod bad_input;
#[cfg(target_os = "linux")]
mod bisect;
mod book;
mod cache_aware_wakeup;
mod common;
mod compare;
mod determinism;
#[cfg(target_os = "linux")]
mod interrupt;
mod json;
mod kept;
mod kthreads;
mod lab;
mod library;
mod llc;
mod mmtests;
#[cfg(target_os = "linux")]
mod names;
mod newcomer;
mod numa_imbalance;
mod outputs;
mod pages;
mod places;
mod plans;
mod precision;
mod readme;
mod reference;
mod replay;
mod resume;
mod rt_app;
mod scenarios;
mod schedstat;
mod schedule;
mod shell;
mod start;
mod sweep_folders;
mod sweeps;
mod text;
mod topo_import;
mod upgrades;
mod validate;
mod validate_spans;
