//! The reports of `perf sched`: `timehist`, `latency` and `map`, with the columns and the definitions of
//! perf 6.1.
//!
//! Source of the definitions: perf-sched(1), and what perf 6.1 makes of recordings of a real machine,
//! which the tests keep.

mod latency;
mod map;
mod timehist;

use std::fmt;

pub use self::latency::Latency;
pub use self::map::Map;
pub use self::timehist::Timehist;

use crate::event::{Event, ThreadIx, Threads, What};

/// What a report remembers of each thread; idle tasks are known by their CPUs.
#[derive(Clone, Debug, Default)]
struct ByThread<T> {
    threads: Vec<T>,
    idle: Vec<T>,
}

impl<T: Clone + Default> ByThread<T> {
    /// Of a thread that `cpu` executes, or has executed.
    fn row(&mut self, threads: &Threads, ix: ThreadIx, cpu: u32) -> &mut T {
        let (rows, nth) = match threads.get(ix).pid {
            0 => (&mut self.idle, cpu as usize),
            _ => (&mut self.threads, ix.0 as usize),
        };
        if rows.len() <= nth {
            rows.resize(nth + 1, T::default());
        }
        &mut rows[nth]
    }
}

/// Which event begins a wakeup: `sched_waking` in a recording that has it, else `sched_wakeup`.
#[derive(Clone, Copy, Debug, Default)]
struct Wakes {
    /// There are events `sched_waking`.
    waking: bool,
}

impl Wakes {
    /// Whom `event` wakes.
    fn wakee(&mut self, event: &Event) -> Option<ThreadIx> {
        match event.what {
            What::Waking { wakee, .. } => {
                self.waking = true;
                Some(wakee)
            }
            What::Wakeup { wakee, .. } if !self.waking => Some(wakee),
            What::WakeupNew { wakee, .. } => Some(wakee),
            _ => None,
        }
    }
}

/// An instant in ns, as seconds with six digits; perf cuts the rest off.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:06}", self.0 / 1_000_000_000, self.0 % 1_000_000_000 / 1000))
    }
}
