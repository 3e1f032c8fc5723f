//! What of a run is measured, how precisely, and what is collected beside it.

use simsched_core::Nanos;

use crate::cut::Slice;
use crate::extent::{Extent, LIMIT};

/// How much of a run is simulated, and which part of that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// All but the start of the program: from where a benchmark has all its tasks and has started its own clock
    /// to the end. A workload of your own starts its clock where it passes a mark of the name `start`; without
    /// one the whole run is measured.
    #[default]
    SinceStart,
    /// All of it, from the first task to the end.
    Whole,
    /// A span of a run that has become stationary.
    Span(Span),
    /// As long as a real run: up to so much simulated time, of which five balancing intervals of the widest
    /// sched domain (a millisecond for each of its CPUs) are not measured. A program that ends before is
    /// measured as a whole; one that counts itself gets what it needs.
    Long(Nanos),
}

/// A span of simulated time, and what goes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// How long is measured.
    pub span: Nanos,
    /// How long the run warms up before at least, counted from the last new task. It goes on, up to twice
    /// as long, until operations, migrations and context switches are steady.
    pub warmup: Nanos,
}

impl Window {
    /// [`Window::Long`] as `simsched validate` has it: 10 s.
    pub const LONG: Window = Window::Long(LIMIT);

    pub(super) fn extent(self) -> Extent {
        match self {
            Window::SinceStart => Extent::SinceStart,
            Window::Whole => Extent::Whole,
            Window::Span(Span { span, warmup }) => Extent::Part(Slice { span, warmup }),
            Window::Long(limit) => Extent::Long { limit, warmup: Nanos::ZERO },
        }
    }
}

impl Span {
    /// A span of this length after a warm-up of this length.
    #[must_use]
    pub fn new(span: Nanos, warmup: Nanos) -> Span {
        Span { span, warmup }
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
