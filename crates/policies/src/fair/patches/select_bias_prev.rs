//! `SELECT_BIAS_PREV`: a wakee stays on its previous CPU while that is idle or has room for it.
//!
//! Source: "sched/fair: Introduce SELECT_BIAS_PREV", M. Desnoyers, 2023-10-19 (spec 05 section 8). It is
//! `WAKEUP_BIAS_PREV` with another idea of room.

use simsched_core::Placement;

use super::Patch;
use super::util_fits_capacity::{FitsCapacity, SETTINGS, fits};
use super::wakeup_bias_prev::{POINTS, REASONS, prev_at_last, prev_first};
use crate::fair::select::{Hook, Points, WakeupCx};

pub(super) static PATCH: Patch = Patch {
    more: &[
        "Asked first in select_idle_sibling(), if the previous CPU shares its LLC with the target.",
        "It stays if that CPU is idle (reason bias_prev_idle), or if the estimated utilization of \
         its runnable tasks and of the wakee fits it, as fits_capacity says (bias_prev_spare).",
        "When the search finds nothing idle, the previous CPU is taken in place of the target.",
    ],
    source: "\"sched/fair: Introduce SELECT_BIAS_PREV\", M. Desnoyers, 2023-10-19",
    reasons: REASONS,
    settings: SETTINGS,
    hook: Some(|cx| Box::new(SelectBiasPrev { rule: FitsCapacity::of(cx.patches) })),
    ..Patch::new(
        "select_bias_prev",
        "a wakee stays on its previous CPU while that is idle or the wakee fits beside what is queued \
         there",
    )
};

#[derive(Debug)]
struct SelectBiasPrev {
    rule: FitsCapacity,
}

impl Hook for SelectBiasPrev {
    fn points(&self) -> Points {
        POINTS.and(Points::TASK_UTIL_EST)
    }

    fn before_target(&self, cx: &WakeupCx<'_>) -> Option<Placement> {
        prev_first(cx, |cpu| fits(self.rule, cx, cpu))
    }

    fn instead_of_target(&self, cx: &WakeupCx<'_>) -> Option<Placement> {
        prev_at_last(cx)
    }
}
