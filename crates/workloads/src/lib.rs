//! Workloads for simsched: what the tasks of real benchmarks do, as programs of system calls.
//!
//! A workload is data: [`Builder`] puts programs of instructions together and checks them,
//! [`Programs`] runs them. [`catalog`] knows the workloads by name: it turns a command line, as
//! one would type it on a real machine, into a [`Benchmark`](catalog::Benchmark) that has the
//! workload and prints what the real program prints. [`lab`] has the small programs of the kernel
//! lab.

pub mod catalog;
pub mod hackbench;
pub mod lab;
pub mod netperf;
pub mod replay;
pub mod rt_app;
pub mod schbench;
pub mod schbench_old;
pub mod stream;
pub mod stress_ng;
pub mod sysbench;
pub mod tbench;
pub mod verilator;

mod args;
mod benchmark;
mod buckets;
mod builder;
mod dist;
mod error;
mod lognormal;
mod loopback;
mod measured;
mod own;
mod page_fault;
mod postbox;
mod program;
mod ziggurat;

pub use builder::{Body, Builder, ProgramId};
pub use dist::Dist;
pub use error::WorkloadError;
pub use hackbench::Hackbench;
pub use netperf::Netperf;
pub use own::OwnBenchmark;
pub use program::{ARGS, ClockId, Inst, LOOPS, Operand, Programs, Reg, StackId, When};
pub use schbench::Schbench;
pub use schbench_old::SchbenchOld;
pub use stream::Stream;
pub use stress_ng::StressNg;
pub use sysbench::Sysbench;
pub use tbench::Tbench;
pub use verilator::Verilator;
