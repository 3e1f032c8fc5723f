//! `Hook`: where a patch of the fair class is asked in `select_idle_sibling()`.

use std::fmt::Debug;

use simsched_core::{Placement, Reason};
use simsched_topology::CpuId;

use super::wakeup_cx::WakeupCx;

/// The places at which a patch is asked, and what it changes beside them: a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Points(u8);

impl Points {
    /// Nothing.
    pub const NONE: Points = Points(0);
    /// [`Hook::before_target`] is asked.
    pub const BEFORE_TARGET: Points = Points(1);
    /// [`Hook::accepts_busy`] is asked.
    pub const ACCEPTS_BUSY: Points = Points(1 << 1);
    /// [`Hook::instead_of_target`] is asked.
    pub const INSTEAD_OF_TARGET: Points = Points(1 << 2);
    /// The wakee's utilization is brought to this time first, and [`WakeupCx::task_util_est`] is known.
    pub const TASK_UTIL_EST: Points = Points(1 << 3);
    /// The step that tries the previous CPU is left out: the patch has tried it before the target.
    pub const WITHOUT_PREV: Points = Points(1 << 4);
    /// A CPU that [`Hook::before_target`] chose costs as many looks as the search that it saves.
    pub const PAYS_SEARCH: Points = Points(1 << 5);

    /// These and those.
    #[must_use]
    pub const fn and(self, points: Points) -> Points {
        Points(self.0 | points.0)
    }

    /// Whether one of `points` is among these.
    #[inline]
    #[must_use]
    pub const fn has(self, points: Points) -> bool {
        self.0 & points.0 != 0
    }
}

/// A patch of `select_idle_sibling()`, asked at the places that its [`points`](Hook::points) name. Of several
/// patches, the first that has an answer gives it, in the order of their table.
///
/// A [`Placement`] that it answers counts in `scanned` the CPUs that it looked at, which the waker pays as looks behind
/// the LLC of the target; nothing else of it but the CPU and the reason is read. Where the wakee may not run on that CPU,
/// `select_fallback_rq()` chooses another one.
pub trait Hook: Debug + Send {
    /// Where it is asked. This is read once, when the class is attached to a machine.
    fn points(&self) -> Points;

    /// Before the target is looked at: the CPU to take, and why.
    fn before_target(&self, cx: &WakeupCx<'_>) -> Option<Placement> {
        let _ = cx;
        None
    }

    /// Where a step takes `cpu` if it is free, and it is not: why it is taken nevertheless. `step` is the reason of
    /// that step: [`TARGET`](super::reason::TARGET), [`PREV`](super::reason::PREV) or
    /// [`RECENT`](super::reason::RECENT).
    fn accepts_busy(&self, cx: &WakeupCx<'_>, cpu: CpuId, step: Reason) -> Option<Reason> {
        let _ = (cx, cpu, step);
        None
    }

    /// Where nothing free was found: the CPU to take in place of the target, and why.
    fn instead_of_target(&self, cx: &WakeupCx<'_>) -> Option<Placement> {
        let _ = cx;
        None
    }
}

/// The patches that are asked on a machine.
#[derive(Debug, Default)]
pub(in crate::fair) struct Hooks {
    /// Each with its points.
    hooks: Vec<(Points, Box<dyn Hook>)>,
    /// Those of all.
    points: Points,
}

impl Hooks {
    pub(in crate::fair) fn new(hooks: Vec<Box<dyn Hook>>) -> Hooks {
        let hooks: Vec<_> = hooks.into_iter().map(|hook| (hook.points(), hook)).collect();
        let points = hooks.iter().fold(Points::NONE, |all, (points, _)| all.and(*points));
        Hooks { hooks, points }
    }

    /// Where one of them is asked.
    #[inline]
    pub(super) fn points(&self) -> Points {
        self.points
    }

    /// The first answer of those that are asked at `point`.
    #[inline]
    pub(super) fn ask<T>(&self, point: Points, ask: impl Fn(&dyn Hook) -> Option<T>) -> Option<T> {
        if self.points.has(point) { self.ask_each(point, ask) } else { None }
    }

    #[cold]
    fn ask_each<T>(&self, point: Points, ask: impl Fn(&dyn Hook) -> Option<T>) -> Option<T> {
        let mut asked = self.hooks.iter().filter(|(points, _)| points.has(point));
        asked.find_map(|(_, hook)| ask(hook.as_ref()))
    }
}
