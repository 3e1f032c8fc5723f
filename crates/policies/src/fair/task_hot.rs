//! `task_hot`: whether a queued task would leave a warm cache behind, for a load balancer.

/// What the test looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotCheck {
    /// It is a task of the fair class and not of policy `SCHED_IDLE`.
    pub competes: bool,
    /// The two CPUs share a core.
    pub shares_core: bool,
    /// It is the next or the last buddy of its queue (feature `CACHE_HOT_BUDDY`).
    pub is_buddy: bool,
    /// The destination runs tasks.
    pub dst_is_busy: bool,
    /// What the caches of its process say (`cache_aware_wakeup`); none is what time says.
    pub by_llc: Option<bool>,
    /// `migration_cost_ns`; `None` (-1 in the kernel) makes every task hot.
    pub migration_cost_ns: Option<u64>,
    /// `clock_task` of the source, in ns.
    pub clock_task: u64,
    /// When the task was last accounted, in ns; 0 right after a migration.
    pub exec_start: u64,
}

/// Whether the task should better stay: it is about to run, or ran a moment ago.
/// Source: `task_hot()`, Linux 6.1.
#[must_use]
pub fn task_hot(check: &HotCheck) -> bool {
    if !check.competes || check.shares_core {
        return false;
    }
    if check.is_buddy && check.dst_is_busy {
        return true;
    }
    if let Some(is_hot) = check.by_llc {
        return is_hot;
    }
    match check.migration_cost_ns {
        None => true,
        Some(0) => false,
        Some(cost) => {
            let since = check.clock_task.wrapping_sub(check.exec_start).cast_signed();
            since < cost.cast_signed()
        }
    }
}
