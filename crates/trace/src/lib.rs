//! Schedules written down, and read back.
//!
//! A schedule is a list of [`Event`]s of [`Thread`]s, in the order of time, with the names and the
//! fields of the kernel's tracepoints of group `sched`. Writers put it into the formats that people
//! have readers for; readers take it out of what `perf` and `trace-cmd` print. Who made the schedule, a
//! kernel or a simulation, makes no difference here: this crate knows no simulator.

mod event;
mod ftrace;
pub mod history;
pub mod perf_sched;
pub mod perfetto;
pub mod reader;
pub mod schedstat;
mod text;
mod tracedat;

pub use event::{Event, PrevState, Sink, Thread, ThreadIx, Threads, What};
pub use ftrace::Ftrace;
pub use tracedat::TraceDat;
