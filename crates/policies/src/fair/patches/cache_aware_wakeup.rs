//! Cache-aware wakeups, the series before `cache_aware`; `fair/llc/wakeup/` and `fair/select/redirect.rs` are where it
//! counts.

use super::{Form, Need, Patch, PatchSetting, Patches};
use crate::fair::llc::{WakeupLevel, WakeupRules};

pub(super) static PATCH: Patch = Patch {
    more: &[
        "Alone it is eevdf@7.0+cache_aware_wakeup; @L1 is the prototype of March 2025, @L2 has its \
         fixes, and @L3, the default, the guard against over-aggregation.",
        "Once in an epoch a thread of each process looks, on its way back to user mode, behind which \
         LLC its process has run most, on average over the LLC's CPUs (system time; policy_metrics \
         cas_scans). That is preferred from then on (cas_elections: another one than before); there \
         is no hysteresis.",
        "A wakee of that process is taken to have run there (cas_redirected), unless it did \
         (cas_wakeups_at_home), or the LLC is over-aggregated (cas_inhibited): a quarter of its \
         capacity is used, or a third of its CPUs run tasks, by what the last periodic balance has \
         seen. Processes with fewer threads than the LLC has CPUs are not asked (always_check does).",
        "If nothing is idle there, the search begins anew where the wakee was (cas_retried). A \
         balancer leaves tasks that are at home, unless the other LLC has room.",
        "cas_stale counts wakees that the guard let pass though the LLC was over its limits at that \
         moment, cas_stale_burst_max the most in a row; cas_opened and cas_closed how often what is \
         known of an LLC came to lie below the limits and above them.",
    ],
    source: "\"sched: Inhibit cache aware scheduling if the preferred LLC is over aggregated\", RFC of \
             2025-04-21",
    policy: "eevdf",
    version: Some("7.0"),
    settings: &[PatchSetting::word(
        LEVEL,
        "how many patches of cache_aware_wakeup there are: the prototype (L1), three (L2), or all four with the guard \
         against over-aggregation (L3); cache_aware_wakeup@L1 is the same",
        (WakeupLevel::VALUES, "L3"),
        "prototype of 2025-03-25, RFC of 2025-04-21 (\"sched: Introduce Cache aware scheduling\")",
    )],
    forms: &[
        Form { name: "L1", setting: LEVEL, version: None },
        Form { name: "L2", setting: LEVEL, version: None },
        Form { name: "L3", setting: LEVEL, version: None },
    ],
    ..Patch::new(
        "cache_aware_wakeup",
        "a wakee is sent to the LLC in which its process has run most, as long as that is known to have \
         room",
    )
};

/// Its fourth patch decides only where there is room.
pub(super) const GUARD: Need = Need {
    what: "cache_aware_wakeup@L3",
    is_met: |_, patches| patches.is_on("cache_aware_wakeup") && level(patches) == WakeupLevel::L3,
};

const LEVEL: &str = "cache_aware_wakeup_level";

fn level(patches: &Patches) -> WakeupLevel {
    WakeupLevel::from_name(patches.word(LEVEL)).unwrap_or_default()
}

/// How much of the series there is, and what other patches change of it.
pub(in crate::fair) fn rules(patches: &Patches) -> WakeupRules {
    WakeupRules {
        level: level(patches),
        always_check: patches.is_on("always_check"),
        refresh_at_enqueue: patches.is_on("refresh_at_enqueue"),
    }
}
