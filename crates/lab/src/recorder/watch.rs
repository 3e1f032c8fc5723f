//! `Watch`: what probes of the kernel would have shown of a run beside the tracer's events.

use simsched_core::{Cause, Reason, SimTime};

use crate::probes::{Mover, Probes, Scan};

/// The reason that the fair class gives for moves which gather the tasks of an LLC.
const GATHERS: &str = "llc_task";

/// Migrations by the path that made them, and entries of `task_cache_work()`.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// By migration that is among the tracer's events, in their order: when, the path, and the policy's reason.
    movers: Vec<(SimTime, Mover, Reason)>,
    scans: Vec<Scan>,
}

impl Watch {
    /// A task is moved for this cause; `is_idle`: the CPU that gets it runs nothing.
    pub(super) fn moved(&mut self, at: SimTime, cause: Cause, is_idle: bool, reason: Reason) {
        self.movers.push((at, mover(cause, is_idle), reason));
    }

    /// A thread enters `task_cache_work()`.
    pub(super) fn scanned(&mut self, scan: Scan) {
        self.scans.push(scan);
    }

    /// All that was seen, in the order of time, of a run between these two instants in µs under a policy with
    /// these names of reasons.
    pub(super) fn finish(mut self, [begun, ended]: [u64; 2], reasons: &[&str]) -> Probes {
        self.movers.sort_by_key(|&(at, ..)| at);
        let gathers = |reason: Reason| reasons.get(usize::from(reason.0)) == Some(&GATHERS);
        let mover = |&(_, mover, reason): &(SimTime, Mover, Reason)| match mover {
            Mover::Active if gathers(reason) => Mover::ActiveLlc,
            mover => mover,
        };
        let movers = self.movers.iter().map(mover).collect();
        Probes { begun, ended, movers, scans: self.scans }
    }
}

/// The path of the kernel that moves a task for this cause. The balancer that works for the idle CPUs runs on one
/// that is idle itself.
fn mover(cause: Cause, is_idle: bool) -> Mover {
    match cause {
        Cause::Wakeup | Cause::Fork => Mover::Wake,
        Cause::Exec | Cause::Affinity => Mover::Affinity,
        Cause::Periodic if !is_idle => Mover::BusyPeriodic,
        Cause::Periodic | Cause::Nohz => Mover::IdlePeriodic,
        Cause::NewIdle => Mover::NewIdle,
        Cause::Active => Mover::Active,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stopper_gathers_where_the_balancer_wanted_tasks_of_an_llc() {
        let mut watch = Watch::default();
        watch.moved(SimTime(30), Cause::Active, true, Reason(1));
        watch.moved(SimTime(20), Cause::Active, true, Reason(0));
        watch.moved(SimTime(10), Cause::Periodic, false, Reason(1));
        watch.moved(SimTime(40), Cause::Nohz, false, Reason(1));
        let probes = watch.finish([1, 9], &["task", GATHERS]);
        let expected = [Mover::BusyPeriodic, Mover::Active, Mover::ActiveLlc, Mover::IdlePeriodic];
        assert_eq!((probes.begun, probes.ended, &probes.movers[..]), (1, 9, &expected[..]));
    }
}
