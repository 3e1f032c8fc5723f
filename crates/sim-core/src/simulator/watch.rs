//! What an observer sees of the policy alone: how utilized it holds each CPU to be, and what it traces itself;
//! and what the kernel's own tracer takes for its pages.

use simsched_topology::CpuId;

use super::state::Simulator;
use crate::ids::TaskId;
use crate::observer::{Observer, Tracepoint};
use crate::policy::{BalanceStep, Policy, PolicyEvent};
use crate::workload::Workload;

/// The bytes of a page of the kernel's trace buffer that events fill (`BUF_PAGE_SIZE`).
const TRACE_PAGE: u32 = 4_080;

/// The bytes that an event of the scheduler takes there, with the header of its entry; none of those that the lab does not
/// trace.
const fn traced_bytes(tracepoint: &Tracepoint) -> u32 {
    match tracepoint {
        Tracepoint::Switch { .. } => 68,
        Tracepoint::Migrate { .. } => 44,
        Tracepoint::Waking { .. } | Tracepoint::Wakeup { .. } => 40,
        _ => 0,
    }
}

/// Whose runqueue the kernel holds locked in a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Locked {
    /// None.
    No,
    /// That of this CPU.
    Cpu(CpuId),
    /// That of the CPU of this task.
    Of(TaskId),
    /// That of this CPU, whose balancer has made this step, and the one that its step before has locked.
    Step(CpuId, BalanceStep),
}

/// The `util_avg` of each CPU as it was last emitted ([`crate::Wants::UTIL_AVG`]).
pub(super) struct UtilWatch {
    /// By CPU.
    told: Vec<u64>,
    /// By CPU: whose runqueue its balancer has locked with its last step.
    locked: Vec<Option<CpuId>>,
    /// Changes that have not been told, in their order.
    changed: Vec<(CpuId, u64)>,
}

impl UtilWatch {
    pub(super) fn new(nr_cpus: usize) -> UtilWatch {
        UtilWatch { told: vec![0; nr_cpus], locked: vec![None; nr_cpus], changed: Vec::new() }
    }
}

impl<P: Policy + ?Sized, W: Workload, O: Observer> Simulator<P, W, O> {
    /// Notes what a call has changed in which this runqueue was locked.
    pub(super) fn look_at_util(&mut self, locked: Locked) {
        let cpu = match locked {
            Locked::No => return,
            Locked::Cpu(cpu) => cpu,
            Locked::Of(task) => self.world.task(task).cpu,
            Locked::Step(cpu, step) => {
                self.look_behind_step(cpu, step);
                cpu
            }
        };
        let (Some(watch), Some(util_avg)) = (&mut self.util_watch, self.policy.util_avg(cpu))
        else {
            return;
        };
        if std::mem::replace(&mut watch.told[cpu.idx()], util_avg) != util_avg {
            watch.changed.push((cpu, util_avg));
        }
    }

    /// The balancer of `cpu` has made a step with the runqueue locked that its step before has locked, if it
    /// was one of that kind.
    fn look_behind_step(&mut self, cpu: CpuId, step: BalanceStep) {
        let Some(watch) = &mut self.util_watch else { return };
        let locks = if let BalanceStep::Lock(other) = step { Some(other) } else { None };
        if let Some(other) = std::mem::replace(&mut watch.locked[cpu.idx()], locks) {
            self.look_at_util(Locked::Cpu(other));
        }
    }

    /// The event that does not fit the page of its CPU any more takes longer, as the writer goes on to the next page
    /// (`rb_move_tail()`).
    pub(super) fn fill_trace_page(&mut self, tracepoint: &Tracepoint) {
        let bytes = traced_bytes(tracepoint);
        let is_life = matches!(tracepoint, Tracepoint::Fork { .. } | Tracepoint::Exit { .. });
        let is_line = bytes > 0 || is_life;
        self.counters.traced = self.counters.traced.saturating_add(u32::from(is_line));
        let cpu = match *tracepoint {
            Tracepoint::Switch { cpu, .. } => cpu,
            _ => self.world.this_cpu(),
        };
        let filled = &mut self.desk(cpu).traced;
        *filled += bytes;
        if *filled > TRACE_PAGE {
            *filled = bytes;
            self.cpus[cpu.idx()].debt += self.prices.list().trace_page;
        }
    }

    /// Tells whoever watches what has changed, and what the policy has traced, since the last event.
    pub(super) fn tell_traced(&mut self) {
        let changed = self.util_watch.as_mut().map(|watch| std::mem::take(&mut watch.changed));
        for (cpu, util_avg) in changed.into_iter().flatten() {
            self.emit(Tracepoint::UtilAvg { cpu, util_avg });
        }
        for event in self.actions.take_traced() {
            match event {
                PolicyEvent::Preferred(proc, llc) => self.emit(Tracepoint::Preferred { proc, llc }),
                PolicyEvent::CacheWork { task, home, nr_running_avg } => {
                    self.emit(Tracepoint::CacheWork { task, home, nr_running_avg });
                }
            }
        }
    }
}
