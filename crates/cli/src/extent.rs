//! `Extent`: how much of a run is simulated, and which part of that is measured.

use simsched_core::Nanos;
use simsched_topology::Topology;
use simsched_workloads::catalog::LeastPart;

use crate::cut::{Slice, settles_in};

/// How long a run is simulated whose real one took longer, or nobody knows how long.
///
/// Recorded baselines of hackbench are split after one to three of the times in which a balancer moves a
/// running task (five intervals of the widest domain, a millisecond for each CPU); 10 s are five of these
/// times on 384 CPUs, the largest machine of a claim, and eight on 240.
pub(crate) const LIMIT: Nanos = Nanos::from_secs(10);

/// How much of a run is simulated, and which part of that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All but the start of the program ([`crate::start`]); all of it where that has none.
    #[default]
    SinceStart,
    /// All of it, from the first task to the end.
    Whole,
    /// The span behind the warm-up; the run ends with it.
    Part(Slice),
    /// The span behind the warm-up, or a longer one where the program samples its own numbers at intervals (the
    /// percentiles of schbench) or has them at its end only (stream).
    Quick(Slice),
    /// Up to a limit, of which the first five balancing intervals of the widest sched domain are not measured.
    /// A program that ends before the limit is measured as a whole.
    Long {
        /// From the last new task.
        limit: Nanos,
        /// The shortest warm-up.
        warmup: Nanos,
    },
}

impl Extent {
    /// What is measured on this machine of a program that needs so much; none is the whole run.
    pub(crate) fn slice(self, topology: &Topology, least: LeastPart) -> Option<Slice> {
        match self {
            Extent::SinceStart | Extent::Whole => None,
            Extent::Part(slice) => Some(slice),
            Extent::Quick(slice) => at_least(slice, least),
            Extent::Long { limit, warmup } => {
                let settles = Nanos(settles_in(topology).get());
                // Half of the limit is measured at least.
                let warmup = warmup.max(settles).min(Nanos(limit.get() / 2));
                let span = Nanos((limit.get() - warmup.get()).max(1));
                at_least(Slice { span, warmup }, least)
            }
        }
    }
}

/// This part, or more if a program needs that; none is the whole run.
fn at_least(slice: Slice, least: LeastPart) -> Option<Slice> {
    let (after, span) = match least {
        LeastPart::Whole => return None,
        LeastPart::Any => (Nanos::ZERO, Nanos::ZERO),
        LeastPart::Span(span) => (Nanos::ZERO, span),
        LeastPart::After(after) => (after, Nanos::ZERO),
        LeastPart::SpanAfter { after, span } => (after, span),
    };
    Some(Slice { span: slice.span.max(span), warmup: slice.warmup.max(after) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    fn slice(extent: Extent, machine: &str, least: LeastPart) -> Option<(u64, u64)> {
        let topology = Topology::builtin(machine, None).unwrap();
        let found = extent.slice(&topology, least)?;
        Some((found.span.get() / 1_000_000, found.warmup.get() / 1_000_000))
    }

    /// A task that runs is moved after five intervals of a millisecond for each CPU.
    #[test]
    fn what_is_long_begins_when_balancers_have_had_their_time() {
        let long = Extent::Long { limit: LIMIT, warmup: Nanos::from_millis(200) };
        assert_eq!(slice(long, "spr-2x60", LeastPart::Any), Some((8_800, 1_200)));
        assert_eq!(slice(long, "t8", LeastPart::Any), Some((9_800, 200)));
        let short = Extent::Long { limit: SECOND, warmup: Nanos::ZERO };
        assert_eq!(slice(short, "spr-2x60", LeastPart::Any), Some((500, 500)));
    }

    #[test]
    fn a_program_that_counts_itself_gets_what_it_needs_unless_a_part_is_asked_for() {
        let tenth = Slice { span: Nanos::from_millis(100), warmup: Nanos::from_millis(200) };
        let needs = LeastPart::SpanAfter { after: SECOND, span: SECOND };
        assert_eq!(slice(Extent::Quick(tenth), "t8", needs), Some((1_000, 1_000)));
        assert_eq!(slice(Extent::Quick(tenth), "t8", LeastPart::Whole), None);
        assert_eq!(slice(Extent::Part(tenth), "t8", needs), Some((100, 200)));
        assert_eq!(slice(Extent::Part(tenth), "t8", LeastPart::Whole), Some((100, 200)));
    }
}
