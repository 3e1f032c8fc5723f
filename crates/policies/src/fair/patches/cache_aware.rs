//! Cache-aware load balancing, as Linux has since 7.2 and as version 4 of its series; `fair/llc/` and
//! `fair/balance/llc.rs` are where it counts.

use super::{Form, Patch};

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
    forms: &[
        Form { name: "v4", setting: "cache_aware_version", version: Some("7.0") },
        Form { name: "merged", setting: "cache_aware_version", version: None },
    ],
    ..Patch::new(
        "cache_aware",
        "the load balancer gathers the threads of a process behind one LLC, as long as they fit there",
    )
};
