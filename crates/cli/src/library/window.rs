//! What of a run is measured, how precisely, and what is collected beside it.

use simsched_core::Nanos;

use crate::cut::{CHEAP, Slice};

/// Which part of a run is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// All of it, from the first task to the end.
    #[default]
    Whole,
    /// A span of a run that has become stationary.
    Span(Span),
}

/// A span of simulated time, and what goes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// How long is measured.
    pub span: Nanos,
    /// How long the run warms up before at least, counted from the last new task. It goes on, up to twice
    /// as long, until operations, migrations and context switches are steady.
    pub warmup: Nanos,
    /// Whether a program that needs more is measured for longer, and a machine that settles slowly is
    /// waited for.
    pub grow: bool,
    /// Whether half of both times is enough where a run has over 25 million events a simulated second and
    /// its machine is not waited for.
    pub halve: bool,
    /// How long a machine that settles slowly is waited for; without effect unless `grow` is set.
    pub patience: Patience,
}

/// How many events a run may take until its machine has settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patience {
    /// 50 million, some five seconds of computing.
    #[default]
    Cheap,
    /// So many.
    Events(u64),
    /// As many as it takes.
    Unlimited,
}

impl Span {
    /// A span of this length after a warm-up of this length, neither of which is changed.
    #[must_use]
    pub fn new(span: Nanos, warmup: Nanos) -> Span {
        Span { span, warmup, grow: false, halve: false, patience: Patience::Cheap }
    }

    pub(super) fn slice(self) -> Slice {
        let patience = match self.patience {
            Patience::Cheap => CHEAP,
            Patience::Events(events) => events,
            Patience::Unlimited => u64::MAX,
        };
        let Span { span, warmup, grow: may_grow, halve: may_halve, .. } = self;
        Slice { span, warmup, may_grow, patience, may_halve }
    }
}

/// How much of a long job is simulated: as much as gives its time, migrations and context switches to
/// within so much. The rest is extrapolated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Half the 95 % interval, in percent of the number; 0.1 to 50.
    pub percent: f64,
    /// Stop after so many events, and report how precise the numbers are.
    pub max_events: Option<u64>,
}

/// What is collected beside the numbers of every report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collect {
    /// The LLCs in which the processes ran, in intervals of this length.
    pub llc_interval: Option<Nanos>,
    /// How busy the CPUs were, in intervals of this length.
    pub series: Option<Nanos>,
    /// Whether all rules are checked at every step; slow.
    pub paranoid: bool,
}
