//! `PolicyHost`: a policy in a world built by hand, called as the simulator calls it.

use simsched_topology::CpuId;

use super::WorldKit;
use crate::ids::TaskId;
use crate::names::{CallId, TimerId};
use crate::policy::{
    Actions, Attached, BalanceStep, Cx, Dequeue, Dequeued, Enqueue, Look, Moves, Placement, Policy,
    Preempt, Trigger, Wakeup,
};

/// So many accesses to lines are kept for a test that looks at them.
const KEPT: usize = 4096;

/// A policy that is attached to the world of a [`WorldKit`].
///
/// Its methods are those of [`Policy`] with that world passed along, so that a test says only what it is
/// about. It makes none of the answers true: a test changes the world itself, by [`PolicyHost::kit`].
///
/// ```
/// # use simsched_core::testkit::{PolicyHost, RoundRobin, WorldKit};
/// # use simsched_core::Enqueue;
/// # use simsched_topology::{CpuId, Topology};
/// let mut kit = WorldKit::new(Topology::builtin("t8", None).unwrap(), 250);
/// let task = kit.add_task(0);
/// let mut host = PolicyHost::new(kit, RoundRobin::default());
/// host.enqueue(CpuId(3), task, Enqueue::New);
/// assert_eq!(host.pick_next(CpuId(3), None), Some(task));
/// ```
#[derive(Debug)]
pub struct PolicyHost<P: ?Sized> {
    /// The world that the policy reads, to change.
    pub kit: WorldKit,
    /// What the policy said when it was attached.
    pub attached: Attached,
    /// The policy.
    pub policy: Box<P>,
    /// What its calls have asked for, and the test has not taken; the costs of the last calls only.
    pub actions: Actions,
}

impl<P: Policy> PolicyHost<P> {
    /// Attaches `policy` to the world of `kit`, which has all its tasks.
    #[must_use]
    pub fn new(kit: WorldKit, policy: P) -> PolicyHost<P> {
        PolicyHost::boxed(kit, Box::new(policy))
    }
}

impl<P: Policy + ?Sized> PolicyHost<P> {
    /// As [`PolicyHost::new`], for a policy whose type is known at run time only.
    #[must_use]
    pub fn boxed(kit: WorldKit, mut policy: Box<P>) -> PolicyHost<P> {
        let attached = policy.attach(kit.world());
        PolicyHost { kit, attached, policy, actions: Actions::default() }
    }

    /// A call that is the policy's own, in the context that those of [`Policy`] have.
    pub fn call<A>(&mut self, call: impl FnOnce(&mut P, Cx<'_>) -> A) -> A {
        call(&mut self.policy, Cx::new(self.kit.world(), &mut self.actions))
    }

    /// [`Report::check`](crate::Report::check).
    ///
    /// # Errors
    /// The first broken invariant, in words.
    pub fn check(&self, cpu: CpuId) -> Result<(), String> {
        self.policy.check(self.kit.world(), cpu)
    }
}

/// The calls that take a world: the same names, the same arguments behind it.
macro_rules! calls {
    ($($name:ident($($arg:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {
        impl<P: Policy + ?Sized> PolicyHost<P> {
            $(
                #[doc = concat!("`", stringify!($name), "` of the policy.")]
                #[allow(clippy::must_use_candidate, reason = "many tests want the effect alone")]
                pub fn $name(&mut self, $($arg: $kind),*) $(-> $answer)? {
                    if self.actions.touched().len() > KEPT {
                        self.actions.forget_costs();
                    }
                    let cx = Cx::new(self.kit.world(), &mut self.actions);
                    self.policy.$name(cx, $($arg),*)
                }
            )*
        }
    };
}

calls! {
    select_task_rq(wakeup: &Wakeup) -> Placement;
    migrate_task_rq(task: TaskId, to: CpuId);
    task_fork(cpu: CpuId, parent: Option<TaskId>, child: TaskId);
    task_asleep(cpu: CpuId, task: TaskId);
    enqueue(cpu: CpuId, task: TaskId, why: Enqueue);
    dequeue(cpu: CpuId, task: TaskId, why: Dequeue) -> Dequeued;
    pick_next(cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId>;
    put_prev_task(cpu: CpuId, prev: TaskId);
    wakeup_preempt(cpu: CpuId, wakee: TaskId, why: Enqueue) -> Preempt;
    task_woken(cpu: CpuId);
    task_tick(cpu: CpuId, curr: TaskId) -> Preempt;
    task_work(cpu: CpuId, task: TaskId) -> Look;
    timer(cpu: CpuId, timer: TimerId);
    called(cpu: CpuId, what: CallId);
    yield_task(cpu: CpuId, curr: TaskId);
    reweight_task(task: TaskId) -> Preempt;
    exit_mm(cpu: CpuId, task: TaskId);
    exec_mmap(cpu: CpuId, task: TaskId);
    task_dead(task: TaskId);
    newidle_balance(cpu: CpuId) -> bool;
    idle_entered(cpu: CpuId);
    idle_left(cpu: CpuId);
    trigger_load_balance(cpu: CpuId) -> Trigger;
    nohz_csd_func(cpu: CpuId) -> bool;
    run_rebalance_domains(cpu: CpuId);
    nohz_run_idle_balance(cpu: CpuId) -> bool;
    nohz_balance_enter_idle(cpu: CpuId);
    balance_step(cpu: CpuId, moves: &mut Moves) -> BalanceStep;
    active_load_balance_cpu_stop(cpu: CpuId, moves: &mut Moves);
}
