//! What only whoever watches a run is told of its policy: how utilized it holds each CPU to be, and what it
//! traces itself.

use simsched_topology::CpuId;

use super::state::Simulator;
use crate::ids::TaskId;
use crate::observer::{Observer, Tracepoint};
use crate::policy::{BalanceStep, Policy, PolicyEvent};
use crate::workload::Workload;

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
