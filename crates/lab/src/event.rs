//! `Event`: what the tracer of a kernel, or of the simulator, has seen.

use std::fmt;

/// The name of a task (`comm`): at most 15 bytes, as in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Comm {
    bytes: [u8; Comm::MAX],
    len: u8,
}

impl Comm {
    /// The longest name (`TASK_COMM_LEN` less the terminator).
    const MAX: usize = 15;

    /// `name`, cut where the kernel cuts it.
    #[must_use]
    pub fn new(name: &str) -> Comm {
        let len = (0..=name.len().min(Comm::MAX)).rfind(|at| name.is_char_boundary(*at));
        let cut = &name.as_bytes()[..len.unwrap_or(0)];
        let mut bytes = [0; Comm::MAX];
        bytes[..cut.len()].copy_from_slice(cut);
        Comm { bytes, len: u8::try_from(cut.len()).expect("at most 15") }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).expect("cut between characters")
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl fmt::Display for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A task as a tracepoint names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id; 0 is the idle task of any CPU.
    pub pid: u32,
    /// Its name at that time.
    pub comm: Comm,
    /// The kernel's `prio`: 120 and the nice value; 0 for a stopper.
    pub prio: u8,
}

impl Task {
    /// Whether it is an idle task.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.pid == 0
    }
}

/// What a task that leaves its CPU goes to do, in the tracer's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrevState {
    /// `R` or `R+`: it would go on.
    Runnable,
    /// `S`, `D`, `I`: it sleeps.
    Asleep(char),
    /// `X`, `Z`: it has ended.
    Dead(char),
}

impl PrevState {
    /// Of a task that sleeps: `D` where no signal wakes it, else `S`.
    #[must_use]
    pub fn asleep(uninterruptible: bool) -> PrevState {
        PrevState::Asleep(if uninterruptible { 'D' } else { 'S' })
    }
}

/// A tracepoint of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `sched_switch`: this CPU goes from `prev` to `next`.
    Switch {
        /// Who ran.
        prev: Task,
        /// What `prev` does now.
        state: PrevState,
        /// Who runs.
        next: Task,
    },
    /// `sched_waking`: this CPU calls for `wakee`, which was last on `target`.
    Waking {
        /// Who is woken.
        wakee: Task,
        /// Its CPU before a new one is chosen.
        target: u32,
    },
    /// `sched_wakeup`: `wakee` is runnable on `target`.
    Wakeup {
        /// Who was woken.
        wakee: Task,
        /// Where it is queued.
        target: u32,
    },
    /// `sched_wakeup_new`: the new task `wakee` is runnable on `target`.
    WakeupNew {
        /// The new task.
        wakee: Task,
        /// Where it is queued.
        target: u32,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// Who moves.
        task: Task,
        /// Where it was.
        from: u32,
        /// Where it goes.
        to: u32,
    },
    /// `sched_process_fork`.
    Fork {
        /// Who forked.
        parent: Task,
        /// The new task.
        child: Task,
    },
    /// `sched_process_exit`.
    Exit {
        /// Who ends.
        task: Task,
    },
    /// `tracing_mark_write` of the word `release`: the herd is let go.
    Release,
}

/// A tracepoint, and when and where it was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in µs of the tracer's clock.
    pub us: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Who was current there.
    pub by: Task,
    /// What.
    pub what: What,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_at_fifteen_bytes_and_never_within_a_character() {
        assert_eq!(Comm::new("lab").as_str(), "lab");
        assert_eq!(Comm::new("abcdefghijklmnopq").as_str(), "abcdefghijklmno");
        assert_eq!(Comm::new("abcdefghijklmné").as_str(), "abcdefghijklmn");
    }
}
