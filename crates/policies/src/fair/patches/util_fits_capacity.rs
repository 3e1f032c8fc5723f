//! `UTIL_FITS_CAPACITY`: a busy CPU is as good as an idle one where the wakee fits it beside what is queued there.
//!
//! Source: "sched/fair: Introduce UTIL_FITS_CAPACITY feature", M. Desnoyers, 2023-10-18 (spec 05 section 8).

use simsched_core::Reason;
use simsched_topology::CpuId;

use super::Patch;
use crate::fair::features::FitsCapacity;
use crate::fair::select::reason::{self, ReasonRow};
use crate::fair::select::{Hook, Points, WakeupCx};

pub(super) static PATCH: Patch = Patch {
    more: &[
        "Where select_idle_sibling() takes the target, the previous or the recent CPU if it is \
         idle, it is taken also if the estimated utilization of its runnable tasks and of the \
         wakee fits it, as fits_capacity says (reasons target_fits, prev_fits, recent_fits).",
    ],
    source: "\"sched/fair: Introduce UTIL_FITS_CAPACITY feature\", M. Desnoyers, 2023-10-18",
    reasons: &[
        ReasonRow {
            reason: TARGET_FITS,
            name: "target_fits",
            doc: "`util_fits_capacity`: the target was busy and had room.",
        },
        ReasonRow {
            reason: PREV_FITS,
            name: "prev_fits",
            doc: "`util_fits_capacity`: the previous CPU was busy and had room.",
        },
        ReasonRow {
            reason: RECENT_FITS,
            name: "recent_fits",
            doc: "`util_fits_capacity`: the CPU before the previous one was busy and had room.",
        },
    ],
    hook: Some(|cx| Box::new(UtilFitsCapacity { rule: cx.features.fits_capacity })),
    ..Patch::new(
        "util_fits_capacity",
        "target, previous and recent CPU are taken also if they are busy, where the wakee fits beside \
         what is queued there",
    )
};

/// The target was busy and had room.
pub const TARGET_FITS: Reason = Reason(16);
/// The previous CPU was busy and had room.
pub const PREV_FITS: Reason = Reason(17);
/// The CPU before the previous one was busy and had room.
pub const RECENT_FITS: Reason = Reason(18);

#[derive(Debug)]
struct UtilFitsCapacity {
    rule: FitsCapacity,
}

impl Hook for UtilFitsCapacity {
    fn points(&self) -> Points {
        Points::ACCEPTS_BUSY.and(Points::TASK_UTIL_EST)
    }

    fn accepts_busy(&self, cx: &WakeupCx<'_>, cpu: CpuId, step: Reason) -> Option<Reason> {
        let why = match step {
            reason::TARGET => TARGET_FITS,
            reason::PREV => PREV_FITS,
            _ => RECENT_FITS,
        };
        fits(self.rule, cx, cpu).then_some(why)
    }
}

/// Whether the runnable tasks of `cpu` and the wakee fit it together, by estimated utilization; not where that of the
/// wakee is not known.
pub(super) fn fits(rule: FitsCapacity, cx: &WakeupCx<'_>, cpu: CpuId) -> bool {
    cx.task_util_est().is_some_and(|task_util_est| {
        rule.fits(cx.util_est(cpu) + task_util_est, cx.capacity(cpu), cx.capacity_of(cpu))
    })
}
