//! What a patch does, beyond its one line: when it is asked, what it reads, what tells of it.

/// What the feature `key` does, sentence by sentence; none for those of which one line says all.
#[must_use]
pub fn more(key: &str) -> &'static [&'static str] {
    match key {
        "wakeup_bias_prev" => &[
            "Asked first in select_idle_sibling(), if the previous CPU shares its LLC with the target.",
            "It stays if that CPU is idle (reason bias_prev_idle), or if the estimated utilization of \
             its runnable tasks leaves wakeup_bias_prev_threshold of its capacity (bias_prev_spare).",
            "When the search finds nothing idle, the previous CPU is taken in place of the target.",
        ],
        "select_bias_prev" => &[
            "Asked first in select_idle_sibling(), if the previous CPU shares its LLC with the target.",
            "It stays if that CPU is idle (reason bias_prev_idle), or if the estimated utilization of \
             its runnable tasks and of the wakee fits it, as fits_capacity says (bias_prev_spare).",
            "When the search finds nothing idle, the previous CPU is taken in place of the target.",
        ],
        "util_fits_capacity" => &[
            "Where select_idle_sibling() takes the target, the previous or the recent CPU if it is \
             idle, it is taken also if the estimated utilization of its runnable tasks and of the \
             wakee fits it, as fits_capacity says (reasons target_fits, prev_fits, recent_fits).",
        ],
        "bias_pays_search" => &[
            "Tells whether a patch gains by where tasks run or by the search that it saves: with this, \
             it gains by the former only.",
        ],
        "tg_per_node" => &[
            "Without it a group has one number, tg->load_avg, in one cache line that all its queues \
             write and read.",
            "With it there are as many as NUMA nodes, each in a line of its own; whose is written says \
             tg_node.",
        ],
        "tg_ratelimit" => &[
            "A queue that wrote tg->load_avg less than 1 ms ago leaves it as it is; policy_metrics \
             counts that as tg_limited.",
        ],
        "tg_nomig" => &[
            "Of a task that leaves one queue of its group for another the sum does not change: neither \
             the queue that it leaves nor the one that it joins tells tg->load_avg.",
        ],
        "cache_aware" => &[
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
        "cache_aware_wakeup" => CACHE_AWARE_WAKEUP,
        "always_check" => &[
            "The discussion of the series asks for this: what other processes do in the LLC counts, too.",
        ],
        "refresh_at_enqueue" => &[
            "At each enqueue the numbers of the LLC of that CPU, and of the LLC that the process prefers, \
             are those of this moment; that takes no time.",
        ],
        _ => &[],
    }
}

/// Cache-aware wakeups.
const CACHE_AWARE_WAKEUP: &[&str] = &[
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
];
