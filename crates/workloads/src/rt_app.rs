//! rt-app: tasks whose phases are described by a JSON file.
//!
//! Source: rt-app (G. Bagnoli, J. Lelli, V. Guittot), release 1.0 and its head of May 2026: `doc/tutorial.txt`
//! for the grammar, `rt-app_parse_config.c` for what is taken and refused, `rt-app.c` for what the
//! events do.
//!
//! `run` is work, counted in loops, and takes longer on a CPU that is slower; `runtime` looks at the
//! clock and ends on time. Conditions and semaphores are futexes as glibc uses them, a barrier is a mutex
//! and a condition as in rt-app, and a timer counts from the time that rt-app notes.
//!
//! What differs: nothing is calibrated, as all CPUs compute alike; a loop takes as long as the file says.
//! Everything that cannot be simulated is refused with its line: policies beyond the fair class, task
//! groups, utilization clamps, slices of a task's own, `memrun`, `iorun` but to `/dev/null`.

mod config;
mod event;
mod json;
mod life;
mod log;
mod phases;
mod program;
mod read;
mod size;
mod sync;
mod task;
mod text;
mod thread;
mod tree;

pub use text::{NAME, OPTIONS, file, parse};
