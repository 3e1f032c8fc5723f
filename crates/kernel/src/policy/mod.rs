//! `KernelPolicy`: the kernel's own functions as a [`Policy`](simsched_core::Policy).
//!
//! The simulation keeps the machine: wakeups, the switch, interrupts, the idle loop, the stopper and what all that
//! costs. What the fair class decides is asked of a library that was built from a kernel tree. The passes of the load
//! balancer run on stacks of their own there, and are suspended where time passes.

mod balancer;
mod class;
mod homes;
mod passes;
mod placement;
mod report;
mod slices;
mod spec;
mod state;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use simsched_core::ipc::IpcVersion;
use simsched_core::{
    Access, Attached, Cx, FuncId, KernelRules, LineId, TaskId, Touch, TtwuQueue, World,
};
use simsched_policies::fair::{
    ACCOUNT_MM_SCHED, FUNCTIONS, GROUP_LEVEL, UPDATE_CFS_GROUP, UPDATE_LOAD_AVG,
};
use simsched_topology::{CpuId, NodeId};

use self::homes::Homes;
use self::passes::Passes;
use self::report::Domains;
use self::slices::Slices;
pub use self::spec::{KernelSpec, entry};
pub use self::state::KernelTask;
use crate::library::{Answer, KernelSettings, Library, number};
use crate::sys::RawEvent;

/// Numbers of `simsched_kernel.h`: what the kernel asks of the rest of the machine.
mod event {
    pub(super) const IPI: i32 = 1;
    pub(super) const CALL: i32 = 2;
    pub(super) const POLL: i32 = 3;
    pub(super) const SOFTIRQ: i32 = 4;
    pub(super) const STOP: i32 = 5;
    pub(super) const TIMER_CANCEL: i32 = 7;
    pub(super) const MIGRATE: i32 = 8;
    pub(super) const TASK_WORK: i32 = 11;
    pub(super) const BLOCKED: i32 = 12;
    pub(super) const LINE: i32 = 13;
    pub(super) const SLICE: i32 = 14;
    pub(super) const ACCOUNTED: i32 = 15;
}

/// The fair class of a kernel tree, as a policy.
pub struct KernelPolicy {
    path: PathBuf,
    settings: KernelSettings,
    /// None before the policy is attached, and once it has failed. In a cell, since a library is changed by each
    /// question, and the policy is checked as it is.
    kernel: RefCell<Option<Kernel>>,
    /// Why it has failed.
    why: String,
    domains: Domains,
}

/// A library, and where the passes of the load balancer are in it.
struct Kernel {
    library: Library,
    passes: Passes,
    homes: Homes,
    slices: Slices,
    events: Vec<RawEvent>,
    /// Whether any question may have the kernel ask for something, and not only those after which it is looked for.
    always_asks: bool,
}

impl KernelPolicy {
    /// The library in the file `path`, with these settings. The file is read when the policy is attached; what is wrong
    /// with it ends the run ([`SimError::PolicyFailed`](simsched_core::SimError::PolicyFailed)).
    #[must_use]
    pub fn new(path: &Path, settings: KernelSettings) -> KernelPolicy {
        KernelPolicy {
            path: path.to_owned(),
            settings,
            kernel: RefCell::default(),
            why: String::new(),
            domains: Domains::default(),
        }
    }

    fn begin(&mut self, world: &World) -> Attached {
        let mut rules = KernelRules::default();
        let levels = usize::from(self.settings.grouping.levels());
        let (mut timers, mut is_gathering) = (0, false);
        match Library::new(&self.path, world, &self.settings) {
            Ok(mut library) => {
                rules = rules_of(&library.class.release());
                self.domains = Domains::of(&mut library, world);
                let passes = Passes::new(&mut library, world);
                let slices = Slices::new(&mut library, world);
                timers = slices.timers();
                is_gathering = library
                    .class
                    .knobs()
                    .iter()
                    .any(|(key, value)| key == "llc_balancing.enabled" && *value > 0);
                let always_asks = levels > 0 || slices.are_used() || is_gathering;
                let (homes, events) = (Homes::default(), Vec::new());
                *self.kernel.get_mut() =
                    Some(Kernel { library, passes, homes, slices, events, always_asks });
            }
            Err(why) => self.why = why,
        }
        Attached {
            rules,
            reasons: placement::REASONS,
            // The load of a group is where the group was created: on the first node.
            lines: vec![NodeId(0); levels],
            functions: if levels > 0 || is_gathering { FUNCTIONS } else { &[] },
            timers,
        }
    }

