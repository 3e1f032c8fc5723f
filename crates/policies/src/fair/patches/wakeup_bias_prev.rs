//! `WAKEUP_BIAS_PREV`: a wakee stays on its previous CPU while that is idle or has capacity to spare.
//!
//! Source: "sched/fair: Introduce WAKEUP_BIAS_PREV", M. Desnoyers, 2023-10-17 (spec 05 section 8).

use simsched_core::{Placement, Reason};
use simsched_topology::CpuId;

use super::{HookCx, Patch, PatchSetting};
use crate::fair::select::reason::ReasonRow;
use crate::fair::select::{Hook, Points, WakeupCx};

pub(super) static PATCH: Patch = Patch {
    more: &[
        "Asked first in select_idle_sibling(), if the previous CPU shares its LLC with the target.",
        "It stays if that CPU is idle (reason bias_prev_idle), or if the estimated utilization of \
         its runnable tasks leaves wakeup_bias_prev_threshold of its capacity (bias_prev_spare).",
        "When the search finds nothing idle, the previous CPU is taken in place of the target.",
    ],
    source: "\"sched/fair: Introduce WAKEUP_BIAS_PREV\", M. Desnoyers, 2023-10-17",
    reasons: REASONS,
    settings: &[PatchSetting::number(
        THRESHOLD,
        (
            "part of the previous CPU that must be spare for a wakee to stay there; matters only with wakeup_bias_prev",
            "1/1024",
        ),
        (0..=1024, 256),
        "\"sched/fair: Introduce WAKEUP_BIAS_PREV\", M. Desnoyers, 2023-10-17",
    )],
    hook: Some(|cx| Box::new(WakeupBiasPrev::new(cx))),
    ..Patch::new(
        "wakeup_bias_prev",
        "a wakee stays on its previous CPU while that is idle or has spare capacity",
    )
};

const THRESHOLD: &str = "wakeup_bias_prev_threshold";

/// The previous CPU was free.
pub const IDLE: Reason = Reason(9);
/// The previous CPU was busy and had room.
pub const SPARE: Reason = Reason(10);
/// Nothing free was found: the previous CPU instead of the target.
pub const FALLBACK: Reason = Reason(11);

/// The reasons of this patch, and of `select_bias_prev`.
pub(super) const REASONS: &[ReasonRow] = &[
    ReasonRow {
        reason: IDLE,
        name: "bias_prev_idle",
        doc: "`wakeup_bias_prev` or `select_bias_prev`: the previous CPU was free.",
    },
    ReasonRow {
        reason: SPARE,
        name: "bias_prev_spare",
        doc: "`wakeup_bias_prev` or `select_bias_prev`: the previous CPU was busy and had room.",
    },
    ReasonRow {
        reason: FALLBACK,
        name: "bias_prev_fallback",
        doc: "The same: nothing free was found, and the previous CPU is near the target.",
    },
];

/// Where both patches are asked.
pub(super) const POINTS: Points =
    Points::BEFORE_TARGET.and(Points::INSTEAD_OF_TARGET).and(Points::WITHOUT_PREV);

#[derive(Debug)]
struct WakeupBiasPrev {
    /// What part of the previous CPU must be spare, of 1024; none without `UTIL_EST`, where nothing is known.
    threshold_1024: Option<u64>,
}

impl WakeupBiasPrev {
    fn new(cx: &HookCx<'_>) -> WakeupBiasPrev {
        let threshold_1024 = cx.patches.number(THRESHOLD);
        WakeupBiasPrev { threshold_1024: cx.features.util_est.then_some(threshold_1024) }
    }

    /// Whether `cpu` has the threshold to spare, by estimated utilization. Source: `spare_capacity_cpu()` of the
    /// patch.
    fn has_spare(&self, cx: &WakeupCx<'_>, cpu: CpuId) -> bool {
        self.threshold_1024.is_some_and(|threshold_1024| {
            cx.util_est(cpu) * 1024 <= cx.capacity(cpu) * (1024 - threshold_1024)
        })
    }
}

impl Hook for WakeupBiasPrev {
    fn points(&self) -> Points {
        POINTS
    }

    fn before_target(&self, cx: &WakeupCx<'_>) -> Option<Placement> {
        prev_first(cx, |cpu| self.has_spare(cx, cpu))
    }

    fn instead_of_target(&self, cx: &WakeupCx<'_>) -> Option<Placement> {
        prev_at_last(cx)
    }
}

/// The previous CPU if it shares the cache of the target and is free or has room, also if it is the target.
pub(super) fn prev_first(cx: &WakeupCx<'_>, has_room: impl Fn(CpuId) -> bool) -> Option<Placement> {
    let prev = cx.prev();
    if !cx.shares_cache(prev, cx.target()) {
        return None;
    }
    match cx.is_free(prev) {
        true => Some(Placement::at(prev, IDLE)),
        false => has_room(prev).then(|| Placement::at(prev, SPARE)),
    }
}

/// The previous CPU if it is another one than the target and shares its cache.
pub(super) fn prev_at_last(cx: &WakeupCx<'_>) -> Option<Placement> {
    let (prev, target) = (cx.prev(), cx.target());
    (prev != target && cx.shares_cache(prev, target)).then(|| Placement::at(prev, FALLBACK))
}
