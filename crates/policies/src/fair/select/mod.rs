//! `select_task_rq`: the CPU for a task that wakes up, is forked or executes a new program.

mod hook;
mod idle_cpu;
mod idle_sibling;
mod looks;
mod redirect;
mod slow_path;
mod wake_affine;
mod wakeup_cx;

use simsched_core::{Far, Placement, WakeKind, Wakeup, World};
use simsched_topology::{CpuId, SdFlags};

pub(in crate::fair) use self::hook::Hooks;
pub use self::hook::{Hook, Points};
use self::idle_sibling::Sibling;
use self::slow_path::Idlest;
use self::wake_affine::Affine;
pub(in crate::fair) use self::wake_affine::AffineCounts;
pub use self::wake_affine::{AffineLoads, wake_affine_weight};
pub use self::wakeup_cx::WakeupCx;
use super::Fair;
use super::wakee::wake_wide;

/// Why a CPU was chosen, or a task moved; those of patches are in [`patches`](super::patches).
pub mod reason {
    use simsched_core::Reason;

    /// A reason, as it is listed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ReasonRow {
        /// Its number, which is in the digest of a run and never changes.
        pub reason: Reason,
        /// Its name.
        pub name: &'static str,
        /// What it means, in one line.
        pub doc: &'static str,
    }

    macro_rules! reasons {
        ($(#[doc = $doc:literal] $name:ident = $idx:literal, $text:literal;)*) => {
            $(#[doc = $doc] pub const $name: Reason = Reason($idx);)*

            /// All of them; the numbers that are missing are those of patches.
            pub const ALL: &[ReasonRow] =
                &[$(ReasonRow { reason: $name, name: $text, doc: $doc }),*];
        };
    }

    reasons! {
        /// The target of the affine stage, or the previous CPU without one, was free.
        TARGET = 0, "target";
        /// The previous CPU was free.
        PREV = 1, "prev";
        /// The CPU before the previous one was free.
        RECENT = 2, "recent";
        /// An SMT sibling of the previous CPU was free.
        SIBLING = 3, "sibling";
        /// The scan found an idle core.
        IDLE_CORE = 4, "idle_core";
        /// The scan found a free CPU.
        IDLE_CPU = 5, "idle_cpu";
        /// Nothing free was found: the target, busy as it is.
        NONE_IDLE = 6, "none_idle";
        /// The slow path searched for the idlest group and CPU.
        SLOW_PATH = 7, "slow_path";
        /// No domain has a say: the previous CPU.
        STAY = 8, "stay";
        /// A balancer: to make loads equal.
        LOAD = 12, "load";
        /// A balancer: to use what another group has to spare.
        UTIL = 13, "util";
        /// A balancer: to make numbers of tasks equal, or of idle CPUs.
        TASK = 14, "task";
        /// A balancer: the task did not fit its CPU.
        MISFIT = 15, "misfit";
        /// A balancer: the task went to the preferred LLC of its process (`cache_aware`).
        LLC_TASK = 19, "llc_task";
    }
}

/// What the walk over the domains of the waker's CPU found.
enum Walk {
    /// A domain that holds both CPUs and pulls wakees, by its index.
    Affine(usize),
    /// The highest domain that balances such tasks, by its index.
    Balance(usize),
    /// Neither.
    Nothing,
}

impl Fair {
    /// Source: `select_task_rq_fair()`, Linux 6.1.
    pub(super) fn select(&mut self, world: &World, wakeup: &Wakeup) -> Placement {
        let &Wakeup { wakee: task, prev: own_prev, waker, kind } = wakeup;
        let is_wake = matches!(kind, WakeKind::Wake | WakeKind::WakeSync);
        let want_affine = is_wake && self.want_affine(world, wakeup);
        let prev = if is_wake { self.redirect(world, task, own_prev) } else { own_prev };
        let wakeup = &Wakeup { prev, ..*wakeup };
        // What a search before this one has looked at.
        let mut before = None;
        let mut affine = false;
        let (found, target) = match self.walk(wakeup, want_affine) {
            Walk::Balance(sd) => {
                let ask = Idlest { task, waker, prev, flag: flag_of(kind) };
                let (cpu, looks) = self.find_idlest_cpu(world, ask, sd);
                return looks.found(cpu, reason::SLOW_PATH);
            }
            _ if !is_wake => return Placement::at(prev, reason::STAY),
            walk => {
                let mut target = prev;
                if let Walk::Affine(sd) = walk
                    && waker != prev
                {
                    affine = self.all.features.wa_idle || self.all.features.wa_weight;
                    let imbalance_pct = self.domains().of(waker)[sd].imbalance_pct;
                    let sync = kind == WakeKind::WakeSync && !is_exiting(world, wakeup);
                    let ask = Affine { task, this: waker, prev, sync, imbalance_pct };
                    target = self.wake_affine(world, ask);
                    let moves = u64::from(target == waker);
                    self.affine.count(target == waker);
                    self.balance.sd_mut(waker, sd).counts.ttwu_move_affine += moves;
                }
                let ask = Sibling { task, waker, prev, own_prev, target };
                let found = self.select_idle_sibling(world, ask);
                if let Some(again) = self.retried(world, ask, found) {
                    before = Some(found_near(world, waker, target, found));
                    (again, own_prev)
                } else {
                    (found, target)
                }
            }
        };
        self.count_remote(waker, found.cpu);
        let mut found = found_near(world, waker, target, found);
        found.affine = affine;
        if let Some(before) = before {
            found.scanned += before.scanned;
            found.far += before.far;
        }
        found
    }

    /// Counts a wakee that is placed on another CPU than the waker's, in the lowest domain of both. A
    /// wakee for which no CPU is chosen, since it is still queued or pinned, is not counted, other than
    /// in the kernel. Source: `ttwu_stat()`.
    #[inline]
    fn count_remote(&mut self, waker: CpuId, cpu: CpuId) {
        if cpu != waker {
            let mut domains = self.domains().of(waker).iter();
            if let Some(sd) = domains.position(|sd| sd.span.contains(cpu)) {
                self.balance.sd_mut(waker, sd).counts.ttwu_wake_remote += 1;
            }
        }
    }

    /// Records who wakes whom, and says whether the waker's CPU is a candidate.
    fn want_affine(&mut self, world: &World, wakeup: &Wakeup) -> bool {
        let &Wakeup { wakee, waker, .. } = wakeup;
        let row = match world.curr(waker) {
            Some(task) => task.idx(),
            None => self.idle_task_row(waker),
        };
        self.wakees[row].record_wakee(world.jiffies(), world.hz(), wakee);
        let [waker_flips, wakee_flips] = [row, wakee.idx()].map(|row| self.wakees[row].flips);
        !wake_wide(waker_flips, wakee_flips, self.domains().llc_size(waker))
            && world.is_allowed(wakee, waker)
    }

    fn walk(&self, wakeup: &Wakeup, want_affine: bool) -> Walk {
        let flag = flag_of(wakeup.kind);
        let mut found = Walk::Nothing;
        for (at, sd) in self.domains().of(wakeup.waker).iter().enumerate() {
            if want_affine
                && sd.flags.contains(SdFlags::WAKE_AFFINE)
                && sd.span.contains(wakeup.prev)
            {
                return Walk::Affine(at);
            }
            if sd.flags.contains(flag) {
                found = Walk::Balance(at);
            } else if !want_affine {
                break;
            }
        }
        found
    }
}

/// What a search behind the LLC of `target` has found, with the distance of that LLC from the waker.
#[inline]
fn found_near(world: &World, waker: CpuId, target: CpuId, mut found: Placement) -> Placement {
    if found.scanned > 0 {
        found.far += Far::at(world.topology().distance_class(waker, target), found.scanned);
    }
    found
}

/// A waker that is on its way out will not make room. Source: `PF_EXITING` in
/// `select_task_rq_fair()`.
fn is_exiting(world: &World, wakeup: &Wakeup) -> bool {
    world.curr(wakeup.waker).is_some_and(|curr| world.task(curr).exiting)
}

fn flag_of(kind: WakeKind) -> SdFlags {
    match kind {
        WakeKind::Wake | WakeKind::WakeSync => SdFlags::BALANCE_WAKE,
        WakeKind::Fork => SdFlags::BALANCE_FORK,
        WakeKind::Exec => SdFlags::BALANCE_EXEC,
    }
}
