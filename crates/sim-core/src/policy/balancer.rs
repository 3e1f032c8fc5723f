//! What a load balancer asks of the machine: the steps of a pass, and the tasks it moves.

use simsched_topology::CpuId;

use crate::ids::TaskId;
use crate::names::{Cause, NO_DOMAIN, Reason};

use super::{Cx, Far};

/// The load balancer of a policy, and its sched domains: what the simulator asks of `kernel/sched/fair.c` beside
/// the calls of a class.
///
/// A pass is not one call: it is begun by one of those that say so, and its steps are taken one by one
/// ([`Balancer::balance_step`]), each with its time, so that other CPUs act in between. A policy that never
/// balances says `impl Balancer for Mine {}`.
pub trait Balancer {
    /// `cpu` found no task and is about to switch to its idle task (the start of
    /// `newidle_balance`). True begins a pass, whose steps [`Balancer::balance_step`] gives.
    fn newidle_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let _ = (cx, cpu);
        false
    }

    /// The end of a tick on `cpu`, busy or idle (`trigger_load_balance`).
    fn trigger_load_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> Trigger {
        let _ = (cx, cpu);
        Trigger::default()
    }

    /// The interrupt of a [`Trigger::kick`] has arrived on `cpu`: whether the balance softirq is to
    /// run there (`nohz_csd_func`).
    fn nohz_csd_func(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let _ = (cx, cpu);
        false
    }

    /// The balance softirq begins on `cpu` (`run_rebalance_domains`); its steps come from
    /// [`Balancer::balance_step`].
    fn run_rebalance_domains(&mut self, cx: Cx<'_>, cpu: CpuId) {
        let _ = (cx, cpu);
    }

    /// The idle task of `cpu` is about to choose an idle state. True begins a pass, whose steps
    /// [`Balancer::balance_step`] gives (`nohz_run_idle_balance`).
    fn nohz_run_idle_balance(&mut self, cx: Cx<'_>, cpu: CpuId) -> bool {
        let _ = (cx, cpu);
        false
    }

    /// The tick of `cpu`, which is idle, has been stopped (`nohz_balance_enter_idle`).
    fn nohz_balance_enter_idle(&mut self, cx: Cx<'_>, cpu: CpuId) {
        let _ = (cx, cpu);
    }

    /// The next step of the pass that was begun on `cpu`. The simulator makes it true, lets the time
    /// pass that it takes, and asks again until it is [`BalanceStep::Done`].
    fn balance_step(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) -> BalanceStep {
        let _ = (cx, cpu, moves);
        BalanceStep::Done
    }

    /// The stopper runs on `cpu`, whose current task has been put: it moves at most one task, as the
    /// [`BalanceStep::Stop`] that started it wanted (`active_load_balance_cpu_stop`).
    fn active_load_balance_cpu_stop(&mut self, cx: Cx<'_>, cpu: CpuId, moves: &mut Moves) {
        let _ = (cx, cpu, moves);
    }

    /// The lowest sched domain that has both CPUs, by its place from the bottom;
    /// [`crate::NO_DOMAIN`] where there is none.
    fn domain_of(&self, from: CpuId, to: CpuId) -> u8 {
        let _ = (from, to);
        NO_DOMAIN
    }
}

/// What a tick asks for after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// The balance softirq is to run on this CPU, right after the tick.
    pub softirq: bool,
    /// This idle CPU is to be sent an interrupt, to balance for all idle CPUs.
    pub kick: Option<CpuId>,
}

/// One step of a pass of the load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceStep {
    /// Read the state of CPUs and groups. The policy has not read it yet: it does so, and decides,
    /// when it is asked for the next step, after the time that the reading takes.
    Look(Look),
    /// This CPU does not balance a domain: another one is to, or, where this one was about to become idle, a task has come
    /// (`should_we_balance`). The attempt ends when that has taken its time, which may be none.
    Skip,
    /// Bring the clock of this runqueue to the present (`rq_lock`, `update_rq_clock`).
    Lock(CpuId),
    /// The tasks in [`Moves`] have been detached by the policy, in this order, from a runqueue whose
    /// clock is up to date: the simulator makes that true, and attaches them in reverse order.
    Move,
    /// Start the stopper of `from`, for [`Balancer::active_load_balance_cpu_stop`].
    Stop {
        /// Whose current task has to go.
        from: CpuId,
    },
    /// The pass is over.
    Done,
}