    /// Asks the library; answers `instead` once it has failed.
    fn ask<T>(
        &mut self,
        cx: &mut Cx<'_>,
        instead: T,
        question: impl FnOnce(&mut Kernel, &mut Cx<'_>) -> Answer<T>,
    ) -> T {
        let slot = self.kernel.get_mut();
        if let Some(kernel) = slot {
            let asked = question(kernel, cx).and_then(|answer| {
                if kernel.always_asks {
                    kernel.take_events(cx)?;
                }
                Ok(answer)
            });
            // What the kernel says is the cause of what a function returns.
            match kernel.library.fault().and(asked) {
                Ok(answer) => return answer,
                Err(why) => self.why = why,
            }
            *slot = None;
        }
        cx.fail(format!("{}: {}", self.path.display(), self.why));
        instead
    }
}

impl Kernel {
    /// Asks what may end the turn of the current task of `cpu`, as each update of its runtime may: then that is
    /// rescheduled.
    fn raises<T>(
        &mut self,
        cx: &mut Cx<'_>,
        cpu: CpuId,
        question: impl FnOnce(&mut Library, &World) -> Answer<T>,
    ) -> Answer<T> {
        self.library.flag(cx.world, cpu)?;
        let before = self.library.class.resched(number(cpu));
        let answer = question(&mut self.library, cx.world)?;
        match self.library.class.resched(number(cpu)) {
            after if after <= before => {}
            1 => cx.resched_lazy(cpu),
            _ => cx.resched(cpu),
        }
        Ok(answer)
    }

    /// Takes what the kernel has asked for since the last time. Sleepers that have left their queues do so at once, and
    /// who has read or written the load of a group has done so in this call.
    fn take_events(&mut self, cx: &mut Cx<'_>) -> Answer<&[RawEvent]> {
        self.events.clear();
        self.events.extend_from_slice(self.library.class.take_events());
        for event in &self.events {
            match event.kind {
                event::BLOCKED => {
                    let gone = || format!("task {} has left, and never came", event.task);
                    let task = self.library.task_of(event.task).ok_or_else(gone)?;
                    cx.block(task);
                    walked(&self.library, cx, task, GROUP_LEVEL);
                }
                event::LINE => cx.touch(line(event)),
                event::ACCOUNTED => cx.did(ACCOUNT_MM_SCHED, 1),
                event::SLICE => self.slices.arm(cx, event),
                event::TIMER_CANCEL => self.slices.cancel(cx, event),
                event::TASK_WORK => {
                    let gone = || format!("task {} has work to do, and never came", event.task);
                    cx.add_task_work(self.library.task_of(event.task).ok_or_else(gone)?);
                }
                _ => {}
            }
        }
        Ok(&self.events)
    }
}

/// The levels of groups above the root have been walked for `task`, all of them.
fn walked(library: &Library, cx: &mut Cx<'_>, task: TaskId, what: FuncId) {
    let levels = library.grouping.levels();
    if levels > 0 && !cx.world.tasks().is_background(task) {
        cx.did(what, u32::from(levels));
    }
}

/// The access to the load of a group, of which the first has number 1.
fn line(event: &RawEvent) -> Touch {
    let line = LineId(u32::try_from(event.task - 1).unwrap_or(0));
    let (access, what) = match event.arg {
        0 => (Access::Read, UPDATE_CFS_GROUP),
        _ => (Access::Write, UPDATE_LOAD_AVG),
    };
    Touch { line, access, what }
}

/// The rules of pipes of a release of these numbers.
fn ipc_of(version: [u32; 2]) -> IpcVersion {
    let rules = [
        ([7, 3], IpcVersion::V7_3),
        ([6, 15], IpcVersion::V6_15),
        ([6, 14], IpcVersion::V6_14),
        ([0, 0], IpcVersion::V6_13),
    ];
    rules.into_iter().find(|(since, _)| version >= *since).map_or_else(Default::default, |it| it.1)
}

/// What of the kernel around the fair class depends on its release.
fn rules_of(release: &str) -> KernelRules {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let version = [numbers.next(), numbers.next()].map(|number| match number {
        Some(Ok(number)) => number,
        _ => 0,
    });
    KernelRules {
        ttwu_queue: if version < [6, 0] { TtwuQueue::CrossLlc } else { TtwuQueue::CrossLlcOrIdle },
        ttwu_pending_stays: version >= [6, 2],
        sm_idle: version >= [6, 12],
        tmigr: version >= [6, 9],
        exit_resched: version >= [7, 0],
        ipc: ipc_of(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_follow_the_release() {
        let rules = |release| {
            let KernelRules { ttwu_queue, ttwu_pending_stays, sm_idle, tmigr, .. } =
                rules_of(release);
            (ttwu_queue, ttwu_pending_stays, sm_idle, tmigr)
        };
        assert_eq!(rules("6.1.192"), (TtwuQueue::CrossLlcOrIdle, false, false, false));
        assert_eq!(rules("6.10"), (TtwuQueue::CrossLlcOrIdle, true, false, true));
        assert_eq!(rules("6.12.117-mine+"), (TtwuQueue::CrossLlcOrIdle, true, true, true));
        assert_eq!(rules("5.19.0"), (TtwuQueue::CrossLlc, false, false, false));
        assert_eq!(rules("7.3-rc4"), (TtwuQueue::CrossLlcOrIdle, true, true, true));
        let ends = ["6.12.107", "7.0", "7.3.4"].map(|it| rules_of(it).exit_resched);
        assert_eq!(ends, [false, true, true]);
        let pipes = ["6.13", "6.14.2", "7.0", "7.2.13", "7.3.4", "7.11"].map(|it| rules_of(it).ipc);
        let [v6_15, v7_3] = [IpcVersion::V6_15, IpcVersion::V7_3];
        assert_eq!(pipes, [IpcVersion::V6_13, IpcVersion::V6_14, v6_15, v6_15, v7_3, v7_3]);
    }
}
