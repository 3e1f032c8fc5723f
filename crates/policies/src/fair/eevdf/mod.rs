//! The order of one runqueue under EEVDF, earliest eligible virtual deadline first: who is owed time,
//! who asked for how much of it until when, and who sleeps and has still to work off what it had too
//! much. The rest of the class is the same. Source: kernel/sched/fair.c, Linux 6.12.117; 6.6 and 7.0
//! differ where a version is asked for.

mod delay;
mod pick;
mod place;
mod preempt;
mod queueing;
mod request;
mod reweight;
mod tree;
mod virtual_time;

pub use request::{Request, entity_lag, lag_limit};
pub use tree::{DeadlineTree, Key, Nodes};
pub use virtual_time::{EevdfRq, QueuedCurr};
