//! Cache-aware load balancing, as Linux has since 7.2 and as version 4 of its series; `fair/llc/` and
//! `fair/balance/llc.rs` are where it counts.

use std::ops::RangeInclusive;

use super::{Form, Patch, PatchSetting, Patches};
use crate::fair::llc::{CacheAwareVersion, Footprint, LlcTunables};

pub(super) static PATCH: Patch = Patch {
    more: &[
        "Alone it is eevdf@7.3+cache_aware, what Linux 7.3 does; cache_aware@7.2 is that of 7.2, and \
         cache_aware@v4 version 4 of the series, on the class of 7.0. merged, the default of \
         cache_aware_version, is what the kernel has since 7.2.",
        "At most once in an epoch a thread of each process looks, on its way back to user mode, \
         behind which LLC its process has run most (system time; policy_metrics llc_scans): that \
         becomes the preferred one if it leads by twice. Processes with one thread, with more \
         threads running than the LLC has cores, or too large have none.",
        "The load balancer pulls tasks to the preferred LLC of their process (reason llc_task), and \
         leaves them there (llc_pinned), as long as the utilization of the two LLCs allows it; the \
         choice of a CPU for a wakee is as before.",
        "llc_runtime_ns is what processes of several threads have run, llc_runtime_preferred_ns what \
         of it behind the LLC that they preferred, llc_runtime_free_ns what of it without preference.",
    ],
    source: "\"Cache aware scheduling\", T. Chen and Y. Chen, 2026-04-01 (v4); Linux 7.2",
    policy: "eevdf",
    version: Some("7.3"),
    settings: SETTINGS,
    forms: &[
        Form { name: "v4", setting: VERSION, version: Some("7.0") },
        Form { name: "merged", setting: VERSION, version: None },
    ],
    ..Patch::new(
        "cache_aware",
        "the load balancer gathers the threads of a process behind one LLC, as long as they fit there",
    )
};

const VERSION: &str = "cache_aware_version";
const FOOTPRINT: &str = "llc_footprint";

const SETTINGS: &[PatchSetting] = &[
    PatchSetting::word(
        VERSION,
        "the form of cache_aware: that of Linux 7.2 (merged), or version 4 of the series (v4); cache_aware@v4 is the same",
        (CacheAwareVersion::VALUES, "merged"),
        "\"Cache aware scheduling\", T. Chen and Y. Chen, 2026-04-01; Linux 7.2",
    ),
    PatchSetting::word(
        FOOTPRINT,
        "what cache_aware takes for the size of a process: its resident memory (rss, default of v4), its NUMA hinting \
         faults (numa_faults, default of merged; there are none here), or nothing",
        (Footprint::VALUES, "default"),
        "exceed_llc_capacity(), \"Cache aware scheduling\", 2026-04-01; Linux 7.2",
    ),
    debugfs(
        "llc_balancing.enabled",
        ("1: cache_aware balances where the machine has several LLCs; 0: it does nothing", ""),
        (0..=1, 1),
    ),
    debugfs(
        "llc_balancing.aggr_tolerance",
        (
            "how large a process may be that cache_aware gathers: 0 none is, 1 it must fit the LLC, more is that many \
             times as many threads (and 256 times as much memory), 100 any size",
            "",
        ),
        (0..=100, 1),
    ),
    debugfs(
        "llc_balancing.epoch_period",
        (
            "length of an epoch, in which what cache_aware knows of runtime halves; 0 is HZ/100 ticks, at least one",
            "ticks",
        ),
        (0..=10_000, 0),
    ),
    debugfs(
        "llc_balancing.epoch_affinity_timeout",
        ("after how many epochs without a scan a process has no preferred LLC any more", "epochs"),
        (0..=10_000, 5),
    ),
    debugfs(
        "llc_balancing.overaggr_pct",
        ("utilization from which on an LLC is busy; half as much again without SMT", "%"),
        (0..=100, 50),
    ),
    debugfs(
        "llc_balancing.imb_pct",
        (
            "by how much the utilization of one LLC must exceed that of another to count as more",
            "%",
        ),
        (0..=100, 20),
    ),
];

/// A number of cache-aware load balancing, by what it is, its unit, its range and default.
const fn debugfs(
    key: &'static str,
    text: (&'static str, &'static str),
    takes: (RangeInclusive<u64>, u64),
) -> PatchSetting {
    let source = "/sys/kernel/debug/sched/llc_balancing, Linux 7.2; matters only with cache_aware";
    PatchSetting::number(key, text, takes, source)
}

/// What cache-aware load balancing is made with.
pub(in crate::fair) fn tunables(patches: &Patches) -> LlcTunables {
    let version = CacheAwareVersion::from_name(patches.word(VERSION)).unwrap_or_default();
    LlcTunables {
        version,
        // Its first word is what the form does.
        footprint: Footprint::from_name(patches.word(FOOTPRINT)).unwrap_or(version.footprint()),
        enabled: patches.number("llc_balancing.enabled"),
        aggr_tolerance: patches.number("llc_balancing.aggr_tolerance"),
        epoch_period: patches.number("llc_balancing.epoch_period"),
        epoch_affinity_timeout: patches.number("llc_balancing.epoch_affinity_timeout"),
        overaggr_pct: patches.number("llc_balancing.overaggr_pct"),
        imb_pct: patches.number("llc_balancing.imb_pct"),
    }
}
