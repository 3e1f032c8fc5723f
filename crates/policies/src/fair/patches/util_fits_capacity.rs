//! `UTIL_FITS_CAPACITY`: a busy CPU is as good as an idle one where the wakee fits it beside what is queued there.
//!
//! Source: "sched/fair: Introduce UTIL_FITS_CAPACITY feature", M. Desnoyers, 2023-10-18 (spec 05 section 8).

use simsched_core::Reason;
use simsched_topology::CpuId;

use super::{Patch, PatchSetting, Patches};
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
    settings: SETTINGS,
    hook: Some(|cx| Box::new(UtilFitsCapacity { rule: FitsCapacity::of(cx.patches) })),
    ..Patch::new(
        "util_fits_capacity",
        "target, previous and recent CPU are taken also if they are busy, where the wakee fits beside \
         what is queued there",
    )
};

const FITS_CAPACITY: &str = "fits_capacity";

/// The setting of this patch, and of `select_bias_prev`.
pub(super) const SETTINGS: &[PatchSetting] = &[PatchSetting::word(
    FITS_CAPACITY,
    "the room that util_fits_capacity and select_bias_prev ask for: no more than the CPU has (v1), or less than four \
     fifths of what interrupts leave of it (v2)",
    (&["v1", "v2"], "v2"),
    "\"sched/fair: Introduce UTIL_FITS_CAPACITY feature\", M. Desnoyers, 2023-10-18 (v1), 2023-10-19 (v2)",
)];

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

/// How much room is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FitsCapacity {
    /// No more than the CPU has (version 1).
    V1,
    /// Less than four fifths of what interrupts leave of it (version 2).
    #[default]
    V2,
}

/// The margin of version 2, of 1024. Source: `fits_capacity()`.
const MARGIN_1024: u64 = 1280;

impl FitsCapacity {
    /// The rule that was chosen.
    #[must_use]
    pub fn of(patches: &Patches) -> FitsCapacity {
        match patches.word(FITS_CAPACITY) {
            "v1" => FitsCapacity::V1,
            _ => FitsCapacity::V2,
        }
    }

    /// Whether `util` (the estimate of the runnable tasks and of the wakee) fits a CPU that has
    /// `capacity`, of which interrupts leave `left`. All are in 1024ths of a big core.
    #[must_use]
    pub const fn fits(self, util: u64, capacity: u64, left: u64) -> bool {
        match self {
            FitsCapacity::V1 => util <= capacity,
            FitsCapacity::V2 => util * MARGIN_1024 < left * 1024,
        }
    }
}