/// How many CPUs and groups a step reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// CPUs, near and far.
    pub cpus: u16,
    /// Those whose state has to come from outside the LLC of the reading CPU; [`Far::same_core`] is not read.
    pub far: Far,
    /// Sched groups that are summed up.
    pub groups: u16,
}

impl std::ops::AddAssign for Look {
    fn add_assign(&mut self, other: Look) {
        self.cpus += other.cpus;
        self.far += other.far;
        self.groups += other.groups;
    }
}

/// Tasks that a balancer has detached from one runqueue for another; its buffer is lent.
#[derive(Clone, Debug)]
pub struct Moves {
    /// Who moves, in the order of detaching.
    pub tasks: Vec<TaskId>,
    /// Where they were.
    pub from: CpuId,
    /// Where they go.
    pub to: CpuId,
    /// Which balancer moves them.
    pub cause: Cause,
    /// What it balanced.
    pub reason: Reason,
    /// The domain in which it balanced, by its place from the bottom.
    pub domain: u8,
}

impl Default for Moves {
    fn default() -> Moves {
        Moves {
            tasks: Vec::with_capacity(64),
            from: CpuId(0),
            to: CpuId(0),
            cause: Cause::Periodic,
            reason: Reason(0),
            domain: 0,
        }
    }
}

/// The counters of a domain as `/proc/schedstat` has them, the `lb_*` by what
/// the CPU was doing: idle, busy, newly idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SdCounts {
    /// Calls of `load_balance()`.
    pub lb_count: [u64; 3],
    /// Those that found nothing to do.
    pub lb_balanced: [u64; 3],
    /// Those that found an imbalance and moved nothing.
    pub lb_failed: [u64; 3],
    /// The sum of the imbalances, by what was to be made equal: load, utilization, the number of tasks, a
    /// task that does not fit, a task that prefers an LLC (`enum migration_type`). Before version 17 of
    /// `/proc/schedstat` all are one sum.
    pub lb_imbalance: [[u64; 3]; 5],
    /// Tasks that were pulled.
    pub lb_gained: [u64; 3],
    /// Tasks that were pulled although cache-hot.
    pub lb_hot_gained: [u64; 3],
    /// Calls without a busiest queue.
    pub lb_nobusyq: [u64; 3],
    /// Calls without a busiest group.
    pub lb_nobusyg: [u64; 3],
    /// Active balances.
    pub alb_count: u64,
    /// Those that moved nothing.
    pub alb_failed: u64,
    /// Tasks that were pushed.
    pub alb_pushed: u64,
    /// Wakeups on another CPU than that of the waker.
    pub ttwu_wake_remote: u64,
    /// Wakeups pulled to the waker's CPU as the affine one.
    pub ttwu_move_affine: u64,
    /// Wakeups moved by load.
    pub ttwu_move_balance: u64,
}

impl std::ops::AddAssign for SdCounts {
    fn add_assign(&mut self, other: SdCounts) {
        let rows = [
            (&mut self.lb_count, other.lb_count),
            (&mut self.lb_balanced, other.lb_balanced),
            (&mut self.lb_failed, other.lb_failed),
            (&mut self.lb_gained, other.lb_gained),
            (&mut self.lb_hot_gained, other.lb_hot_gained),
            (&mut self.lb_nobusyq, other.lb_nobusyq),
            (&mut self.lb_nobusyg, other.lb_nobusyg),
        ];
        let imbalances = self.lb_imbalance.iter_mut().zip(other.lb_imbalance);
        for (sums, counts) in rows.into_iter().chain(imbalances) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        self.alb_count += other.alb_count;
        self.alb_failed += other.alb_failed;
        self.alb_pushed += other.alb_pushed;
        self.ttwu_wake_remote += other.ttwu_wake_remote;
        self.ttwu_move_affine += other.ttwu_move_affine;
        self.ttwu_move_balance += other.ttwu_move_balance;
    }
}
