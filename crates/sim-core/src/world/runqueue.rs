//! `RqRow`: what is true of one CPU's runqueue, whatever the policy.

use simsched_topology::CpuId;

use crate::ids::TaskId;

/// What is true of one CPU (`struct rq`, without what belongs to a class).
#[derive(Clone, Copy, Debug)]
pub struct RqRow {
    /// `rq->clock` in ns: the time as of the last update, not the present.
    pub clock: u64,
    /// `rq->clock_task` in ns: the clock less the time spent in interrupts.
    pub clock_task: u64,
    /// Time spent in interrupts so far, in ns (`irq_time_read`).
    pub irq_time: u64,
    /// The part of `irq_time` that `clock_task` has left out already, in ns.
    pub(crate) prev_irq_time: u64,
    /// The current task; `None` is the idle task, or the stopper while it is `stopping`.
    pub curr: Option<TaskId>,
    /// Runnable tasks, the running one and the stopper included, without those that are throttled
    /// ([`crate::Cx::throttle`]; `rq->nr_running`).
    pub nr_running: u32,
    /// Who was current has been dequeued and counts in `nr_running` still (`sub_nr_running()` comes behind
    /// `dequeue_task()`).
    pub leaving: bool,
    /// A wakeup is in the hand-off list (`rq->ttwu_pending`).
    pub pending: bool,
    /// The current task is to be rescheduled (`TIF_NEED_RESCHED`).
    pub need_resched: bool,
    /// The current task is to be rescheduled when it returns to user mode, and no hard request has come since
    /// (`TIF_NEED_RESCHED_LAZY`).
    pub need_resched_lazy: bool,
    /// The stopper is runnable, and counts in `nr_running` (`sched_stop_runnable()`).
    pub stopper: bool,
    /// The stopper is current, and `curr` is `None`.
    pub stopping: bool,
    /// The advertised exit latency of the idle state that the CPU is in, in us; `None` while it is in
    /// none, or where no driver tells (`idle_get_state()`).
    pub exit_latency_us: Option<u32>,
    /// Calls of `__schedule()` (`rq->sched_count`).
    pub sched_count: u64,
    /// How often the idle task was picked, also after itself (`rq->sched_goidle`).
    pub sched_goidle: u64,
    /// Calls of `sched_yield()` (`rq->yld_count`).
    pub yld_count: u64,
    /// The next `schedule()` leaves the clock as it is (`RQCF_REQ_SKIP`).
    pub(crate) skip_update: bool,
    /// The CPU that last held the lock of this runqueue: this CPU (in `schedule()` or its tick), or a waker
    /// or balancer elsewhere. The cache lines that the lock protects are in that CPU's cache, modified, and a
    /// CPU that takes the lock next waits for them to come from there.
    pub writer: CpuId,
}

impl RqRow {
    /// The idle `cpu`, whose clocks stand at `clock`.
    pub(crate) fn new(cpu: CpuId, clock: u64) -> RqRow {
        RqRow {
            writer: cpu,
            clock,
            clock_task: clock,
            irq_time: 0,
            prev_irq_time: 0,
            curr: None,
            nr_running: 0,
            leaving: false,
            pending: false,
            need_resched: false,
            need_resched_lazy: false,
            stopper: false,
            stopping: false,
            exit_latency_us: None,
            sched_count: 0,
            sched_goidle: 0,
            yld_count: 0,
            skip_update: false,
        }
    }

    /// `update_rq_clock()`: brings the clocks to `now`; interrupt time is left out of `clock_task`,
    /// at most as much as has passed.
    #[inline]
    pub(crate) fn update_clock(&mut self, now: u64) {
        let delta = now.saturating_sub(self.clock);
        let irq = (self.irq_time - self.prev_irq_time).min(delta);
        self.prev_irq_time += irq;
        self.clock += delta;
        self.clock_task += delta - irq;
    }

    /// `idle_cpu()`: the idle task is current, nothing is runnable and nothing is handed over.
    #[inline]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.curr.is_none() && self.nr_running == 0 && !self.pending && !self.stopping
    }

    /// What counts beside the tasks that are queued: compared by [`World::rq_update`](super::World).
    #[inline]
    pub(super) fn beside(&self) -> (bool, bool, bool) {
        (self.stopper, self.leaving, self.pending)
    }

    /// Runnable tasks, without the stopper, without who is leaving and without those that are throttled.
    #[inline]
    #[must_use]
    pub fn nr_tasks(&self) -> u32 {
        self.nr_running - u32::from(self.stopper) - u32::from(self.leaving)
    }
}
