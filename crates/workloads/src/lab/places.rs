//! `Place` and `Places`: to which CPUs the threads of a process restrict themselves, and when they may
//! leave these.

use simsched_core::{MaskId, Nanos};
use simsched_topology::CpuSet;

use super::RELEASE;
use super::costs::SLACK;
use super::script::Script;
use crate::builder::Body;
use crate::dist::Dist;
use crate::program::{Operand, When};

/// When the parent widens the affinity of all threads that may leave their LLC, behind the start.
const RELEASED: Nanos = Nanos::from_millis(100);

/// From the parent's first sched_switch behind its timer to the event of the marker that it writes. 28 to
/// 85 us, with quartiles of 30 and 47, in 23 runs (all scenarios with a release, kernel 7.3.4 on `n2x8`,
/// `s2x8` and `s2d2`). With the slack of the timer it comes 100,061 us behind the marker `begin`
/// (median).
fn to_marker() -> Dist {
    Dist::Table([(28, 1), (45, 2)].map(|(us, weight)| (Nanos::from_micros(us), weight)).to_vec())
}

/// From the marker to the first change of an affinity: 19 to 23 us pass from the marker to the parent's
/// next sleep with 2 threads, 30 to 34 with 4, and 42 to 46 with 6 (`th-spread`, 7 runs), so that 8 to
/// 12 belong to no thread.
const FROM_MARKER: Dist = Dist::Constant(Nanos::from_micros(9));

/// What the change of the affinity of a running thread takes, beyond the call itself: 5.75 us each, the
/// slope of the figures at [`FROM_MARKER`].
const WIDEN: Dist = Dist::Constant(Nanos(5_450));

/// From where a thread has touched its stack to its call that restricts it, in which it takes a name and
/// asks for its id. 16 to 46 us (median 30) pass from its first sched_switch to the wakeup of the thread
/// that moves it elsewhere (13 threads that were born in another LLC, 7.3.4); 10 of them are the page
/// fault at its stack, where nobody is in its way.
const TO_PIN: Dist = Dist::Constant(Nanos(4_000));

/// Where the threads of a process restrict themselves to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere: they run on any CPU.
    Free,
    /// Thread `i` at its birth to LLC `i` modulo the number of LLCs, until the release.
    Spread,
    /// The first thread to LLC 0 before it creates the others, which inherit that, until the release.
    First,
    /// The same, for good.
    FirstForGood,
}

impl Place {
    /// Whether the parent lets its threads go.
    pub(super) fn is_released(self) -> bool {
        matches!(self, Place::Spread | Place::First)
    }

    /// Whether the first thread restricts itself before it creates the others.
    pub(super) fn is_inherited(self) -> bool {
        matches!(self, Place::First | Place::FirstForGood)
    }

    /// For people, behind a number of threads.
    pub(super) fn text(self) -> &'static str {
        match self {
            Place::Free => "",
            Place::Spread => " spread over the LLCs for the first 100 ms",
            Place::First => " in LLC 0 for the first 100 ms",
            Place::FirstForGood => " in LLC 0",
        }
    }
}

/// The masks of the LLCs of a machine; none at all if nobody restricts itself.
#[derive(Clone, Debug)]
pub(super) struct Places(Vec<MaskId>);

impl Places {
    /// Declares what these processes need.
    pub(super) fn declare(
        script: &mut Script,
        llcs: &[CpuSet],
        mut places: impl Iterator<Item = Place>,
    ) -> Places {
        let llcs = if places.all(|place| place == Place::Free) { &[] } else { llcs };
        Places(llcs.iter().map(|llc| script.b.mask(*llc)).collect())
    }

    /// Where thread `i` of a process restricts itself.
    pub(super) fn of(&self, place: Place, i: u32) -> Option<MaskId> {
        let llc = match place {
            Place::Free => return None,
            Place::Spread => usize::try_from(i).unwrap_or(0) % self.0.len().max(1),
            Place::First | Place::FirstForGood => 0,
        };
        self.0.get(llc).copied()
    }
}

/// A thread restricts itself.
pub(super) fn pins(p: &mut Body<'_>, thread: Operand, mask: MaskId) {
    p.run(TO_PIN);
    p.set_affinity(thread, mask);
}

/// The parent sleeps until the release, and lets the threads go: so many from each of these on.
pub(super) fn releases(
    p: &mut Body<'_>,
    (zero, all): (When, MaskId),
    threads: impl Iterator<Item = (Operand, u32)>,
) {
    p.sleep_until(zero);
    p.run(to_marker());
    p.mark(RELEASE);
    p.run(FROM_MARKER);
    for (first, count) in threads {
        p.repeat(count, |p, nth| {
            p.set_affinity(first.plus(nth), all);
            p.run(WIDEN);
        });
    }
}

/// How long behind the start the parent's timer for the release expires: its own timers have a slack.
pub(super) const RELEASE_TIMER: Nanos = Nanos(RELEASED.get() + SLACK.get());
