//! verilator: a simulator of a circuit on some threads, as chacha20 on a model of a RISC-V core.
//!
//! Source: section 8 of the workloads' text, from general knowledge of Verilator's runtime: a cycle of the
//! circuit is a graph of small tasks that is cut into one list for each thread when the model is compiled.
//! In each cycle the main thread lets the others begin and does its own list; a task that needs what
//! another thread has computed spins until that is done, and fetches it; when all lists are done, the
//! main thread does what is left. Who waits for a cycle spins 50,000 times and then sleeps on a futex
//! (`VlWorkerThread`, `VERILATOR_LOCK_SPINS`); who waits within one spins as often and then yields.
//!
//! All of that moves cache lines, each of which takes its distance: a worker's queue to the main thread and
//! back, and for each task that another waits for its flag to the one who has done it and back, with what
//! the other needs of it.
//!
//! What is known of lengths is a range: 5 to 20 us for a list, 2 to 5 us for the serial part, 10 to 30 MiB of
//! state; each is in its middle here (the geometric mean). How many lines pass between two tasks is a
//! guess, and an option.
//!
//! What differs: a look of who spins takes `LOOK`, as many turns as fit.

mod program;
mod text;

use simsched_core::Nanos;

pub(crate) use text::Run;
pub use text::{NAME, OPTIONS, parse};

/// The options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verilator {
    /// Threads of the model (`--threads`).
    pub threads: u32,
    /// Cycles of the circuit.
    pub cycles: u32,
    /// The state of the model, in KiB; each thread works on a part of it.
    pub state_kib: u32,
    /// Cache lines that pass from a thread to another for one task.
    pub lines: u32,
    /// The standard deviation of tasks, in percent of their mean.
    pub lognormal: u32,
}

impl Default for Verilator {
    fn default() -> Verilator {
        Verilator { threads: 8, cycles: 10_000, state_kib: 17 << 10, lines: 8, lognormal: 0 }
    }
}

/// Tasks of a list: "a few" wait for another thread.
const TASKS: u32 = 4;

/// A task of a list of 10 us, the middle of 5 to 20.
const TASK: Nanos = Nanos(10_000 / TASKS as u64);

/// The serial part: the middle of 2 to 5 us.
const SERIAL: Nanos = Nanos(3_200);

/// A flag is a line: the counter of a task's finished predecessors (`VlMTaskVertex::m_upstreamDepsDone`),
/// which who finishes increments and who waits reads.
const FLAG_LINES: u32 = 1;

/// A worker's queue is three: its mutex; its vector of tasks with their number, behind 64 bytes of a
/// condition variable; and what the vector points to (`VlWorkerThread`: `m_mutex`, `m_ready`,
/// `m_ready_size`; four where the vector crosses a line). Whoever adds a task fetches them from the worker,
/// and the worker fetches them back.
const QUEUE_LINES: u32 = 3;

/// A look at what another thread has stored: the line takes some 50 to 150 ns, a pause some 40.
const LOOK: Nanos = Nanos(200);

/// How often who waits looks before it sleeps or yields: 50,000 turns with a pause of 140 cycles at some
/// 3.5 GHz each are 2 ms.
const LOOKS: u32 = 10_000;

/// The most threads of a run.
const MAX_THREADS: u32 = 1 << 10;
