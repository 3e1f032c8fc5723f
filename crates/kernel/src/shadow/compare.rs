//! What was compared, how much of it differs, and where it differed first.

use std::fmt;

use simsched_core::SimTime;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)*) => {
        /// What is asked of both, or compared behind a question.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[doc = $doc])+ $kind,)*
        }

        impl Kind {
            /// All of them, in the order in which they are shown.
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];

            /// Its name, as a table shows it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Which task runs next.
    Pick = "task picked",
    /// On which CPU a wakee is queued.
    Wakeup = "CPU of a wakee",
    /// How often waker and wakee have changed whom they wake, behind that choice.
    Flips = "wakee_flips",
    /// On which CPU a new task is queued.
    Fork = "CPU of a new task",
    /// To which CPU a task goes that executes a new program.
    Exec = "CPU of an exec",
    /// Whether a task that was just queued preempts the one that runs.
    Preempt = "preemption",
    /// Whether a tick reschedules.
    Tick = "reschedule at a tick",
    /// Whether a changed nice value reschedules.
    Nice = "reschedule at nice",
    /// Whether a sleeper stays on its queue.
    Delayed = "sleeper stays queued",
    /// How long a task has run, at the same instants.
    Runtime = "runtime of the task",
    /// The virtual time of a task, behind its tick, or when it was queued or picked.
    Vruntime = "vruntime of the task",
    /// The floor of virtual time of a runqueue, at the same instants, where the kernel keeps one.
    Floor = "min_vruntime",
    /// The utilization of a task, at the same instants.
    TaskUtil = "util_avg of the task",
    /// The load of a task, at the same instants.
    TaskLoad = "load_avg of the task",
    /// The utilization of a runqueue, at the same instants.
    QueueUtil = "util_avg of the queue",
    /// The load of a runqueue, at the same instants.
    QueueLoad = "load_avg of the queue",
    /// The load of a runqueue as it was noted when a task of it was weighed first in a jiffy.
    HLoad = "h_load of the queue",
    /// The runnable tasks of a runqueue, at the same instants.
    Running = "nr_running",
    /// How long a CPU is expected to be idle, behind each wakeup on it.
    AvgIdle = "avg_idle",
}

/// The first answer of a kind that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// When.
    pub at: SimTime,
    /// What.
    pub kind: Kind,
    /// So many answers of all kinds were compared before it.
    pub after: u64,
    /// The question.
    pub question: String,
    /// The answer of the policy that counts.
    pub ours: String,
    /// The answer of the kernel's functions.
    pub kernel: String,
    /// What both keep of the tasks and CPUs in question.
    pub state: String,
}

/// What was compared during a run.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    asked: [u64; Kind::ALL.len()],
    differ: [u64; Kind::ALL.len()],
    first: [Option<Box<Difference>>; Kind::ALL.len()],
    /// The release of the library.
    pub release: String,
    /// When and why no more was compared, if it was not to the end of the run.
    pub ended: Option<(SimTime, String)>,
}

impl Comparison {
    /// How many answers of this kind were compared, and how many differ.
    #[must_use]
    pub fn of(&self, kind: Kind) -> (u64, u64) {
        (self.asked[kind as usize], self.differ[kind as usize])
    }

    /// The first difference of this kind.
    #[must_use]
    pub fn first_of(&self, kind: Kind) -> Option<&Difference> {
        self.first[kind as usize].as_deref()
    }

    /// The first difference of all.
    #[must_use]
    pub fn first(&self) -> Option<&Difference> {
        self.first.iter().flatten().map(|first| &**first).min_by_key(|first| first.after)
    }

    /// Whether all that was compared is equal, and all of the run was compared.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.ended.is_none() && self.differ.iter().all(|&differ| differ == 0)
    }

    /// Counts an answer; the texts are asked for where it is the first that differs.
    pub(super) fn count<T: PartialEq + fmt::Debug>(
        &mut self,
        at: SimTime,
        kind: Kind,
        [ours, kernel]: [T; 2],
        texts: impl FnOnce() -> (String, String),
    ) {
        let row = kind as usize;
        self.asked[row] += 1;
        if ours == kernel {
            return;
        }
        self.differ[row] += 1;
        if self.first[row].is_some() {
            return;
        }
        let (question, state) = texts();
        let after = self.asked.iter().sum::<u64>() - 1;
        let (ours, kernel) = (format!("{ours:?}"), format!("{kernel:?}"));
        let first = Difference { at, kind, after, question, ours, kernel, state };
        self.first[row] = Some(Box::new(first));
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { at, kind, after, question, ours, kernel, state } = self;
        write!(
            f,
            "{}, after {after} answers, at {} ns: {question}: ours {ours}, kernel {kernel}; {state}",
            kind.name(),
            at.0
        )
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:24}{:>12}{:>10}", "", "compared", "differ")?;
        for &kind in Kind::ALL {
            let (asked, differ) = self.of(kind);
            if asked > 0 {
                writeln!(f, "{:24}{asked:>12}{differ:>10}", kind.name())?;
            }
        }
        let mut firsts: Vec<&Difference> =
            self.first.iter().flatten().map(|first| &**first).collect();
        firsts.sort_by_key(|first| first.after);
        for first in firsts {
            writeln!(f, "first: {first}")?;
        }
        if let Some((at, why)) = &self.ended {
            writeln!(f, "ended at {} ns: {why}", at.0)?;
        }
        Ok(())
    }
}
